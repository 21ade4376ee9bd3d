// Sorts a list that fits one work-group's local memory, in one launch: by bins if keys are likely
// to be evenly spread, else by radix passes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "../parts/bin_sort.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t radix_size = 256;
constexpr unsigned most_items = 16;

// Bytes of one_group_memory_t in one_group.cl.
std::uint64_t pass_bytes(const Problem& problem, const Capabilities& device, unsigned work_group,
                         unsigned items) {
  const std::uint64_t record =
      info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
  return record * work_group * items + 2 * radix_size * kernels::index_bytes(problem.count) +
         kernels::rank_bytes(device, work_group, radix_size) + work_group * 4 + 64;
}

// A sort by bins (one_group_bins.cl).
struct BinSort {
  unsigned work_group = 0, bin_items = 19, bin_share = 16, position_bits = 0, sort_bits = 0,
           bin_shift = 0;
  std::uint64_t bytes = 0;  // bytes of one_group_memory_t in one_group_bins.cl
};

// Returns a layout with at least `work_group` work-items; its work_group is 0 if the list does not
// fit.
BinSort bin_layout(const Problem& problem, const Capabilities& device, unsigned work_group,
                   unsigned bin_items, unsigned bin_share) {
  BinSort bins{.bin_items = bin_items, .bin_share = bin_share};
  work_group = std::max(std::min(device.sub_group_size, 32u), work_group);
  while (work_group < 1024 && work_group * bin_items < problem.count) work_group *= 2;
  if (work_group * bin_items < problem.count || work_group > device.max_work_group) return bins;
  bins.position_bits = static_cast<unsigned>(std::bit_width(work_group * bin_items - 1));
  const unsigned needed = key_bits(problem) + (composite(problem) ? bins.position_bits : 0);
  const auto bin_bits = static_cast<unsigned>(std::bit_width(bin_share * work_group - 1));
  if (needed > 64 || key_bits(problem) < bin_bits) return bins;
  bins.sort_bits = needed > 32 ? 64 : 32;
  bins.bin_shift = needed - bin_bits;
  const std::uint64_t record =
      info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
  bins.bytes = bin_sort_bytes(problem, device, work_group, bin_items, bins.sort_bits, bin_share) +
               (composite(problem) ? work_group * bin_items * record : 0) + 16;
  if (bins.bytes <= device.local_struct) bins.work_group = work_group;
  return bins;
}

// Returns the best layout for bins; its work_group is 0 if radix passes are faster.
BinSort choose_bins(const Problem& problem, const Capabilities& device) {
  // The leading bits of floats would put most records into a few bins. CPUs are excluded because
  // PoCL compiles barriers inside conditions wrongly. NVIDIA's OpenCL is excluded because it
  // compiles the same code wrongly in msd's local sort.
  if (info(problem.key).is_float || device.kind == DeviceKind::cpu ||
      device.sub_group_words == SubGroupWords::ptx)
    return {};
  // For short lists, use more work-items, with 4 or 8 records each. That is faster with values, and
  // if a crowded bin makes radix passes necessary. With 8 records for each work-item there are also
  // more bins (32 instead of 16 for each work-item), so bins have fewer records.
  const auto count =
      std::bit_ceil(static_cast<unsigned>(std::min<std::uint64_t>(problem.count, 1 << 20)));
  BinSort bins;
  if (count <= 2048)
    bins = bin_layout(problem, device, count / 4, 9, 16);
  else if (count <= 4096)
    bins = bin_layout(problem, device, count / 8, 9, 32);
  return bins.work_group != 0 ? bins : bin_layout(problem, device, 0, 19, 16);
}

class OneGroupSorter final : public Sorter {
 public:
  OneGroupSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), digits_(digits(problem, 8)) {
    if (!given.has("work_group")) bins_ = choose_bins(problem, device);
    if (bins_.work_group != 0) return;
    const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
    const std::uint64_t n = std::max<std::uint64_t>(problem.count, 1);
    // The fewest work-items that hold the list: barriers dominate a small sort, and small groups
    // have faster ones.
    const auto least = static_cast<unsigned>(std::bit_ceil(std::max<std::uint64_t>(
        radix_size, (std::min<std::uint64_t>(n, 1 << 20) + most_items - 1) / most_items)));
    work_group_ = static_cast<unsigned>(given.number("work_group", std::min(largest, least)));
    if (!std::has_single_bit(work_group_) || work_group_ < radix_size || work_group_ > largest)
      throw Error(ErrorCode::unsupported,
                  fmt::format("one-group: work_group={} is not a power of two between {} and {}",
                              work_group_, radix_size, largest));
    // Rounded up to a power of two, so that neighbouring counts share one compiled kernel.
    items_ = static_cast<unsigned>(
        std::bit_ceil(std::min<std::uint64_t>((n + work_group_ - 1) / work_group_, 1u << 20)));
    local_bytes_ = pass_bytes(problem, device, work_group_, items_);
    if (items_ > most_items || local_bytes_ > device.local_struct) {
      unsigned fits = most_items;
      while (fits > 1 && pass_bytes(problem, device, work_group_, fits) > device.local_struct)
        fits /= 2;
      throw Error(ErrorCode::unsupported,
                  fmt::format("one-group: {} records do not fit one work-group of {}; with {} "
                              "bytes of local memory the "
                              "device sorts up to {}",
                              problem.count, work_group_, device.local_struct, fits * work_group_));
    }
  }

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override {
    return bins_.work_group != 0 ? fmt::format("bins={}x{}", bins_.work_group, bins_.bin_items)
                                 : fmt::format("work_group={},items={}", work_group_, items_);
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  bool write_first(std::uint64_t records) override {
    wanted_ = records;
    return true;
  }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_));
    if (bins_.work_group != 0) {
      using namespace kernels::embedded;
      defines.local_struct("one_group_memory_t", bins_.bytes);
      BinSortParameters{.work_group = bins_.work_group,
                        .items = bins_.bin_items,
                        .sort_bits = bins_.sort_bits,
                        .with_positions = composite(problem_),
                        .position_bits = bins_.position_bits,
                        .bin_shift = bins_.bin_shift,
                        .bin_share = bins_.bin_share}
          .set(defines);
      module_ =
          kernels::build(device, capabilities, {bins_cl, bin_sort_cl, one_group_bins_cl}, defines);
      sort_ = module_->kernel("one_group_bins");
      return;
    }
    defines.set("WG", work_group_)
        .set("ITEMS", items_)
        .local_struct("one_group_memory_t", local_bytes_);
    module_ =
        kernels::build(device, capabilities,
                       {kernels::embedded::columns_cl, kernels::embedded::one_group_cl}, defines);
    sort_ = module_->kernel("one_group_sort");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    if (bins_.work_group != 0) {
      const Arg args[] = {{"keys_in", o.keys_in},
                          {"keys_out", o.keys_out},
                          {"values_in", o.values_in},
                          {"values_out", o.values_out},
                          {"n", problem_.count},
                          {"wanted", wanted_},
                          {"begin_bit", std::uint32_t{problem_.begin_bit}},
                          {"open_bits", std::uint32_t{key_bits(problem_)}},
                          {"bin_shift", std::uint32_t{bins_.bin_shift}}};
      queue.launch({*sort_, 1, bins_.work_group, args, "sort"});
      return;
    }
    const auto [shifts, widths] = packed(digits_);
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"n", problem_.count},
                        {"wanted", wanted_},
                        {"shifts", shifts},
                        {"widths", widths},
                        {"passes", static_cast<std::uint32_t>(digits_.size())}};
    queue.launch({*sort_, 1, work_group_, args, "sort"});
  }

 private:
  Problem problem_;
  std::uint64_t wanted_ = problem_.count;
  std::vector<Digit> digits_;
  BinSort bins_;  // work_group is 0 for radix passes, which use the three members below
  unsigned work_group_ = 0, items_ = 0;
  std::uint64_t local_bytes_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_;
};

class OneGroup final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "one-group",
        .title = "one work-group sorts a small list in local memory, LSD radix with 8-bit digits",
        .source = "Merrill, Grimshaw 2010 (the block sort of CUB's small path)",
        .stable = true,
        .max_count = 1024 * 19,  // work-items × records of each
        .cost = "one launch that reads and writes every record once",
        .parameters = {{"work_group", "work-items", 256, 1024, {}}}};
    return info;
  }

  // Needs one launch and no look-back: the fastest algorithm up to about 2^13 records.
  Rank suits(const Problem& problem, const Capabilities& device) const override {
    return device.kind == DeviceKind::gpu && problem.count <= std::uint64_t{1} << 13
               ? Rank::one_group
               : Rank::unsuited;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<OneGroupSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::one_group() {
  static const OneGroup algorithm;
  return algorithm;
}

}  // namespace sortium
