#pragma once

#include <functional>
#include <sortium/plan.hpp>
#include <vector>

namespace sortium {

// Runs `run`, which enqueues on `queue`, waits, and returns the device time by phase, in the order
// of the phases' first launches. The queue must be able to trace.
[[nodiscard]] std::vector<Plan::Phase> profiled(Queue& queue, const std::function<void()>& run);

}  // namespace sortium
