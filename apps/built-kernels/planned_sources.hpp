// The kernels that default sorts need, found by planning them.
#pragma once

#include <set>
#include <sortium/device.hpp>
#include <sortium/types.hpp>
#include <string>
#include <vector>

#include "architectures.hpp"

namespace builder {

// Returns what a GPU of this architecture with so many compute units claims to have, before the
// probe.
[[nodiscard]] sortium::Capabilities claimed_by(const Architecture& architecture,
                                               unsigned compute_units);

// Returns the source texts of the kernels that sorts of these types need on GPUs of this
// architecture: sorts of keys alone, keys with values of 4 bytes and of the key's size, argsorts,
// segments and first records, for the usual numbers of records, and by lsd for all numbers below
// 2^31. The texts include the kernels of self-tests and of the probe.
[[nodiscard]] std::set<std::string> planned_sources(const Architecture& architecture,
                                                    const std::vector<sortium::KeyType>& types);

}  // namespace builder
