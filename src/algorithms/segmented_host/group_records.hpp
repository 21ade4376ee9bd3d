// Sorts the records of short neighbouring segments on the calling thread. A word is made of each
// record: its rank, or a window of it, above its place in the group. Vector instructions sort the
// words of a segment; then keys and values are fetched from the core's cache.
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

  // A group's arrays. `keys_out` may be `keys`, `values_out` may be `values`, and each may be
  // nullptr; without values, positions in the whole list are written, which begin with `position`.
  struct Arrays {
    const Key* keys;
    Key* keys_out;
    const Value* values;
    Value* values_out;
    std::uint64_t position;
  };

  GroupRecords(const Problem& problem, const sample::Ranks& ranks)
      : is_coded_(sample::has_codes(problem)), ranks_(ranks) {}

  // Segment i has the records [offsets[i], offsets[i + 1]) - offsets[0] of the group.
  template <class Offset>
  void sort(const Arrays& group, std::span<const Offset> offsets) const {
    const std::uint64_t first = offsets.front(), count = offsets.back() - first;
    if (count == 0) return;
    Word words[most];
    const bool may_tie = make_words(group.keys, words, count);
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      Word* const mine = words + (offsets[s] - first);
      const std::uint64_t length = offsets[s + 1] - offsets[s];
      if (length < 2) continue;
      sample::sort_words(mine, length);
      if constexpr (sizeof(Word) == 8)
        if (may_tie) ranks_.sort_ties(group.keys, mine, length, place_bits);
    }
    place(words, count, group.keys, group.keys_out);
    if (group.values != nullptr)
      place(words, count, group.values, group.values_out);
    else if (group.values_out != nullptr)
      for (std::uint64_t i = 0; i < count; ++i)
        group.values_out[i] = static_cast<Value>(group.position + place_of(words[i]));
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
