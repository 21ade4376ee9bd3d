// The codes of a problem's keys (words.hpp), and which codes tie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <sortium/core.hpp>

#include "words.hpp"

namespace sortium::sample {

// True if keys have codes, which vector instructions compute: keys of 2, 4 or 8 bytes that are
// sorted by all bits, with NaN last and zeros tied; not bf16, because Ties has one infinity for
// each size. The ranks of other keys are computed one at a time.
[[nodiscard]] inline bool has_codes(const Problem& p) {
  const auto& type = info(p.key);
  return key_bits(p) == type.bits() && type.bytes >= 2 && p.key != KeyType::bf16 &&
         (!type.is_float || (p.nan == NanOrder::last && p.zeros == ZeroOrder::tied));
}

template <class Word>
Coding<Word> coding_of(const Problem& p) {
  const auto& type = info(p.key);
  const Word sign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));
  const Word down = p.order == Order::descending ? static_cast<Word>(~Word{0}) : Word{0};
  if (type.is_float)
    return {down, static_cast<Word>((sign - 1) ^ static_cast<Word>(type.infinity)), true};
  return {static_cast<Word>(type.is_signed ? sign ^ down : down), 0, false};
}

// The code of one key, as encode() makes it.
template <class Word>
[[nodiscard]] Word code_of(Word key, Coding<Word> c) {
  if (!c.is_float) return static_cast<Word>(key ^ c.flip);
  constexpr int top = sizeof(Word) * 8 - 1;
  const Word negative = static_cast<Word>(Word{0} - (key >> top));
  const Word turned = static_cast<Word>(key ^ (negative | Word{1} << top));
  return static_cast<Word>((turned ^ c.flip) - c.below);
}

// The codes of floats that tie. The two zeros have the codes first_zero and first_zero + 1. All NaN
// have codes of first_nan and more.
template <class Word>
struct Ties {
  static constexpr Word infinity = static_cast<Word>(sizeof(Word) == 2   ? 0x7c00u
                                                     : sizeof(Word) == 4 ? 0x7f800000u
                                                                         : 0x7ff0000000000000u);
  static constexpr Word first_zero = infinity;
  static constexpr Word first_nan = static_cast<Word>(2 * infinity + 2);
  // Splitters that separate the zeros and the NaN from all other codes.
  static constexpr std::array<Word, 3> splitters{first_zero, first_zero + 2, first_nan};

  [[nodiscard]] static bool has(Word code) {
    return static_cast<Word>(code - first_zero) < 2 || code >= first_nan;
  }
  // Returns the first and the last of the codes that tie with this one.
  [[nodiscard]] static Tied<Word> with(Word code) {
    if (code >= first_nan) return {first_nan, static_cast<Word>(~Word{0})};
    if (static_cast<Word>(code - first_zero) < 2) return {first_zero, first_zero + 1};
    return {code, code};
  }
  // Returns the same code for all codes that tie.
  [[nodiscard]] static Word shared(Word code) {
    return std::min<Word>(static_cast<Word>(code - (code == first_zero + 1)), first_nan);
  }
};

// The same code for all keys that tie.
template <class Word>
[[nodiscard]] Word tied_code_of(Word key, Coding<Word> c) {
  const Word code = code_of(key, c);
  return c.is_float ? Ties<Word>::shared(code) : code;
}

// False for most lists: their first keys rise or, if `falling`, fall. Takes a few nanoseconds.
template <bool falling, class Word>
[[nodiscard]] bool begins_in_order(const Word* keys, std::uint64_t count, Coding<Word> c) {
  constexpr std::uint64_t glance = 8;
  for (std::uint64_t i = 1; i < std::min(count, glance); ++i) {
    const Word before = tied_code_of(keys[i - 1], c), here = tied_code_of(keys[i], c);
    if (falling ? before < here : here < before) return false;
  }
  return true;
}

}  // namespace sortium::sample
