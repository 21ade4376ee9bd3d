// Floor 4: argsorts whose positions have 8 bytes, of lists that positions of 4 bytes can number.
#pragma once

#include <functional>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Returns true if positions are sorted as 4 bytes and widened at the end, which is faster for most
// long lists. Built packages have no kernels that sort positions of 8 bytes.
[[nodiscard]] bool widens_positions(const Problem& problem, const Capabilities& device);

// Plans a sort of the same problem with positions of 4 bytes, by `plan_narrow`. They need 4 bytes
// of scratch memory for each record, beside that of the sort itself. No pass moves more than 4
// bytes of a position; one more pass reads 4 and writes 8 of each.
[[nodiscard]] Planned plan_wide_positions(
    const Problem& problem, const std::function<Planned(const Problem&)>& plan_narrow);

// Plans a sort by `plan_sort`, which receives the problem and the most bytes of scratch memory (0:
// any number). Positions are narrow if widens_positions() is true and the memory suffices.
[[nodiscard]] Planned plan_with_positions(
    const Problem& problem, const Capabilities& device, std::uint64_t max_scratch_bytes,
    const std::function<Planned(const Problem&, std::uint64_t)>& plan_sort);

}  // namespace sortium
