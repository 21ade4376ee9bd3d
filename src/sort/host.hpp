// What the functions on host memory share.
#pragma once

#include <memory>
#include <string>

#include <sortium/sortium.hpp>

namespace sortium {

// The device of that name; where none is named, here or by SORTIUM_DEVICE, the one that reads host memory where it lies.
[[nodiscard]] std::shared_ptr<Device> device_near(const std::string& name);

}  // namespace sortium
