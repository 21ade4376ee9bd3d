// Merges several sorted lists of words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "order_words.hpp"

namespace sortium::sample {

template <class Word>
struct Piece {
  const Word* words;
  std::size_t count;
};

// Merges pieces in pairs. Each half of a list of pieces has about half of its words, so few words
// of long pieces are merged often. Halves are finished one after the other, so most merges are made
// in a core's first caches.
template <class Word>
class MergeTree {
 public:
  explicit MergeTree(const Piece<Word>* pieces) : pieces_(pieces) {}

  // Merges pieces [first, last), at least two, with `words` words, into `to`. `spare` has space for
  // as many words. The pieces may lie in one of them, one behind the other from its beginning on.
  void merge(std::size_t first, std::size_t last, std::size_t words, Word* to, Word* spare) const {
    std::size_t middle = first + 1, before = pieces_[first].count;
    for (; middle + 1 < last && before + pieces_[middle].count / 2 < words / 2; ++middle)
      before += pieces_[middle].count;
    const Word* const a = merged(first, middle, before, spare, to);
    const Word* const b = merged(middle, last, words - before, spare + before, to + before);
    merge_words(a, before, b, words - before, to);
  }

 private:
  // Returns a pointer to the merged words, which are not in `spare`.
  const Word* merged(std::size_t first, std::size_t last, std::size_t words, Word* to,
                     Word* spare) const {
    if (last - first > 1) {
      merge(first, last, words, to, spare);
      return to;
    }
    const Word* const piece = pieces_[first].words;
    if (piece != spare) return piece;
    std::memcpy(to, piece, words * sizeof(Word));
    return to;
  }

  const Piece<Word>* pieces_;
};

// Merges pieces of `words`: piece i is [ends[i], ends[i + 1]), at most `most` pieces. `spare` has
// space for all words. Returns a pointer to the result, `words` or `spare`.
template <std::size_t most, class Word>
Word* merge_pieces(Word* words, Word* spare, const std::size_t* ends, std::size_t count) {
  if (count < 2) return words;
  Piece<Word> pieces[most]{};
  for (std::size_t i = 0; i < count; ++i) pieces[i] = {words + ends[i], ends[i + 1] - ends[i]};
  // The lowest merges should write to `spare`: then no piece is copied before.
  Word *to = spare, *other = words;
  if (std::bit_width(count - 1) % 2 == 0) std::swap(to, other);
  MergeTree<Word>(pieces).merge(0, count, ends[count], to, other);
  return to;
}

}  // namespace sortium::sample
