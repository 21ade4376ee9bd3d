// Tries on the device what a driver's claim is not enough for: that the sub-group words do what
// dialect.md says, that a work-group may wait for an earlier one, how many work-groups a cluster
// may have, and in which order lanes add to one word of local memory.
#pragma once

#include <sortium/device.hpp>

namespace sortium::kernels {

// Returns device.info().claimed without the claims that did not hold, and with what was seen. Runs
// a few small kernels. Throws Error(invalid_argument) if a launch does not match its kernel.
[[nodiscard]] Capabilities probe(Device& device);

// What a probe found, as bytes for the cache. `restore` returns false if the bytes are not from
// `keep`.
[[nodiscard]] std::vector<std::byte> keep(const Capabilities& found);
[[nodiscard]] bool restore(std::span<const std::byte> kept, Capabilities& found);

}  // namespace sortium::kernels
