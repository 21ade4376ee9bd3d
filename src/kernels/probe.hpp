// Finds out on the device what a driver's word is not enough for: whether the sub-group words do
// what dialect.md says, and whether a work-group may wait for an earlier one.
#pragma once

#include <sortium/device.hpp>

namespace sortium::kernels {

// device.info().claimed, with what did not hold taken back and what was seen added. Runs two small
// kernels.
[[nodiscard]] Capabilities probe(Device& device);

// What a probe found, as bytes for the cache. `restore` is false where they are not such bytes.
[[nodiscard]] std::vector<std::byte> keep(const Capabilities& found);
[[nodiscard]] bool restore(std::span<const std::byte> kept, Capabilities& found);

}  // namespace sortium::kernels
