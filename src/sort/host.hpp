// What sorts of host memory share.
#pragma once

#include <chrono>
#include <memory>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <string>

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

// Whether `device`, of a caller's options, or SORTIUM_DEVICE names one in particular.
[[nodiscard]] bool names_device(const std::string& device);
// The device of that name; where none is named, here or by SORTIUM_DEVICE, the one that reads host
// memory where it lies.
[[nodiscard]] std::shared_ptr<Device> device_near(const std::string& name);
[[nodiscard]] std::shared_ptr<Device> device_for(const Problem& problem, const Options& options);

}  // namespace sortium
