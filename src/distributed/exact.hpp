// The end of the search for borders, which all sorts share: rounds of samples and histograms of the
// candidates, and the division of ties. Both use the communicator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sortium/distributed.hpp>
#include <span>
#include <vector>

#include "borders.hpp"
#include "extent.hpp"

namespace sortium::distributed {

// Makes all borders exact. `candidates` are this rank's, sorted. Returns the number of histograms.
template <class Key>
unsigned refine(Communicator& communicator, Borders<Key>& borders, std::span<const Key> candidates,
                Random& random) {
  std::vector<Key> samples;
  std::vector<std::uint64_t> histogram;
  unsigned rounds = 0;
  for (; !borders.exact(); ++rounds) {
    samples.clear();
    borders.draw(candidates, random, samples);
    borders.set_splitters(gather<Key>(communicator, samples));
    histogram.assign(borders.histogram_size(), 0);
    borders.add_counts(candidates, histogram);
    communicator.all_reduce(histogram, Reduction::sum);
    borders.narrow(histogram);
  }
  return rounds;
}

// Returns, for each border, how many of this rank's records that tie with its value lie left.
// `counts` has this rank's number of records in each bucket.
template <class Key>
std::vector<std::uint64_t> ties_left(Communicator& communicator,
                                     const std::vector<Border<Key>>& borders,
                                     std::span<const Key> candidates,
                                     std::span<const std::uint64_t> counts) {
  using Place = typename Border<Key>::Place;
  std::vector<std::uint64_t> ties(borders.size()), before;
  for (std::size_t b = 0; b < borders.size(); ++b) {
    if (borders[b].place == Place::among_ties) ties[b] = counts[borders[b].bucket];
    if (borders[b].place == Place::at_value) {
      const auto equal = std::equal_range(candidates.begin(), candidates.end(), borders[b].value);
      ties[b] = static_cast<std::uint64_t>(equal.second - equal.first);
    }
  }
  before = ties;
  communicator.exclusive_sum(before);
  for (std::size_t b = 0; b < borders.size(); ++b) {
    const std::uint64_t target = borders[b].ties_left;
    ties[b] = target <= before[b] ? 0 : std::min(ties[b], target - before[b]);
  }
  return ties;
}

}  // namespace sortium::distributed
