// The capabilities of a device, tested on the device itself.
#pragma once

#include <sortium/export.h>

#include <sortium/device.hpp>

namespace sortium {

// Returns the device's capabilities: info().claimed, corrected by tests on the device, for example
// of sub-group operations and of forward progress. The tests run once per device and driver; the
// cache directory keeps the result.
[[nodiscard]] SORTIUM_API const Capabilities& capabilities(Device& device);

}  // namespace sortium
