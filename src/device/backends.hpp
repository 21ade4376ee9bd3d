// What device.cpp knows of the three backends.
#pragma once

#include <sortium/device.hpp>

namespace sortium::backend {

struct Found {
  std::vector<std::shared_ptr<Device>> devices;
  std::string why_none;
};
[[nodiscard]] Found find_opencl();
[[nodiscard]] Found find_cuda();
[[nodiscard]] Found find_host();

}  // namespace sortium::backend
