// Lists of the comparators of `bitonic` and `odd-even`, and of the merges of `merge`. The tests
// prove that these lists sort; the program `sortium draw` draws them.
#pragma once

#include <algorithm>
#include <vector>

namespace sortium::networks {

// Moves the record that sorts first to the top, or to the bottom if `reverse`. Ties do not move.
struct Comparator {
  unsigned top, bottom;
  bool reverse;
};
using Step =
    std::vector<Comparator>;  // comparators on different records, so they may run concurrently
using Stage = std::vector<Step>;

// Stage s makes sorted sequences of 2^(s+1) records. Their direction alternates, counted from the
// end of the list (bitonic_reverse in primitives.cl). The steps of a stage have the distances
// 2^s … 1. Comparators that reach beyond the list are omitted.
inline std::vector<Stage> bitonic(unsigned n) {
  std::vector<Stage> stages;
  for (unsigned length = 2; length / 2 < n; length *= 2) {
    auto& stage = stages.emplace_back();
    for (unsigned distance = length / 2; distance > 0; distance /= 2) {
      auto& step = stage.emplace_back();
      for (unsigned i = 0; i + distance < n; ++i)
        if ((i & distance) == 0) step.push_back({i, i + distance, ((i ^ (n - 1)) & length) != 0});
    }
  }
  return stages;
}

// Returns n rounds, each a stage of one step.
inline std::vector<Stage> odd_even(unsigned n) {
  std::vector<Stage> rounds(n, Stage(1));
  for (unsigned round = 0; round < n; ++round)
    for (unsigned i = round % 2; i + 1 < n; i += 2) rounds[round][0].push_back({i, i + 1, false});
  return rounds;
}

// Merges the runs [begin, middle) and [middle, end) into one. If the second run is empty, nothing
// moves.
struct Merge {
  unsigned begin, middle, end;
};
using Level = std::vector<Merge>;

inline std::vector<Level> merges(unsigned n) {
  std::vector<Level> levels;
  for (unsigned run = 1; run < n; run *= 2) {
    auto& level = levels.emplace_back();
    for (unsigned begin = 0; begin < n; begin += 2 * run)
      level.push_back({begin, std::min(begin + run, n), std::min(begin + 2 * run, n)});
  }
  return levels;
}

}  // namespace sortium::networks
