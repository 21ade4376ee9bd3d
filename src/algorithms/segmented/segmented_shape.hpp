// The dimensions of segmented's kernels and lists: pure functions of the problem, the device's
// capabilities and the caller's parameters.
#pragma once

#include <vector>

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium::segmented {

constexpr unsigned digit_bits = 8;
constexpr std::uint64_t radix_size = 1u << digit_bits;
constexpr unsigned most_blocks = 6;  // classes of lengths that work-groups sort in local memory

// The classes of segment lengths, as segmented_lists.cl has them, and the lists of their segments
// in scratch memory. First come `tiny` classes, which a few lanes sort, then `blocks` classes,
// which a work-group sorts; longer segments are long ones.
struct Lists {
  unsigned row = 8;  // records of a lane in the first tiny class
  unsigned tiny = 0, blocks = 0;
  bool spread = false;            // the first block class takes the lengths of the last tiny class
  std::uint64_t block_least = 0;  // longest segment of the first block class after that
  std::uint64_t part = 0;         // records of a part of a long segment, or more, so that
  unsigned most_parts_of_one = ~0u;  // no segment has more parts than this
  unsigned levels = 1;               // of partition, for long segments
  std::uint64_t merged = 0;  // records that a bucket of several digits may have; 0: no partition

  // Lists of long segments and of their parts. Even and odd levels alternate between two; segments
  // that no further level can partition have the third.
  struct Longs {
    ScratchLayout::Slice longs, parts;
  };
  ScratchLayout::Slice counters, tasks;
  Longs longs[3];
  std::vector<std::uint64_t> begins;  // of the classes' lists, in tasks
  std::uint64_t pieces = 0;           // buckets of long segments, at most
  std::uint64_t most_longs = 0, most_parts = 0;

  // The longest segment of class k.
  [[nodiscard]] std::uint64_t longest_of(unsigned k) const;
  // The longest segment that is not long.
  [[nodiscard]] std::uint64_t longest() const { return longest_of(tiny + blocks - 1); }
  // How many segments class k's list can hold: list_capacity of segmented_lists.cl.
  [[nodiscard]] std::uint64_t capacity(unsigned k, const Problem& problem) const;

  // Once the members before `longs` are set.
  void lay_out(const Problem& problem, ScratchLayout& layout);

  // Class k's list, and the word with its length.
  [[nodiscard]] Memory list(unsigned k, const Operands& o, const Problem& problem) const;
  [[nodiscard]] Memory length(unsigned k, const Operands& o) const;
  // Two words: how many long segments a level has, and how many parts. `levels`: those that no
  // further level can partition.
  [[nodiscard]] Memory longs_lengths(unsigned level, const Operands& o) const;
  // A word for each tiny class: how many of its segments are sorted once more.
  [[nodiscard]] Memory again_lengths(const Operands& o) const;
  [[nodiscard]] const Longs& of(unsigned level) const {
    return longs[level == levels ? 2 : level % 2];
  }
  // The parameters of segmented_lists.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

// The items that short segments' records are sorted by (segmented_items.cl).
struct Items {
  unsigned longest = 0;  // records of a segment; 0: there are no such segments
  unsigned sort_bits = 32;
  bool composite = false, wide = false, gathers = false;
};
// Sets the parameters of segmented_items.cl.
void set(kernels::Defines& defines, const Items& items);
// With so many bits for a record's position in its segment.
[[nodiscard]] Items items_of(const Problem& problem, unsigned longest, unsigned position_bits);

// True if a key's order does not hold all bits of the key.
[[nodiscard]] bool gathers_keys(const Problem& problem);

// How segments of a block class are sorted (segmented_block.cl).
struct Block {
  unsigned work_group = 0, items = 0;
  unsigned position_bits = 0, sort_bits = 0;
  unsigned resident = 1;    // work-groups that share a compute unit
  bool leaves = false;      // segments that bins do not sort are left to the tiny classes
  bool drops = false;       // items leave out bits of a rank
  bool gathers = false;     // items do not hold all bits of a key
  std::uint64_t bytes = 0;  // of segmented_memory_t

  // The parameters of segmented_block.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Lists& lists) const;
};

// The launch that sorts segments into classes (segmented_classify.cl).
struct Classify {
  unsigned work_group = 0;
  Items shorts;             // segments that it sorts at once
  std::uint64_t bytes = 0;  // of segmented_classify_memory_t

  // The parameters of segmented_classify.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Lists& lists) const;
};

struct GpuShape {
  Lists lists;
  Classify classify;
  std::vector<Block> blocks;
  unsigned tiny_work_group = 0;
  Items tiny_items;         // by all bits
  bool tiny_drops = false;  // tiny classes are first sorted by items that leave out bits
  // Long segments (segmented_partition.cl):
  unsigned long_work_group = 0, long_items = 0, long_resident = 1;
  unsigned split_work_group = 0;
  std::uint64_t groups = 0;         // work-groups, at most
  std::uint64_t scatter_bytes = 0;  // of segmented_scatter_memory_t

  // The parameters of segmented_tiny.cl.
  [[nodiscard]] kernels::Defines tiny_defines(const Problem& problem, const Items& items,
                                              bool drops) const;
  // The parameters of segmented_partition.cl; `laid_out`: the lists with their capacities.
  [[nodiscard]] kernels::Defines partition_defines(const Problem& problem,
                                                   const Lists& laid_out) const;
};

constexpr unsigned tiny_position_bits = 8;

// Both throw Error(unsupported) if the number of segments, or the device, is not supported.
[[nodiscard]] GpuShape make_gpu_shape(const Problem& problem, const Capabilities& device,
                                      const Parameters& given);
// `groups`: work-groups that go through long segments.
[[nodiscard]] Lists make_cpu_lists(const Problem& problem, std::uint64_t groups);
// The launch that sorts segments into classes but sorts none at once.
[[nodiscard]] Classify classify_only(const Problem& problem, const Capabilities& device);

}  // namespace sortium::segmented
