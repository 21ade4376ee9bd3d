// Floor 4: argsorts with positions of 8 bytes. Positions below 2^32 are sorted as 4 bytes.
#pragma once

#include <functional>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Returns true if positions are sorted as 4 bytes and widened at the end, which is faster for most
// long lists. Built packages have no kernels that sort positions of 8 bytes.
[[nodiscard]] bool widens_positions(const Problem& problem, const Capabilities& device);

// Plans a sort that `plan_narrow` plans with positions of 4 bytes, followed by a launch that reads
// each position and writes it with 8 bytes. Needs 4 bytes of scratch memory for each record, beside
// that of the sort itself.
[[nodiscard]] Planned plan_wide_positions(
    const Problem& problem, const std::function<Planned(const Problem&)>& plan_narrow);

// Plans a sort of the problem. Its positions are sorted as 4 bytes if widens_positions() is true
// and max_scratch_bytes suffice for them. `plan_sort(problem, bytes)` plans a sort that needs at
// most so many bytes of scratch memory (0: any number).
[[nodiscard]] Planned plan_with_positions(
    const Problem& problem, const Capabilities& device, std::uint64_t max_scratch_bytes,
    const std::function<Planned(const Problem&, std::uint64_t)>& plan_sort);

}  // namespace sortium
