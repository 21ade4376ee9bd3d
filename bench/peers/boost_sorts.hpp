// Boost.Compute's sorts behind one call, in a file of its own because they need C++17.
#pragma once

#include <cstdint>
#include <sortium/core.hpp>
#include <string>

namespace peers {

[[nodiscard]] std::string boost_version();

// Sorts OpenCL buffers in place on a queue, and may wait for it. `values` are u32; nullptr: keys
// only.
void boost_sort(void* cl_command_queue, sortium::KeyType key, std::uint64_t count, void* keys,
                void* values);

}  // namespace peers
