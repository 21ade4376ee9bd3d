// Words of records: a key's rank, or a window of the rank's bits, above the record's position.
// Ranks computes the ranks, and completes the order of words with equal windows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "codes.hpp"
#include "order_words.hpp"

namespace sortium::sample {

// Returns the window of `bits` bits for ranks from `lowest` to `highest`. Its shift is 0 if the
// window holds rank - lowest completely.
[[nodiscard]] inline Window window_of(std::uint64_t lowest, std::uint64_t highest, unsigned bits) {
  const unsigned needed = static_cast<unsigned>(std::bit_width(highest - lowest));
  return {lowest, needed > bits ? needed - bits : 0};
}

class Ranks {
 public:
  // With `coded`, a key's rank is its code; keys that tie share one code.
  Ranks(const Problem& problem, bool coded) : problem_(problem), rank_(problem), coded_(coded) {}

  [[nodiscard]] std::uint64_t rank(std::uint64_t key) const { return rank_(key); }

  // Writes the ranks of `count` keys. If `coded`, a rank is the key's code, with one code for all
  // keys that tie. Else it is the value of KeyRank.
  template <class Key>
  void of(const Key* keys, std::uint64_t* to, std::uint64_t count) const {
    if constexpr (sizeof(Key) == 8)
      if (coded_) return encode_tied(keys, to, count, coding_of<Key>(problem_));
    if (!coded_) {
      for (std::uint64_t i = 0; i < count; ++i) to[i] = rank_(keys[i]);
      return;
    }
    if constexpr (sizeof(Key) >= 2) {
      const auto coding = coding_of<Key>(problem_);
      constexpr std::uint64_t step = 256;
      Key code[step];
      for (std::uint64_t i = 0; i < count; i += step) {
        const std::uint64_t some = std::min(step, count - i);
        encode_tied(keys + i, code, some, coding);
        for (std::uint64_t k = 0; k < some; ++k) to[i + k] = code[k];
      }
    }
  }
  // The same for ranks of another type, which holds all ranks.
  template <class Key, class Rank>
  void of(const Key* keys, Rank* to, std::uint64_t count) const {
    if constexpr (std::is_same_v<Key, Rank>)
      if (coded_) return encode_tied(keys, to, count, coding_of<Key>(problem_));
    if (is_integer()) {  // compilers use vector instructions
      const Key flip = static_cast<Key>(rank_(0));
      for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Key>(keys[i] ^ flip);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Rank>(rank_(keys[i]));
  }

  // Completes the sort of words by windows that are narrower than the ranks: sorts each group of
  // words with equal windows by the whole ranks.
  template <class Key>
  void sort_ties(const Key* keys, std::uint64_t* words, std::uint64_t count,
                 unsigned position_bits) const {
    const std::uint64_t mask = (std::uint64_t{1} << position_bits) - 1;
    constexpr std::uint64_t block = 64;
    for (std::uint64_t begin = 0; begin < count;) {
      if (begin + block < count && (all_differ(words + begin, block, mask) ||
                                    ties_are_same(keys, words + begin, block, mask))) {
        begin += block;
        continue;
      }
      const std::uint64_t last = std::min(begin + block, count);
      while (begin > 0 && (words[begin - 1] ^ words[begin]) <= mask)
        --begin;  // a block may end in a group
      for (std::uint64_t end = begin; begin < last; begin = end) {
        while (++end < count && words[end] >> position_bits == words[begin] >> position_bits) {
        }
        if (end - begin > 1) sort_run(keys, words + begin, end - begin, position_bits, mask);
      }
    }
  }

 private:
  // False if any of `count` words has the window of the next one; rarely also if none has. By
  // operations that all vector instruction sets have for words of 8 bytes.
  static bool all_differ(const std::uint64_t* words, std::uint64_t count, std::uint64_t mask) {
    std::uint64_t borrows = 0;
    for (std::uint64_t i = 0; i < count; ++i) borrows |= (words[i] ^ words[i + 1]) - (mask + 1);
    return borrows >> 63 == 0;
  }
  // True if all words that have the window of the next one also have its key.
  template <class Key>
  static bool ties_are_same(const Key* keys, const std::uint64_t* words, std::uint64_t count,
                            std::uint64_t mask) {
    bool differ = false;
    for (std::uint64_t i = 0; i < count; ++i)
      differ |= ((words[i] ^ words[i + 1]) <= mask) &
                (keys[words[i] & mask] != keys[words[i + 1] & mask]);
    return !differ;
  }
  // True if a key and its rank differ in the same bits for all keys: integers that are compared by
  // all bits.
  [[nodiscard]] bool is_integer() const {
    const auto& type = info(problem_.key);
    return !type.is_float && key_bits(problem_) == type.bits();
  }
  template <class Key>
  void sort_run(const Key* keys, std::uint64_t* words, std::uint64_t count, unsigned position_bits,
                std::uint64_t mask) const {
    // Most groups are keys that tie.
    Key differ = 0;
    for (std::uint64_t i = 1; i < count; ++i)
      differ |= keys[words[i] & mask] ^ keys[words[0] & mask];
    if (differ == 0) return;
    const auto rank = [&](std::uint64_t word) { return rank_(keys[word & mask]); };
    if (count == 2) {
      if (rank(words[1]) < rank(words[0])) std::swap(words[0], words[1]);
      return;
    }
    // The ranks of words with equal windows differ only in lower bits. So a new window covers the
    // next 64 - position_bits bits, and each recursion sorts by that many more bits.
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t r = rank(words[i]);
      lowest = std::min(lowest, r);
      highest = std::max(highest, r);
    }
    if (lowest == highest) return;
    const Window window = window_of(lowest, highest, 64 - position_bits);
    for (std::uint64_t i = 0; i < count; ++i)
      words[i] =
          (rank(words[i]) - window.lowest) >> window.shift << position_bits | (words[i] & mask);
    sort_words(words, count);
    if (window.shift != 0) sort_ties(keys, words, count, position_bits);
  }

  Problem problem_;
  KeyRank rank_;
  bool coded_;
};

// Reverses the words of a descending run. Words that differ only in their positions keep their
// order.
inline void turn(std::uint64_t* words, std::uint64_t count, unsigned position_bits) {
  swap_reversed(words, words + (count + 1) / 2, count / 2);
  for (std::uint64_t i = 0, end = 0; i < count; i = end) {
    for (end = i + 1; end < count && words[end] >> position_bits == words[i] >> position_bits;)
      ++end;
    std::reverse(words + i, words + end);
  }
}

// Copies the records at the words' positions, in the words' order.
template <class T>
void fetch(const std::uint64_t* words, std::uint64_t count, std::uint64_t mask, const T* from,
           T* to) {
  // Records to prefetch: hides the memory latency of a part larger than the cache.
  constexpr std::uint64_t ahead = 16;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i + ahead < count) __builtin_prefetch(from + (words[i + ahead] & mask));
    to[i] = from[words[i] & mask];
  }
}

}  // namespace sortium::sample
