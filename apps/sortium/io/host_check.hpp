// Checks of results on the host. These checks share only the definition of the order with the
// kernels.
#pragma once

#include <optional>
#include <sortium/sortium.hpp>
#include <string>

namespace app {

// Checks the result of a sort: it is in order, it has exactly the records of the input, every value
// is with its key, and, if `stable`, ties are in the order of the input. Each segment of the
// problem, or each run of `run_length` records unless that is 0, must be sorted by itself. A
// problem with a limit must have been sorted stably.
//
// Returns a description of the first mistake; nothing if the result is right. A right result of a
// whole list costs one or two readings of input and output, in parallel; of those of its records
// that tie with others and have values, also a sort. Two different lists of records are taken for
// the same with a probability of some 2^-64. All other results cost a sort on the host and at most
// 16 bytes a record.
[[nodiscard]] std::optional<std::string> find_mistake(const sortium::Problem& problem,
                                                      const sortium::HostOperands& operands,
                                                      bool stable, std::uint64_t run_length);

}  // namespace app
