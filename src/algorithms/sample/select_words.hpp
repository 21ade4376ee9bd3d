// Vector code that compares each code of a list with given codes. It is compiled once for each
// instruction set; the program selects one at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

struct Counts {
  std::size_t below = 0, second = 0;
};
// The functions exist for codes of 4 and 8 bytes.

// Writes the codes in [lowest, highest] to `to`, which has space for all codes, in their order.
// Returns how many codes are below `lowest`, and how many are written.
template <class Code>
Counts collect_within(const Code* codes, std::size_t count, Code lowest, Code highest, Code* to);
// Returns how many codes are below `code`, and how many are equal to it.
template <class Code>
[[nodiscard]] Counts count_around(const Code* codes, std::size_t count, Code code);
// Writes the places of the codes that are not above `code`, in ascending order. Returns their
// number. `places` has space for `count` numbers.
template <class Code>
std::size_t places_up_to(const Code* codes, std::size_t count, Code code, std::uint32_t* places);

// Writes the places of the codes below `code`, then those of equal codes, then those of the others,
// each in ascending order. `places` has space for `count` numbers. Returns the numbers of the first
// two.
template <class Code>
Counts split_places(const Code* codes, std::size_t count, Code code, Code* places);

// A code is a head if it differs from the code before it, which for the first one is `before`.
// Returns the number of heads.
template <class Code>
[[nodiscard]] std::size_t count_heads(const Code* codes, std::size_t count, Code before);
// Writes the keys of all heads to `to`, which has space for them. Returns their number.
template <class Code>
std::size_t copy_heads(const Code* codes, const Code* keys, std::size_t count, Code before,
                       Code* to);

}  // namespace sortium::sample
