// The capabilities of a device, tested on the device itself.
#pragma once

#include <sortium/export.h>

#include <sortium/device.hpp>

namespace sortium {

// The device's capabilities: info().claimed, corrected by tests on the device (the sub-group
// operations, forward progress of work-groups). The tests run once per device and driver; the
// result is kept on disk.
[[nodiscard]] SORTIUM_API const Capabilities& capabilities(Device& device);

}  // namespace sortium
