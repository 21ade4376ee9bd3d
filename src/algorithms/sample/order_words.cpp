// This file includes itself: so Highway compiles it once for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "algorithms/sample/order_words.cpp"
#include "order_words.hpp"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "codes.hpp"

HWY_BEFORE_NAMESPACE();
namespace sortium::sample::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls is_broken(codes, shared codes, count) for blocks of neighbours, each with the first of the
// next block, until it returns true. Then looks for the first place in that block. The first blocks
// are short, because many runs are.
template <class Key, class IsBroken>
std::size_t length_until(const Key* keys, std::size_t count, Coding<Key> c,
                         const IsBroken& is_broken) {
  constexpr std::size_t first_block = 32, last_block = 512;
  Key made_codes[last_block + 1], made_shared[last_block + 1];
  std::size_t block = first_block;
  for (std::size_t begin = 0; begin + 1 < count;
       begin += block, block = std::min(2 * block, last_block)) {
    const std::size_t some = std::min(block + 1, count - begin);
    const Key *codes = keys + begin, *shared = codes;  // if keys are their own codes
    if (c.is_float) {
      const Coding<Key> of_floats{c.flip, c.below, true};  // known to compilers: no branch
      for (std::size_t i = 0; i < some; ++i) {
        made_codes[i] = code_of(keys[begin + i], of_floats);
        made_shared[i] = Ties<Key>::shared(made_codes[i]);
      }
      codes = made_codes, shared = made_shared;
    } else if (c.flip != 0) {
      for (std::size_t i = 0; i < some; ++i) made_codes[i] = keys[begin + i] ^ c.flip;
      codes = shared = made_codes;
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
  if (!c.is_float)
    return length_until(keys, count, c, [](const Key* codes, const Key*, std::size_t i) {
      return codes[i] < codes[i + 1];
    });
  return length_until(keys, count, c,
                      [](const Key* codes, const Key* shared, std::size_t i) -> bool {
                        return (shared[i] < shared[i + 1]) |
                               ((shared[i] == shared[i + 1]) & (codes[i] != codes[i + 1]));
                      });
}
template <class Key>
std::size_t falling_all(const Key* keys, std::size_t count, Coding<Key> c) {
  return length_until(keys, count, c, [](const Key*, const Key* shared, std::size_t i) {
    return shared[i] <= shared[i + 1];
  });
}
template <class Word>
bool ascends_by(const Word* words, std::size_t count, std::size_t stride) {
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
Steps steps_of_all(const Word* words, std::size_t count) {
  Steps all;
  constexpr std::size_t block = 512;
  // Counts have the size of a word, so that vectors hold them.
  for (std::size_t begin = 1; begin + 1 < count; begin += block) {
    const std::size_t end = std::min(begin + block, count - 1);
    Word falls = 0, strays = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Word before = words[i - 1], here = words[i], after = words[i + 1];
      falls += Word{before > here};
      strays += Word{before <= after} & (Word{before > here} | Word{here > after});
    }
    all.falls += falls, all.strays += strays;
  }
  return all;
}

template <class Word>
StepKinds step_kinds_of_all(const Word* words, std::size_t count) {
  Word rise = 0, fall = 0, tie = 0;
  for (std::size_t i = 1; i < count; ++i) {
    rise |= Word{words[i - 1] < words[i]};
    fall |= Word{words[i - 1] > words[i]};
    tie |= Word{words[i - 1] == words[i]};
  }
  return {rise != 0, fall != 0, tie != 0};
}

template <class Word>
std::size_t stride_of_all(const Word* words, std::size_t count) {
  constexpr std::size_t most = 64, glances = 8, glance = 1024;
  if (count < 2 * most) return 0;
  // Interleaved runs fall once in `stride` words. Words that fall less often ascend by many strides
  // almost to the end.
  const std::size_t some = std::min(count - 1, glance);
  Word falls = 0;
  for (std::size_t i = 0; i < some; ++i) falls += Word{words[i] > words[i + 1]};
  if (falls < some / most) return 0;
  // Rejects most strides at once.
  Word broken[most + 1] = {0};
  for (std::size_t g = 0; g < glances; ++g) {
    const Word* const from = words + g * ((count - most) / glances);
    for (std::size_t stride = 0; stride <= most; ++stride)
      broken[stride] |= Word{from[0] > from[stride]};
  }
  for (std::size_t stride = 2; stride <= most; ++stride)
    if (broken[stride] == 0 && ascends_by(words, count, stride)) return stride;
  return 0;
}

// True if words[0] to words[count] ascend.
template <class Word>
HWY_INLINE bool ascends(const Word* words, std::size_t count) {
  Word broken = 0;
  for (std::size_t i = 0; i < count; ++i) broken |= Word{words[i] > words[i + 1]};
  return broken == 0;
}
// Emil Ernerfeldt, "Drop-merge sort" (2016), but with blocks of words in order moved at once.
template <class Word>
std::size_t move_strays_all(Word* words, std::size_t count, Word* strays, std::size_t most) {
  std::size_t descents = 0;
  for (std::size_t i = 0; i + 1 < count; ++i) descents += words[i] > words[i + 1];
  if (descents > most) return 0;  // each descent needs a stray of its own

  constexpr std::size_t block = 16, patience = 8;
  std::size_t i = 0, kept = 0, found = 0;
  std::size_t in_row = 0;  // strays since the last word that was kept
  while (i < count) {
    if (kept == 0 || words[kept - 1] <= words[i]) {
      in_row = 0;
      const std::size_t some = i + block < count && ascends(words + i, block) ? block : 1;
      if (kept != i) std::memmove(words + kept, words + i, some * sizeof(Word));
      kept += some, i += some;
      continue;
    }
    if (found == most) break;
    const bool last_is_stray = kept == 1 || words[kept - 2] <= words[i];
    if (last_is_stray) {
      strays[found++] = std::exchange(words[kept - 1], words[i++]);
      in_row = 0;
      continue;
    }
    strays[found++] = words[i++];
    if (++in_row < patience) continue;
    // Keeps these words. The higher ones that were kept before become strays.
    i -= in_row, found -= in_row, in_row = 0;
    const Word highest = *std::max_element(words + i, words + i + patience);
    while (kept != 0 && words[kept - 1] > highest && found < most) strays[found++] = words[--kept];
  }
  std::memcpy(words + kept, strays, found * sizeof(Word));
  return i == count ? kept : 0;
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
  // Codes of numbers become larger than those of NaN: the difference wraps around.
  for (std::size_t i = 0; i < count; ++i)
    lowest = std::min(lowest, static_cast<Word>(codes[i] - nan));
  return {lower_zero != 0, upper_zero != 0, static_cast<Word>(lowest + nan), highest};
}

// Types is a pair of Key and Word: HWY_EXPORT_T takes one type.
template <class Types, class Key = typename Types::first_type,
          class Word = typename Types::second_type>
void make_all_tagged(const Key* keys, Word* words, std::size_t count, Coding<Key> c, Window window,
                     Tag tag, bool reversed) {
  const Key lowest = static_cast<Key>(window.lowest);
  const auto word = [=](Key code) {
    return static_cast<Word>(static_cast<Word>((code - lowest) >> window.shift) << tag.bits |
                             tag.number);
  };
  const auto make = [&](const auto& code) {
    if (reversed)
      for (std::size_t i = 0; i < count; ++i) words[i] = word(code(keys[count - 1 - i]));
    else
      for (std::size_t i = 0; i < count; ++i) words[i] = word(code(keys[i]));
  };
  if (c.is_float)
    make([=](Key key) {
      return Ties<Key>::shared(code_of(key, Coding<Key>{c.flip, c.below, true}));
    });
  else
    make([=](Key key) { return static_cast<Key>(key ^ c.flip); });
}

// Writes the records of a vector of words: the numbers of each run are expanded to its words.
template <class D>
HWY_INLINE hn::Vec<D> records_of(D d, hn::Vec<D> tags, RunRecords* runs, std::size_t run_count) {
  auto records = hn::Zero(d);
  for (std::size_t r = 0; r < run_count; ++r) {
    const auto has_tag = hn::Eq(tags, hn::Set(d, static_cast<std::uint32_t>(r)));
    const auto numbers =
        hn::Add(hn::Set(d, runs[r].next), hn::Mul(hn::Iota(d, 0), hn::Set(d, runs[r].step)));
    records = hn::Or(records, hn::Expand(numbers, has_tag));
    runs[r].next += runs[r].step * static_cast<std::uint32_t>(hn::CountTrue(d, has_tag));
  }
  return records;
}
template <class Word>
void follow_all_tags(const Word* words, std::size_t count, unsigned tag_bits,
                     const RunRecords* runs, std::size_t run_count, std::uint32_t* records) {
  RunRecords next[8];
  std::copy_n(runs, run_count, next);
  const Word mask = static_cast<Word>((Word{1} << tag_bits) - 1);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> tags;
    if constexpr (sizeof(Word) == 4) {
      tags = hn::LoadU(d, words + i);
    } else {
      const hn::ScalableTag<std::uint64_t> d64;
      tags = hn::OrderedTruncate2To(d, hn::LoadU(d64, words + i),
                                    hn::LoadU(d64, words + i + lanes / 2));
    }
    tags = hn::And(tags, hn::Set(d, static_cast<std::uint32_t>(mask)));
    hn::StoreU(records_of(d, tags, next, run_count), d, records + i);
  }
#endif
  for (; i < count; ++i) {
    RunRecords& run = next[words[i] & mask];
    records[i] = run.next;
    run.next += run.step;
  }
}
template <class Word>
std::size_t count_equal_all(const Word* words, std::size_t count, unsigned low_bits) {
  Word equal = 0;
  for (std::size_t i = 0; i < count; ++i) equal += Word{(words[i] ^ words[i + 1]) >> low_bits == 0};
  return static_cast<std::size_t>(equal);
}
template <class Key>
Key differing_bits_all(const Key* keys, std::size_t count, Key other) {
  constexpr std::size_t block = 256;
  Key bits = 0;
  for (std::size_t begin = 0; begin < count && (bits & 1) == 0; begin += block)
    for (std::size_t i = begin; i < std::min(begin + block, count); ++i) bits |= keys[i] ^ other;
  return bits;
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
    return hn::BitCast(
        d, hn::OddEven(hn::BitCast(d64, hn::Max(v, w)), hn::BitCast(d64, hn::Min(v, w))));
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

// Merges two lists, a vector at a time. A step compares the next vector of `a` with the reversed
// next vector of `b`: the lower words of all lanes are the lowest words of both lists. So a step
// waits only until the step before it has counted its words, and not for its network:
// Papaphilippou, Brooks, Luk, "FLiMS: Fast Lightweight Merge Sorter" (2018).
template <class Word>
class VectorMerge {
  using D = hn::ScalableTag<Word>;
  using V = hn::Vec<D>;

 public:
  static constexpr std::size_t lanes = HWY_MAX_LANES_D(D);

  // Writes the lowest words, up to `to_end`, of the two lists.
  HWY_INLINE VectorMerge(const Word* a, const Word* a_end, const Word* b, const Word* b_end,
                         Word* to, Word* to_end)
      : a_(a), a_end_(a_end), b_(b), b_end_(b_end), to_(to), to_end_(to_end) {}

  // Returns how many steps can be made at least.
  [[nodiscard]] HWY_INLINE std::size_t steps() const {
    return static_cast<std::size_t>(std::min({a_end_ - a_, b_end_ - b_, to_end_ - to_})) / lanes;
  }
  // Needs steps().
  HWY_INLINE void step() {
    const D d;
    const V a = hn::LoadU(d, a_), b = hn::Reverse(d, hn::LoadU(d, b_));
    const std::size_t of_b = hn::CountTrue(d, hn::Lt(b, a));
    hn::StoreU(sort_bitonic(d, hn::Min(a, b)), d, to_);
    b_ += of_b;
    a_ += lanes - of_b;
    to_ += lanes;
  }
  HWY_INLINE void finish() {
    while (std::size_t some = steps())
      for (; some != 0; --some) step();
    while (to_ != to_end_) {
      if (a_ == a_end_) return copy_rest(b_);
      if (b_ == b_end_) return copy_rest(a_);
      step_some();
    }
  }

 private:
  HWY_INLINE void copy_rest(const Word* from) {
    std::memcpy(to_, from, static_cast<std::size_t>(to_end_ - to_) * sizeof(Word));
  }
  // Lanes behind the end of a list have the highest word.
  static HWY_INLINE V load_some(const Word* from, const Word* end) {
    const D d;
    const auto left = static_cast<std::size_t>(end - from);
    return hn::LoadNOr(hn::Set(d, static_cast<Word>(~Word{0})), d, from, std::min(left, lanes));
  }
  // A step near the end of a list or of the output.
  HWY_INLINE void step_some() {
    const D d;
    const V a = load_some(a_, a_end_), b = hn::Reverse(d, load_some(b_, b_end_));
    const std::size_t of_b = hn::CountTrue(d, hn::Lt(b, a));
    const std::size_t some = std::min(static_cast<std::size_t>(to_end_ - to_), lanes);
    hn::StoreN(sort_bitonic(d, hn::Min(a, b)), d, to_, some);
    // If lanes behind the end of `a` precede words of `b`, all words left are the highest.
    const std::size_t of_a = std::min(lanes - of_b, static_cast<std::size_t>(a_end_ - a_));
    a_ += of_a;
    b_ += std::min(lanes - of_a, static_cast<std::size_t>(b_end_ - b_));
    to_ += some;
  }

  const Word *a_, *a_end_, *b_, *b_end_;
  Word *to_, *to_end_;
};

// Returns how many of the `wanted` lowest words of both lists are in `a`.
template <class Word>
std::size_t lowest_of_a(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count,
                        std::size_t wanted) {
  std::size_t low = wanted > b_count ? wanted - b_count : 0, high = std::min(wanted, a_count);
  // Without a branch on words, which would be mispredicted half of the times.
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const bool is_lower = a[middle] <= b[wanted - 1 - middle];
    low = is_lower ? middle + 1 : low;
    high = is_lower ? high : middle;
  }
  return low;
}
// Merges parts of the output at once: a step waits for the step before it.
template <class Word>
void merge_by_vectors(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count,
                      Word* to) {
  using Merge = VectorMerge<Word>;
  constexpr std::size_t parts = 4, least = 4 * Merge::lanes;
  const std::size_t count = a_count + b_count;
  if (count < parts * least) return Merge(a, a + a_count, b, b + b_count, to, to + count).finish();
  const std::size_t length = count / parts / Merge::lanes * Merge::lanes;
  const auto part = [&](std::size_t p) {
    const std::size_t before = p * length, of_a = lowest_of_a(a, a_count, b, b_count, before);
    return Merge(a + of_a, a + a_count, b + (before - of_a), b + b_count, to + before,
                 to + (p + 1 == parts ? count : before + length));
  };
  Merge first = part(0), second = part(1), third = part(2), last = part(3);
  while (std::size_t some = std::min({first.steps(), second.steps(), third.steps(), last.steps()}))
    for (; some != 0; --some) first.step(), second.step(), third.step(), last.step();
  first.finish(), second.finish(), third.finish(), last.finish();
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
  const auto among = static_cast<std::size_t>(std::lower_bound(b, b + b_count, a[a_count - 1]) - b);
  std::copy_n(b + among, b_count - among, to + a_count + among);
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  merge_by_vectors(a + before, a_count - before, b, among, to + before);
#else
  merge_by_words(a + before, a_count - before, b, among, to + before);
#endif
}

}  // namespace sortium::sample::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sortium::sample {

template <class Key>
std::size_t ascending(const Key* keys, std::size_t count, Coding<Key> coding) {
  HWY_EXPORT_T(Ascending, ascending_all<Key>);
  return HWY_DYNAMIC_DISPATCH_T(Ascending)(keys, count, coding);
}
template <class Key>
std::size_t descending(const Key* keys, std::size_t count, Coding<Key> coding) {
  HWY_EXPORT_T(Descending, descending_all<Key>);
  return HWY_DYNAMIC_DISPATCH_T(Descending)(keys, count, coding);
}
template <class Key>
std::size_t falling(const Key* keys, std::size_t count, Coding<Key> coding) {
  HWY_EXPORT_T(Falling, falling_all<Key>);
  return HWY_DYNAMIC_DISPATCH_T(Falling)(keys, count, coding);
}
template <class Word>
Steps steps_of(const Word* words, std::size_t count) {
  HWY_EXPORT_T(StepsOf, steps_of_all<Word>);
  return HWY_DYNAMIC_DISPATCH_T(StepsOf)(words, count);
}
template <class Word>
StepKinds step_kinds_of(const Word* words, std::size_t count) {
  HWY_EXPORT_T(StepKindsOf, step_kinds_of_all<Word>);
  return HWY_DYNAMIC_DISPATCH_T(StepKindsOf)(words, count);
}
template <class Word>
std::size_t stride_of(const Word* words, std::size_t count) {
  HWY_EXPORT_T(StrideOf, stride_of_all<Word>);
  return HWY_DYNAMIC_DISPATCH_T(StrideOf)(words, count);
}
template <class Code>
CodeTies ties_of(const Code* codes, std::size_t count) {
  HWY_EXPORT_T(TiesOf, ties_of_all<Code>);
  return HWY_DYNAMIC_DISPATCH_T(TiesOf)(codes, count);
}
template <class Word>
std::size_t move_strays(Word* words, std::size_t count, Word* strays, std::size_t most) {
  HWY_EXPORT_T(MoveStrays, move_strays_all<Word>);
  return HWY_DYNAMIC_DISPATCH_T(MoveStrays)(words, count, strays, most);
}
template <class Word>
void swap_reversed(Word* a, Word* b, std::size_t count) {
  HWY_EXPORT_T(SwapReversed, swap_reversed_all<Word>);
  HWY_DYNAMIC_DISPATCH_T(SwapReversed)(a, b, count);
}
template <class Word>
void merge_words(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count, Word* to) {
  HWY_EXPORT_T(Merge, merge_all<Word>);
  HWY_DYNAMIC_DISPATCH_T(Merge)(a, a_count, b, b_count, to);
}

template <class Word>
void follow_tags(const Word* words, std::size_t count, unsigned tag_bits, const RunRecords* runs,
                 std::size_t run_count, std::uint32_t* records) {
  HWY_EXPORT_T(FollowTags, follow_all_tags<Word>);
  HWY_DYNAMIC_DISPATCH_T(FollowTags)(words, count, tag_bits, runs, run_count, records);
}
template <class Word>
std::size_t count_equal(const Word* words, std::size_t count, unsigned low_bits) {
  HWY_EXPORT_T(CountEqual, count_equal_all<Word>);
  return HWY_DYNAMIC_DISPATCH_T(CountEqual)(words, count, low_bits);
}
template <class Key>
Key differing_bits(const Key* keys, std::size_t count, Key other) {
  HWY_EXPORT_T(DifferingBits, differing_bits_all<Key>);
  return HWY_DYNAMIC_DISPATCH_T(DifferingBits)(keys, count, other);
}
template <class Key, class Word>
void make_tagged(const Key* keys, Word* words, std::size_t count, Coding<Key> coding, Window window,
                 Tag tag, bool reversed) {
  using Types = std::pair<Key, Word>;
  HWY_EXPORT_T(MakeTagged, make_all_tagged<Types>);
  HWY_DYNAMIC_DISPATCH_T(MakeTagged)(keys, words, count, coding, window, tag, reversed);
}
#define SORTIUM_SAMPLE_TAGGED(key, word)                                                  \
  template void make_tagged(const std::uint##key##_t*, std::uint##word##_t*, std::size_t, \
                            Coding<std::uint##key##_t>, Window, Tag, bool);
SORTIUM_SAMPLE_TAGGED(32, 32)
SORTIUM_SAMPLE_TAGGED(32, 64)
SORTIUM_SAMPLE_TAGGED(64, 32)
SORTIUM_SAMPLE_TAGGED(64, 64)

#define SORTIUM_SAMPLE_ORDER(bits)                                         \
  template std::size_t ascending(const std::uint##bits##_t*, std::size_t,  \
                                 Coding<std::uint##bits##_t>);             \
  template std::size_t descending(const std::uint##bits##_t*, std::size_t, \
                                  Coding<std::uint##bits##_t>);            \
  template CodeTies ties_of(const std::uint##bits##_t*, std::size_t);      \
  template void swap_reversed(std::uint##bits##_t*, std::uint##bits##_t*, std::size_t);
SORTIUM_SAMPLE_ORDER(16)
SORTIUM_SAMPLE_ORDER(32)
SORTIUM_SAMPLE_ORDER(64)
#define SORTIUM_SAMPLE_MERGE(bits)                                                                \
  template void follow_tags(const std::uint##bits##_t*, std::size_t, unsigned, const RunRecords*, \
                            std::size_t, std::uint32_t*);                                         \
  template std::size_t count_equal(const std::uint##bits##_t*, std::size_t, unsigned);            \
  template std::uint##bits##_t differing_bits(const std::uint##bits##_t*, std::size_t,            \
                                              std::uint##bits##_t);                               \
  template std::size_t falling(const std::uint##bits##_t*, std::size_t,                           \
                               Coding<std::uint##bits##_t>);                                      \
  template StepKinds step_kinds_of(const std::uint##bits##_t*, std::size_t);                      \
  template Steps steps_of(const std::uint##bits##_t*, std::size_t);                               \
  template std::size_t stride_of(const std::uint##bits##_t*, std::size_t);                        \
  template std::size_t move_strays(std::uint##bits##_t*, std::size_t, std::uint##bits##_t*,       \
                                   std::size_t);                                                  \
  template void merge_words(const std::uint##bits##_t*, std::size_t, const std::uint##bits##_t*,  \
                            std::size_t, std::uint##bits##_t*);
SORTIUM_SAMPLE_MERGE(32)
SORTIUM_SAMPLE_MERGE(64)

}  // namespace sortium::sample
#endif  // HWY_ONCE
