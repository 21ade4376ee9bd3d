// Merges sorted pieces of a list of words in pairs, until one is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "order_words.hpp"

namespace sortium::sample {

// Piece i is [ends[i], ends[i + 1]): `ends` has pieces + 1 elements and is overwritten. `spare` has
// space for all words. Returns a pointer to the result: `words` or `spare`, or with at least two
// pieces `out`, if it is not null.
template <class Word, class End>
Word* merge_pieces(Word* words, Word* spare, End* ends, std::size_t pieces, Word* out = nullptr) {
  for (; pieces > 1; pieces = (pieces + 1) / 2) {
    if (pieces == 2 && out != nullptr) spare = out;
    for (std::size_t i = 0; i < pieces; i += 2) {
      const std::size_t middle = ends[i + 1], end = ends[std::min(i + 2, pieces)];
      merge_words(words + ends[i], middle - ends[i], words + middle, end - middle, spare + ends[i]);
      ends[i / 2] = ends[i];
    }
    ends[(pieces + 1) / 2] = ends[pieces];
    std::swap(words, spare);
  }
  return words;
}

}  // namespace sortium::sample
