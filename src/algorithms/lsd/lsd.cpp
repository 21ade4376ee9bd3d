// Least-significant-digit radix sort by reduce-then-scan: the portable default.
// Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs" (2009), for
// the tile sorted in local memory before it is scattered; Merrill, Grimshaw (2010) for a fixed
// number of work-groups with long parts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What lsd.cl is specialised for.
struct LsdParameters {
  unsigned work_group;  // work-items of a work-group, a power of two
  unsigned items;       // records of a work-item in a tile
  unsigned digit_bits;  // bits of a digit

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(radix_problem(problem))
        .set("WG", work_group)
        .set("ITEMS", items)
        .set("DIGIT_BITS", digit_bits);
  }
};

// What lsd_cpu.cl is specialised for.
struct LsdCpuParameters {
  unsigned digit_bits;  // bits of a digit

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(radix_problem(problem)).set("DIGIT_BITS", digit_bits);
  }
};

// What lsd_settle.cl is specialised for.
struct LsdSettleParameters {
  unsigned work_group;  // work-items of a work-group

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(radix_problem(problem)).set("WG", work_group);
  }
};

constexpr unsigned digit_bits = 8;
constexpr std::uint64_t radix_size = 1u << digit_bits;

// The buffers between which passes move the records, and the final copy. If passes are skipped, the
// records may end in the wrong buffer; then the kernel lsd_settle copies them to the output.
class Moves {
 public:
  Moves(const Problem& problem, unsigned passes, ScratchLayout& layout)
      : problem_(problem),
        passes_(passes),
        buffers_(problem, passes, layout),
        left_out_(layout.add(passes * 4)) {}

  void build(Device& device, const Capabilities& capabilities) {
    work_group_ = capabilities.kind == DeviceKind::cpu
                      ? 1
                      : std::bit_floor(std::min(capabilities.max_work_group, 256u));
    groups_ =
        std::uint64_t{capabilities.compute_units} * (capabilities.kind == DeviceKind::cpu ? 1 : 8);
    module_ = kernels::build(device, capabilities, kernels::embedded::lsd_settle_cl,
                             LsdSettleParameters{work_group_}.defines(problem_));
    settle_ = module_->kernel("lsd_settle");
  }

  struct Places {
    Memory keys_in, keys_a, keys_b, values_in, values_a, values_b, left_out;
    std::uint32_t make_positions;
  };
  [[nodiscard]] Places start(Queue& queue, const Operands& o) const {
    buffers_.start(queue, o);
    const auto a = buffers_.pass(0, o), b = passes_ > 1 ? buffers_.pass(1, o) : PingPong::Pass{};
    return {a.keys_in,    a.keys_out,   b.keys_out,      a.values_in,
            a.values_out, b.values_out, left_out_.in(o), a.make_positions};
  }
  [[nodiscard]] std::uint32_t writes_keys(unsigned pass) const {
    return problem_.keys_out || pass + 1 < passes_;
  }

  void settle(Queue& queue, const Operands& o, const Places& m) const {
    const bool starts_in_output =
        o.in_place() && passes_ % 2 == 0 && problem_.payload != Payload::positions;
    const Arg args[] = {{"keys_in", m.keys_in},
                        {"keys_a", m.keys_a},
                        {"keys_b", m.keys_b},
                        {"values_in", m.values_in},
                        {"values_a", m.values_a},
                        {"values_b", m.values_b},
                        {"left_out", m.left_out},
                        {"n", problem_.count},
                        {"passes", std::uint32_t{passes_}},
                        {"starts_in_output", std::uint32_t{starts_in_output}},
                        {"write_keys", std::uint32_t{problem_.keys_out}},
                        {"values_are_positions", m.make_positions}};
    queue.launch({*settle_, std::min(groups_, ceil_div(problem_.count, work_group_)), work_group_,
                  args, "settle"});
  }

 private:
  Problem problem_;
  unsigned passes_, work_group_ = 1;
  std::uint64_t groups_ = 1;
  PingPong buffers_;
  ScratchLayout::Slice left_out_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> settle_;
};

// The base class of both variants: it enqueues the passes. A pass counts the digits of every part,
// scans the counts, and scatters the records of every part.
class PassesSorter : public Sorter {
 public:
  [[nodiscard]] std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  [[nodiscard]] std::uint64_t bytes_moved() const override {
    return bytes_of_passes(problem_, digits_.size(), 2);
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto m = moves_.start(queue, o);
    for (std::uint32_t p = 0; p < digits_.size(); ++p) {
      count(queue, o, m, p);
      if (scan_) scan(queue, o, m, p);
      scatter(queue, o, m, p);
    }
    moves_.settle(queue, o, m);
  }

 protected:
  explicit PassesSorter(const Problem& problem)
      : problem_(problem),
        digits_(digits(problem, digit_bits)),
        moves_(problem, static_cast<unsigned>(digits_.size()), scratch_) {}

  // Divides the list into parts of `part` records, one for each work-group; the last may be
  // shorter.
  void divide(std::uint64_t part) {
    part_ = part;
    groups_ = ceil_div(problem_.count, std::max<std::uint64_t>(part_, 1));
    counts_ = scratch_.add(radix_size * groups_ * kernels::index_bytes(problem_.count));
  }

  Problem problem_;
  std::vector<Digit> digits_;
  ScratchLayout scratch_;
  Moves moves_;
  unsigned work_group_ = 1;
  std::uint64_t part_ = 0, groups_ = 0;  // records of a work-group's part; number of work-groups
  ScratchLayout::Slice counts_, totals_;
  std::shared_ptr<Module> module_;
  // Variant cpu has no scan_: scatter_ scans the counts itself.
  std::unique_ptr<Kernel> count_, scan_, scatter_;

 private:
  void count(Queue& queue, const Operands& o, const Moves::Places& m, std::uint32_t pass) const {
    const auto [shift, mask] = digits_[pass];
    const auto passes = static_cast<std::uint32_t>(digits_.size());
    const Arg args[] = {{"keys_in", m.keys_in},
                        {"keys_a", m.keys_a},
                        {"keys_b", m.keys_b},
                        {"counts", counts_.in(o)},
                        {"left_out", m.left_out},
                        {"n", problem_.count},
                        {"part", part_},
                        {"pass", pass},
                        {"passes", passes},
                        {"shift", shift},
                        {"mask", mask}};
    queue.launch({*count_, groups_, work_group_, args, "histogram"});
  }

  void scan(Queue& queue, const Operands& o, const Moves::Places& m, std::uint32_t pass) const {
    const Arg args[] = {{"counts", counts_.in(o)},
                        {"totals", totals_.in(o)},
                        {"left_out", m.left_out},
                        {"n", problem_.count},
                        {"pass", pass},
                        {"groups", static_cast<std::uint32_t>(groups_)}};
    queue.launch({*scan_, radix_size, work_group_, args, "scan"});
  }

  void scatter(Queue& queue, const Operands& o, const Moves::Places& m, std::uint32_t pass) const {
    const auto [shift, mask] = digits_[pass];
    std::array args{Arg{"keys_in", m.keys_in},
                    Arg{"keys_a", m.keys_a},
                    Arg{"keys_b", m.keys_b},
                    Arg{"values_in", m.values_in},
                    Arg{"values_a", m.values_a},
                    Arg{"values_b", m.values_b},
                    Arg{"counts", counts_.in(o)},
                    Arg{"totals", totals_.in(o)},
                    Arg{"left_out", m.left_out},
                    Arg{"n", problem_.count},
                    Arg{"part", part_},
                    Arg{"pass", pass},
                    Arg{"shift", shift},
                    Arg{"mask", mask},
                    Arg{"write_keys", moves_.writes_keys(pass)},
                    Arg{"values_are_positions", m.make_positions}};
    if (scan_) return queue.launch({*scatter_, groups_, work_group_, args, "reorder"});
    std::shift_left(args.begin() + 7, args.end(), 1);  // without a scan there are no totals
    queue.launch({*scatter_, groups_, work_group_,
                  std::span<const Arg>(args).first(args.size() - 1), "scan + reorder"});
  }
};

// Uses few work-items, each with a long part of its own (lsd_cpu.cl).
class CpuSorter final : public PassesSorter {
 public:
  CpuSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : PassesSorter(problem) {
    // Several parts for each core: if another process uses a core for a while, other cores process
    // its parts. Short lists get fewer parts, because the scan reads the counts of all parts once
    // for every part.
    const unsigned cores = device.compute_units;
    const std::uint64_t wanted =
        given.number("groups", (problem.count <= (std::uint64_t{cores} << 16) ? 2 : 4) * cores);
    divide(std::max<std::uint64_t>(ceil_div(problem.count, wanted),
                                   std::min<std::uint64_t>(problem.count, 1024)));
  }

  std::string parameters() const override { return fmt::format("variant=cpu,groups={}", groups_); }

  void build(Device& device, const Capabilities& capabilities) override {
    moves_.build(device, capabilities);
    module_ = kernels::build(device, capabilities, kernels::embedded::lsd_cpu_cl,
                             LsdCpuParameters{digit_bits}.defines(problem_));
    count_ = module_->kernel("lsd_cpu_count");
    scatter_ = module_->kernel("lsd_cpu_scatter");
  }
};

// Ranks tiles in sub-groups and sorts them in local memory (lsd.cl).
class GpuSorter final : public PassesSorter {
 public:
  GpuSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : PassesSorter(problem) {
    choose_work_group(device, given);
    choose_items(device, given);
    const std::uint64_t tile = std::uint64_t{work_group_} * items_;
    const std::uint64_t tiles = ceil_div(problem.count, tile);
    const std::uint64_t wanted = std::min(tiles, given.number("groups", 8 * device.compute_units));
    divide(ceil_div(tiles, std::max<std::uint64_t>(wanted, 1)) * tile);
    totals_ = scratch_.add(radix_size * kernels::index_bytes(problem.count));
  }

  std::string parameters() const override {
    return fmt::format("variant=gpu,work_group={},items={},groups={}", work_group_, items_,
                       groups_);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    const LsdParameters parameters{
        .work_group = work_group_, .items = items_, .digit_bits = digit_bits};
    moves_.build(device, capabilities);
    module_ = kernels::build(device, capabilities,
                             {kernels::embedded::tile_ranks_cl, kernels::embedded::lsd_cl},
                             parameters.defines(problem_));
    count_ = module_->kernel("lsd_count");
    scan_ = module_->kernel("lsd_scan");
    scatter_ = module_->kernel("lsd_scatter");
  }

 private:
  void choose_work_group(const Capabilities& device, const Parameters& given) {
    const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
    work_group_ = static_cast<unsigned>(given.number("work_group", std::min(largest, 256u)));
    if (!std::has_single_bit(work_group_) || work_group_ > largest ||
        work_group_ < device.sub_group_size)
      throw Error(ErrorCode::unsupported, fmt::format("lsd: work_group={} is not a power of two "
                                                      "between {} (the sub-group size) and {} (the "
                                                      "device's largest work-group)",
                                                      work_group_, device.sub_group_size, largest));
  }

  void choose_items(const Capabilities& device, const Parameters& given) {
    // As many records for each work-item as local memory and registers hold.
    const std::uint64_t index = kernels::index_bytes(problem_.count);
    const std::uint64_t fixed = kernels::rank_bytes(device, work_group_, radix_size + 1) +
                                2 * radix_size * index +
                                2 * std::min<std::uint64_t>(work_group_, radix_size) * index;
    const std::uint64_t record =
        info(problem_.key).bytes + (problem_.payload == Payload::none ? 0 : problem_.value_bytes);
    const std::uint64_t most =
        device.local_memory > fixed ? (device.local_memory - fixed) / (record * work_group_) : 0;
    items_ = static_cast<unsigned>(given.number("items", std::min<std::uint64_t>(most, 16)));
    if (items_ < 1 || items_ > most)
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "lsd: items={} with work_group={} needs {} bytes of local memory; the device has {}, "
              "which allows items up to {}",
              std::max(items_, 1u), work_group_,
              fixed + std::max(items_, 1u) * record * work_group_, device.local_memory, most));
  }

  unsigned items_ = 0;
};

class Lsd final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "lsd",
        .title = "LSD radix sort, 8-bit digits, reduce-then-scan; variants for GPUs and for CPUs",
        .source = "Satish, Harris, Garland 2009; Merrill, Grimshaw 2010",
        .stable = true,
        .cost =
            "bits/8 passes; each reads the keys twice and writes the records once; 3 launches a "
            "pass (CPU: 2) and one; a "
            "pass whose digit all keys share only reads the keys",
        .parameters = {
            {"variant",
             "the kernels; the default depends on the kind of device",
             0,
             0,
             {"gpu", "cpu"}},
            {"work_group", "work-items of a work-group (variant gpu)", 1, 1024, {}},
            {"items", "records of a work-item in a tile (variant gpu)", 1, 64, {}},
            {"groups", "the most work-groups; each has one contiguous part", 1, 65536, {}}}};
    return info;
  }

  Rank suits(const Problem&, const Capabilities&) const override { return Rank::many_launches; }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    if (given.word("variant", device.kind == DeviceKind::cpu ? "cpu" : "gpu") == "gpu")
      return std::make_unique<GpuSorter>(problem, device, given);
    for (const auto* name : {"work_group", "items"})
      if (given.has(name))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("lsd: {} is a parameter of variant=gpu only", name));
    return std::make_unique<CpuSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::lsd() {
  static const Lsd algorithm;
  return algorithm;
}

}  // namespace sortium
