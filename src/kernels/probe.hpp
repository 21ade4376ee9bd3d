// Tests on the device what a driver reports unreliably: whether the sub-group words do what
// dialect.md says, whether a work-group may wait for an earlier one, how many work-groups a cluster
// may have, and in which order lanes add to one word of local memory.
#pragma once

#include <sortium/device.hpp>

namespace sortium::kernels {

// Returns device.info().claimed, corrected by the tests. Runs a few small kernels. Throws
// Error(invalid_argument) if a launch does not match its kernel.
[[nodiscard]] Capabilities probe(Device& device);

}  // namespace sortium::kernels
