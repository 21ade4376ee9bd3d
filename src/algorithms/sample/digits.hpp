// A stable radix sort of words in a core's cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sortium::sample {

// Sorts fewer than 2^32 words stably by their upper 32 bits, least significant digit first, and
// only by bits in which they differ. `spare` has space for `count` words. Returns a pointer to the
// result, which is in `words` or in `spare`.
inline std::uint64_t* sort_upper_halves(std::uint64_t* words, std::uint64_t* spare,
                                        std::size_t count) {
  constexpr unsigned most_bits = 10, most_passes = 4;
  std::uint32_t differ = 0;
  for (std::size_t i = 1; i < count; ++i)
    differ |= static_cast<std::uint32_t>((words[i] ^ words[0]) >> 32);
  if (differ == 0) return words;
  const unsigned low = 32 + static_cast<unsigned>(std::countr_zero(differ)),
                 bits = 32 + static_cast<unsigned>(std::bit_width(differ)) - low;
  const unsigned passes = (bits + most_bits - 1) / most_bits,
                 digit_bits = (bits + passes - 1) / passes;
  const std::uint32_t mask = (std::uint32_t{1} << digit_bits) - 1;
  std::uint32_t places[most_passes][std::size_t{1} << most_bits];
  for (unsigned p = 0; p < passes; ++p) std::fill_n(places[p], mask + 1, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned p = 0; p < passes; ++p) ++places[p][words[i] >> (low + p * digit_bits) & mask];
  for (unsigned p = 0; p < passes; ++p) {
    const unsigned shift = low + p * digit_bits;
    std::uint32_t before = 0;
    for (std::uint32_t d = 0; d <= mask; ++d) before += std::exchange(places[p][d], before);
    for (std::size_t i = 0; i < count; ++i) spare[places[p][words[i] >> shift & mask]++] = words[i];
    std::swap(words, spare);
  }
  return words;
}

}  // namespace sortium::sample
