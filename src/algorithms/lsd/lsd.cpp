// Least-significant-digit radix sort by reduce-then-scan: the portable default.
// Satish, Harris, Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs" (2009), for the tile sorted in
// local memory before it is scattered; Merrill, Grimshaw (2010) for a fixed number of work-groups with long parts.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr unsigned digit_bits = 8;
constexpr std::uint64_t radix_size = 1u << digit_bits;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Few work-items, each with a long part of its own (lsd_cpu.cl).
class CpuSorter final : public Sorter {
 public:
  CpuSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), digits_(digits(problem, digit_bits)), passes_(problem, digits_.size(), scratch_) {
    // Some parts a core, so that a core that is taken away for a while does not hold up all the others.
    const std::uint64_t wanted = given.number("groups", 4 * device.compute_units);
    part_ = std::max<std::uint64_t>(ceil_div(problem.count, wanted), std::min<std::uint64_t>(problem.count, 1024));
    parts_ = ceil_div(problem.count, std::max<std::uint64_t>(part_, 1));
    counts_ = scratch_.add(radix_size * parts_ * kernels::index_bytes(problem.count));
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override { return fmt::format("variant=cpu,groups={}", parts_); }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, digits_.size(), 2); }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_)).set("DIGIT_BITS", digit_bits);
    module_ = kernels::build(device, capabilities, kernels::embedded::lsd_cpu_cl, defines);
    count_ = module_->kernel("lsd_cpu_count");
    scatter_ = module_->kernel("lsd_cpu_scatter");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Memory counts = counts_.in(o);
    passes_.start(queue, o);
    for (unsigned p = 0; p < digits_.size(); ++p) {
      const auto [shift, mask] = digits_[p];
      const auto b = passes_.pass(p, o);
      const Arg count_args[] = {b.keys_in, counts, problem_.count, part_, shift, mask};
      queue.launch({*count_, parts_, 1, count_args, "histogram"});
      const Arg scatter_args[] = {b.keys_in, b.keys_out,     b.values_in, b.values_out, counts,
                                  problem_.count, part_, shift,       mask,         std::uint32_t{b.make_positions}};
      queue.launch({*scatter_, parts_, 1, scatter_args, "scan + reorder"});
    }
  }

 private:
  Problem problem_;
  std::vector<Digit> digits_;
  ScratchLayout scratch_;
  PingPong passes_;
  std::uint64_t part_ = 0, parts_ = 0;  // records of a part; number of parts
  ScratchLayout::Slice counts_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, scatter_;
};

// Tiles ranked in sub-groups and sorted in local memory (lsd.cl).
class GpuSorter final : public Sorter {
 public:
  GpuSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), digits_(digits(problem, digit_bits)), passes_(problem, digits_.size(), scratch_) {
    const unsigned lanes = std::min(device.sub_group_size, 32u);
    const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
    work_group_ = static_cast<unsigned>(given.number("work_group", std::min(largest, 256u)));
    if (!std::has_single_bit(work_group_) || work_group_ > largest || work_group_ < device.sub_group_size)
      throw Error(ErrorCode::unsupported,
                  fmt::format("lsd: work_group={} is not a power of two between {} (the sub-group size) and {} (the "
                              "device's largest work-group)", work_group_, device.sub_group_size, largest));

    // As many records a work-item as local memory holds, but no more than registers do.
    const std::uint64_t index = kernels::index_bytes(problem.count);
    const std::uint64_t rank_words = (device.ordered_local_atomics ? 1 : 2) * (radix_size + 1);  // SG_RANK_WORDS
    const std::uint64_t fixed = work_group_ / lanes * rank_words * 4 + 2 * radix_size * index +
                                2 * std::min<std::uint64_t>(work_group_, radix_size) * index;
    const std::uint64_t record = info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const std::uint64_t most =
        device.local_memory > fixed ? (device.local_memory - fixed) / (record * work_group_) : 0;
    items_ = static_cast<unsigned>(given.number("items", std::min<std::uint64_t>(most, 16)));
    if (items_ < 1 || items_ > most)
      throw Error(ErrorCode::unsupported,
                  fmt::format("lsd: items={} with work_group={} needs {} bytes of local memory; the device has {}, "
                              "which allows items up to {}", std::max(items_, 1u), work_group_,
                              fixed + std::max(items_, 1u) * record * work_group_, device.local_memory, most));

    const std::uint64_t tile = std::uint64_t{work_group_} * items_;
    const std::uint64_t tiles = ceil_div(problem.count, tile);
    const std::uint64_t wanted = std::min(tiles, given.number("groups", 8 * device.compute_units));
    part_ = ceil_div(tiles, std::max<std::uint64_t>(wanted, 1)) * tile;
    groups_ = ceil_div(problem.count, std::max<std::uint64_t>(part_, 1));
    counts_ = scratch_.add(radix_size * groups_ * index);
    totals_ = scratch_.add(radix_size * index);
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    return fmt::format("variant=gpu,work_group={},items={},groups={}", work_group_, items_, groups_);
  }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, digits_.size(), 2); }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_)).set("DIGIT_BITS", digit_bits).set("WG", work_group_).set("ITEMS", items_);
    module_ = kernels::build(device, capabilities, kernels::embedded::lsd_cl, defines);
    count_ = module_->kernel("lsd_count");
    scan_ = module_->kernel("lsd_scan");
    scatter_ = module_->kernel("lsd_scatter");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Memory counts = counts_.in(o), totals = totals_.in(o);
    passes_.start(queue, o);
    for (unsigned p = 0; p < digits_.size(); ++p) {
      const auto [shift, mask] = digits_[p];
      const auto b = passes_.pass(p, o);
      const Arg count_args[] = {b.keys_in, counts, problem_.count, part_, shift, mask};
      queue.launch({*count_, groups_, work_group_, count_args, "histogram"});
      const Arg scan_args[] = {counts, totals, static_cast<std::uint32_t>(groups_)};
      queue.launch({*scan_, radix_size, work_group_, scan_args, "scan"});
      const Arg scatter_args[] = {b.keys_in,      b.keys_out, b.values_in, b.values_out, counts, totals,
                                  problem_.count, part_,      shift,       mask, std::uint32_t{b.make_positions}};
      queue.launch({*scatter_, groups_, work_group_, scatter_args, "reorder"});
    }
  }

 private:
  Problem problem_;
  std::vector<Digit> digits_;
  ScratchLayout scratch_;
  PingPong passes_;
  unsigned work_group_ = 0, items_ = 0;
  std::uint64_t part_ = 0, groups_ = 0;  // records of a work-group's part; number of work-groups
  ScratchLayout::Slice counts_, totals_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> count_, scan_, scatter_;
};

class Lsd final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "lsd",
        .title = "LSD radix sort, 8-bit digits, reduce-then-scan; variants for GPUs and for CPUs",
        .source = "Satish, Harris, Garland 2009; Merrill, Grimshaw 2010",
        .stable = true,
        .cost = "bits/8 passes; each reads the keys twice and writes the records once; 3 launches a pass (CPU: 2)",
        .parameters = {{"variant", "which kernels: the device's kind decides by default", 0, 0, {"gpu", "cpu"}},
                       {"work_group", "work-items of a work-group (variant gpu)", 1, 1024, {}},
                       {"items", "records of a work-item in a tile (variant gpu)", 1, 64, {}},
                       {"groups", "work-groups at most; each has one contiguous part", 1, 65536, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    if (given.word("variant", device.kind == DeviceKind::cpu ? "cpu" : "gpu") == "gpu")
      return std::make_unique<GpuSorter>(problem, device, given);
    for (const auto* name : {"work_group", "items"})
      if (given.has(name))
        throw Error(ErrorCode::invalid_argument, fmt::format("lsd: {} is a parameter of variant=gpu only", name));
    return std::make_unique<CpuSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::lsd() {
  static const Lsd room;
  return room;
}

}  // namespace sortium
