// Sorts of short lists by x86-simd-sort, NumPy's sort on x86. It sorts up to some 2^16 words faster
// than vqsort. Floats of any number are sorted faster than words of their codes, because AVX-512
// compares doubles faster than words of 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

// Sorts `count` words in ascending order, not stably.
template <class Word>
using SortWords = void (*)(Word* words, std::size_t count);
// Moves the words below `pivot` to the front, not stably. Returns how many they are.
template <class Word>
using PartitionWords = std::size_t (*)(Word* words, std::size_t count, Word pivot);

// Puts the word there that a sort would put at position `n`, lower ones before and higher ones
// after it, in any order.
template <class Word>
using SelectWord = void (*)(Word* words, std::size_t count, std::size_t n);

// What an instruction set has for one type of words. From `most` + 1 words on, vqsort is faster.
template <class Word>
struct ShortSort {
  SortWords<Word> sort = nullptr;
  PartitionWords<Word> partition = nullptr;
  SelectWord<Word> select = nullptr;  // for any number of words; null: there is none
  std::size_t most = 0;               // 0: there is no sort
};
// Floats must not be NaN, and must not have zeros of both signs.
struct ShortSorts {
  ShortSort<std::uint16_t> of_16;
  ShortSort<std::uint32_t> of_32;
  ShortSort<std::uint64_t> of_64;
  ShortSort<float> of_floats;
  ShortSort<double> of_doubles;
};

extern const ShortSorts avx512_sorts, avx2_sorts;

}  // namespace sortium::sample
