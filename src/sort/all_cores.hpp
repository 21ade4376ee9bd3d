// A loop on all cores with threads of its own, for builds without oneTBB too.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "../device/cores.hpp"

namespace sortium {

[[nodiscard]] inline std::uint64_t all_cores() { return usable_cores(); }

// Calls body(i) once for each i < count, in up to `threads` threads. If a call throws, rethrows the
// first exception; some calls may then not be made. If the system cannot start threads, the calling
// thread makes all calls.
template <class Body>
void on_threads(std::uint64_t threads, std::uint64_t count, const Body& body) {
  std::atomic<std::uint64_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::uint64_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::uint64_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
  } catch (const std::exception&) {  // no memory or no more threads
  }
  work();
  for (auto& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

// The same on all cores.
template <class Body>
void on_all_cores(std::uint64_t count, const Body& body) {
  on_threads(all_cores(), count, body);
}

}  // namespace sortium
