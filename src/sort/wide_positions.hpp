// Floor 4: argsorts whose positions have 8 bytes, of lists that positions of 4 bytes can number.
#pragma once

#include <functional>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Returns true if the device sorts such a problem faster with positions of 4 bytes, which it makes
// wider at the end. A package without the kernels of other problems has those of this one.
[[nodiscard]] bool widens_positions(const Problem& problem, const Capabilities& device);

// Plans a sort of a problem for which widens_positions() is true. `plan_narrow` plans the same
// problem with positions of 4 bytes. They need 4 bytes of scratch memory for each record, beside
// that of the sort itself. No pass moves more than 4 bytes of a position; one more pass reads 4 and
// writes 8 of each.
[[nodiscard]] Planned plan_wide_positions(
    const Problem& problem, const std::function<Planned(const Problem&)>& plan_narrow);

}  // namespace sortium
