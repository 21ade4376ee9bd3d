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

// Runs `work` as together() does. It returns a text that describes the rank's call. If the texts
// differ, all ranks throw the same Error(invalid_argument).
void agree_on(Communicator& communicator, std::uint64_t bytes,
              const std::function<std::string()>& work);

// A text that is the same for the same problem, without its count.
[[nodiscard]] std::string describe(const Problem& problem);
[[nodiscard]] std::string describe(const RecordProblem& problem);

// Throws Error(invalid_argument) if the algorithm is not stable, or does not sort the whole list.
void validate_method(const std::string& algorithm);

}  // namespace sortium::distributed
