// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/words.cpp"
#include "words.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace sortium::sample::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Compilers vectorise these loops.
template <class Word>
void encode_all(const Word* HWY_RESTRICT keys, Word* HWY_RESTRICT codes, std::size_t count,
                Coding<Word> c) {
  constexpr int top = sizeof(Word) * 8 - 1;
  constexpr Word sign = Word{1} << top;
  if (!c.is_float) {
    for (std::size_t i = 0; i < count; ++i) codes[i] = keys[i] ^ c.flip;
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const Word key = keys[i], negative = Word{0} - (key >> top);
      codes[i] = ((key ^ (negative | sign)) ^ c.flip) - c.below;
    }
  }
}

template <class Word>
void decode_all(Word* codes, std::size_t count, Coding<Word> c) {
  constexpr int top = sizeof(Word) * 8 - 1;
  constexpr Word sign = Word{1} << top;
  if (!c.is_float) {
    for (std::size_t i = 0; i < count; ++i) codes[i] ^= c.flip;
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      const Word turned = (codes[i] + c.below) ^ c.flip;
      codes[i] = turned ^ (((turned >> top) - 1) | sign);
    }
  }
}

// Stably moves the words below the pivot to the front and the others behind them. Returns how many
// words are below. It stores whole vectors; the next store overwrites the lanes in excess. No store
// overwrites input that has not been read yet.
template <class Word>
std::size_t split(Word* HWY_RESTRICT words, std::size_t count, Word pivot,
                  Word* HWY_RESTRICT spare) {
  const hn::ScalableTag<Word> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto pivots = hn::Set(d, pivot);
  std::size_t i = 0, low = 0, high = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(d, words + i);
    const auto is_low = hn::Lt(v, pivots);
    hn::StoreU(hn::Compress(v, is_low), d, words + low);
    hn::StoreU(hn::CompressNot(v, is_low), d, spare + high);
    const std::size_t lows = hn::CountTrue(d, is_low);
    low += lows;
    high += lanes - lows;
  }
  for (; i < count; ++i) {
    const Word word = words[i];
    if (word < pivot)
      words[low++] = word;
    else
      spare[high++] = word;
  }
  std::memcpy(words + low, spare, high * sizeof(Word));
  return low;
}

template <class Word>
void partition_all(Word* words, std::size_t begin, std::size_t end, const Word* splitters,
                   std::size_t splitter_count, std::size_t* ends, Word* spare) {
  if (splitter_count == 0) {
    *ends = end;
    return;
  }
  const std::size_t middle = splitter_count / 2;
  const std::size_t at = begin + split(words + begin, end - begin, splitters[middle], spare);
  partition_all(words, begin, at, splitters, middle, ends, spare);
  partition_all(words, at, end, splitters + middle + 1, splitter_count - middle - 1,
                ends + middle + 1, spare);
}

#define SORTIUM_SAMPLE_WORDS(bits)                                                          \
  void encode##bits(const std::uint##bits##_t* k, std::uint##bits##_t* to, std::size_t n,   \
                    Coding<std::uint##bits##_t> c) {                                        \
    encode_all(k, to, n, c);                                                                \
  }                                                                                         \
  void decode##bits(std::uint##bits##_t* k, std::size_t n, Coding<std::uint##bits##_t> c) { \
    decode_all(k, n, c);                                                                    \
  }                                                                                         \
  void partition##bits(std::uint##bits##_t* w, std::size_t n, const std::uint##bits##_t* s, \
                       std::size_t m, std::size_t* ends, std::uint##bits##_t* spare) {      \
    partition_all(w, std::size_t{0}, n, s, m, ends, spare);                                 \
  }
SORTIUM_SAMPLE_WORDS(32)
SORTIUM_SAMPLE_WORDS(64)

}  // namespace sortium::sample::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sortium::sample {

#define SORTIUM_SAMPLE_DISPATCH(bits)                                                              \
  HWY_EXPORT(encode##bits);                                                                        \
  HWY_EXPORT(decode##bits);                                                                        \
  HWY_EXPORT(partition##bits);                                                                     \
  void encode(const std::uint##bits##_t* keys, std::uint##bits##_t* codes, std::size_t count,      \
              Coding<std::uint##bits##_t> coding) {                                                \
    HWY_DYNAMIC_DISPATCH(encode##bits)(keys, codes, count, coding);                                \
  }                                                                                                \
  void decode(std::uint##bits##_t* codes, std::size_t count, Coding<std::uint##bits##_t> coding) { \
    HWY_DYNAMIC_DISPATCH(decode##bits)(codes, count, coding);                                      \
  }                                                                                                \
  void sort_words(std::uint##bits##_t* words, std::size_t count) {                                 \
    hwy::VQSort(words, count, hwy::SortAscending());                                               \
  }                                                                                                \
  void partition_words(std::uint##bits##_t* words, std::size_t count,                              \
                       const std::uint##bits##_t* splitters, std::size_t splitter_count,           \
                       std::size_t* ends, std::uint##bits##_t* spare) {                            \
    HWY_DYNAMIC_DISPATCH(partition##bits)(words, count, splitters, splitter_count, ends, spare);   \
  }
SORTIUM_SAMPLE_DISPATCH(32)
SORTIUM_SAMPLE_DISPATCH(64)

}  // namespace sortium::sample
#endif  // HWY_ONCE
