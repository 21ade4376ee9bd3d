// Work on another thread, for builds of kernels: compilers take long.
#pragma once

#include <functional>
#include <future>
#include <system_error>

namespace sortium::kernels {

// Calls `what` on another thread. If the system can start no more threads, get() calls it instead.
template <class What>
[[nodiscard]] std::future<std::invoke_result_t<const What&>> concurrently(const What& what) {
  try {
    return std::async(std::launch::async, what);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, what);
  }
}

}  // namespace sortium::kernels
