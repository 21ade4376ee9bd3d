#include "select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../kernels/kernels.hpp"
#include "embedded.hpp"

namespace sortium {

namespace {

constexpr unsigned digit_bits = 11;
constexpr std::uint64_t radix_size = 1u << digit_bits;
constexpr std::uint64_t table_bytes = 2 * radix_size * 4, pick_bytes = 2 * 8;

// What select.cl is specialised for.
struct SelectParameters {
  unsigned work_group;  // work-items of a work-group, a power of two
  unsigned items;       // neighbouring records of a work-item in a tile

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(radix_problem(problem))
        .set("DIGIT_BITS", digit_bits)
        .set("WG", work_group)
        .set("ITEMS", items);
  }
};

}  // namespace

RadixSelect::RadixSelect(const Problem& problem, const Capabilities& device,
                         const Parameters& given, ScratchLayout& layout)
    : problem_(problem), digits_(digits(problem, digit_bits)) {
  std::ranges::reverse(digits_);
  for (const auto& d : digits_) bits_ |= std::uint64_t{d.mask} << d.shift;

  // On CPUs a work-group is one sub-group, often one work-item, and processes a long part of the
  // list. On GPUs work-groups are larger, so that neighbouring work-items load neighbouring keys.
  const bool gpu = device.kind != DeviceKind::cpu;
  const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
  const unsigned least = device.sub_group_words == SubGroupWords::emulated
                             ? 1
                             : std::min(device.sub_group_size, largest);
  work_group_ =
      static_cast<unsigned>(given.number("work_group", gpu ? std::min(largest, 256u) : least));
  if (!std::has_single_bit(work_group_) || work_group_ < least || work_group_ > largest)
    throw Error(ErrorCode::unsupported,
                fmt::format("topk: work_group={} is not a power of two between {} and {}",
                            work_group_, least, largest));
  items_ = static_cast<unsigned>(given.number("items", work_group_ == 1 ? 16 : 4));
  const std::uint64_t tile = std::uint64_t{work_group_} * items_;
  if (tile > 0x8000)
    throw Error(ErrorCode::unsupported,
                fmt::format("topk: work_group={},items={} make tiles of {} records; up to 32768 is "
                            "allowed",
                            work_group_, items_, tile));
  const std::uint64_t tiles = ceil_div(problem.count, tile);
  const std::uint64_t wanted =
      std::min(tiles, given.number("groups", (gpu ? 8 : 4) * std::uint64_t{device.compute_units}));
  part_ = ceil_div(tiles, std::max<std::uint64_t>(wanted, 1)) * tile;
  groups_ = ceil_div(problem.count, std::max<std::uint64_t>(part_, 1));

  tables_ = layout.add(digits_.size() * table_bytes);
  picks_ = layout.add(digits_.size() * pick_bytes);
  const std::uint64_t counts = 2 * groups_ + 1;
  counts_ = layout.add(counts * kernels::index_bytes(problem.count));
  scan_ = Scan(counts, 1, problem.count, device, layout);
}

std::string RadixSelect::parameters() const {
  return fmt::format("work_group={},items={},groups={}", work_group_, items_, groups_);
}

void RadixSelect::build(Device& device, const Capabilities& capabilities) {
  const SelectParameters select{.work_group = work_group_, .items = items_};
  module_ =
      kernels::build(device, capabilities, kernels::embedded::select_cl, select.defines(problem_));
  count_ = module_->kernel("select_count");
  pick_ = module_->kernel("select_pick");
  tally_ = module_->kernel("select_tally");
  partition_ = module_->kernel("select_partition");
  scan_.build(device, capabilities);
}

void RadixSelect::enqueue(Queue& queue, const Operands& o, std::uint64_t k,
                          std::uint64_t limit) const {
  const Memory tables = tables_.in(o), picks = picks_.in(o), counts = counts_.in(o);
  queue.fill(tables, 0, tables_.bytes, "select");
  Memory before;
  std::uint64_t decided = 0;
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    const auto [shift, mask] = digits_[d];
    const Memory table = tables.slice(d * table_bytes, table_bytes),
                 after = picks.slice(d * pick_bytes, pick_bytes);
    const Arg count_args[] = {{"keys", o.keys_in},   {"table", table},    {"before", before},
                              {"n", problem_.count}, {"part", part_},     {"shift", shift},
                              {"mask", mask},        {"decided", decided}};
    queue.launch({*count_, groups_, work_group_, count_args, "select"});
    const Arg pick_args[] = {
        {"table", table}, {"before", before}, {"after", after}, {"k", k}, {"shift", shift}};
    queue.launch({*pick_, 1, work_group_, pick_args, "select"});
    decided |= std::uint64_t{mask} << shift;
    before = after;
  }
  const Arg tally_args[] = {{"keys", o.keys_in},   {"counts", counts}, {"picked", before},
                            {"n", problem_.count}, {"part", part_},    {"bits", bits_}};
  queue.launch({*tally_, groups_, work_group_, tally_args, "tally"});
  scan_.enqueue(queue, o, counts);
  const Arg partition_args[] = {{"keys_in", o.keys_in},
                                {"keys_out", o.keys_out},
                                {"values_in", o.values_in},
                                {"values_out", o.values_out},
                                {"counts", counts},
                                {"picked", before},
                                {"n", problem_.count},
                                {"part", part_},
                                {"bits", bits_},
                                {"limit", limit}};
  queue.launch({*partition_, groups_, work_group_, partition_args, "compact"});
}

}  // namespace sortium
