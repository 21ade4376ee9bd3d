// What the companions on cpu:0 share: pieces for all cores, and calls with the types of keys and
// numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sortium/device.hpp>
#include <sortium/problem.hpp>

#include "../algorithms/sample/ranks.hpp"
#include "../device/host_threads.hpp"

namespace sortium::on_host {

inline constexpr std::uint64_t piece = 1u << 16;  // records that a thread takes at a time

// Returns the memory's first element, or null.
template <class T>
T* at(const Memory& m) {
  return m ? reinterpret_cast<T*>(static_cast<std::byte*>(m.handle) + m.offset) : nullptr;
}

// Calls body(begin, end, piece) for each piece of `count` records, in parallel if there are
// several. It may call it twice for the same piece.
template <class Body>
void in_pieces(std::uint64_t count, const Body& body) {
  const auto some = [&](const tbb::blocked_range<std::uint64_t>& range) {
    for (auto p = range.begin(); p != range.end(); ++p)
      body(p * piece, std::min((p + 1) * piece, count), p);
  };
  const tbb::blocked_range<std::uint64_t> all(0, (count + piece - 1) / piece);
  if (all.size() <= 1)
    some(all);
  else
    host::repeatable_for_all(all, some);
}

// Calls body(key, rank) with values of the types of a key and of a number that holds all ranks.
template <class Body>
void with_key(const Problem& p, const Body& body) {
  switch (info(p.key).bytes) {
    case 1:
      return body(std::uint8_t{}, std::uint32_t{});
    case 2:
      return body(std::uint16_t{}, std::uint32_t{});
    case 4:
      if (sample::has_codes(p)) return body(std::uint32_t{}, std::uint32_t{});
      return body(std::uint32_t{}, std::uint64_t{});
    default:
      return body(std::uint64_t{}, std::uint64_t{});
  }
}

// Calls body(number) with a value of the type of numbers of 4 or 8 bytes.
template <class Body>
void with_number(unsigned bytes, const Body& body) {
  if (bytes == 8)
    body(std::uint64_t{});
  else
    body(std::uint32_t{});
}

}  // namespace sortium::on_host
