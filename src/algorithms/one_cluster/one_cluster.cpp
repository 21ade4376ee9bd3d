// Sorts a list that fits the local memories of one cluster of work-groups, in one launch.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "../parts/bin_sort.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t digit_values = 256, most_groups = 16;
constexpr unsigned few_items = 4, most_items = 16, bin_items = 19;

unsigned largest(const Capabilities& device) {
  return std::bit_floor(std::min(device.max_work_group, 1024u));
}

// The dimensions of the launch, and whether it partitions first.
struct Shape {
  unsigned groups = 0, work_group = 0, items = 0;
  bool parts = false;
  unsigned position_bits = 0, sort_bits = 0;  // see BinSortParameters

  [[nodiscard]] std::uint64_t tile() const { return std::uint64_t{work_group} * items; }
  // The most records of a part.
  [[nodiscard]] std::uint64_t capacity() const { return std::uint64_t{work_group} * bin_items; }
  // The number of compared bits below those that select the part. Keys of the same part differ only
  // in these.
  [[nodiscard]] unsigned open_bits(const Problem& problem) const {
    return key_bits(problem) -
           std::min(key_bits(problem), static_cast<unsigned>(std::bit_width(groups) - 1));
  }
  // Bits of an item (see BinSortParameters).
  [[nodiscard]] unsigned item_bits(const Problem& problem) const {
    return composite(problem) ? open_bits(problem) + position_bits : info(problem.key).bits();
  }
  // Bits of a bin's number.
  [[nodiscard]] unsigned bin_bits() const {
    return static_cast<unsigned>(std::bit_width(16 * work_group - 1));
  }
};

// Bytes of one_cluster_memory_t in one_cluster.cl.
std::uint64_t local_bytes(const Problem& problem, const Capabilities& device, const Shape& shape) {
  const std::uint64_t value = problem.payload == Payload::none ? 0 : problem.value_bytes;
  const std::uint64_t record = std::max(4u, info(problem.key).bytes) + value;
  const std::uint64_t scan_bytes = 2 * shape.work_group * kernels::index_bytes(problem.count);
  const std::uint64_t pass = record * shape.tile() +
                             kernels::rank_bytes(device, shape.work_group, digit_values) +
                             shape.work_group * 4;
  const std::uint64_t bins =
      bin_sort_bytes(problem, device, shape.work_group, bin_items, shape.sort_bits);
  return (1 + 2 * shape.groups) * digit_values * 2 + shape.groups * most_groups * 2 +
         (digit_values + most_groups) * 4 + scan_bytes +
         record * (shape.parts ? shape.capacity() : shape.tile()) +
         (shape.parts ? std::max(pass, bins) : pass) + 128;
}

// Chooses the dimensions. With `parts`, all work-groups of the cluster take part. Without, about
// one work-group for each 1024 records: in every pass each work-group exchanges counts with all
// others, which costs too much for fewer records. Work-groups are as small as possible, because
// barriers of fewer work-items are faster.
Shape shape_for(const Problem& problem, const Capabilities& device, const Parameters& given,
                bool parts) {
  const std::uint64_t n = std::clamp<std::uint64_t>(problem.count, 1, std::uint64_t{1} << 24);
  const auto wanted =
      parts ? device.cluster_groups
            : static_cast<unsigned>(std::bit_ceil(ceil_div(n, few_items * digit_values)));
  Shape shape;
  shape.parts = parts;
  shape.groups =
      static_cast<unsigned>(given.number("groups", std::clamp(wanted, 2u, device.cluster_groups)));
  const std::uint64_t tile = ceil_div(n, shape.groups);
  auto enough = static_cast<unsigned>(digit_values);
  while (enough * (enough == digit_values && !parts ? most_items / 2 : most_items) < tile &&
         enough < largest(device))
    enough *= 2;
  shape.work_group = static_cast<unsigned>(given.number("work_group", enough));
  // Rounded up to a power of two, so that neighbouring counts share one compiled kernel.
  shape.items = static_cast<unsigned>(std::bit_ceil(ceil_div(tile, shape.work_group)));
  shape.position_bits = static_cast<unsigned>(std::bit_width(shape.capacity() - 1));
  shape.sort_bits = shape.item_bits(problem) > 32 ? 64 : 32;
  return shape;
}

// True if partitioning is likely to work and to be faster than radix passes. For evenly spread
// keys, the largest part exceeds the mean by a few times the mean's square root; it must fit its
// work-group. The remaining bits must suffice to number the bins. Leading bits of floats are not
// evenly spread. Work-groups of 1024 are excluded: with these, an H200 sorted 2^18 u32 keys by
// parts in 52 µs, and by radix passes in 46.
bool parts_fit(const Problem& problem, const Capabilities& device, const Shape& shape) {
  const auto mean = static_cast<double>(ceil_div(problem.count, shape.groups));
  return !info(problem.key).is_float && std::has_single_bit(shape.groups) &&
         shape.items <= most_items && shape.work_group <= 512 &&
         mean + 7 * std::sqrt(mean) <= static_cast<double>(shape.capacity()) &&
         shape.item_bits(problem) <= 64 && shape.open_bits(problem) >= shape.bin_bits() &&
         local_bytes(problem, device, shape) <= device.local_struct;
}

class OneClusterSorter final : public Sorter {
 public:
  OneClusterSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), digits_(digits(problem, 8)) {
    const auto unsupported = [](const std::string& why) {
      throw Error(ErrorCode::unsupported, "one-cluster: " + why);
    };
    if (device.cluster_groups < 2)
      unsupported("this device's work-groups cannot reach each other's local memory");
    shape_ = shape_for(problem, device, given, given.word("parts", "on") == "on");
    if (shape_.parts && !parts_fit(problem, device, shape_))
      shape_ = shape_for(problem, device, given, false);
    if (!std::has_single_bit(shape_.groups) || shape_.groups > device.cluster_groups)
      unsupported(fmt::format("groups={} is not a power of two up to the device's {}",
                              shape_.groups, device.cluster_groups));
    if (!std::has_single_bit(shape_.work_group) || shape_.work_group < digit_values ||
        shape_.work_group > largest(device))
      unsupported(fmt::format("work_group={} is not a power of two between {} and {}",
                              shape_.work_group, digit_values, largest(device)));
    local_bytes_ = local_bytes(problem, device, shape_);
    if (shape_.items > most_items || local_bytes_ > device.local_struct) {
      Shape fits = shape_;
      for (fits.items = most_items;
           fits.items > 1 && local_bytes(problem, device, fits) > device.local_struct;)
        fits.items /= 2;
      unsupported(
          fmt::format("{} records do not fit {} work-groups of {}; with {} bytes of local memory "
                      "each the device "
                      "sorts up to {}",
                      problem.count, shape_.groups, shape_.work_group, device.local_struct,
                      fits.tile() * fits.groups));
    }
  }

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override {
    return fmt::format("groups={},work_group={},items={},parts={}", shape_.groups,
                       shape_.work_group, shape_.items, shape_.parts ? "on" : "off");
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  bool write_first(std::uint64_t records) override {
    wanted_ = records;
    return true;
  }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_))
        .set("GROUPS", shape_.groups)
        .set("TILE_ITEMS", shape_.items)
        .set("PARTS", int{shape_.parts})
        .local_struct("one_cluster_memory_t", local_bytes_);
    BinSortParameters{.work_group = shape_.work_group,
                      .items = bin_items,
                      .sort_bits = shape_.sort_bits,
                      .with_positions = composite(problem_),
                      .position_bits = shape_.position_bits,
                      .bin_shift = bin_shift()}
        .set(defines);
    using namespace kernels::embedded;
    module_ = kernels::build(device, capabilities,
                             {bins_cl, bin_sort_cl, columns_cl, one_cluster_cl}, defines);
    sort_ = module_->kernel("one_cluster_sort");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto [shifts, widths] = packed(digits_);
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"n", problem_.count},
                        {"wanted", wanted_},
                        {"shifts", shifts},
                        {"widths", widths},
                        {"passes", static_cast<std::uint32_t>(digits_.size())},
                        {"part_bit", part_bit()},
                        {"begin_bit", std::uint32_t{problem_.begin_bit}},
                        {"bin_shift", bin_shift()}};
    queue.launch({*sort_, shape_.groups, shape_.work_group, args, "sort", shape_.groups});
  }

 private:
  // The leading compared bits of a key select its part. The highest of the remaining bits select
  // its bin.
  [[nodiscard]] std::uint32_t part_bit() const {
    return problem_.begin_bit + shape_.open_bits(problem_);
  }
  [[nodiscard]] std::uint32_t bin_shift() const {
    const unsigned open =
        composite(problem_) ? shape_.item_bits(problem_) : shape_.open_bits(problem_);
    return open - std::min(open, shape_.bin_bits());
  }

  Problem problem_;
  std::uint64_t wanted_ = problem_.count;
  std::vector<Digit> digits_;
  Shape shape_;
  std::uint64_t local_bytes_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_;
};

class OneCluster final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "one-cluster",
        .title =
            "the work-groups of a cluster sort a list in their local memories: one part each, by "
            "bins, or all by LSD passes",
        .source = "Sortium; Satish, Harris, Garland 2009 (tiles sorted before they are scattered)",
        .stable = true,
        .needs_clusters = true,
        .max_count = 1u << 18,  // 16 work-groups × 1024 work-items × 16 records
        .cost =
            "one launch that reads and writes every record once; one exchange between local "
            "memories, or bits/8",
        .parameters = {{"groups", "work-groups of the cluster", 2, 16, {}},
                       {"work_group", "work-items", 256, 1024, {}},
                       {"parts",
                        "on: partition by the leading bits first; off: passes only",
                        0,
                        0,
                        {"on", "off"}}}};
    return info;
  }

  // Needs one launch and no look-back. Up to about 2^17 records it is faster than algorithms with
  // several launches. It is faster than one-group above 2^11 records, or above 2^12 where
  // one-cluster partitions first.
  Rank suits(const Problem& problem, const Capabilities& device) const override {
    constexpr unsigned least_groups = 8;
    if (device.kind != DeviceKind::gpu || device.cluster_groups < least_groups)
      return Rank::unsuited;
    const bool parts = parts_fit(problem, device, shape_for(problem, device, {}, true));
    const std::uint64_t moves = problem.count * digits(problem, 8).size();
    const std::uint64_t record = sortium::info(problem.key).bytes +
                                 (problem.payload == Payload::none ? 0 : problem.value_bytes);
    if (parts ? problem.count > std::uint64_t{1} << 17
              : moves > std::uint64_t{1} << 19 || moves * record > std::uint64_t{1} << 22)
      return Rank::unsuited;
    return problem.count > std::uint64_t{1} << (parts ? 12 : 11) ? Rank::one_cluster
                                                                 : Rank::one_cluster_of_few;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<OneClusterSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::one_cluster() {
  static const OneCluster algorithm;
  return algorithm;
}

}  // namespace sortium
