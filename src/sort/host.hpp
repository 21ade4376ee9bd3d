// Shared by sorts of host memory.
#pragma once

#include <chrono>
#include <memory>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <string>

#include "../device/backends.hpp"

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

// Throws Error(cancelled) if the caller has set options.stop.
void check_stop(const Options& options);

[[nodiscard]] std::shared_ptr<Device> device_for(const Problem& problem, const Options& options);

// Returns sort(device). If the device has no compiler and the package lacks the sort's kernels,
// returns sort(backend::find_compiling_device()) instead, unless the caller named a device. So
// `sort` must write nothing before it has its plan.
template <class Sort>
auto sort_on(std::shared_ptr<Device> device, const std::string& name, const Sort& sort) {
  try {
    return sort(device);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported || device->info().claimed.compiles ||
        backend::names_device(name))
      throw;
    device = backend::find_compiling_device();
    if (device == nullptr) throw;
  }
  return sort(device);
}

}  // namespace sortium
