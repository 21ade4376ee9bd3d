// Floor 4: sorts of segments whose records do not lie side by side (Problem::stride).
#pragma once

#include <functional>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Throws Error(invalid_argument) if the problem has a stride and offsets, or no segments, or a
// number of segments that the stride does not divide; or if the limit is larger than a segment. The
// message names the stride or the limit.
void validate_stride(const Problem& problem);

// Returns the problem of the rows: the same, with stride 1.
[[nodiscard]] inline Problem without_stride(Problem problem) {
  problem.stride = 1;
  return problem;
}

// Returns a sorter of a problem with a stride. `rows` is planned for without_stride(problem). If it
// cannot sort records where they are, they are copied into scratch memory, where each segment is a
// row; `rows` sorts these rows; then the results are copied to their places.
[[nodiscard]] std::unique_ptr<Sorter> make_strided_sorter(const Problem& problem,
                                                          const Capabilities& device,
                                                          std::unique_ptr<Sorter> rows);

// Plans a sort of a problem with a stride. `plan_rows` plans the sort of the rows with at most the
// given bytes of scratch memory; 0: any number. Throws Error(invalid_argument) if the copies alone
// need more than `max_scratch_bytes`.
[[nodiscard]] Planned plan_strided(const Problem& problem, const Capabilities& device,
                                   std::uint64_t max_scratch_bytes,
                                   const std::function<Planned(std::uint64_t)>& plan_rows);

}  // namespace sortium
