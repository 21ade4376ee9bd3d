// How ranks learn that one of them failed: each phase ends with one small reduction.
#pragma once

#include <cstdint>
#include <functional>
#include <sortium/distributed.hpp>
#include <string>

namespace sortium::distributed {

// Runs `work` on every rank; it must not use the communicator. If it throws on any rank, all ranks
// throw an Error with the message of the first rank that failed and its number. `bytes`, those of
// this rank's records, are for the message if it has no memory left.
void together(Communicator& communicator, std::uint64_t bytes, const std::function<void()>& work);

// Throws the same Error(invalid_argument) on all ranks if their texts `call`, which describe their
// calls, differ.
void agree_on(Communicator& communicator, const std::string& call);

// A text that is the same for the same problem, without its count.
[[nodiscard]] std::string describe(const Problem& problem);
[[nodiscard]] std::string describe(const RecordProblem& problem);

// Throws Error(invalid_argument) if the algorithm is not stable, or does not sort the whole list.
void validate_method(const std::string& algorithm);

}  // namespace sortium::distributed
