// sample's vector code for order that is there: how far keys ascend, which of them tie, merges. It
// is compiled once for each instruction set; the program selects one at run time.
#pragma once

#include "words.hpp"

namespace sortium::sample {

// The functions exist for keys of 2, 4 and 8 bytes; falling(), steps_of(), step_kinds_of(),
// stride_of(), move_strays() and merge_words() for 4 and 8.

// Returns how many of the first keys are in order: each is followed by one that is not before it.
// At least 1 if count is not 0.
template <class Key>
[[nodiscard]] std::size_t ascending(const Key* keys, std::size_t count, Coding<Key> coding);
// Returns how many of the first keys are in reverse order: each is followed by one before it or by
// the same key. A tie between different keys ends the search, because they must keep their order.
template <class Key>
[[nodiscard]] std::size_t descending(const Key* keys, std::size_t count, Coding<Key> coding);
// Returns how many of the first keys fall: each is followed by one before it.
template <class Key>
[[nodiscard]] std::size_t falling(const Key* keys, std::size_t count, Coding<Key> coding);
// `falls` counts the words that are lower than the one before. A stray is out of order between two
// words that ascend without it; `strays` counts these.
struct Steps {
  std::size_t falls = 0, strays = 0;
};
template <class Word>
[[nodiscard]] Steps steps_of(const Word* words, std::size_t count);
// Whether any word is lower than the next one, higher, or equal to it.
struct StepKinds {
  bool rise = false, fall = false, tie = false;
};
template <class Word>
[[nodiscard]] StepKinds step_kinds_of(const Word* words, std::size_t count);
// Returns the least stride, from 2 to 64, such that each word is at most the word a stride later:
// the words are so many interleaved runs. Returns 0 if there is none, or fewer than 128 words.
template <class Word>
[[nodiscard]] std::size_t stride_of(const Word* words, std::size_t count);
// Moves words that are out of order behind the others, which then ascend. Returns the number of the
// others. Returns 0, with the words in any order, if more than `most` words would move.
// `strays` has space for `most` words. A heuristic decides which word of a
// descent is the stray, so more words may move than need to.
template <class Word>
[[nodiscard]] std::size_t move_strays(Word* words, std::size_t count, Word* strays,
                                      std::size_t most);

// Which floats of a list tie and differ: the codes of zeros, and the lowest and highest code of
// NaN.
struct CodeTies {
  bool lower_zero = false, upper_zero = false;
  std::uint64_t lowest_nan = ~std::uint64_t{0}, highest_nan = 0;  // lowest > highest: no NaN

  void add(const CodeTies& other) {
    lower_zero |= other.lower_zero;
    upper_zero |= other.upper_zero;
    if (other.lowest_nan < lowest_nan) lowest_nan = other.lowest_nan;
    if (other.highest_nan > highest_nan) highest_nan = other.highest_nan;
  }
  [[nodiscard]] bool differ() const {
    return (lower_zero && upper_zero) || lowest_nan < highest_nan;
  }
};
template <class Code>
[[nodiscard]] CodeTies ties_of(const Code* codes, std::size_t count);

// Exchanges a[i] and b[count - 1 - i]. The lists must not overlap.
template <class Word>
void swap_reversed(Word* a, Word* b, std::size_t count);

// The number of a run, in the lowest bits of a word.
struct Tag {
  unsigned bits, number;
};
// Writes words of (code - window.lowest) >> window.shift above the tag. Keys that tie have one
// code. If `reversed`, the last key's word is first. Words have 4 or 8 bytes.
template <class Key, class Word>
void make_tagged(const Key* keys, Word* words, std::size_t count, Coding<Key> coding, Window window,
                 Tag tag, bool reversed);

// The records of a run: number `next`, then next + step and so on. `step` is 1 or -1, modulo 2^32.
struct RunRecords {
  std::uint32_t next, step;
};
// Writes the record of each tagged word: the next one of its run.
template <class Word>
void follow_tags(const Word* words, std::size_t count, unsigned tag_bits, const RunRecords* runs,
                 std::size_t run_count, std::uint32_t* records);
// Returns how many of `count` words equal the next one, apart from the lowest bits.
template <class Word>
[[nodiscard]] std::size_t count_equal(const Word* words, std::size_t count, unsigned low_bits);
// Returns a word with all bits in which a key differs from `other`, or with the lowest bit and some
// of these.
template <class Key>
[[nodiscard]] Key differing_bits(const Key* keys, std::size_t count, Key other);

// Merges two sorted lists of words. `to` must not overlap them.
template <class Word>
void merge_words(const Word* a, std::size_t a_count, const Word* b, std::size_t b_count, Word* to);

}  // namespace sortium::sample
