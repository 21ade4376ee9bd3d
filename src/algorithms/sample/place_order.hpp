// Finds the stable order of few codes by sorting words: a window of a code's bits above its place
// in the list. Words of 4 bytes take half of the time of words of 8 (2^12 words: 1.9 instead of
// 3.7 ns each), and few codes have equal windows in them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "positions.hpp"
#include "ranks.hpp"
#include "words.hpp"

namespace sortium::sample {

// With this many codes, 18 bits of a 4-byte word are left for the window: they separate most random
// codes.
constexpr std::uint64_t most_short_order = 1u << 14;

[[nodiscard]] inline unsigned place_bits_of(std::uint64_t count) {
  return std::max(1u, static_cast<unsigned>(std::bit_width(count - 1)));
}

constexpr std::uint64_t separating_samples = 32;
// Returns false if random samples of `count` codes show that many different codes have equal
// windows. Sorts the samples.
template <class Code>
[[nodiscard]] bool windows_separate(Code (&sample)[separating_samples], std::uint64_t count,
                                    const Window& window) {
  // A gap spans 4 samples: gaps between neighbours vary too much by chance.
  constexpr std::uint64_t together = 4;
  const auto window_of_code = [&](Code code) {
    return (code - static_cast<Code>(window.lowest)) >> window.shift;
  };
  sort_words(sample, separating_samples);
  for (std::size_t i = 1; i < separating_samples; ++i)
    if (sample[i] != sample[i - 1] && window_of_code(sample[i]) == window_of_code(sample[i - 1]))
      return false;
  const double between = static_cast<double>(count * together) / separating_samples;
  double tied = 0;
  for (std::size_t i = together; i < separating_samples; i += together) {
    const Code gap = sample[i] - sample[i - together];
    if (gap == 0) continue;  // one frequent code: its words are in order
    const double windows = static_cast<double>((gap >> window.shift) + 1);
    tied += std::min(between, between * between / (2 * windows));
  }
  return tied < static_cast<double>(count) / 8;
}

// Makes words of the codes' windows above their places, and completes the order of sorted words.
// `Word` is an unsigned type of 4 or 8 bytes.
template <class Code, class Word>
class PlaceOrder {
 public:
  // Fewer than 2^31 codes, at least one. `range` is theirs.
  PlaceOrder(const Code* codes, std::uint64_t count, const CodeRange& range)
      : codes_(codes),
        count_(count),
        place_bits_(place_bits_of(count)),
        window_(window_of(range.lowest, range.highest, sizeof(Word) * 8 - place_bits_)) {}

  // False if a sample shows that many different codes have equal windows. Short lists: always true.
  [[nodiscard]] bool separates() const {
    constexpr std::uint64_t few = 2048;
    if (window_.shift == 0 || count_ < few) return true;
    Code sample[separating_samples];
    Positions positions(Positions::splitters_seed);
    for (Code& code : sample) code = codes_[positions.next(count_)];
    return windows_separate(sample, count_, window_);
  }

  [[nodiscard]] Word mask() const { return static_cast<Word>((Word{1} << place_bits_) - 1); }
  [[nodiscard]] unsigned place_bits() const { return place_bits_; }

  // Writes the words of all codes, in the order of the list.
  void make(Word* words) const { make_words(codes_, words, count_, window_, place_bits_); }
  // Completes the order of sorted words: those with equal windows are sorted by the whole codes.
  void finish(Word* words) const {
    if (window_.shift != 0) sort_equal_windows(words, count_);
  }
  // Afterwards, the lowest bits of words[i] are the place in the list of the code with rank i.
  void sort(Word* words) const {
    make(words);
    sort_words(words, count_);
    finish(words);
  }

 private:
  static constexpr std::size_t inserted = 16;  // insertion sort up to this many words

  [[nodiscard]] Code code(Word word) const { return codes_[word & mask()]; }

  void sort_equal_windows(Word* words, std::size_t count) const {
    constexpr std::size_t block = 64;  // compared at once, by vector instructions
    std::size_t i = 0;
    while (i + 1 < count) {
      if (i + block < count && are_ordered(words + i, block)) {
        i += block;
        continue;
      }
      const std::size_t end = std::min(i + block, count);
      while (i > 0 && (words[i - 1] ^ words[i]) <= mask()) --i;  // a block may end in a group
      while (i < end) {
        std::size_t last = i + 1;
        while (last < count && (words[last] ^ words[i]) <= mask()) ++last;
        if (last - i > 1) sort_group(words + i, last - i);
        i = last;
      }
    }
  }
  // True if each word has another window than the next one. Also true if many have the same, and
  // all codes ascend: often the same windows are the same codes.
  [[nodiscard]] bool are_ordered(const Word* words, std::size_t count) const {
    Word equal = 0;
    for (std::size_t i = 0; i < count; ++i) equal += Word{(words[i] ^ words[i + 1]) <= mask()};
    if (equal < count / 4) return equal == 0;
    bool broken = false;
    Code before = code(words[0]);
    for (std::size_t i = 1; i <= count; ++i) {
      const Code here = code(words[i]);
      broken |= here < before;
      before = here;
    }
    return !broken;
  }
  // Sorts words of equal windows by their codes. They are in the order of their places.
  void sort_group(Word* words, std::size_t count) const {
    bool in_order = true;  // often all codes are the same
    for (std::size_t i = 1; i < count; ++i) in_order &= code(words[i - 1]) <= code(words[i]);
    if (in_order) return;
    if (count <= inserted) return insert(words, count);
    Code lowest = code(words[0]), highest = lowest;
    for (std::size_t i = 1; i < count; ++i) {
      lowest = std::min(lowest, code(words[i]));
      highest = std::max(highest, code(words[i]));
    }
    const Window window = window_of(lowest, highest, sizeof(Word) * 8 - place_bits_);
    for (std::size_t i = 0; i < count; ++i)
      words[i] = static_cast<Word>(
          static_cast<Word>((code(words[i]) - window.lowest) >> window.shift) << place_bits_ |
          (words[i] & mask()));
    sort_words(words, count);
    if (window.shift != 0) sort_equal_windows(words, count);
  }
  void insert(Word* words, std::size_t count) const {
    for (std::size_t i = 1; i < count; ++i) {
      const Word word = words[i];
      std::size_t to = i;
      for (; to > 0 && code(words[to - 1]) > code(word); --to) words[to] = words[to - 1];
      words[to] = word;
    }
  }

  const Code* codes_;
  std::uint64_t count_;
  unsigned place_bits_;
  Window window_;
};

}  // namespace sortium::sample
