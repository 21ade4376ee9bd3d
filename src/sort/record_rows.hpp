// Sorts records on cpu:0 as rows: all elements of a record that move are moved together, in the
// order of memory. Gathers of the columns would read main memory at random.
#pragma once

#include <sortium/device.hpp>
#include <sortium/records.hpp>
#include <span>

namespace sortium::record_rows {

// True if this build has cpu:0, and records are sorted in this way on the device.
[[nodiscard]] bool suits(const RecordProblem& problem, const Capabilities& device,
                         const Method& method);
[[nodiscard]] std::uint64_t scratch_bytes(const RecordProblem& problem);

// `outputs` has the memory for each sorted column, which may be that of the input; it is empty for
// columns that are not moved. Returns false, with nothing written, if the records are better sorted
// in another way, or if there is not enough memory. Does not throw.
[[nodiscard]] bool sort(Queue& queue, const RecordProblem& problem, std::span<const Memory> inputs,
                        std::span<const Memory> outputs, Memory scratch);

}  // namespace sortium::record_rows
