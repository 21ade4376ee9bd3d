// Copies elements of 1 to 256 bytes in host memory. Below 64 bytes, moves of a length that the
// compiler knows take less time than memcpy with a variable length.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace sortium {

template <std::size_t Size>
struct CopyExactly {
  static constexpr std::size_t size = Size;
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, Size); }
};
// Copies an element of Half to 2 * Half bytes by two moves of Half bytes, which may overlap.
template <std::size_t Half>
struct CopyHalves {
  std::size_t size;
  void operator()(std::byte* to, const std::byte* from) const {
    std::array<std::byte, Half> first, last;
    std::memcpy(first.data(), from, Half);
    std::memcpy(last.data(), from + size - Half, Half);
    std::memcpy(to, first.data(), Half);
    std::memcpy(to + size - Half, last.data(), Half);
  }
};
struct CopyLong {
  std::size_t size;
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, size); }
};

// Calls body(copy). copy(to, from) copies `size` bytes.
template <class Body>
void with_copy(std::size_t size, const Body& body) {
  switch (size) {
    case 1:
      return body(CopyExactly<1>{});
    case 2:
      return body(CopyExactly<2>{});
    case 4:
      return body(CopyExactly<4>{});
    case 8:
      return body(CopyExactly<8>{});
    case 16:
      return body(CopyExactly<16>{});
    default:
      break;
  }
  switch (std::bit_width(size)) {
    case 2:
      return body(CopyHalves<2>{size});
    case 3:
      return body(CopyHalves<4>{size});
    case 4:
      return body(CopyHalves<8>{size});
    case 5:
      return body(CopyHalves<16>{size});
    case 6:
      return body(CopyHalves<32>{size});
    default:
      return body(CopyLong{size});
  }
}

}  // namespace sortium
