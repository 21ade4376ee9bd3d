// Checks that sorts of records on device memory and on host memory share.
#pragma once

#include <sortium/sortium.hpp>

namespace sortium {

// They throw Error(invalid_argument) that names what is wrong.
void check(const RecordProblem& problem);
void check(const PermuteProblem& problem);
void check_records(const RecordProblem& problem, const RecordOperands& operands, std::uint64_t scratch_bytes, Backend backend,
                   bool aligned);

}  // namespace sortium
