// The kernels that default sorts need, found by planning them.
#pragma once

#include <set>
#include <sortium/types.hpp>
#include <string>
#include <vector>

#include "architectures.hpp"

namespace builder {

// The source texts of the kernels that sorts of these types need on such GPUs: keys alone, with
// values of 4 bytes and of the key's, and argsort; segments; first records; for the usual numbers
// of records, and by lsd for all below 2^31. With the self-tests and the probe.
[[nodiscard]] std::set<std::string> planned_sources(const Architecture& architecture,
                                                    const std::vector<sortium::KeyType>& types);

}  // namespace builder
