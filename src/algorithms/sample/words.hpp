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
// The same, with one code for all keys that tie: Ties::shared().
void encode_tied(const std::uint32_t* keys, std::uint32_t* codes, std::size_t count,
                 Coding<std::uint32_t> coding);
void encode_tied(const std::uint64_t* keys, std::uint64_t* codes, std::size_t count,
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

// Returns how many of the first keys are in order: each is followed by one that is not before it.
// At least 1 if count is not 0.
[[nodiscard]] std::size_t ascending(const std::uint32_t* keys, std::size_t count,
                                    Coding<std::uint32_t> coding);
[[nodiscard]] std::size_t ascending(const std::uint64_t* keys, std::size_t count,
                                    Coding<std::uint64_t> coding);
// Returns how many of the first keys are in reverse order: each is followed by one before it or by
// the same key. A tie between different keys ends the search, because they must keep their order.
[[nodiscard]] std::size_t descending(const std::uint32_t* keys, std::size_t count,
                                     Coding<std::uint32_t> coding);
[[nodiscard]] std::size_t descending(const std::uint64_t* keys, std::size_t count,
                                     Coding<std::uint64_t> coding);
// True if no word is above the word `stride` places after it.
[[nodiscard]] bool ascends_by(const std::uint32_t* words, std::size_t count, std::size_t stride);
[[nodiscard]] bool ascends_by(const std::uint64_t* words, std::size_t count, std::size_t stride);

// Which floats of a list tie and differ: the codes of zeros, and the lowest and highest code of NaN.
struct CodeTies {
  bool lower_zero = false, upper_zero = false;
  std::uint64_t lowest_nan = ~std::uint64_t{0}, highest_nan = 0;  // lowest > highest: no NaN

  void add(const CodeTies& other) {
    lower_zero |= other.lower_zero;
    upper_zero |= other.upper_zero;
    if (other.lowest_nan < lowest_nan) lowest_nan = other.lowest_nan;
    if (other.highest_nan > highest_nan) highest_nan = other.highest_nan;
  }
  [[nodiscard]] bool differ() const {
    return (lower_zero && upper_zero) || lowest_nan < highest_nan;
  }
};
[[nodiscard]] CodeTies ties_of(const std::uint32_t* codes, std::size_t count);
[[nodiscard]] CodeTies ties_of(const std::uint64_t* codes, std::size_t count);

// Exchanges a[i] and b[count - 1 - i]. The lists must not overlap.
void swap_reversed(std::uint32_t* a, std::uint32_t* b, std::size_t count);
void swap_reversed(std::uint64_t* a, std::uint64_t* b, std::size_t count);

// Merges two sorted lists of words. `to` must not overlap them.
void merge_words(const std::uint32_t* a, std::size_t a_count, const std::uint32_t* b,
                 std::size_t b_count, std::uint32_t* to);
void merge_words(const std::uint64_t* a, std::size_t a_count, const std::uint64_t* b,
                 std::size_t b_count, std::uint64_t* to);

// Sorts in ascending order, not stably. Highway's vqsort: Wassenberg, Blacher, Giesen, Sanders,
// "Vectorized and performance-portable Quicksort" (2022).
void sort_words(std::uint32_t* words, std::size_t count);
void sort_words(std::uint64_t* words, std::size_t count);
// Does the same. If all words of 8 bytes lie within 2^32, sorts their differences, of 4 bytes, in
// half of the time.
inline void sort_codes(std::uint32_t* codes, std::size_t count) { sort_words(codes, count); }
void sort_codes(std::uint64_t* codes, std::size_t count);

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
