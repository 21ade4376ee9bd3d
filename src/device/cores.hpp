// How many of the host's cores this process may use.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace sortium {

// Returns the number of cores in the affinity mask of the process, which mpirun and taskset set. At
// least 1. oneTBB has as many threads, and warns if an arena asks for more.
[[nodiscard]] inline unsigned usable_cores() {
  static const unsigned cores = [] {
    for (int most = 1024; most <= 1 << 20; most *= 2) {  // the system may have more than cpu_set_t
      cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(most));
      if (set == nullptr) break;
      const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
      const bool fits = ::sched_getaffinity(::getpid(), bytes, set) == 0;
      const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
      CPU_FREE(set);
      if (fits) return static_cast<unsigned>(std::max(1, count));
    }
    return std::max(1u, std::thread::hardware_concurrency());
  }();
  return cores;
}

}  // namespace sortium
