// Work on the blocks of a file, or of memory, in several threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../../src/sort/all_cores.hpp"

namespace app {

// A multiple of the large page, so that no two threads touch the same page of fresh memory first.
inline constexpr std::uint64_t block_bytes = std::uint64_t{4} << 20;

// Calls body(begin, end) for consecutive blocks of `length` of [0, total), in up to `threads`
// threads. If a call throws, rethrows the first exception; some calls may then not be made.
template <class Body>
void for_blocks(std::uint64_t threads, std::uint64_t total, std::uint64_t length,
                const Body& body) {
  sortium::on_threads(threads, (total + length - 1) / length, [&](std::uint64_t i) {
    body(i * length, std::min(total, (i + 1) * length));
  });
}

}  // namespace app
