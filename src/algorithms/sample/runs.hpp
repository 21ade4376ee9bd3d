// Finds the sorted runs of records, for the natural merge sort of Knuth, The Art of Computer
// Programming 3, 5.2.4.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "order_words.hpp"

namespace sortium::sample {

// Records [begin, end) in order. Their ranks never descend or, if `falls`, never ascend.
struct Run {
  std::uint64_t begin, end;
  bool falls;
};

// Finds the runs of `count` records. look() examines one piece; pieces may be examined in any order
// and on any thread. Then runs() joins the pieces' results. Once there are too many runs, all calls
// stop early.
class RunFinder {
 public:
  static constexpr std::uint64_t piece = 1u << 16;  // records
  static constexpr std::size_t most = 8;            // runs; more are not worth merging
  static constexpr std::size_t most_stretches = 2 * most;

  // A step leads from a record to the next one. A stretch is `steps` consecutive steps from record
  // `begin` on that all ascend or tie (`way` is 1), all descend or tie (-1), or all tie (0).
  struct Stretch {
    std::uint64_t begin, steps;
    int way;
  };
  struct Stretches {
    std::array<Stretch, most_stretches + 1> all;
    std::size_t count;

    void add(std::uint64_t begin, std::uint64_t steps, int way) {
      if (count != 0) {
        Stretch& last = all[count - 1];
        if (way == 0 || last.way == 0 || last.way == way) {
          last.steps += steps;
          last.way |= way;
          return;
        }
      }
      all[count++] = {begin, steps, way};
    }
  };
  struct Runs {
    std::array<Run, most> all;
    std::size_t count = 0;  // 0: too many runs
    bool tie = false;       // neighbours in one of the runs tie

    [[nodiscard]] const Run* begin() const { return all.data(); }
    [[nodiscard]] const Run* end() const { return all.data() + count; }
    [[nodiscard]] bool is_one_that_ascends() const { return count == 1 && !all[0].falls; }
    [[nodiscard]] bool is_one_that_falls() const { return count == 1 && all[0].falls; }
  };

  [[nodiscard]] static std::uint64_t pieces_of(std::uint64_t count) {
    return (count + piece - 1) / piece;
  }

  // `stretches` must have space for one element for each piece.
  RunFinder(std::uint64_t count, Stretches* stretches) : count_(count), stretches_(stretches) {
    for (std::uint64_t p = 0; p < pieces(); ++p) stretches_[p].count = 0;
  }

  [[nodiscard]] std::uint64_t pieces() const { return pieces_of(count_); }
  [[nodiscard]] bool given_up() const { return given_up_.load(std::memory_order_relaxed); }

  // Examines piece `p`. ranks(first, to, count) writes the ranks of `count` records to `to`.
  template <class Rank, class Ranks>
  void look(std::uint64_t p, const Ranks& ranks) {
    Rank rank[step];
    const std::uint64_t end =
        p + 1 < pieces() ? (p + 1) * piece + 1 : count_;  // includes the next piece's first record
    auto& mine = stretches_[p];
    for (std::uint64_t i = p * piece; i + 1 < end && !given_up(); i += step - 1) {
      const std::uint64_t some = end - i < step ? end - i : step;
      ranks(i, rank, some);
      const auto [rise, fall, tie] = step_kinds_of(rank, some);
      if (tie) tie_.store(true, std::memory_order_relaxed);
      if (!rise || !fall)
        mine.add(i, some - 1, rise - fall);
      else
        for (std::uint64_t k = 1; k < some && mine.count <= most_stretches; ++k)
          mine.add(i + k - 1, 1, (rank[k - 1] < rank[k]) - (rank[k - 1] > rank[k]));
      if (mine.count > most_stretches) given_up_.store(true, std::memory_order_relaxed);
    }
    // Pieces are joined at their bounds only, so all other stretches remain apart.
    if (mine.count > 1 &&
        apart_.fetch_add(mine.count - 1, std::memory_order_relaxed) + mine.count > most_stretches)
      given_up_.store(true, std::memory_order_relaxed);
  }

  // Returns the runs once every piece has been examined, or none if there are too many.
  [[nodiscard]] Runs runs() const {
    Stretches joined;
    joined.count = 0;
    for (std::uint64_t p = 0; p < pieces() && !given_up(); ++p)
      for (std::size_t i = 0; i < stretches_[p].count; ++i) {
        const auto& s = stretches_[p].all[i];
        joined.add(s.begin, s.steps, s.way);
        if (joined.count > most_stretches) return {};
      }
    Runs out;
    out.tie = tie_;
    if (given_up()) return out;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < joined.count; ++i) {
      // The step from the last record of a run to the first one of the next belongs to the next
      // stretch; so `begin` may be one record after s.begin.
      const auto& s = joined.all[i];
      const std::uint64_t end = s.begin + s.steps + 1;
      // The only step between two runs that ascend belongs to neither.
      if (end == begin + 1 && i + 1 < joined.count) continue;
      if (begin == end) continue;
      if (out.count == most) return {};
      out.all[out.count++] = {begin, end, s.way < 0};
      begin = end;
    }
    return out;
  }

 private:
  static constexpr std::uint64_t step = 512;

  std::uint64_t count_;
  Stretches* stretches_;
  std::atomic<std::size_t> apart_{0};  // stretches that do not begin a piece
  std::atomic<bool> given_up_{false}, tie_{false};
};
using Runs = RunFinder::Runs;

}  // namespace sortium::sample
