// What this floor keeps for as long as a device lives.
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
      built;  // by source text; ready, or being built
  std::once_flag probed;
  Capabilities found;  // by the probe
};

[[nodiscard]] Modules& modules(Device& device);

// Names the device, its driver and this version of the library: a cache key begins with it.
[[nodiscard]] std::string device_key(const Device& device);

}  // namespace sortium::kernels
