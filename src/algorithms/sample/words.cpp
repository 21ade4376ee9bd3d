// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/words.cpp"
#include "words.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace sortium::sample::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Word>
HWY_INLINE Word float_code(Word key, Coding<Word> c) {
  constexpr int top = sizeof(Word) * 8 - 1;
  const Word negative = Word{0} - (key >> top);
  return ((key ^ (negative | Word{1} << top)) ^ c.flip) - c.below;
}
template <class Word>
HWY_INLINE Word float_key(Word code, Coding<Word> c) {
  constexpr int top = sizeof(Word) * 8 - 1;
  const Word turned = (code + c.below) ^ c.flip;
  return turned ^ (((turned >> top) - 1) | Word{1} << top);
}

// Compilers vectorise these loops.
template <class Word>
void encode_all(const Word* HWY_RESTRICT keys, Word* HWY_RESTRICT codes, std::size_t count,
                Coding<Word> c) {
  if (!c.is_float)
    for (std::size_t i = 0; i < count; ++i) codes[i] = keys[i] ^ c.flip;
  else
    for (std::size_t i = 0; i < count; ++i) codes[i] = float_code(keys[i], c);
}

template <class Word>
void decode_all(Word* codes, std::size_t count, Coding<Word> c) {
  if (!c.is_float)
    for (std::size_t i = 0; i < count; ++i) codes[i] ^= c.flip;
  else
    for (std::size_t i = 0; i < count; ++i) codes[i] = float_key(codes[i], c);
}

void pack_all(const std::uint32_t* HWY_RESTRICT keys, const std::uint32_t* HWY_RESTRICT values,
              std::uint32_t first, std::uint64_t* HWY_RESTRICT words, std::size_t count,
              Coding<std::uint32_t> c) {
  const auto with = [&](auto code, auto value) {
    for (std::size_t i = 0; i < count; ++i) words[i] = std::uint64_t{code(i)} << 32 | value(i);
  };
  const auto with_code = [&](auto code) {
    if (values != nullptr)
      with(code, [=](std::size_t i) { return values[i]; });
    else
      with(code, [=](std::size_t i) { return first + static_cast<std::uint32_t>(i); });
  };
  if (c.is_float)
    with_code([=](std::size_t i) { return float_code(keys[i], c); });
  else
    with_code([=](std::size_t i) { return keys[i] ^ c.flip; });
}

template <class Value>
void unpack_all(const std::uint64_t* HWY_RESTRICT words, std::uint32_t* HWY_RESTRICT keys,
                Value* HWY_RESTRICT values, std::size_t count, Coding<std::uint32_t> c) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(words[i]);
  if (keys == nullptr) return;
  if (!c.is_float)
    for (std::size_t i = 0; i < count; ++i)
      keys[i] = static_cast<std::uint32_t>(words[i] >> 32) ^ c.flip;
  else
    for (std::size_t i = 0; i < count; ++i)
      keys[i] = float_key(static_cast<std::uint32_t>(words[i] >> 32), c);
}
void unpack32(const std::uint64_t* words, std::uint32_t* keys, std::uint32_t* values,
              std::size_t count, Coding<std::uint32_t> c) {
  unpack_all(words, keys, values, count, c);
}
void unpack64(const std::uint64_t* words, std::uint32_t* keys, std::uint64_t* values,
              std::size_t count, Coding<std::uint32_t> c) {
  unpack_all(words, keys, values, count, c);
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

// Stably moves the pairs whose code is below the pivot to the front, as split() does.
template <class Code, class Value>
std::size_t split_pairs(Code* HWY_RESTRICT codes, Value* HWY_RESTRICT values, std::size_t count,
                        Code pivot, Code* HWY_RESTRICT spare_codes,
                        Value* HWY_RESTRICT spare_values) {
  using Wide = std::conditional_t<(sizeof(Code) > sizeof(Value)), Code, Value>;
  const hn::ScalableTag<Wide> wide;
  const hn::Rebind<Code, decltype(wide)> dc;
  const hn::Rebind<Value, decltype(wide)> dv;
  const std::size_t lanes = hn::Lanes(wide);
  const auto pivots = hn::Set(dc, pivot);
  std::size_t i = 0, low = 0, high = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto c = hn::LoadU(dc, codes + i);
    const auto v = hn::LoadU(dv, values + i);
    const auto is_low = hn::Lt(c, pivots);
    hn::StoreU(hn::Compress(c, is_low), dc, codes + low);
    hn::StoreU(hn::CompressNot(c, is_low), dc, spare_codes + high);
    const auto of_values = [&] {
      if constexpr (sizeof(Code) == sizeof(Value))
        return hn::RebindMask(dv, is_low);
      else if constexpr (sizeof(Code) > sizeof(Value))
        return hn::DemoteMaskTo(dv, dc, is_low);
      else
        return hn::PromoteMaskTo(dv, dc, is_low);
    }();
    hn::StoreU(hn::Compress(v, of_values), dv, values + low);
    hn::StoreU(hn::CompressNot(v, of_values), dv, spare_values + high);
    const std::size_t lows = hn::CountTrue(dc, is_low);
    low += lows;
    high += lanes - lows;
  }
  for (; i < count; ++i) {
    const Code code = codes[i];
    const Value value = values[i];
    if (code < pivot)
      codes[low] = code, values[low++] = value;
    else
      spare_codes[high] = code, spare_values[high++] = value;
  }
  std::memcpy(codes + low, spare_codes, high * sizeof(Code));
  std::memcpy(values + low, spare_values, high * sizeof(Value));
  return low;
}

template <class Code, class Value>
void partition_pairs_all(Code* codes, Value* values, std::size_t begin, std::size_t end,
                         const Code* splitters, std::size_t splitter_count, std::size_t* ends,
                         Code* spare_codes, Value* spare_values) {
  if (splitter_count == 0) {
    *ends = end;
    return;
  }
  const std::size_t middle = splitter_count / 2;
  const std::size_t at = begin + split_pairs(codes + begin, values + begin, end - begin,
                                             splitters[middle], spare_codes, spare_values);
  partition_pairs_all(codes, values, begin, at, splitters, middle, ends, spare_codes,
                      spare_values);
  partition_pairs_all(codes, values, at, end, splitters + middle + 1, splitter_count - middle - 1,
                      ends + middle + 1, spare_codes, spare_values);
}

template <class Code>
CodeRange range_of_all(const Code* codes, std::size_t count) {
  const hn::ScalableTag<Code> d;
  const std::size_t lanes = hn::Lanes(d);
  Code lowest = codes[0], highest = codes[0];
  std::size_t i = 0;
  if (count >= lanes) {
    auto low = hn::LoadU(d, codes), high = low;
    for (; i + lanes <= count; i += lanes) {
      const auto v = hn::LoadU(d, codes + i);
      low = hn::Min(low, v);
      high = hn::Max(high, v);
    }
    lowest = hn::ReduceMin(d, low);
    highest = hn::ReduceMax(d, high);
  }
  for (; i < count; ++i) lowest = std::min(lowest, codes[i]), highest = std::max(highest, codes[i]);
  return {lowest, highest};
}

template <class Code>
void make_all_words(const Code* HWY_RESTRICT codes, std::uint64_t* HWY_RESTRICT words,
                    std::size_t count, Window window, unsigned place_bits) {
  for (std::size_t i = 0; i < count; ++i)
    words[i] = (std::uint64_t{codes[i]} - window.lowest) >> window.shift << place_bits | i;
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
  }                                                                                         \
  CodeRange range##bits(const std::uint##bits##_t* c, std::size_t n) {                      \
    return range_of_all(c, n);                                                              \
  }                                                                                         \
  void make_words##bits(const std::uint##bits##_t* c, std::uint64_t* w, std::size_t n,      \
                        Window window, unsigned place_bits) {                               \
    make_all_words(c, w, n, window, place_bits);                                            \
  }
SORTIUM_SAMPLE_WORDS(32)
SORTIUM_SAMPLE_WORDS(64)

#define SORTIUM_SAMPLE_PAIRS(code_bits, value_bits)                                             \
  void pairs##code_bits##_##value_bits(                                                         \
      std::uint##code_bits##_t* c, std::uint##value_bits##_t* v, std::size_t n,                 \
      const std::uint##code_bits##_t* s, std::size_t m, std::size_t* ends,                      \
      std::uint##code_bits##_t* spare_c, std::uint##value_bits##_t* spare_v) {                  \
    partition_pairs_all(c, v, std::size_t{0}, n, s, m, ends, spare_c, spare_v);                 \
  }
SORTIUM_SAMPLE_PAIRS(32, 32)
SORTIUM_SAMPLE_PAIRS(32, 64)
SORTIUM_SAMPLE_PAIRS(64, 32)
SORTIUM_SAMPLE_PAIRS(64, 64)

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
  }                                                                                                \
  HWY_EXPORT(range##bits);                                                                         \
  HWY_EXPORT(make_words##bits);                                                                    \
  CodeRange range_of_codes(const std::uint##bits##_t* codes, std::size_t count) {                  \
    return HWY_DYNAMIC_DISPATCH(range##bits)(codes, count);                                        \
  }                                                                                                \
  void make_words(const std::uint##bits##_t* codes, std::uint64_t* words, std::size_t count,       \
                  Window window, unsigned place_bits) {                                            \
    HWY_DYNAMIC_DISPATCH(make_words##bits)(codes, words, count, window, place_bits);               \
  }
SORTIUM_SAMPLE_DISPATCH(32)
SORTIUM_SAMPLE_DISPATCH(64)

#define SORTIUM_SAMPLE_DISPATCH_PAIRS(code_bits, value_bits)                                \
  HWY_EXPORT(pairs##code_bits##_##value_bits);                                              \
  SORTIUM_SAMPLE_PARTITION_PAIRS(code_bits, value_bits) {                                   \
    HWY_DYNAMIC_DISPATCH(pairs##code_bits##_##value_bits)                                   \
    (codes, values, count, splitters, splitter_count, ends, spare_codes, spare_values);     \
  }
SORTIUM_SAMPLE_DISPATCH_PAIRS(32, 32)
SORTIUM_SAMPLE_DISPATCH_PAIRS(32, 64)
SORTIUM_SAMPLE_DISPATCH_PAIRS(64, 32)
SORTIUM_SAMPLE_DISPATCH_PAIRS(64, 64)

HWY_EXPORT(pack_all);
HWY_EXPORT(unpack32);
HWY_EXPORT(unpack64);
void pack(const std::uint32_t* keys, const std::uint32_t* values, std::uint32_t first,
          std::uint64_t* words, std::size_t count, Coding<std::uint32_t> coding) {
  HWY_DYNAMIC_DISPATCH(pack_all)(keys, values, first, words, count, coding);
}
void unpack(const std::uint64_t* words, std::uint32_t* keys, std::uint32_t* values,
            std::size_t count, Coding<std::uint32_t> coding) {
  HWY_DYNAMIC_DISPATCH(unpack32)(words, keys, values, count, coding);
}
void unpack(const std::uint64_t* words, std::uint32_t* keys, std::uint64_t* values,
            std::size_t count, Coding<std::uint32_t> coding) {
  HWY_DYNAMIC_DISPATCH(unpack64)(words, keys, values, count, coding);
}

}  // namespace sortium::sample
#endif  // HWY_ONCE
