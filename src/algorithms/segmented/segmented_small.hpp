// Small problems: all segments in one or two launches (segmented_small.cl).
#pragma once

#include <memory>

#include "segmented_shape.hpp"

namespace sortium::segmented {

// The dimensions of segmented_small.cl's kernels: a pure function of the problem, the device's
// capabilities and the caller's parameters.
struct SmallShape {
  Block block;               // sorts a piece
  unsigned short_most = 0;   // the most records of a short segment
  unsigned short_items = 0;  // records of short segments for each work-item
  unsigned whole = 0;        // the most records of a segment that is one piece
  unsigned piece = 0;        // records of the pieces from which longer segments are merged
  unsigned together = 1;     // pieces in local memory at a time, when pieces are merged
  std::uint64_t share = 0;   // records of a work-group
  bool gathers = false;      // records have more than the compared bits of their keys
  std::uint64_t bytes = 0;   // size of segmented_small_memory_t

  // True if a segment may have several pieces, which must be merged.
  [[nodiscard]] bool merges(const Problem& problem) const {
    return problem.count / (problem.offset_bytes == 0 ? problem.segments : 1) > whole;
  }
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

// True if the variant for small problems is the fastest.
[[nodiscard]] bool is_small(const Problem& problem, const Capabilities& device);
// Throws Error(unsupported) if the problem is not small, or if the device has too little local
// memory.
[[nodiscard]] SmallShape make_small_shape(const Problem& problem, const Capabilities& device,
                                          const Parameters& given);
[[nodiscard]] std::unique_ptr<Sorter> make_small_sorter(const Problem& problem, SmallShape shape);

}  // namespace sortium::segmented
