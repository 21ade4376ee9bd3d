// The parameters and memory of equalize.cl, for the kernels that equalize keys.
#pragma once

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium {

struct Equalizer {
  unsigned bits = 0;  // log2 of the number of buckets, from 10 to 16; 0: no keys are equalized

  static constexpr unsigned hidden_bits = 2, cells = 1024;  // HIDDEN_BITS, EQUALIZER_CELLS
  [[nodiscard]] bool possible() const { return bits != 0; }
  [[nodiscard]] std::uint32_t buckets() const { return possible() ? std::uint32_t{1} << bits : 0; }
  // Width in bits of a distance from a bucket's first order.
  [[nodiscard]] unsigned distance_bits() const { return 32 + hidden_bits - bits; }
  // Bytes of the entries in local memory.
  [[nodiscard]] std::uint64_t local_bytes() const { return possible() ? 4 * (cells + 2) : 0; }
  // Bytes of the entries and their head in global memory.
  [[nodiscard]] std::uint64_t global_bytes() const { return 16 + local_bytes(); }
  void set(kernels::Defines& defines) const {
    defines.set("EQUALIZES", int{possible()}).set("EQUALIZED_BITS", bits);
  }
};

}  // namespace sortium
