// Boost.Compute's sorts behind one call, so that what wants C++17 stands apart.
#pragma once

#include <cstdint>
#include <sortium/core.hpp>
#include <string>

namespace peers {

[[nodiscard]] std::string boost_version();

// Sorts OpenCL buffers in place on a queue, and may wait for it. `values`: u32, nullptr: none.
void boost_sort(void* cl_command_queue, sortium::KeyType key, std::uint64_t count, void* keys,
                void* values);

}  // namespace peers
