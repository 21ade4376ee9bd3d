// Sorts records on cpu:0 as rows: a record's elements move together, in the order of memory.
// Gathers of the columns would read main memory at random.
#pragma once

#include <sortium/device.hpp>
#include <sortium/records.hpp>
#include <span>

namespace sortium::record_rows {

// For problems with a column to gather: true if this build has cpu:0, and rows may be the faster
// way on the device.
[[nodiscard]] bool suits(const RecordProblem& problem, const Capabilities& device,
                         const Method& method);
[[nodiscard]] std::uint64_t scratch_bytes(const RecordProblem& problem);

// outputs[c] is the memory for the sorted column c, which may be that of inputs[c]; it is empty if
// the column is not moved. `scratch` has scratch_bytes() bytes. Returns false, with nothing
// written, if another way is faster, or if there is not enough memory or no thread can start.
[[nodiscard]] bool sort(Queue& queue, const RecordProblem& problem, std::span<const Memory> inputs,
                        std::span<const Memory> outputs, Memory scratch);

}  // namespace sortium::record_rows
