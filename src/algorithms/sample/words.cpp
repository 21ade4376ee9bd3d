// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/words.cpp"
#include "codes.hpp"

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
  encode_all(keys, codes, count, c);
  if (!c.is_float) return;
  for (std::size_t i = 0; i < count; ++i) codes[i] = Ties<Word>::shared(codes[i]);
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

// ---- order that is there ----

// Calls is_broken(codes, shared codes, count) for blocks of neighbours, each with the first of the
// next block, until it returns true. Then looks for the first place in that block.
template <class Key, class IsBroken>
std::size_t length_until(const Key* keys, std::size_t count, Coding<Key> c,
                         const IsBroken& is_broken) {
  constexpr std::size_t block = 512;
  Key made_codes[block + 1], made_shared[block + 1];
  for (std::size_t begin = 0; begin + 1 < count; begin += block) {
    const std::size_t some = std::min(block + 1, count - begin);
    const Key *codes = keys + begin, *shared = codes;  // if keys are their own codes
    if (c.is_float || c.flip != 0) {
      encode_all(keys + begin, made_codes, some, c);
      codes = shared = made_codes;
    }
    if (c.is_float) {
      for (std::size_t i = 0; i < some; ++i) made_shared[i] = Ties<Key>::shared(codes[i]);
      shared = made_shared;
    }
    Key broken = 0;
    for (std::size_t i = 0; i + 1 < some; ++i) broken |= Key{is_broken(codes, shared, i)};
    if (broken == 0) continue;
    for (std::size_t i = 0;; ++i)
      if (is_broken(codes, shared, i)) return begin + i + 1;
  }
  return count;
}

template <class Key>
std::size_t ascending_all(const Key* keys, std::size_t count, Coding<Key> c) {
  return length_until(keys, count, c, [](const Key*, const Key* shared, std::size_t i) {
    return shared[i] > shared[i + 1];
  });
}
template <class Key>
std::size_t descending_all(const Key* keys, std::size_t count, Coding<Key> c) {
  return length_until(keys, count, c, [](const Key* codes, const Key* shared, std::size_t i) {
    return shared[i] < shared[i + 1] || (shared[i] == shared[i + 1] && codes[i] != codes[i + 1]);
  });
}
template <class Word>
bool ascends_by_all(const Word* words, std::size_t count, std::size_t stride) {
  constexpr std::size_t block = 512;
  for (std::size_t begin = 0; begin + stride < count; begin += block) {
    const std::size_t end = std::min(begin + block, count - stride);
    Word broken = 0;
    for (std::size_t i = begin; i < end; ++i) broken |= Word{words[i] > words[i + stride]};
    if (broken != 0) return false;
  }
  return true;
}

template <class Word>
CodeTies ties_of_all(const Word* codes, std::size_t count) {
  constexpr Word zero = Ties<Word>::first_zero, nan = Ties<Word>::first_nan;
  Word lower_zero = 0, upper_zero = 0, lowest = static_cast<Word>(~Word{0}), highest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Word code = codes[i];
    lower_zero |= Word{code == zero};
    upper_zero |= Word{code == zero + 1};
    highest = std::max(highest, code);
  }
  if (highest < nan) return {lower_zero != 0, upper_zero != 0};
  for (std::size_t i = 0; i < count; ++i)
    lowest = std::min(lowest, codes[i] < nan ? static_cast<Word>(~Word{0}) : codes[i]);
  return {lower_zero != 0, upper_zero != 0, lowest, highest};
}

template <class Word>
void swap_reversed_all(Word* HWY_RESTRICT a, Word* HWY_RESTRICT b, std::size_t count) {
  const hn::ScalableTag<Word> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    Word* const last = b + count - i - lanes;
    const auto first = hn::LoadU(d, a + i), second = hn::LoadU(d, last);
    hn::StoreU(hn::Reverse(d, second), d, a + i);
    hn::StoreU(hn::Reverse(d, first), d, last);
  }
  for (; i < count; ++i) std::swap(a[i], b[count - 1 - i]);
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

// ---- merge ----

#if HWY_HAVE_SCALABLE || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
template <class Word>
constexpr bool merges_vectors = false;
#else
// Without AVX-512, x86 has no instruction for the lower of two numbers of 64 bits.
template <class Word>
constexpr bool merges_vectors =
    sizeof(Word) == 4 || HWY_TARGET <= HWY_AVX3 || !HWY_ARCH_X86;
#endif

// Merges words one at a time, from both ends at once, because neither end waits for the other's
// loads. A step takes at most two words from a list. So the inner loop makes half as many steps as
// the shorter list has words, and checks no bounds.
template <class Word>
void merge_by_words(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count,
                    Word* to) {
  const Word *a_end = a + a_count, *b_end = b + b_count;
  Word* to_end = to + a_count + b_count;
  while (std::ptrdiff_t steps = std::min(a_end - a, b_end - b) / 2)
    for (; steps > 0; --steps) {
      const Word first = *a, second = *b, last = a_end[-1], other = b_end[-1];
      *to++ = std::min(first, second);
      *--to_end = std::max(last, other);
      const bool from_b = second < first, from_a = other < last;
      a += !from_b, b += from_b;
      a_end -= from_a, b_end -= !from_a;
    }
  std::merge(a, a_end, b, b_end, to);
}

#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
// Exchanges lanes whose numbers differ in the bit `distance`; then the lane with that bit has the
// higher word of the two.
template <std::size_t distance, class D, class V = hn::Vec<D>>
HWY_INLINE V order_lanes(D d, V v) {
  constexpr std::size_t bytes = distance * sizeof(hn::TFromD<D>);
  const hn::Repartition<std::uint64_t, D> d64;
  if constexpr (bytes == 4) {
    const V w = hn::Shuffle2301(v);
    return hn::OddEven(hn::Max(v, w), hn::Min(v, w));
  } else if constexpr (bytes == 8) {
    const V w = hn::BitCast(d, hn::Shuffle01(hn::BitCast(d64, v)));
    return hn::BitCast(d, hn::OddEven(hn::BitCast(d64, hn::Max(v, w)),
                                      hn::BitCast(d64, hn::Min(v, w))));
  } else if constexpr (bytes == 16) {
    const V w = hn::SwapAdjacentBlocks(v);
    return hn::OddEvenBlocks(hn::Max(v, w), hn::Min(v, w));
  } else {
    const V w = hn::ConcatLowerUpper(d, v, v);
    return hn::ConcatUpperLower(d, hn::Max(v, w), hn::Min(v, w));
  }
}
// Sorts a bitonic vector: Batcher, "Sorting networks and their applications" (1968).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sort_bitonic(D d, V v) {
  constexpr std::size_t lanes = HWY_MAX_LANES_D(D);
  static_assert(lanes <= 16);
  if constexpr (lanes >= 16) v = order_lanes<8>(d, v);
  if constexpr (lanes >= 8) v = order_lanes<4>(d, v);
  if constexpr (lanes >= 4) v = order_lanes<2>(d, v);
  if constexpr (lanes >= 2) v = order_lanes<1>(d, v);
  return v;
}

// Merges two lists, a vector at a time: Inoue, Moriyama, Komatsu, Nakatani, "AA-Sort" (2007).
// `highest` has the highest words that were read. The next vector comes from the list whose next
// word is lower.
template <class Word>
class VectorMerge {
  using D = hn::ScalableTag<Word>;
  using V = hn::Vec<D>;
  static constexpr std::size_t lanes = HWY_MAX_LANES_D(D);

 public:
  HWY_INLINE VectorMerge(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count,
                         Word* to)
      : a_(a), a_end_(a + a_count), b_(b), b_end_(b + b_count), to_(to),
        to_end_(to + a_count + b_count), highest_(hn::Zero(D())) {
    if (to_ != to_end_) highest_ = take_any();
  }
  // True if the next vector can be read from either list.
  [[nodiscard]] HWY_INLINE bool has_both() const {
    return static_cast<std::size_t>(a_end_ - a_) >= lanes &&
           static_cast<std::size_t>(b_end_ - b_) >= lanes;
  }
  // Needs has_both().
  HWY_INLINE void step() {
    const bool from_b = *b_ < *a_;
    const V next = hn::LoadU(D(), from_b ? b_ : a_);
    b_ += from_b ? lanes : 0;
    a_ += from_b ? 0 : lanes;
    hn::StoreU(exchange(next), D(), to_);
    to_ += lanes;
  }
  HWY_INLINE void finish() {
    while (has_both()) step();
    while (a_ != a_end_ || b_ != b_end_) store_some(exchange(take_any()));
    store_some(highest_);
  }

 private:
  HWY_INLINE void store_some(V v) {
    const std::size_t some = std::min(lanes, static_cast<std::size_t>(to_end_ - to_));
    hn::StoreN(v, D(), to_, some);
    to_ += some;
  }
  // Reads a vector. If a list has fewer words left, the other lanes become the highest word. Such
  // lanes stay behind all words of the lists.
  HWY_INLINE V take_any() {
    const bool from_b = a_ == a_end_ || (b_ != b_end_ && *b_ < *a_);
    const Word*& from = from_b ? b_ : a_;
    const std::size_t left = static_cast<std::size_t>((from_b ? b_end_ : a_end_) - from);
    const std::size_t some = std::min(left, lanes);
    const V v = hn::LoadNOr(hn::Set(D(), static_cast<Word>(~Word{0})), D(), from, some);
    from += some;
    return v;
  }
  // Returns the lowest words of `next` and highest_, and keeps the others.
  HWY_INLINE V exchange(V next) {
    const V turned = hn::Reverse(D(), next);
    const V low = hn::Min(highest_, turned);
    highest_ = sort_bitonic(D(), hn::Max(highest_, turned));
    return sort_bitonic(D(), low);
  }

  const Word *a_, *a_end_, *b_, *b_end_;
  Word *to_, *to_end_;
  V highest_;
};

// Returns how many of the `wanted` lowest words of both lists are in `a`.
template <class Word>
std::size_t lowest_of_a(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count,
                        std::size_t wanted) {
  std::size_t low = wanted > b_count ? wanted - b_count : 0, high = std::min(wanted, a_count);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (a[middle] <= b[wanted - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
// Merges both halves of the output at once: a step waits for the step before it.
template <class Word>
void merge_by_vectors(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count,
                      Word* to) {
  const std::size_t half = (a_count + b_count) / 2;
  const std::size_t of_a = lowest_of_a(a, a_count, b, b_count, half), of_b = half - of_a;
  VectorMerge<Word> first(a, of_a, b, of_b, to);
  VectorMerge<Word> second(a + of_a, a_count - of_a, b + of_b, b_count - of_b, to + half);
  while (first.has_both() && second.has_both()) first.step(), second.step();
  first.finish();
  second.finish();
}
#endif

template <class Word>
void merge_all(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count, Word* to) {
  if (a_count == 0 || b_count == 0) {
    std::copy_n(a, a_count, to);
    std::copy_n(b, b_count, to + a_count);
    return;
  }
  // Often the lists overlap only a little.
  const auto before = static_cast<std::size_t>(std::upper_bound(a, a + a_count, b[0]) - a);
  std::copy_n(a, before, to);
  if (before == a_count) {
    std::copy_n(b, b_count, to + a_count);
    return;
  }
  const auto among =
      static_cast<std::size_t>(std::lower_bound(b, b + b_count, a[a_count - 1]) - b);
  std::copy_n(b + among, b_count - among, to + a_count + among);
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if constexpr (merges_vectors<Word>)
    return merge_by_vectors(a + before, a_count - before, b, among, to + before);
#endif
  merge_by_words(a + before, a_count - before, b, among, to + before);
}

#define SORTIUM_SAMPLE_WORDS(bits)                                                          \
  void encode##bits(const std::uint##bits##_t* k, std::uint##bits##_t* to, std::size_t n,   \
                    Coding<std::uint##bits##_t> c) {                                        \
    encode_all(k, to, n, c);                                                                \
  }                                                                                         \
  void encode_tied##bits(const std::uint##bits##_t* k, std::uint##bits##_t* to,             \
                         std::size_t n, Coding<std::uint##bits##_t> c) {                    \
    encode_all_tied(k, to, n, c);                                                           \
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
  std::size_t ascending##bits(const std::uint##bits##_t* k, std::size_t n,                  \
                              Coding<std::uint##bits##_t> c) {                              \
    return ascending_all(k, n, c);                                                          \
  }                                                                                         \
  std::size_t descending##bits(const std::uint##bits##_t* k, std::size_t n,                 \
                               Coding<std::uint##bits##_t> c) {                             \
    return descending_all(k, n, c);                                                         \
  }                                                                                         \
  CodeTies ties_of##bits(const std::uint##bits##_t* c, std::size_t n) {                     \
    return ties_of_all(c, n);                                                               \
  }                                                                                         \
  void swap_reversed##bits(std::uint##bits##_t* a, std::uint##bits##_t* b, std::size_t n) { \
    swap_reversed_all(a, b, n);                                                             \
  }                                                                                         \
  bool ascends_by##bits(const std::uint##bits##_t* w, std::size_t n, std::size_t stride) {  \
    return ascends_by_all(w, n, stride);                                                    \
  }                                                                                         \
  void merge##bits(const std::uint##bits##_t* a, std::size_t a_count,                       \
                   const std::uint##bits##_t* b, std::size_t b_count,                       \
                   std::uint##bits##_t* to) {                                               \
    merge_all(a, a_count, b, b_count, to);                                                  \
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
  HWY_EXPORT(encode_tied##bits);                                                                   \
  void encode_tied(const std::uint##bits##_t* keys, std::uint##bits##_t* codes, std::size_t count, \
                   Coding<std::uint##bits##_t> coding) {                                           \
    HWY_DYNAMIC_DISPATCH(encode_tied##bits)(keys, codes, count, coding);                           \
  }                                                                                                \
  void decode(std::uint##bits##_t* codes, std::size_t count, Coding<std::uint##bits##_t> coding) { \
    if (!coding.is_float && coding.flip == 0) return;                                              \
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
  HWY_EXPORT(ascending##bits);                                                                     \
  HWY_EXPORT(descending##bits);                                                                    \
  HWY_EXPORT(ascends_by##bits);                                                                    \
  HWY_EXPORT(ties_of##bits);                                                                       \
  HWY_EXPORT(swap_reversed##bits);                                                                 \
  CodeTies ties_of(const std::uint##bits##_t* codes, std::size_t count) {                          \
    return HWY_DYNAMIC_DISPATCH(ties_of##bits)(codes, count);                                      \
  }                                                                                                \
  void swap_reversed(std::uint##bits##_t* a, std::uint##bits##_t* b, std::size_t count) {          \
    HWY_DYNAMIC_DISPATCH(swap_reversed##bits)(a, b, count);                                        \
  }                                                                                                \
  HWY_EXPORT(merge##bits);                                                                         \
  std::size_t ascending(const std::uint##bits##_t* keys, std::size_t count,                        \
                        Coding<std::uint##bits##_t> coding) {                                      \
    return HWY_DYNAMIC_DISPATCH(ascending##bits)(keys, count, coding);                             \
  }                                                                                                \
  std::size_t descending(const std::uint##bits##_t* keys, std::size_t count,                       \
                         Coding<std::uint##bits##_t> coding) {                                     \
    return HWY_DYNAMIC_DISPATCH(descending##bits)(keys, count, coding);                            \
  }                                                                                                \
  bool ascends_by(const std::uint##bits##_t* words, std::size_t count, std::size_t stride) {       \
    return HWY_DYNAMIC_DISPATCH(ascends_by##bits)(words, count, stride);                           \
  }                                                                                                \
  void merge_words(const std::uint##bits##_t* a, std::size_t a_count,                              \
                   const std::uint##bits##_t* b, std::size_t b_count, std::uint##bits##_t* to) {   \
    HWY_DYNAMIC_DISPATCH(merge##bits)(a, a_count, b, b_count, to);                                 \
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

HWY_EXPORT(narrow);
HWY_EXPORT(widen);
void sort_codes(std::uint64_t* codes, std::size_t count) {
  if (count == 0) return;
  const auto [lowest, highest] = range_of_codes(codes, count);
  if (highest - lowest > ~std::uint32_t{0}) return sort_words(codes, count);
  HWY_DYNAMIC_DISPATCH(narrow)(codes, count, lowest);
  sort_words(reinterpret_cast<std::uint32_t*>(codes), count);
  HWY_DYNAMIC_DISPATCH(widen)(codes, count, lowest);
}

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
