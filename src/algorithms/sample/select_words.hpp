// Vector code that compares each code of a list with given codes. It is compiled once for each
// instruction set; the program selects one at run time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortium::sample {

struct Counts {
  std::size_t below = 0, second = 0;
};
// Each function exists for codes of 4 and of 8 bytes.
//   collect_within  writes the codes in [lowest, highest] to `to`, in their order. Returns how many
//                   codes are below `lowest`, and how many are written. `to` has space for `count`
//                   codes.
//   count_around    returns how many codes are below `code`, and how many are equal to it.
//   places_up_to    writes the places of the codes that are not above `code`, in ascending order.
//                   Returns their number. `places` has space for `count` numbers.
#define SORTIUM_SELECT_WORDS(bits)                                                             \
  Counts collect_within(const std::uint##bits##_t* codes, std::size_t count,                   \
                        std::uint##bits##_t lowest, std::uint##bits##_t highest,               \
                        std::uint##bits##_t* to);                                              \
  Counts count_around(const std::uint##bits##_t* codes, std::size_t count,                     \
                      std::uint##bits##_t code);                                               \
  std::size_t places_up_to(const std::uint##bits##_t* codes, std::size_t count,                \
                           std::uint##bits##_t code, std::uint32_t* places);
SORTIUM_SELECT_WORDS(32)
SORTIUM_SELECT_WORDS(64)
#undef SORTIUM_SELECT_WORDS

}  // namespace sortium::sample
