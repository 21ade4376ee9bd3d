// What sample's host driver asks of the vector units: the part of the room that is compiled once
// for every instruction set, and chosen when the program runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

// The map from a key's bits to a code: an unsigned number that has the key's order, and back. It
// loses nothing: zeros of either sign have neighbouring codes (see choose_splitters), NaN the
// highest ones, and each NaN its own.
//   integers:  key ^ flip;
//   floats:    negative ones are inverted, positive ones get the sign bit; then ^ flip; then -
//   below, the number of NaN
//              that this puts before all numbers, so that they wrap round to the end.
template <class Word>
struct Coding {
  Word flip = 0, below = 0;
  bool is_float = false;
};

void encode(const std::uint32_t* keys, std::uint32_t* codes, std::size_t count,
            Coding<std::uint32_t> coding);
void encode(const std::uint64_t* keys, std::uint64_t* codes, std::size_t count,
            Coding<std::uint64_t> coding);
// In place.
void decode(std::uint32_t* codes, std::size_t count, Coding<std::uint32_t> coding);
void decode(std::uint64_t* codes, std::size_t count, Coding<std::uint64_t> coding);

// Ascending, not stable. Highway's vqsort: Wassenberg, Blacher, Giesen, Sanders, "Vectorized and
// performance-portable Quicksort" (2022).
void sort_words(std::uint32_t* words, std::size_t count);
void sort_words(std::uint64_t* words, std::size_t count);

// Stable: afterwards part k holds, in their order, the words w with splitters[k - 1] <= w <
// splitters[k], and ends at ends[k]; there is one part more than splitters, which ascend. `spare`:
// room for `count` words. log2(parts) passes over words that should fit a core's cache.
void partition_words(std::uint32_t* words, std::size_t count, const std::uint32_t* splitters,
                     std::size_t splitter_count, std::size_t* ends, std::uint32_t* spare);
void partition_words(std::uint64_t* words, std::size_t count, const std::uint64_t* splitters,
                     std::size_t splitter_count, std::size_t* ends, std::uint64_t* spare);

}  // namespace sortium::sample
