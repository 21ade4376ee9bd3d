// What sorts of host memory share.
#pragma once

#include <chrono>

#include <sortium/sortium.hpp>

namespace sortium {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

constexpr std::uint64_t few = 1u << 14;  // records, see sort_host

// Whether the caller, or SORTIUM_DEVICE, wants one in particular.
[[nodiscard]] bool names_device(const Options& options);
[[nodiscard]] std::shared_ptr<Device> device_for(const Options& options);

}  // namespace sortium
