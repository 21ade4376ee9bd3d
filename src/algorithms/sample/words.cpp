// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/words.cpp"
#include "words.hpp"

#include <hwy/contrib/sort/vqsort.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "codes.hpp"
#include "short_sorts.hpp"

HWY_BEFORE_NAMESPACE();
namespace sortium::sample::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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
  for (std::size_t i = 0; i < count; ++i) codes[i] = code_of(keys[i], c);
}

template <class Word>
void encode_all_tied(const Word* HWY_RESTRICT keys, Word* HWY_RESTRICT codes, std::size_t count,
                     Coding<Word> c) {
  if (!c.is_float) return encode_all(keys, codes, count, c);
  for (std::size_t i = 0; i < count; ++i) codes[i] = Ties<Word>::shared(code_of(keys[i], c));
}

template <class Word>
void decode_all(Word* codes, std::size_t count, Coding<Word> c) {
  if (!c.is_float)
    for (std::size_t i = 0; i < count; ++i) codes[i] ^= c.flip;
  else
    for (std::size_t i = 0; i < count; ++i) codes[i] = float_key(codes[i], c);
}

// Copies the floats unless `out` is `in`. Returns 0 if they are plain, else the sum of what
// applies.
constexpr unsigned has_nan = 1, has_both_zeros = 2;
template <class Word>
unsigned copy_floats(const Word* in, Word* out, std::size_t count) {
  constexpr Word sign = Word{1} << (sizeof(Word) * 8 - 1);
  Word nan = 0, positive = 0, negative = 0;
  const auto look = [&](Word word) HWY_ATTR {
    nan |= Word{(word & ~sign) > Ties<Word>::infinity};
    positive |= Word{word == 0};
    negative |= Word{word == sign};
    return word;
  };
  if (in == out)
    for (std::size_t i = 0; i < count; ++i) look(in[i]);
  else
    for (std::size_t i = 0; i < count; ++i) out[i] = look(in[i]);
  return (nan != 0 ? has_nan : 0) + ((positive & negative) != 0 ? has_both_zeros : 0);
}

// Moves all NaN behind the other floats, if they have the same bits. Returns the number of the
// others. Returns ~0 if the bits of NaN differ: then nothing has moved. There must be a NaN.
// The stores write whole vectors, but only over floats that have been read.
template <class Word>
std::size_t move_equal_nan(Word* floats, std::size_t count) {
  constexpr Word rest = static_cast<Word>(~Word{0}) >> 1, infinity = Ties<Word>::infinity;
  const hn::ScalableTag<Word> d;
  const std::size_t lanes = hn::Lanes(d), whole = count / lanes * lanes;
  const auto rests = hn::Set(d, rest), infinities = hn::Set(d, infinity);
  const Word* first = floats;
  while ((*first & rest) <= infinity) ++first;
  const Word nan = *first;
  const auto nans = hn::Set(d, nan);
  auto differs = hn::Zero(d);
  for (std::size_t i = 0; i < whole; i += lanes) {
    const auto v = hn::LoadU(d, floats + i);
    differs = hn::Or(differs,
                     hn::IfThenElseZero(hn::Gt(hn::And(v, rests), infinities), hn::Xor(v, nans)));
  }
  bool differ = !hn::AllTrue(d, hn::Eq(differs, hn::Zero(d)));
  for (std::size_t i = whole; i < count; ++i)
    differ = differ || ((floats[i] & rest) > infinity && floats[i] != nan);
  if (differ) return ~std::size_t{0};
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < whole; i += lanes) {
    const auto v = hn::LoadU(d, floats + i);
    const auto is_number = hn::Ne(v, nans);
    hn::StoreU(hn::Compress(v, is_number), d, floats + numbers);
    numbers += hn::CountTrue(d, is_number);
  }
  for (std::size_t i = whole; i < count; ++i)
    if (floats[i] != nan) floats[numbers++] = floats[i];
  std::fill(floats + numbers, floats + count, nan);
  return numbers;
}

void pack_all(const std::uint32_t* HWY_RESTRICT keys, const std::uint32_t* HWY_RESTRICT values,
              std::uint32_t first, std::uint64_t* HWY_RESTRICT words, std::size_t count,
              Coding<std::uint32_t> c) {
  if (values != nullptr)
    for (std::size_t i = 0; i < count; ++i)
      words[i] = std::uint64_t{code_of(keys[i], c)} << 32 | values[i];
  else
    for (std::size_t i = 0; i < count; ++i)
      words[i] = std::uint64_t{code_of(keys[i], c)} << 32 | (first + static_cast<std::uint32_t>(i));
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
  partition_pairs_all(codes, values, begin, at, splitters, middle, ends, spare_codes, spare_values);
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

// `Pair` is a std::pair of the types of a code and a word, because a table of functions takes only
// one type.
template <class Pair, class Code = typename Pair::first_type,
          class Word = typename Pair::second_type>
void make_all_words(const Code* HWY_RESTRICT codes, Word* HWY_RESTRICT words, std::size_t count,
                    Window window, unsigned place_bits) {
  const Code lowest = static_cast<Code>(window.lowest);
  for (std::size_t i = 0; i < count; ++i)
    words[i] =
        static_cast<Word>(static_cast<Word>((codes[i] - lowest) >> window.shift) << place_bits | i);
}

// Replaces the first half of the words' memory by differences of 4 bytes, and the reverse.
void narrow(std::uint64_t* words, std::size_t count, std::uint64_t lowest) {
  const hn::ScalableTag<std::uint64_t> d64;
  const hn::Rebind<std::uint32_t, decltype(d64)> d32;
  const std::size_t lanes = hn::Lanes(d64);
  const auto low = hn::Set(d64, lowest);
  auto* const to = reinterpret_cast<std::uint32_t*>(words);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::TruncateTo(d32, hn::Sub(hn::LoadU(d64, words + i), low)), d32, to + i);
  for (; i < count; ++i) {
    const auto difference = static_cast<std::uint32_t>(words[i] - lowest);
    std::memcpy(to + i, &difference, sizeof difference);
  }
}
void widen(std::uint64_t* words, std::size_t count, std::uint64_t lowest) {
  const hn::ScalableTag<std::uint64_t> d64;
  const hn::Rebind<std::uint32_t, decltype(d64)> d32;
  const std::size_t lanes = hn::Lanes(d64);
  const auto low = hn::Set(d64, lowest);
  const auto* const from = reinterpret_cast<const std::uint32_t*>(words);
  std::size_t i = count;
  for (; i % lanes != 0; --i) {
    std::uint32_t difference = 0;
    std::memcpy(&difference, from + i - 1, sizeof difference);
    words[i - 1] = lowest + difference;
  }
  for (; i != 0; i -= lanes)
    hn::StoreU(hn::Add(hn::PromoteTo(d64, hn::LoadU(d32, from + i - lanes)), low), d64,
               words + i - lanes);
}

template <class Word>
void partition_list(Word* words, std::size_t count, const Word* splitters,
                    std::size_t splitter_count, std::size_t* ends, Word* spare) {
  partition_all(words, std::size_t{0}, count, splitters, splitter_count, ends, spare);
}
// `Pair` has the types of a code and a value.
template <class Pair, class Code = typename Pair::first_type,
          class Value = typename Pair::second_type>
void partition_list_of_pairs(Code* codes, Value* values, std::size_t count, const Code* splitters,
                             std::size_t splitter_count, std::size_t* ends, Code* spare_codes,
                             Value* spare_values) {
  partition_pairs_all(codes, values, std::size_t{0}, count, splitters, splitter_count, ends,
                      spare_codes, spare_values);
}

}  // namespace sortium::sample::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sortium::sample {

template <class Word>
void encode(const Word* keys, Word* codes, std::size_t count, Coding<Word> coding) {
  if (!coding.is_float && coding.flip == 0) {  // keys are their own codes
    if (codes != keys) std::memcpy(codes, keys, count * sizeof(Word));
    return;
  }
  HWY_EXPORT_T(Encode, encode_all<Word>);
  HWY_DYNAMIC_DISPATCH_T(Encode)(keys, codes, count, coding);
}
template <class Word>
void encode_tied(const Word* keys, Word* codes, std::size_t count, Coding<Word> coding) {
  HWY_EXPORT_T(EncodeTied, encode_all_tied<Word>);
  HWY_DYNAMIC_DISPATCH_T(EncodeTied)(keys, codes, count, coding);
}
template <class Word>
void decode(Word* codes, std::size_t count, Coding<Word> coding) {
  if (!coding.is_float && coding.flip == 0) return;
  HWY_EXPORT_T(Decode, decode_all<Word>);
  HWY_DYNAMIC_DISPATCH_T(Decode)(codes, count, coding);
}
HWY_EXPORT(pack_all);
void pack(const std::uint32_t* keys, const std::uint32_t* values, std::uint32_t first,
          std::uint64_t* words, std::size_t count, Coding<std::uint32_t> coding) {
  HWY_DYNAMIC_DISPATCH(pack_all)(keys, values, first, words, count, coding);
}
template <class Value>
void unpack(const std::uint64_t* words, std::uint32_t* keys, Value* values, std::size_t count,
            Coding<std::uint32_t> coding) {
  HWY_EXPORT_T(Unpack, unpack_all<Value>);
  HWY_DYNAMIC_DISPATCH_T(Unpack)(words, keys, values, count, coding);
}
template <class Code>
CodeRange range_of_codes(const Code* codes, std::size_t count) {
  HWY_EXPORT_T(Range, range_of_all<Code>);
  return HWY_DYNAMIC_DISPATCH_T(Range)(codes, count);
}
template <class Code, class Word>
void make_words(const Code* codes, Word* words, std::size_t count, Window window,
                unsigned place_bits) {
  using Pair = std::pair<Code, Word>;
  HWY_EXPORT_T(MakeWords, make_all_words<Pair>);
  HWY_DYNAMIC_DISPATCH_T(MakeWords)(codes, words, count, window, place_bits);
}
// The sorts of short lists for this processor. AMD's first processors with AVX-512 are slow at the
// instructions that x86-simd-sort uses; vqsort has code of its own for them.
const ShortSorts& short_sorts() {
#ifdef SORTIUM_X86_SIMD_SORT
  static const ShortSorts selected = [] {
    const std::int64_t targets = hwy::SupportedTargets();
    if ((targets & HWY_AVX3_ZEN4) != 0) return ShortSorts{};
    if ((targets & HWY_AVX3_DL) != 0) return avx512_sorts;
    return (targets & (HWY_AVX3 | HWY_AVX2)) != 0 ? avx2_sorts : ShortSorts{};
  }();
#else
  static constexpr ShortSorts selected{};
#endif
  return selected;
}
template <class Word>
const ShortSort<Word>& short_sort() {
  if constexpr (sizeof(Word) == 2)
    return short_sorts().of_16;
  else if constexpr (sizeof(Word) == 4)
    return short_sorts().of_32;
  else
    return short_sorts().of_64;
}

template <class Word>
void sort_words(Word* words, std::size_t count) {
  if (count < 2) return;
  if (const auto& short_list = short_sort<Word>(); count <= short_list.most)
    return short_list.sort(words, count);
  hwy::VQSort(words, count, hwy::SortAscending());
}
template <class Word>
Word select_word(Word* words, std::size_t count, std::size_t n) {
  if (const auto select = short_sort<Word>().select; select != nullptr)
    select(words, count, n);
  else
    hwy::VQSelect(words, count, n, hwy::SortAscending());
  return words[n];
}
HWY_EXPORT(narrow);
HWY_EXPORT(widen);
template <class Code>
void sort_codes(Code* codes, std::size_t count) {
  if constexpr (sizeof(Code) == 8) {
    if (count == 0) return;
    const auto [lowest, highest] = range_of_codes(codes, count);
    if (highest - lowest <= ~std::uint32_t{0}) {
      HWY_DYNAMIC_DISPATCH(narrow)(codes, count, lowest);
      sort_words(reinterpret_cast<std::uint32_t*>(codes), count);
      HWY_DYNAMIC_DISPATCH(widen)(codes, count, lowest);
      return;
    }
  }
  sort_words(codes, count);
}
// The sort of floats of the size of `Word`.
template <class Word>
const auto& short_sort_of_floats() {
  if constexpr (sizeof(Word) == 4)
    return short_sorts().of_floats;
  else
    return short_sorts().of_doubles;
}
template <class Word>
using FloatOf = std::conditional_t<sizeof(Word) == 4, float, double>;

// True if a list of so many floats is sorted faster without codes.
template <class Word>
bool sorts_floats(std::size_t count) {
  const std::size_t most = short_sort_of_floats<Word>().most;
  return most != 0 && count <= most;
}
template <class Word>
bool copy_plain_floats(const Word* in, Word* out, std::size_t count) {
  HWY_EXPORT_T(CopyFloats, copy_floats<Word>);
  return sorts_floats<Word>(count) && HWY_DYNAMIC_DISPATCH_T(CopyFloats)(in, out, count) == 0;
}
template <class Word>
std::optional<std::size_t> copy_numbers(const Word* in, Word* out, std::size_t count) {
  HWY_EXPORT_T(CopyFloats, copy_floats<Word>);
  HWY_EXPORT_T(MoveNan, move_equal_nan<Word>);
  if (!sorts_floats<Word>(count)) return {};
  const unsigned kinds = HWY_DYNAMIC_DISPATCH_T(CopyFloats)(in, out, count);
  if (kinds == 0) return count;
  if (kinds != HWY_NAMESPACE::has_nan) return {};
  const std::size_t numbers = HWY_DYNAMIC_DISPATCH_T(MoveNan)(out, count);
  if (numbers > count) return {};
  return numbers;
}
template <class Word>
void sort_plain_floats(Word* floats, std::size_t count) {
  short_sort_of_floats<Word>().sort(reinterpret_cast<FloatOf<Word>*>(floats), count);
}
bool partitions_in_place() { return short_sorts().of_16.partition != nullptr; }
template <class Word>
std::size_t partition_in_place(Word* words, std::size_t count, Word pivot, bool are_floats) {
  if constexpr (sizeof(Word) >= 4)
    if (are_floats)
      return short_sort_of_floats<Word>().partition(reinterpret_cast<FloatOf<Word>*>(words), count,
                                                    std::bit_cast<FloatOf<Word>>(pivot));
  return short_sort<Word>().partition(words, count, pivot);
}

// Moves the codes of NaN, which are all `nan`, to the end. Returns the number of other codes.
template <class Code>
std::size_t move_nan(Code* codes, std::size_t count, Code nan) {
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Code code = codes[i];
    codes[numbers] = code;
    numbers += code < Ties<Code>::first_nan;
  }
  std::fill(codes + numbers, codes + count, nan);
  return numbers;
}
// Returns false, with the codes as they were, if sort_codes() is faster.
template <class Code>
bool sort_float_codes(Code* codes, std::size_t count, Coding<Code> coding) {
  if (count > short_sort_of_floats<Code>().most || count == 0) return false;
  const auto [lowest, highest] = range_of_codes(codes, count);
  if (sizeof(Code) == 8 && highest - lowest <= ~std::uint32_t{0}) return false;
  const std::size_t numbers =
      highest < Ties<Code>::first_nan ? count : move_nan(codes, count, static_cast<Code>(highest));
  decode(codes, count, coding);
  sort_plain_floats(codes, numbers);
  if (coding.flip != 0) std::reverse(codes, codes + numbers);
  return true;
}
template <class Code>
void sort_and_decode(Code* codes, std::size_t count, Coding<Code> coding) {
  if constexpr (sizeof(Code) >= 4)
    if (coding.is_float && sort_float_codes(codes, count, coding)) return;
  sort_codes(codes, count);
  decode(codes, count, coding);
}
template <class Word>
void partition_words(Word* words, std::size_t count, const Word* splitters,
                     std::size_t splitter_count, std::size_t* ends, Word* spare) {
  HWY_EXPORT_T(Partition, partition_list<Word>);
  HWY_DYNAMIC_DISPATCH_T(Partition)(words, count, splitters, splitter_count, ends, spare);
}
template <class Code, class Value>
void partition_pairs(Code* codes, Value* values, std::size_t count, const Code* splitters,
                     std::size_t splitter_count, std::size_t* ends, Code* spare_codes,
                     Value* spare_values) {
  using Pair = std::pair<Code, Value>;
  HWY_EXPORT_T(PartitionPairs, partition_list_of_pairs<Pair>);
  HWY_DYNAMIC_DISPATCH_T(PartitionPairs)
  (codes, values, count, splitters, splitter_count, ends, spare_codes, spare_values);
}

#define SORTIUM_SAMPLE_WORDS(bits)                                                                \
  template void encode(const std::uint##bits##_t*, std::uint##bits##_t*, std::size_t,             \
                       Coding<std::uint##bits##_t>);                                              \
  template void encode_tied(const std::uint##bits##_t*, std::uint##bits##_t*, std::size_t,        \
                            Coding<std::uint##bits##_t>);                                         \
  template void decode(std::uint##bits##_t*, std::size_t, Coding<std::uint##bits##_t>);           \
  template void sort_words(std::uint##bits##_t*, std::size_t);                                    \
  template std::uint##bits##_t select_word(std::uint##bits##_t*, std::size_t, std::size_t);       \
  template void sort_codes(std::uint##bits##_t*, std::size_t);                                    \
  template std::size_t partition_in_place(std::uint##bits##_t*, std::size_t, std::uint##bits##_t, \
                                          bool);                                                  \
  template void sort_and_decode(std::uint##bits##_t*, std::size_t, Coding<std::uint##bits##_t>);  \
  template void partition_words(std::uint##bits##_t*, std::size_t, const std::uint##bits##_t*,    \
                                std::size_t, std::size_t*, std::uint##bits##_t*);
SORTIUM_SAMPLE_WORDS(16)
SORTIUM_SAMPLE_WORDS(32)
SORTIUM_SAMPLE_WORDS(64)
#define SORTIUM_SAMPLE_RECORDS(bits)                                                              \
  template void unpack(const std::uint64_t*, std::uint32_t*, std::uint##bits##_t*, std::size_t,   \
                       Coding<std::uint32_t>);                                                    \
  template CodeRange range_of_codes(const std::uint##bits##_t*, std::size_t);                     \
  template bool copy_plain_floats(const std::uint##bits##_t*, std::uint##bits##_t*, std::size_t); \
  template std::optional<std::size_t> copy_numbers(const std::uint##bits##_t*,                    \
                                                   std::uint##bits##_t*, std::size_t);            \
  template void sort_plain_floats(std::uint##bits##_t*, std::size_t);                             \
  template void make_words(const std::uint##bits##_t*, std::uint32_t*, std::size_t, Window,       \
                           unsigned);                                                             \
  template void make_words(const std::uint##bits##_t*, std::uint64_t*, std::size_t, Window,       \
                           unsigned);                                                             \
  template void partition_pairs(std::uint##bits##_t*, std::uint32_t*, std::size_t,                \
                                const std::uint##bits##_t*, std::size_t, std::size_t*,            \
                                std::uint##bits##_t*, std::uint32_t*);                            \
  template void partition_pairs(std::uint##bits##_t*, std::uint64_t*, std::size_t,                \
                                const std::uint##bits##_t*, std::size_t, std::size_t*,            \
                                std::uint##bits##_t*, std::uint64_t*);
SORTIUM_SAMPLE_RECORDS(32)
SORTIUM_SAMPLE_RECORDS(64)

}  // namespace sortium::sample
#endif  // HWY_ONCE
