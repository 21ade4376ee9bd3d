// The dimensions of segmented's kernels and lists: pure functions of the problem, the device's
// capabilities and the caller's parameters.
#pragma once

#include <optional>
#include <vector>

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium::segmented {

constexpr unsigned digit_bits = 8;
constexpr std::uint64_t radix_size = 1u << digit_bits;  // also the most buckets of a long segment
constexpr unsigned most_blocks = 6;  // classes of lengths that work-groups sort in local memory

// Returns the bytes of a value or position; 0 if there are none.
[[nodiscard]] inline std::uint64_t value_bytes(const Problem& p) {
  return p.payload == Payload::none ? 0 : p.value_bytes;
}

// The classes of segment lengths, as in segmented_lists.cl, and their lists in scratch memory.
// First come `tiny` classes, whose segments a few lanes sort; then `blocks` classes, whose segments
// a work-group sorts. All other segments are long.
struct Lists {
  unsigned row = 8;  // records of a lane in the first tiny class
  unsigned tiny = 0, blocks = 0;
  bool spread = false;  // the first block class covers the lengths of the last tiny class
  std::uint64_t block_least =
      0;  // longest segment of the first block class, or of the second with `spread`
  std::uint64_t part = 0;                 // records of a part of a long segment; more if it would
  unsigned most_parts_of_one = ~0u;       // otherwise have more parts than this
  unsigned levels = 1;                    // levels of partition for long segments
  unsigned long_digit_bits = digit_bits;  // bits of the digits that partition them
  std::uint64_t merged = 0;  // most records of a bucket of several digits; 0: no partition

  // Lists of long segments and of their parts. Even and odd levels alternate between two; the third
  // is for segments that no further level can partition.
  struct Longs {
    ScratchLayout::Slice longs, parts;
  };
  ScratchLayout::Slice counters, tasks;
  Longs longs[3];
  std::vector<std::uint64_t> begins;  // where each class's list begins in tasks
  std::uint64_t pieces = 0;           // the most buckets of long segments
  std::uint64_t most_longs = 0, most_parts = 0;

  // Records of the longest segment of class k.
  [[nodiscard]] std::uint64_t longest_of(unsigned k) const;
  // Records of the longest segment that a work-group can sort; longer segments are "long".
  [[nodiscard]] std::uint64_t longest() const { return longest_of(tiny + blocks - 1); }
  // How many digits are counted in each part.
  [[nodiscard]] std::uint64_t digits() const { return std::uint64_t{1} << long_digit_bits; }
  // Capacity of class k's list in segments: list_capacity() in segmented_lists.cl.
  [[nodiscard]] std::uint64_t capacity(unsigned k, const Problem& problem) const;

  // Computes the members from `longs` onwards. The members before must be set.
  void lay_out(const Problem& problem, ScratchLayout& layout);

  // The memory of class k's list, and of the 32-bit word with its length.
  [[nodiscard]] Memory list(unsigned k, const Operands& o, const Problem& problem) const;
  [[nodiscard]] Memory length(unsigned k, const Operands& o) const;
  // Two words: the number of long segments of a level and the number of their parts. Level `levels`
  // is for segments that cannot be partitioned further.
  [[nodiscard]] Memory longs_lengths(unsigned level, const Operands& o) const;
  // One word for each tiny class: how many of its segments must be sorted a second time.
  [[nodiscard]] Memory again_lengths(const Operands& o) const;
  [[nodiscard]] const Longs& of(unsigned level) const {
    return longs[level == levels ? 2 : level % 2];
  }
  // Returns the parameters of segmented_lists.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

// The items by which short segments are sorted (segmented_items.cl).
struct Items {
  unsigned longest = 0;  // records of the longest segment; 0: there are no such segments
  unsigned sort_bits = 32;
  bool composite = false, wide = false, gathers = false;
};
// Sets the parameters of segmented_items.cl.
void set(kernels::Defines& defines, const Items& items);
// Returns the kernels' argument of that name: as many ones as a key has compared bits.
[[nodiscard]] std::uint64_t rank_mask(const Problem& problem);
// Returns items with this many bits for a record's position in its segment.
[[nodiscard]] Items items_of(const Problem& problem, unsigned longest, unsigned position_bits);

// True if the order bits do not determine the key, so keys must be gathered after the sort.
[[nodiscard]] bool gathers_keys(const Problem& problem);

// The sort of a segment by a work-group (segmented_block_sort.cl).
struct Block {
  unsigned work_group = 0, items = 0;
  unsigned position_bits = 0, sort_bits = 0;
  unsigned resident = 1;    // work-groups that share a compute unit
  unsigned bin_share = 16;  // bins for each work-item
  bool composite = false;   // items contain positions
  bool leaves = false;      // leaves segments that bins cannot sort to the tiny classes
  bool drops = false;       // items omit bits of a rank
  bool gathers = false;     // items do not hold all bits of a key
  bool equal = false;       // all segments have the same length
  std::uint64_t bytes = 0;  // of segmented_memory_t

  // Sets the parameters of segmented_block_bins.cl.
  void set(kernels::Defines& defines) const;
  // Returns the parameters of segmented_block.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Lists& lists) const;
};

// The launch that classifies the segments (segmented_classify.cl), and sorts those of a work-group
// if all are short (segmented_neighbours.cl).
struct Classify {
  unsigned work_group = 0;
  Items shorts;                   // items of the segments that this launch sorts, for one lane
  unsigned lanes = 1;             // the most lanes that sort a segment
  std::uint64_t bytes = 0;        // of segmented_classify_memory_t
  std::uint64_t most_groups = 0;  // if not 0, work-groups take several chunks of segments

  // Returns the parameters of segmented_classify.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Lists& lists) const;
};

struct GpuShape {
  Lists lists;
  Classify classify;
  std::vector<Block> blocks;
  unsigned tiny_work_group = 0;
  Items tiny_items;         // items with all bits
  bool tiny_drops = false;  // tiny classes are first sorted by items that omit bits
  // For long segments (segmented_partition.cl):
  unsigned long_work_group = 0, long_items = 0, long_resident = 1;
  unsigned split_work_group = 0;
  std::uint64_t groups = 0;         // the most work-groups
  std::uint64_t scatter_bytes = 0;  // of segmented_scatter_memory_t

  // Returns the parameters of segmented_tiny.cl.
  [[nodiscard]] kernels::Defines tiny_defines(const Problem& problem, const Items& items,
                                              bool drops) const;
  // Returns the parameters of segmented_partition.cl. `laid_out` are the lists with their
  // capacities.
  [[nodiscard]] kernels::Defines partition_defines(const Problem& problem,
                                                   const Lists& laid_out) const;
};

constexpr unsigned tiny_position_bits = 8;

// make_gpu_shape() and make_cpu_lists() throw Error(unsupported) if the number of segments or the
// device is not supported.
[[nodiscard]] GpuShape make_gpu_shape(const Problem& problem, const Capabilities& device,
                                      const Parameters& given);
// Long segments are processed by `groups` work-groups.
[[nodiscard]] Lists make_cpu_lists(const Problem& problem, std::uint64_t groups);
// Returns the sort of segments of up to work_group * items records; none if local memory does not
// hold them. With `leaves`, it leaves segments that bins cannot sort. Then items of 32 bits are
// enough, because they may omit bits of a rank. `items` is odd and at least 9.
[[nodiscard]] std::optional<Block> make_block(const Problem& problem, const Capabilities& device,
                                              unsigned work_group, unsigned items, bool leaves);
// Returns the sort of segments that all have `length` records; none if no work-group can sort them.
[[nodiscard]] std::optional<Block> row_block(const Problem& problem, const Capabilities& device,
                                             std::uint64_t length);
// Returns the launch that classifies the segments, without its sort of short segments.
[[nodiscard]] Classify classify_only(const Problem& problem, const Capabilities& device);

}  // namespace sortium::segmented
