// Vector code that compares the code of each key of a list with given codes. It is compiled once
// for each instruction set; the program selects one at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "words.hpp"

namespace sortium::sample {

struct Counts {
  std::size_t below = 0, second = 0;
};
// Keys that have codes; or codes, with the coding that changes nothing.
template <class Word>
struct Coded {
  const Word* keys;
  std::size_t count;
  Coding<Word> coding = {};
};
// Where elements go: at `next`, and not to `end` or behind it.
template <class Element>
struct Output {
  Element *next, *end;
};
// The outputs for codes below, in and above a range.
template <class Element>
struct Outputs {
  Output<Element> below, equal, above;
};

// These functions exist for words of 2, 4 and 8 bytes.

// Writes the codes in [lowest, highest] to `to`, which has space for all codes, in their order.
// Returns how many codes are below `lowest`, and how many are written.
template <class Word>
Counts collect_within(Coded<Word> in, Word lowest, Word highest, Word* to);
// Returns how many codes are below `tied.first`, and how many are in `tied`.
template <class Word>
[[nodiscard]] Counts count_around(Coded<Word> in, Tied<Word> tied);
// Writes the places of the codes that are not above `most`, in ascending order. Returns their
// number. `places` has space for `in.count` numbers.
template <class Word>
std::size_t places_up_to(Coded<Word> in, Word most, std::uint32_t* places);
// Copies each key to the output of its code's range, in the order of the input. May leave arbitrary
// elements behind them, up to the output's end, which later keys overwrite.
template <class Word>
void split_keys(Coded<Word> in, Tied<Word> tied, Outputs<Word>& to);
// Does the same with the numbers first, first + 1, … instead of the keys.
template <class Word>
void split_positions(Coded<Word> in, Tied<Word> tied, Word first, Outputs<Word>& to);

// These exist for codes of 4 and 8 bytes.

// A code is a head if it differs from the code before it, which for the first one is `before`.
// Returns the number of heads.
template <class Code>
[[nodiscard]] std::size_t count_heads(const Code* codes, std::size_t count, Code before);
// Writes the keys of all heads to `to`, which has space for them. Returns their number.
template <class Code>
std::size_t copy_heads(const Code* codes, const Code* keys, std::size_t count, Code before,
                       Code* to);

}  // namespace sortium::sample
