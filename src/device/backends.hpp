// What device.cpp and the three backends share.
#pragma once

#include <sortium/device.hpp>

namespace sortium::backend {

struct Found {
  std::vector<std::shared_ptr<Device>> devices;
  std::string why_none;
};
// Throws Error(invalid_argument) naming the kernel and the argument if the launch's arguments are
// not those of the kernel's signature. Every backend's launch() calls it first.
void check_arguments(const Launch& launch);

[[nodiscard]] Found find_opencl();
[[nodiscard]] Found find_cuda();
[[nodiscard]] Found find_host();

}  // namespace sortium::backend
