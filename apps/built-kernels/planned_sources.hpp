// The kernels that default sorts need, found by planning them.
#pragma once

#include <set>
#include <sortium/device.hpp>
#include <sortium/types.hpp>
#include <string>
#include <vector>

#include "architectures.hpp"

namespace builder {

// Returns what a GPU of this architecture without a compiler claims to have, before the probe.
[[nodiscard]] sortium::Capabilities claimed_by(const Architecture& architecture);

// Returns the source texts of the kernels that sorts of these types need on GPUs of this
// architecture: sorts of keys alone, keys with values of 4 bytes and of the key's size, argsorts,
// segments and first records, of any number of records below 2^30, and by lsd below 2^31. The texts
// include the kernels of self-tests and of the probe.
[[nodiscard]] std::set<std::string> planned_sources(const Architecture& architecture,
                                                    const std::vector<sortium::KeyType>& types);

}  // namespace builder
