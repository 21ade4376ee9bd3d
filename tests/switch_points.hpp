// Where a choice that depends on the number of records changes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sortium::test {

struct Run {
  std::uint64_t first;  // the choice holds from this number of records on
  std::string choice;
};

// Returns the intervals of 1 to `last` records in which choice(count) is constant. Looks at three
// counts for each power of two, and bisects between two that differ.
template <class Choice>
[[nodiscard]] std::vector<Run> runs_of(const Choice& choice, std::uint64_t last) {
  std::vector<Run> runs{{1, choice(std::uint64_t{1})}};
  std::uint64_t seen = 1;
  const auto look_at = [&](std::uint64_t count) {
    if (count <= seen || count > last) return;
    const std::string found = choice(count);
    if (found != runs.back().choice) {
      std::uint64_t low = seen, high = count;  // the choice is the last run's, and is not
      while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        (choice(middle) == runs.back().choice ? low : high) = middle;
      }
      runs.push_back({high, choice(high)});
      if (runs.back().choice != found) runs.push_back({count, found});
    }
    seen = count;
  };
  for (std::uint64_t power = 2; power <= last; power *= 2)
    for (const auto count : {power, power + 1, power + power / 2}) look_at(count);
  look_at(last);
  return runs;
}

}  // namespace sortium::test
