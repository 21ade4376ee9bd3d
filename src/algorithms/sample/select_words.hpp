// Vector code that compares each code of a list with given codes. It is compiled once for each
// instruction set; the program selects one at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

struct Counts {
  std::size_t below = 0, second = 0;
};
// Codes in memory. A code is a word with the bits of `flip` inverted, so keys that are integers
// serve as they are.
template <class Code>
struct Codes {
  const Code* words;
  std::size_t count;
  Code flip = 0;
};
// Where the elements of one kind go: at `next`, and not to `end` or behind it.
template <class Element>
struct Output {
  Element *next, *end;
};

// These functions exist for codes of 2, 4 and 8 bytes.

// Writes the codes in [lowest, highest] to `to`, which has space for all codes, in their order.
// Returns how many codes are below `lowest`, and how many are written.
template <class Code>
Counts collect_within(Codes<Code> codes, Code lowest, Code highest, Code* to);
// Returns how many codes are below `code`, and how many are equal to it.
template <class Code>
[[nodiscard]] Counts count_around(Codes<Code> codes, Code code);
// Writes the places of the codes that are not above `code`, in ascending order. Returns their
// number. `places` has space for `count` numbers.
template <class Code>
std::size_t places_up_to(Codes<Code> codes, Code code, std::uint32_t* places);
// Copies the keys, in their order: those whose code is below `code`, those with an equal code, and
// the others. Each output must end where all of its keys have been copied, maybe by later calls.
template <class Code>
void split_keys(Codes<Code> codes, const Code* keys, Code code, Output<Code>& below,
                Output<Code>& equal, Output<Code>& above);
// Writes the places of the codes below `code`, then those of equal codes, then those of the others,
// each in ascending order. `places` has space for `count` numbers. Returns the numbers of the first
// two.
template <class Code>
Counts split_places(Codes<Code> codes, Code code, Code* places);

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
