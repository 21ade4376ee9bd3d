#include "profiled.hpp"

#include <algorithm>

namespace sortium {

std::vector<Plan::Phase> profiled(Queue& queue, const std::function<void()>& run) {
  queue.begin_trace();
  try {
    run();
  } catch (...) {
    (void)queue.end_trace();
    throw;
  }
  std::vector<Plan::Phase> phases;
  for (const auto& entry : queue.end_trace()) {
    auto p = std::ranges::find(phases, entry.phase, &Plan::Phase::name);
    if (p == phases.end()) p = phases.insert(p, {std::string(entry.phase), 0, 0});
    p->seconds += entry.seconds;
    ++p->launches;
  }
  return phases;
}

}  // namespace sortium
