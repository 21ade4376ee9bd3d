// Rows that one launch sorts: segments of equal length, without offsets, that fit a work-group.
#pragma once

#include <memory>
#include <optional>

#include "segmented_shape.hpp"

namespace sortium::segmented {

// The dimensions of the kernel for rows: segmented_rows.cl for short ones, segmented_block.cl for
// others. A pure function of the problem and the device's capabilities.
struct RowsShape {
  std::uint64_t length = 0;  // records of a row, or of all parts of one
  std::uint64_t groups = 0;  // work-groups of the launch
  // Short rows:
  unsigned work_group = 0, resident = 1;  // work-items of a work-group; groups of a compute unit
  unsigned lanes = 0;                     // lanes that sort a row; 0: the rows are not short
  unsigned part = 0;                      // records of each part of a row; 0: rows have no parts
  Items items{};                          // of a lane
  bool values_wait = false, by_rows = false;  // parameters of segmented_rows.cl
  std::uint64_t stride = 1, rounds = 1;       // Problem::stride; rounds of a matrix
  std::uint64_t bytes = 0;                    // of segmented_rows_memory_t
  // Other rows:
  Lists lists{};  // parameters that segmented_block.cl needs, but does not use for rows
  Block block{};

  // Returns the parameters of the kernel.
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

// Returns the shape of the launch that sorts the problem's rows. Returns none if the problem has no
// rows, if they are shorter than Problem::limit or have no records, or if no work-group of this
// device can sort one. Throws Error(unsupported) as make_gpu_shape() does.
[[nodiscard]] std::optional<RowsShape> rows_shape(const Problem& problem,
                                                  const Capabilities& device);
// The sorter writes only the first Problem::limit records of each row, if it is not 0.
[[nodiscard]] std::unique_ptr<Sorter> make_rows_sorter(const Problem& problem,
                                                       const RowsShape& shape);

}  // namespace sortium::segmented
