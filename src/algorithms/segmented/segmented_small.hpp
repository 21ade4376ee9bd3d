// Small problems: all segments in one or two launches (segmented_small.cl).
#pragma once

#include <memory>

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium::segmented {

// The dimensions of segmented_small.cl's kernels: a pure function of the problem, the device's
// capabilities and the caller's parameters.
struct SmallShape {
  unsigned work_group = 0, items = 0;  // work-items of a work-group; records of a work-item
  unsigned piece = 0;       // the most records that one work-group sorts together (a piece); longer
                            // segments are merged from pieces
  std::uint64_t share = 0;  // records of a work-group
  bool gathers = false;     // records have more than the compared bits of their keys
  std::uint64_t bytes = 0;  // size of segmented_small_memory_t

  // True if a segment may have more records than a piece, so that pieces must be merged.
  [[nodiscard]] bool merges(const Problem& problem) const { return problem.count > piece; }
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
