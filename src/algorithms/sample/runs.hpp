// Runs of the input: what is sorted already, upwards or downwards, as a natural merge sort finds it
// (Knuth, The Art of Computer Programming 3, 5.2.4).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sortium::sample {

// Records [begin, end) whose ranks never fall or, `falls`, never rise.
struct Run {
  std::uint64_t begin, end;
  bool falls;
};

// Pieces of the input are looked at by themselves, in any order and on any thread, until there are
// too many turns; then the runs are put together. `ranks`(first, to, count) writes the ranks of
// `count` records.
class RunFinder {
 public:
  static constexpr std::uint64_t piece = 1u << 16;  // records
  static constexpr std::size_t most = 8;            // runs; more are not worth merging

  explicit RunFinder(std::uint64_t count)
      : count_(count), stretches_((count + piece - 1) / piece) {}

  [[nodiscard]] std::uint64_t pieces() const { return stretches_.size(); }
  [[nodiscard]] bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

  template <class Ranks>
  void look(std::uint64_t p, const Ranks& ranks) {
    std::uint64_t rank[step];
    const std::uint64_t end =
        p + 1 < pieces() ? (p + 1) * piece + 1 : count_;  // and the next one's first
    auto& mine = stretches_[p];
    for (std::uint64_t i = p * piece; i + 1 < end && !given_up(); i += step - 1) {
      const std::uint64_t some = end - i < step ? end - i : step;
      ranks(i, rank, some);
      bool rises = false, falls = false;
      for (std::uint64_t k = 1; k < some; ++k) {
        rises |= rank[k - 1] < rank[k];
        falls |= rank[k - 1] > rank[k];
      }
      if (!rises || !falls)
        add(mine, i, some - 1, rises - falls);
      else
        for (std::uint64_t k = 1; k < some && mine.size() <= most; ++k)
          add(mine, i + k - 1, 1, (rank[k - 1] < rank[k]) - (rank[k - 1] > rank[k]));
      if (mine.size() > most) given_up_.store(true, std::memory_order_relaxed);
    }
  }

  // Once all pieces have been looked at: the runs, or none where there are too many.
  [[nodiscard]] std::vector<Run> runs() const {
    std::vector<Stretch> all;
    for (const auto& mine : stretches_)
      for (const auto& s : mine) add(all, s.begin, s.steps, s.way);
    std::vector<Run> out;
    if (given_up() || all.size() > most) return out;
    std::uint64_t begin = 0;
    for (const auto& s : all) {
      const std::uint64_t end =
          s.begin + s.steps + 1;  // the step from one run to the next belongs to the later stretch
      if (begin < end) out.push_back({begin, end, s.way < 0});
      begin = end;
    }
    return out;
  }

 private:
  static constexpr std::uint64_t step = 512;

  struct Stretch {  // from record `begin` on, so many steps to the next record that all go one way,
                    // or stay
    std::uint64_t begin, steps;
    int way;
  };
  static void add(std::vector<Stretch>& to, std::uint64_t begin, std::uint64_t steps, int way) {
    if (!to.empty() && (way == 0 || to.back().way == 0 || to.back().way == way)) {
      to.back().steps += steps;
      to.back().way |= way;
    } else {
      to.push_back({begin, steps, way});
    }
  }

  std::uint64_t count_;
  std::vector<std::vector<Stretch>> stretches_;
  std::atomic<bool> given_up_{false};
};

// Merges sorted [a, middle) and [middle, end); equal words are one and the same. It works from both
// ends at once, of which neither waits for the other's loads; while each piece has two words for
// every step, none looks for where they end.
template <class Word>
void merge_two(const Word* a, const Word* middle, const Word* end, Word* to) {
  const Word *b = middle, *a_end = middle, *b_end = end;
  Word* to_end = to + (end - a);
  while (std::ptrdiff_t steps = std::min(a_end - a, b_end - b) / 2)
    for (; steps > 0; --steps) {
      const Word first = *a, second = *b, last = a_end[-1], other = b_end[-1];
      *to++ = std::min(first, second);
      *--to_end = std::max(last, other);
      const bool from_b = second < first, from_a = other < last;
      a += !from_b, b += from_b;
      a_end -= from_a, b_end -= !from_a;
    }
  std::merge(a, a_end, b, b_end, to);
}

// Merges sorted pieces, of which piece i ends at ends[i + 1], by twos; `spare` has room for all of
// them, and the outcome is there or where they were. `ends` is overwritten.
template <class Word>
Word* merge_pieces(Word* words, Word* spare, std::size_t* ends, std::size_t pieces) {
  for (; pieces > 1; pieces = (pieces + 1) / 2) {
    for (std::size_t i = 0; i < pieces; i += 2)
      merge_two(words + ends[i], words + ends[i + 1], words + ends[std::min(i + 2, pieces)],
                spare + ends[i]);
    for (std::size_t i = 0; i <= pieces; i += 2) ends[i / 2] = ends[i];
    ends[(pieces + 1) / 2] = ends[pieces];
    std::swap(words, spare);
  }
  return words;
}

}  // namespace sortium::sample
