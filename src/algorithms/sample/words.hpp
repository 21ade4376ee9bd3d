// sample's vector code. It is compiled once for each instruction set; the program selects one at
// run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

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

}  // namespace sortium::sample
