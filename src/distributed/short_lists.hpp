// Which lists are so short that each rank sorts all records, because a partition would take longer:
// its steps wait for the device and for the other ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sortium/distributed.hpp>

namespace sortium::distributed {

// The most bytes of a short list. Measured on an H200 with two ranks that copy from each other.
inline constexpr std::uint64_t largest_short_list = std::uint64_t{1} << 27;

// A short list has at most so many bytes, over all ranks. Other links than copies from device to
// device are assumed to be slower. Ranks on CPUs may share cores.
inline std::uint64_t most_short_bytes(const Device& device, const Communicator& communicator) {
  const Capabilities& claimed = device.info().claimed;
  const std::uint64_t most = claimed.kind != DeviceKind::gpu           ? std::uint64_t{1} << 16
                             : communicator.exchanges_beside_kernels() ? largest_short_list
                                                                       : std::uint64_t{1} << 23;
  return std::min(most, claimed.max_allocation / 4);  // two lists are in one block
}

}  // namespace sortium::distributed
