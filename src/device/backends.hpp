// Functions of the three backends that device.cpp and sorts of host memory call.
#pragma once

#include <sortium/device.hpp>

namespace sortium::backend {

struct Found {
  std::vector<std::shared_ptr<Device>> devices;
  std::string why_none;
};
// The most arguments of a kernel.
constexpr std::size_t most_arguments = 40;
// Throws Error(invalid_argument) naming the kernel and the argument if the launch's arguments are
// not those of the kernel's signature, or too many. Every backend's launch() calls it first.
void check_arguments(const Launch& launch);

[[nodiscard]] Found find_opencl();
[[nodiscard]] Found find_cuda();
[[nodiscard]] Found find_host();

// True if `device` (from a caller's options) or the environment variable SORTIUM_DEVICE names a
// particular device.
[[nodiscard]] bool names_device(const std::string& device);
// Returns the device called `name`. If neither `name` nor SORTIUM_DEVICE names one, returns the
// device that reads host memory without copies.
[[nodiscard]] std::shared_ptr<Device> device_near(const std::string& name);
// Returns the best device that compiles kernels or needs none; nullptr if there is none.
[[nodiscard]] std::shared_ptr<Device> find_compiling_device();

}  // namespace sortium::backend
