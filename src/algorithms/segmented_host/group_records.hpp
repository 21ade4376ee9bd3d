// Sorts the records of short neighbouring segments on the calling thread. A word is made of each
// record: its rank, or only the leading bits of it, above its place in the group. Vector
// instructions sort the words of a segment; then keys and values are fetched from the core's cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "../sample/ranks.hpp"
#include "../sample/words.hpp"

namespace sortium::segmented {

// `Value` is the type of values or positions.
template <class Key, class Value>
class GroupRecords {
  static constexpr unsigned place_bits = 11;
  using Word = std::conditional_t<sizeof(Key) <= 2, std::uint32_t, std::uint64_t>;

 public:
  static constexpr std::uint64_t most = std::uint64_t{1} << place_bits;  // records of a group

  // A group's arrays. An output may be its input, or nullptr if it is not wanted. If `values` is
  // nullptr, `values_out` receives positions; `position` is that of the group's first record.
  struct Arrays {
    const Key* keys;
    Key* keys_out;
    const Value* values;
    Value* values_out;
    std::uint64_t position;
  };

  GroupRecords(const Problem& problem, const sample::Ranks& ranks)
      : is_coded_(sample::has_codes(problem)), ranks_(ranks) {}

  // Segment i has the records from offsets[i] - offsets[0] to offsets[i + 1] - offsets[0].
  template <class Offset>
  void sort(const Arrays& group, std::span<const Offset> offsets) const {
    const std::uint64_t first = offsets.front(), count = offsets.back() - first;
    if (count == 0) return;
    Word words[most];
    const bool may_tie = make_words(group.keys, words, count);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      sort_words(words + (offsets[s] - first), offsets[s + 1] - offsets[s], group.keys, may_tie);
    place_all(group, words, count);
  }

  // Writes only the first `limit` records of each segment, those of segment i from i * limit on.
  // The output must not overlap the input.
  template <class Offset>
  void select(const Arrays& group, std::span<const Offset> offsets, std::uint64_t limit) const {
    const std::uint64_t first = offsets.front(), count = offsets.back() - first;
    if (count == 0) return;
    Word words[most];
    const bool may_tie = make_words(group.keys, words, count);
    Arrays to = group;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      Word* const mine = words + (offsets[s] - first);
      const std::uint64_t length = offsets[s + 1] - offsets[s];
      const std::uint64_t wanted = std::min(length, limit);
      sort_words(mine, candidates(mine, length, wanted), group.keys, may_tie);
      place_all(to, mine, wanted);
      if (to.keys_out != nullptr) to.keys_out += limit;
      if (to.values_out != nullptr) to.values_out += limit;
    }
  }

 private:
  static std::uint64_t place_of(Word word) { return word & (most - 1); }

  // Returns true if words with equal windows may have different ranks.
  bool make_words(const Key* keys, Word* words, std::uint64_t count) const {
    if constexpr (sizeof(Word) == 4) {
      ranks_.of(keys, words, count);
      for (std::uint32_t i = 0; i < count; ++i) words[i] = words[i] << place_bits | i;
      return false;
    } else {
      if constexpr (sizeof(Key) == 4)
        if (is_coded_) {
          Key codes[most];
          ranks_.of(keys, codes, count);
          sample::make_words(codes, words, count, {}, place_bits);
          return false;
        }
      std::uint64_t ranks[most];
      ranks_.of(keys, ranks, count);
      const auto [lowest, highest] = sample::range_of_codes(ranks, count);
      const auto window = sample::window_of(lowest, highest, 64 - place_bits);
      sample::make_words(ranks, words, count, window, place_bits);
      return window.shift != 0;
    }
  }

  void sort_words(Word* words, std::uint64_t count, const Key* keys, bool may_tie) const {
    if (count < 2) return;
    sample::sort_words(words, count);
    if constexpr (sizeof(Word) == 8)
      if (may_tie) ranks_.sort_ties(keys, words, count, place_bits);
  }

  // Moves the `wanted` lowest words, and some more, to the front. Returns their number. Words with
  // equal windows stay together, because sort_ties() may change their order; select_word() would
  // separate them.
  static std::uint64_t candidates(Word* words, std::uint64_t count, std::uint64_t wanted) {
    constexpr std::uint64_t samples = 32, spare = 3, sorted_soon = 64;
    while (count > std::max(sorted_soon, 4 * wanted) && sample::partitions_in_place()) {
      Word sample[samples];
      for (std::uint64_t i = 0; i < samples; ++i) sample[i] = words[i * count / samples];
      sample::sort_words(sample, samples);
      const std::uint64_t place = wanted * samples / count + spare;
      const Word pivot = sample[place] & ~static_cast<Word>(most - 1);
      const std::uint64_t below = sample::partition_in_place(words, count, pivot, false);
      if (below < wanted) return count;  // the sample was not like the rest
      count = below;
    }
    return count;
  }

  void place_all(const Arrays& group, const Word* words, std::uint64_t count) const {
    place(words, count, group.keys, group.keys_out);
    if (group.values != nullptr)
      place(words, count, group.values, group.values_out);
    else if (group.values_out != nullptr)
      for (std::uint64_t i = 0; i < count; ++i)
        group.values_out[i] = static_cast<Value>(group.position + place_of(words[i]));
  }

  // Writes the elements in the words' order.
  template <class T>
  static void place(const Word* words, std::uint64_t count, const T* from, T* to) {
    if (to == nullptr) return;
    T copy[most];
    if (from == to) {
      std::copy_n(from, count, copy);
      from = copy;
    }
    for (std::uint64_t i = 0; i < count; ++i) to[i] = from[place_of(words[i])];
  }

  bool is_coded_;
  const sample::Ranks& ranks_;
};

}  // namespace sortium::segmented
