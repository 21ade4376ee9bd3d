// sample's vector code. It is compiled once for each instruction set; the program selects one at
// run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

// The bits of a rank that a word holds: (rank - lowest) >> shift.
struct Window {
  std::uint64_t lowest = 0;
  unsigned shift = 0;
};

// Maps a key's bits to a code and back. A code is an unsigned number in the key's order. The map is
// invertible: the two zeros have neighbouring codes (see Ties), NaN have the highest codes, and
// each NaN has its own.
//   integers:  key ^ flip;
//   floats:    invert all bits of negative keys, and the sign bit of others; then ^ flip; then
//              subtract `below`, the number of NaN codes that precede all numbers at this point.
//              These codes wrap around and become the highest.
template <class Word>
struct Coding {
  Word flip = 0, below = 0;
  bool is_float = false;
};

void encode(const std::uint32_t* keys, std::uint32_t* codes, std::size_t count,
            Coding<std::uint32_t> coding);
void encode(const std::uint64_t* keys, std::uint64_t* codes, std::size_t count,
            Coding<std::uint64_t> coding);
// Decodes in place.
void decode(std::uint32_t* codes, std::size_t count, Coding<std::uint32_t> coding);
void decode(std::uint64_t* codes, std::size_t count, Coding<std::uint64_t> coding);

// Writes words of the keys' codes, in the upper halves, and `values`. If `values` is null, the lower
// halves are first, first + 1, …
void pack(const std::uint32_t* keys, const std::uint32_t* values, std::uint32_t first,
          std::uint64_t* words, std::size_t count, Coding<std::uint32_t> coding);
// Writes the keys and values of such words. `keys` may be null.
void unpack(const std::uint64_t* words, std::uint32_t* keys, std::uint32_t* values,
            std::size_t count, Coding<std::uint32_t> coding);
void unpack(const std::uint64_t* words, std::uint32_t* keys, std::uint64_t* values,
            std::size_t count, Coding<std::uint32_t> coding);

// The lowest and the highest of at least one code.
struct CodeRange {
  std::uint64_t lowest, highest;
};
[[nodiscard]] CodeRange range_of_codes(const std::uint32_t* codes, std::size_t count);
[[nodiscard]] CodeRange range_of_codes(const std::uint64_t* codes, std::size_t count);

// Writes words of (code - window.lowest) >> window.shift, above the code's place in the list, which
// has `place_bits` bits.
void make_words(const std::uint32_t* codes, std::uint64_t* words, std::size_t count, Window window,
                unsigned place_bits);
void make_words(const std::uint64_t* codes, std::uint64_t* words, std::size_t count, Window window,
                unsigned place_bits);

// Sorts in ascending order, not stably. Highway's vqsort: Wassenberg, Blacher, Giesen, Sanders,
// "Vectorized and performance-portable Quicksort" (2022).
void sort_words(std::uint32_t* words, std::size_t count);
void sort_words(std::uint64_t* words, std::size_t count);

// Stably partitions words by ascending splitters: part k has the words w with splitters[k - 1] <= w
// < splitters[k], and ends at ends[k]. There is one more part than splitters. `spare` has space for
// `count` words. Makes log2(parts) passes over the words, which should fit a core's cache.
void partition_words(std::uint32_t* words, std::size_t count, const std::uint32_t* splitters,
                     std::size_t splitter_count, std::size_t* ends, std::uint32_t* spare);
void partition_words(std::uint64_t* words, std::size_t count, const std::uint64_t* splitters,
                     std::size_t splitter_count, std::size_t* ends, std::uint64_t* spare);

// The same for codes with values. A spare array has space for `count` elements.
#define SORTIUM_SAMPLE_PARTITION_PAIRS(code_bits, value_bits)                                     \
  void partition_pairs(std::uint##code_bits##_t* codes, std::uint##value_bits##_t* values,        \
                       std::size_t count, const std::uint##code_bits##_t* splitters,              \
                       std::size_t splitter_count, std::size_t* ends,                             \
                       std::uint##code_bits##_t* spare_codes,                                     \
                       std::uint##value_bits##_t* spare_values)
SORTIUM_SAMPLE_PARTITION_PAIRS(32, 32);
SORTIUM_SAMPLE_PARTITION_PAIRS(32, 64);
SORTIUM_SAMPLE_PARTITION_PAIRS(64, 32);
SORTIUM_SAMPLE_PARTITION_PAIRS(64, 64);

}  // namespace sortium::sample
