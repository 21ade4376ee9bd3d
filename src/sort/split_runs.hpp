// Splits sorted runs at a rank of their merged order, exactly: records with equal keys are ordered
// by run, then by position. So ranges of the merged order have any wanted length, whatever the
// keys.
#pragma once

#include <cstdint>
#include <vector>

namespace sortium {

// Returns for each run how many of its records are among the first `rank` of the merged order.
// `low` and `high` must be the results for a lower and for a higher rank, or zeros and the runs'
// lengths.
//
// `Runs` has three functions. count() returns the number of runs. key(run, index) returns a
// record's key. before(run, index, key, or_equal) returns true if that record's key is less than
// `key` or, if or_equal is true, equal to it.
//
// As in quickselect, each round draws one of the N records between `low` and `high` at random, and
// finds its place in every run by binary search. The expected number of rounds is about 2 log2(N).
template <class Runs>
[[nodiscard]] std::vector<std::uint64_t> split_runs(const Runs& runs, std::uint64_t rank,
                                                    std::vector<std::uint64_t> low,
                                                    std::vector<std::uint64_t> high) {
  const std::size_t count = runs.count();
  std::vector<std::uint64_t> cut(count);
  std::uint64_t undecided = 0, decided = 0;  // decided: records known to be among the first
  for (std::size_t r = 0; r < count; ++r) decided += low[r], undecided += high[r] - low[r];

  std::uint64_t random = rank * 0x9e3779b97f4a7c15u + 1;
  while (decided < rank && decided + undecided > rank) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t drawn = (random >> 16) % undecided;  // there are at most 2^40 records
    std::size_t own = 0;
    while (drawn >= high[own] - low[own]) drawn -= high[own] - low[own], ++own;
    const std::uint64_t pivot = low[own] + drawn;

    // cut: the records before the pivot.
    const auto key = runs.key(own, pivot);
    std::uint64_t before = 0;
    for (std::size_t r = 0; r < count; ++r) {
      std::uint64_t first = low[r], last = high[r];
      if (r == own) first = last = pivot;
      while (first < last) {
        const std::uint64_t middle = first + (last - first) / 2;
        if (runs.before(r, middle, key, r < own))
          first = middle + 1;
        else
          last = middle;
      }
      before += cut[r] = first;
    }
    auto& bound = before < rank ? low : high;
    bound = cut;
    if (before < rank) ++low[own];  // the pivot itself
    decided = undecided = 0;
    for (std::size_t r = 0; r < count; ++r) decided += low[r], undecided += high[r] - low[r];
  }
  return decided >= rank ? low : high;
}

}  // namespace sortium
