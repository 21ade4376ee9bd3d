#include "segmented_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace sortium::segmented {
namespace {

constexpr unsigned block_items = 19, spread_items = 9;  // records of a work-item
// Segments of up to lane_shorts records per lane, or few_lane_shorts if the average is at most
// few_on_average, are sorted by the classify launch, with up to most_lanes lanes.
constexpr unsigned lane_shorts = 32, few_lane_shorts = 16, few_on_average = 20, most_lanes = 4;
// Neighbouring digits share a bucket with at most merged_from * block_least records. That is the
// longest segment of the third block class (not counting the one added by `spread`), which is
// sorted fast. Larger buckets also mean fewer buckets.
constexpr std::uint64_t merged_from = 4;
// Tiles of a part. So many that the work before the first tile costs little.
constexpr std::uint64_t tiles_of_part = 4;
constexpr std::uint64_t gap_bytes = 64;  // alignment gaps between a structure's arrays

void check_segments(const Problem& problem) {
  if (problem.segments == 0 || problem.segments >= std::uint64_t{1} << 32)
    throw Error(ErrorCode::unsupported, fmt::format("segmented: segments is {}; 1 to 2^32 - 1 are "
                                                    "allowed",
                                                    problem.segments));
}

// Bytes of segmented_classify_memory_t (segmented_neighbours.cl). The macro SPREAD leaves one slot
// in 33 unused. Each sub-group's round_t begins at a multiple of 8 bytes.
std::uint64_t neighbours_bytes(const Problem& p, const Capabilities& device, const Items& items,
                               unsigned work_group) {
  const std::uint64_t lanes = std::min(device.sub_group_size, 32u), sub_groups = work_group / lanes;
  const std::uint64_t slots = lanes * items.longest * 33 / 32, source = items.composite ? 2 : 0;
  const std::uint64_t round =
      slots * (info(p.key).bytes + value_bytes(p) + source) + lanes + gap_bytes / 4;
  const std::uint64_t starts_here_before = 16 * work_group;
  return sub_groups * round + starts_here_before + gap_bytes;
}

// Chooses the number of segments of a work-group: as many as possible while local memory holds four
// work-groups per compute unit.
Classify classify(const Problem& p, const Capabilities& device) {
  Classify c = classify_only(p, device);
  // An item has 32 bits: the key's order bits, or (composite) some of these bits followed by the
  // record's position. Floats without values, compared by all bits, need no position: equal ones
  // have equal bits.
  const bool composite_items =
      p.payload != Payload::none || key_bits(p) != info(p.key).bits() || info(p.key).bits() > 32;
  const bool are_few = p.count / std::max<std::uint64_t>(p.segments, 1) <= few_on_average;
  const Items shorts{.longest = are_few ? few_lane_shorts : lane_shorts,
                     .sort_bits = 32,
                     .composite = composite_items,
                     .gathers = composite_items};
  c.work_group = std::min(c.work_group, 128u);
  while (c.work_group > 64 &&
         4 * neighbours_bytes(p, device, shorts, c.work_group) > device.local_struct)
    c.work_group /= 2;
  // Emulated sub-groups need a word for each work-item.
  if (neighbours_bytes(p, device, shorts, c.work_group) + 4 * c.work_group <= device.local_struct) {
    c.shorts = shorts;
    c.lanes = std::min(most_lanes, std::bit_floor(device.sub_group_size));
  }
  c.bytes = neighbours_bytes(p, device, c.shorts, c.work_group);
  return c;
}

// Bytes of segmented_memory_t (segmented_block_bins.cl).
std::uint64_t block_bytes(const Problem& p, const Capabilities& device, const Block& b) {
  const std::uint64_t bins = std::max<std::uint64_t>(
      b.bin_share / 2 * b.work_group * 4, kernels::rank_bytes(device, b.work_group, radix_size));
  const std::uint64_t key = b.gathers ? info(p.key).bytes : 0;
  const std::uint64_t item = std::max({std::uint64_t{b.sort_bits} / 8, key, value_bytes(p)});
  const std::uint64_t scratch = 2 * b.work_group * kernels::index_bytes(p.count);
  return b.work_group * b.items * item + bins + scratch + 64;
}

bool add_block(const Problem& p, const Capabilities& device, unsigned work_group, bool leaves,
               std::vector<Block>& blocks) {
  const auto b = make_block(p, device, work_group, leaves ? spread_items : block_items, leaves);
  if (b) blocks.push_back(*b);
  return b.has_value();
}

// Chooses the block classes. The size of work-groups doubles from class to class, as far as local
// memory allows.
void choose_blocks(const Problem& p, const Capabilities& device, const Parameters& given,
                   unsigned largest_work_group, GpuShape& shape) {
  Lists& lists = shape.lists;
  const unsigned least_work_group = std::max(device.sub_group_size, 32u);
  // Add a block class for the lengths of the last tiny class. If the leading bits of the keys
  // differ, a sort by bins takes fewer steps than a network.
  if (least_work_group * spread_items >= lists.longest_of(lists.tiny - 1))
    lists.spread = add_block(p, device, least_work_group, true, shape.blocks);
  const auto wanted = given.number("blocks", most_blocks) + lists.spread;
  for (unsigned work_group = least_work_group;
       work_group <= largest_work_group && shape.blocks.size() < wanted; work_group *= 2)
    if (!add_block(p, device, work_group, false, shape.blocks)) break;
  lists.blocks = static_cast<unsigned>(shape.blocks.size());
  lists.block_least = std::uint64_t{least_work_group} * block_items;
}

// Bytes of segmented_scatter_memory_t (segmented_partition.cl) without the tile's records.
std::uint64_t fixed_scatter_bytes(const Problem& p, const Capabilities& device, const Lists& lists,
                                  unsigned work_group) {
  const std::uint64_t index = kernels::index_bytes(p.count);
  const std::uint64_t to_out_edges_scratch = (4 * radix_size + 2) * index;
  const std::uint64_t ranks = kernels::rank_bytes(device, work_group, radix_size + 1);
  const std::uint64_t buckets = lists.digits();
  return to_out_edges_scratch + ranks + buckets + gap_bytes;
}

// Chooses the tiles by which long segments are partitioned. A work-item has as many records as
// local memory and registers allow.
void choose_tiles(const Problem& p, const Capabilities& device, const Parameters& given,
                  unsigned largest_work_group, GpuShape& shape) {
  const bool large = device.local_struct > 64 * 1024;
  shape.long_work_group = large ? std::min(largest_work_group, 512u) : 256;
  shape.long_resident = large ? 1024 / shape.long_work_group : 1;
  const std::uint64_t fixed = fixed_scatter_bytes(p, device, shape.lists, shape.long_work_group);
  const std::uint64_t key = info(p.key).bytes;
  const std::uint64_t of_item = (key + value_bytes(p)) * shape.long_work_group;
  const std::uint64_t available =
      device.local_struct / shape.long_resident - (shape.long_resident > 1 ? 1024 : 0);
  const std::uint64_t most = available > fixed ? (available - fixed) / of_item : 0;
  const std::uint64_t in_registers = key == 8 ? 10 : 16;
  shape.long_items = static_cast<unsigned>(std::min(most, in_registers));
  if (shape.long_items == 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("segmented: {} bytes of local memory are needed; the device has {}",
                            fixed + of_item, available));
  shape.scatter_bytes = fixed + shape.long_items * of_item;
  shape.groups = given.number("groups", 8 * device.compute_units);
  shape.split_work_group = std::min(largest_work_group, 512u);
  shape.lists.part = tiles_of_part * shape.long_work_group * shape.long_items;
  shape.lists.most_parts_of_one = static_cast<unsigned>(
      std::min<std::uint64_t>(shape.groups, 2 * std::uint64_t{device.compute_units}));
}

}  // namespace

std::uint64_t Lists::longest_of(unsigned k) const {
  if (spread && k == tiny) return std::uint64_t{row} << (k - 1);
  return k < tiny ? std::uint64_t{row} << k : block_least << (k - tiny - spread);
}

std::uint64_t Lists::capacity(unsigned k, const Problem& p) const {
  const unsigned shorter = spread && k == tiny ? k - 2 : k - 1;
  const std::uint64_t as_n_records = p.count / (k == 0 ? 2 : std::bit_floor(longest_of(shorter)));
  const std::uint64_t most_pieces = k + 1 < tiny    ? 0
                                    : k + 1 == tiny ? pieces
                                                    : std::min(pieces, as_n_records);
  return std::min(p.segments, as_n_records) + most_pieces;
}

void Lists::lay_out(const Problem& p, ScratchLayout& layout) {
  const std::uint64_t index = kernels::index_bytes(p.count), task = 2 * index;
  most_longs = p.count / (longest() + 1);
  if (merged == 0) {
    most_longs = std::min(most_longs, p.segments);
  } else if (most_longs != 0) {
    // A block of digits with more than `merged` records is divided in two, once for each bit. So
    // long segments have at most a bucket for each bit and one more per `merged` records.
    pieces = levels * std::min(radix_size * most_longs, (long_digit_bits + 1) * (p.count / merged));
  }
  begins.push_back(0);
  for (unsigned k = 0; k < tiny + blocks; ++k) begins.push_back(begins.back() + capacity(k, p));
  most_parts = most_longs == 0 ? 0 : most_longs + p.count / part;
  counters = layout.add((2 * tiny + blocks + 2 * (levels + 1)) * 4);
  tasks = layout.add(std::max<std::uint64_t>(begins.back(), 1) * task);
  for (auto& l : longs)
    if (merged != 0 || &l == longs)
      l = {layout.add(std::max<std::uint64_t>(most_longs, 1) * (2 * index + 16)),
           layout.add(std::max<std::uint64_t>(most_parts, 1) * 3 * index)};
}

Memory Lists::list(unsigned k, const Operands& o, const Problem& p) const {
  const std::uint64_t task = 2 * kernels::index_bytes(p.count);
  return tasks.in(o).slice(begins[k] * task, (begins[k + 1] - begins[k]) * task);
}

Memory Lists::length(unsigned k, const Operands& o) const { return counters.in(o).slice(4 * k, 4); }

Memory Lists::longs_lengths(unsigned level, const Operands& o) const {
  return counters.in(o).slice(4 * (tiny + blocks + 2 * level), 8);
}

Memory Lists::again_lengths(const Operands& o) const {
  return counters.in(o).slice(4 * (tiny + blocks + 2 * (levels + 1)), 4 * tiny);
}

kernels::Defines Lists::defines(const Problem& p) const {
  kernels::Defines d;
  d.problem(radix_problem(p))
      .set("ROW", row)
      .set("TINY_CLASSES", tiny)
      .set("BLOCK_CLASSES", blocks)
      .set("BLOCK_LEAST", block_least)
      .set("SPREAD", int{spread});
  return d;
}

std::uint64_t rank_mask(const Problem& p) { return ~std::uint64_t{0} >> (64 - key_bits(p)); }

void set(kernels::Defines& defines, const Items& items) {
  defines.set("COMPOSITE", int{items.composite})
      .set("WIDE", int{items.wide})
      .set("SORT_BITS", items.sort_bits)
      .set("GATHER_KEYS", int{items.gathers});
}

kernels::Defines Classify::defines(const Problem& p, const Lists& lists) const {
  // The keys and items of a lane's records must fit its registers.
  const unsigned work_items = info(p.key).bits() > 32 ? 384u : shorts.longest == 16 ? 1024u : 640u;
  auto defines = lists.defines(p);
  defines.set("WG", work_group)
      .set("OFFSET_BITS", 8 * p.offset_bytes)
      .set("MANY_CHUNKS", int{most_groups != 0})
      .resident(std::max(1u, work_items / work_group), work_group)
      .set("SHORT", shorts.longest)
      .set("LANES", lanes)
      .local_struct("segmented_classify_memory_t", bytes);
  set(defines, shorts);
  return defines;
}

void Block::set(kernels::Defines& defines) const {
  defines.set("WG", work_group)
      .set("ITEMS", items)
      .set("BIN_SHARE", bin_share)
      .set("COMPOSITE", int{composite})
      .set("SORT_BITS", sort_bits)
      .set("POSITION_BITS", position_bits)
      .set("DROPS", int{drops})
      .set("GATHER_KEYS", int{gathers})
      .set("LEAVES", int{leaves})
      .set("EQUAL", int{equal});
}

kernels::Defines Block::defines(const Problem& p, const Lists& lists) const {
  auto defines = lists.defines(p);
  set(defines);
  defines.resident(resident, work_group).local_struct("segmented_memory_t", bytes);
  return defines;
}

kernels::Defines GpuShape::tiny_defines(const Problem& p, const Items& items, bool drops) const {
  auto defines = lists.defines(p);
  defines.set("WG", tiny_work_group).set("DROPS", int{drops});
  set(defines, items);
  return defines;
}

kernels::Defines GpuShape::partition_defines(const Problem& p, const Lists& laid_out) const {
  auto defines = laid_out.defines(p);
  defines.set("WG", long_work_group)
      .set("ITEMS", long_items)
      .resident(long_resident, long_work_group)
      .set("TEAMS", split_work_group / radix_size)
      .set("MERGED", laid_out.merged)
      .set("MOST_MERGED", laid_out.longest())
      .set("DIGIT_BITS", laid_out.long_digit_bits)
      .local_struct("segmented_scatter_memory_t", scatter_bytes);
  return defines;
}

bool gathers_keys(const Problem& p) {
  return info(p.key).is_float || key_bits(p) != info(p.key).bits();
}

Items items_of(const Problem& p, unsigned longest, unsigned position_bits) {
  const unsigned needed = key_bits(p) + (composite(p) ? position_bits : 0);
  return {.longest = longest,
          .sort_bits = needed > 32 ? 64u : 32u,
          .composite = composite(p),
          .wide = needed > 64,
          .gathers = gathers_keys(p)};
}

Classify classify_only(const Problem& p, const Capabilities& device) {
  Classify c;
  c.work_group = std::bit_floor(std::min(device.max_work_group, 256u));
  c.bytes = neighbours_bytes(p, device, {}, c.work_group);
  return c;
}

GpuShape make_gpu_shape(const Problem& problem, const Capabilities& device,
                        const Parameters& given) {
  check_segments(problem);
  const auto largest = std::bit_floor(std::min(device.max_work_group, 1024u));
  const unsigned lanes = std::min(device.sub_group_size, 32u);
  if (largest < radix_size || device.sub_group_size > largest || !std::has_single_bit(lanes))
    throw Error(
        ErrorCode::unsupported,
        fmt::format("segmented: work-groups of {} and sub-groups of {}; {} work-items are needed",
                    device.max_work_group, device.sub_group_size, radix_size));
  GpuShape shape;
  shape.lists.tiny = static_cast<unsigned>(std::bit_width(lanes));
  shape.lists.levels = static_cast<unsigned>(digits(problem, digit_bits).size());
  // Most of a float's leading bits are the exponent's, which has few values.
  shape.lists.long_digit_bits = info(problem.key).is_float ? digit_bits + 2 : digit_bits;
  shape.classify = classify(problem, device);
  shape.classify.most_groups = given.number("classify_groups", 0);
  choose_blocks(problem, device, given, largest, shape);
  choose_tiles(problem, device, given, largest, shape);
  shape.lists.merged = std::min(merged_from * shape.lists.block_least, shape.lists.longest());

  shape.tiny_work_group = std::max(device.sub_group_size, 128u);
  shape.tiny_items =
      items_of(problem, static_cast<unsigned>(shape.lists.longest_of(shape.lists.tiny - 1)),
               tiny_position_bits);
  shape.tiny_items.gathers |= shape.tiny_items.wide;
  shape.tiny_drops = key_bits(problem) + (composite(problem) ? tiny_position_bits : 0) > 32;
  return shape;
}

std::optional<Block> make_block(const Problem& p, const Capabilities& device, unsigned work_group,
                                unsigned items, bool leaves) {
  Block b{.work_group = work_group, .items = items, .leaves = leaves};
  b.position_bits = static_cast<unsigned>(std::bit_width(work_group * b.items - 1));
  b.composite = p.payload != Payload::none || key_bits(p) != info(p.key).bits();
  const unsigned needed = key_bits(p) + (b.composite ? b.position_bits : 0);
  b.sort_bits = needed > 32 && !(leaves && b.composite) ? 64 : 32;
  b.drops = needed > b.sort_bits;
  b.gathers = b.composite && (gathers_keys(p) || b.drops);
  // Bins are less often crowded if there are more of them. Work-items with few items allow fewer
  // items of a bin.
  const bool are_few = items <= 16 && !leaves;
  b.bin_share = (b.composite && info(p.key).is_float && !leaves) || are_few ? 32 : 16;
  b.bytes = block_bytes(p, device, b);
  // Emulated sub-groups need a word for each work-item.
  if (b.bytes + 4 * work_group > device.local_struct) return {};
  const unsigned by_registers = (b.sort_bits == 64 && !are_few ? 768 : 1024) / work_group;
  const auto by_local = static_cast<unsigned>(device.local_struct / (b.bytes + 1024));
  b.resident = std::max(1u, std::min(by_registers, by_local));
  return b;
}

std::optional<Block> row_block(const Problem& problem, const Capabilities& device,
                               std::uint64_t length) {
  // The work-group's capacity in records should be little more than the length. The number of
  // records of a work-item is odd, so that neighbours use different banks of local memory. In
  // work-groups of 1024, a work-item has registers for at most block_items records.
  constexpr unsigned least_items = 9, most_items = 27;
  const unsigned largest = std::bit_floor(std::min(device.max_work_group, 1024u));
  for (unsigned work_group = std::max(device.sub_group_size, 32u); work_group <= largest;
       work_group *= 2)
    for (unsigned items = least_items; items <= (work_group < 1024 ? most_items : block_items);
         items += 2)
      if (std::uint64_t{work_group} * items >= length) {
        auto block = make_block(problem, device, work_group, items, false);
        if (!block) continue;  // fewer items may have more bins, which need more local memory
        block->equal = true;
        return block;
      }
  return {};
}

Lists make_cpu_lists(const Problem& problem, std::uint64_t groups) {
  check_segments(problem);
  Lists lists;
  lists.blocks = 1;
  lists.block_least = std::uint64_t{1} << 16;
  lists.part = std::max<std::uint64_t>(ceil_div(problem.count, groups), 1 << 14);
  return lists;
}

}  // namespace sortium::segmented
