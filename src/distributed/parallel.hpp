// Loops of a rank on all cores that are idle. Ranks of one process share oneTBB's threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef SORTIUM_WITH_HOST
#include "../device/host_threads.hpp"
#endif

namespace sortium::distributed {

// Calls body(i) for each i < count, in parallel if the build has oneTBB. `body` may run twice for
// an index, which must not change the result. Throws what `body` throws.
template <class Body>
void for_all(std::uint64_t count, const Body& body) {
#ifdef SORTIUM_WITH_HOST
  if (count > 1)
    return host::repeatable_for_all(tbb::blocked_range<std::uint64_t>(0, count, 1),
                                    [&](const auto& range) {
                                      for (auto i = range.begin(); i != range.end(); ++i) body(i);
                                    });
#endif
  for (std::uint64_t i = 0; i < count; ++i) body(i);
}

// memcpy() by several threads.
inline void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  constexpr std::uint64_t piece = std::uint64_t{4} << 20;
  for_all((bytes + piece - 1) / piece, [&](std::uint64_t i) {
    std::memcpy(to + i * piece, from + i * piece, std::min(piece, bytes - i * piece));
  });
}

}  // namespace sortium::distributed
