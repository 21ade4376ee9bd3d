// Checks on the host that share nothing with the kernels but the definition of the order.
#pragma once

#include <optional>
#include <sortium/sortium.hpp>
#include <string>

namespace app {

// What is wrong with a sort's result; nothing, if it is right: in order, the very records of the
// input, every value with its key, and ties in the order of the input if `stable`. With
// `run_length`, each run of so many records was sorted by itself; so is each segment, where the
// problem has any. With a limit, the sort must be a stable one, and the problem have no segments.
// Costs a sort on the host and, at most, 16 bytes a record.
[[nodiscard]] std::optional<std::string> find_mistake(const sortium::Problem& problem,
                                                      const sortium::HostOperands& operands,
                                                      bool stable, std::uint64_t run_length);

}  // namespace app
