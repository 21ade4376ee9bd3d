// Data of floor 2 that lives as long as a device: built modules and probed capabilities.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <sortium/device.hpp>
#include <string>

namespace sortium::kernels {

// The modules that were built for a device. They live as long as the device.
struct Modules : DeviceState {
  std::mutex mutex;
  std::map<std::string, std::shared_future<std::shared_ptr<Module>>>
      built;  // key: source text; the module is ready or being built
  std::once_flag probed;
  Capabilities found;  // result of the probe
};

[[nodiscard]] Modules& modules(Device& device);

// Returns the beginning of a cache key: the device, its driver and this version of the library.
[[nodiscard]] std::string device_key(const Device& device);

}  // namespace sortium::kernels
