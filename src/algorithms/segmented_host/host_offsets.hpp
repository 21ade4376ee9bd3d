// The offsets of segments in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sortium/problem.hpp>

#include "../algorithm.hpp"

namespace sortium::segmented {

// The bytes that with_offsets() needs as `spare`.
[[nodiscard]] inline std::uint64_t spare_offset_bytes(const Problem& p) {
  return p.offset_bytes == 0 ? offsets_bytes(p.segments, 8) : 0;
}

// Returns body(first) for the first of the problem's offsets, a pointer to 32-bit or 64-bit
// numbers. If there are none, because all segments have one length, they are written to `spare`.
template <class Body>
auto with_offsets(const Problem& p, const Memory& offsets, const Memory& spare, const Body& body) {
  const auto first = [](const Memory& m) { return static_cast<std::byte*>(m.handle) + m.offset; };
  if (p.offset_bytes == 4) return body(reinterpret_cast<const std::uint32_t*>(first(offsets)));
  if (p.offset_bytes == 8) return body(reinterpret_cast<const std::uint64_t*>(first(offsets)));
  auto* const made = reinterpret_cast<std::uint64_t*>(first(spare));
  const std::uint64_t segments = p.segments, length = p.count / segments;
  for (std::uint64_t s = 0; s <= segments; ++s) made[s] = s * length;
  return body(static_cast<const std::uint64_t*>(made));
}

}  // namespace sortium::segmented
