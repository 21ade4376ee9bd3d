// The capabilities of a device, tested on the device itself.
#pragma once

#include <sortium/export.h>

#include <sortium/device.hpp>
#include <string>

namespace sortium {

// Returns the device's capabilities: info().claimed, corrected by tests on the device, for example
// of sub-group operations and of forward progress. The tests run once per device and driver; the
// cache directory keeps the result. Throws Error: unsupported if the device runs loops wrongly;
// build_failed or device_failed if a test cannot run.
[[nodiscard]] SORTIUM_API const Capabilities& capabilities(Device& device);

// Returns the directory that keeps built kernels and the results of tests on devices:
// $SORTIUM_CACHE_DIR, else $XDG_CACHE_HOME/sortium, else ~/.cache/sortium. Empty if nothing is
// kept: SORTIUM_CACHE_DIR is "off" or empty. It need not exist yet.
[[nodiscard]] SORTIUM_API std::string cache_directory();

}  // namespace sortium
