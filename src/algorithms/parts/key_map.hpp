// The parameters and memory of key_map.cl, for the kernels that map keys to buckets.
#pragma once

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium {

struct KeyMap {
  unsigned cells = 0;  // cells of the map, a power of two; 0: no map is made
  unsigned bits = 0;   // log2 of the number of buckets, at least 8

  [[nodiscard]] std::uint32_t buckets() const { return std::uint32_t{1} << bits; }
  // Leading bits that choose the bucket of a key outside the window: an eighth of all buckets, at
  // most 2 * 2^8 of them.
  [[nodiscard]] unsigned outer_bits() const { return std::min(bits - 4, 8u); }
  // Bytes of map_t.
  [[nodiscard]] std::uint64_t local_bytes(unsigned key_bytes) const {
    return std::uint64_t{cells} * (4 + key_bytes);
  }
  // Bytes of the map in global memory: MAP_WORDS of key_map.cl.
  [[nodiscard]] std::uint64_t global_bytes(unsigned key_bytes) const {
    return cells == 0 ? 0 : 48 + local_bytes(key_bytes);
  }
  void set(kernels::Defines& defines) const {
    defines.set("MAP_CELLS", cells)
        .set("MAP_BUCKETS", buckets())
        .set("OUTER_BITS", cells != 0 ? outer_bits() : 0);
  }
};

}  // namespace sortium
