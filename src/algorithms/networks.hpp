// The comparators that bitonic and odd-even do, and the merges that merge does, as lists: the tests
// prove that they sort, and the program draws them.
#pragma once

#include <algorithm>
#include <vector>

namespace sortium::networks {

// Puts the record that sorts first on top, or at the bottom where `reverse`. Equal ones stay where
// they are.
struct Comparator {
  unsigned top, bottom;
  bool reverse;
};
using Step =
    std::vector<Comparator>;  // no record is in two of them: they may be done at the same time
using Stage = std::vector<Step>;

// Stage s makes sorted sequences of 2^(s+1) records, whose direction alternates, counted from the
// end of the list (bitonic_reverse in primitives.cl). Its steps have distances 2^s … 1. Comparators
// that reach beyond the list are left out.
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

// n rounds: a stage of one step each.
inline std::vector<Stage> odd_even(unsigned n) {
  std::vector<Stage> rounds(n, Stage(1));
  for (unsigned round = 0; round < n; ++round)
    for (unsigned i = round % 2; i + 1 < n; i += 2) rounds[round][0].push_back({i, i + 1, false});
  return rounds;
}

// Records [begin, middle) and [middle, end) become one sorted run. A run without a neighbour stays
// as it is.
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
