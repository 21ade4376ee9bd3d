#pragma once

#include <functional>
#include <sortium/plan.hpp>
#include <vector>

namespace sortium {

// Calls `run`, which enqueues on `queue`, and waits. Returns the device time by phase, in the order
// of the phases' first launches. The queue must have been made with tracing.
[[nodiscard]] std::vector<Plan::Phase> profiled(Queue& queue, const std::function<void()>& run);

}  // namespace sortium
