// Floor 4: self-tests. A sort with a known answer must succeed before a device's compiler is
// trusted.
#pragma once

#include <functional>
#include <sortium/plan.hpp>
#include <string>
#include <vector>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Sorts problem.count records (special keys, ties, random ones) with `sorter`, whose kernels are
// built, and compares the result with the host's stable sort. Waits. Returns a description of the
// first wrong record, or "" if all are right.
[[nodiscard]] std::string first_wrong_record(Device& device, Sorter& sorter, const Problem& problem,
                                             const AlgorithmInfo& algorithm);

// Tests the planned algorithm with a problem like planned.sorted (types, order, parameters) and a
// few thousand records. Returns a description of the failure, or "". A success is remembered for
// the device and its driver, in the cache for later processes too, and is not tested again. If the
// algorithm rejects such small problems, returns "" without testing or remembering.
// SORTIUM_SELF_TEST=off turns the test off.
[[nodiscard]] std::string self_test(Device& device, const Capabilities& capabilities,
                                    const Planned& planned);

// The small sort that self_test() runs for a plan. It has the plan's parameters if the algorithm
// accepts them for so few records, else the default parameters. `sorter` is null if the algorithm
// rejects such small problems.
struct SelfTestPlan {
  Problem problem;
  std::unique_ptr<Sorter> sorter;
};
[[nodiscard]] SelfTestPlan plan_self_test(const Planned& planned, const Capabilities& capabilities);

// Returns the plan for `method`. With "auto", tries the algorithms in order of rank until `judge`
// accepts one, by returning "". Throws Error(unsupported) with the messages of `judge` if it
// accepts none.
using Judge = std::function<std::string(const Planned&)>;
[[nodiscard]] Planned plan_judged(const Problem& problem, const Capabilities& capabilities,
                                  const Method& method, const Judge& judge);

}  // namespace sortium
