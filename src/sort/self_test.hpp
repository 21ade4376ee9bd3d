// Floor 4: a sort with a known answer, before a device's compiler is trusted with a kernel.
#pragma once

#include <functional>
#include <sortium/plan.hpp>
#include <string>
#include <vector>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Sorts problem.count records of all kinds (special keys, ties, random ones) with `sorter`, which
// is built, and compares with the host's own stable sort. Waits. Gives what is wrong, or nothing.
[[nodiscard]] std::string known_answer(Device& device, Sorter& sorter, const Problem& problem,
                                       const AlgorithmInfo& algorithm);

// The same for a room's sorts of this kind (types, order, parameters; whatever the count), planned
// for a few thousand records. What passed is not asked again on this device with this driver, nor
// by later processes (kept in the cache); where the room plans none so small, nothing is tested,
// and nothing kept. SORTIUM_SELF_TEST=off trusts all.
[[nodiscard]] std::string self_test(Device& device, const Capabilities& capabilities,
                                    const Planned& planned, const Problem& problem);

// What `method` says for the problem; of "auto", the first that `judge` has nothing to say against.
// Throws Error(unsupported) with what the judge said where nothing is left.
using Judge = std::function<std::string(const Planned&)>;
[[nodiscard]] Planned plan_judged(const Problem& problem, const Capabilities& capabilities,
                                  const Method& method, const Judge& judge);

}  // namespace sortium
