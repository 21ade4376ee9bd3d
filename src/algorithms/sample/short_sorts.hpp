// Sorts of short lists by x86-simd-sort, NumPy's sort on x86. vqsort needs longer lists to be as
// fast there, and has no sort of doubles that can skip the search for NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

// Sorts `count` words in ascending order, not stably.
template <class Word>
using SortWords = void (*)(Word* words, std::size_t count);

// The sort of an instruction set for one type of words. From `most` + 1 words on, vqsort is faster.
template <class Word>
struct ShortSort {
  SortWords<Word> sort = nullptr;
  std::size_t most = 0;
};
// A sort is absent (most = 0) if vqsort is as fast. Doubles must not be NaN; zeros must not differ.
struct ShortSorts {
  ShortSort<std::uint16_t> of_16;
  ShortSort<std::uint32_t> of_32;
  ShortSort<std::uint64_t> of_64;
  ShortSort<double> of_doubles;
};

extern const ShortSorts avx512_sorts, avx2_sorts;

}  // namespace sortium::sample
