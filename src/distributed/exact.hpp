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

// Sorts keys by merging their ascending runs, of which there should be few.
template <class Key>
void merge_runs(std::vector<Key>& keys) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < keys.size(); ++i)
    if (keys[i] < keys[i - 1]) ends.push_back(i);
  ends.push_back(keys.size());
  const auto at = [&](std::size_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    for (std::size_t r = 0; r < ends.size(); r += 2) {
      const std::size_t last = std::min(r + 1, ends.size() - 1);
      std::inplace_merge(at(r == 0 ? 0 : ends[r - 1]), at(ends[r]), at(ends[last]));
      merged.push_back(ends[last]);
    }
    ends = std::move(merged);
  }
}

// Returns the keys of all ranks, ascending. Every rank sorts its own keys before it sends them, so
// that they need to be merged only.
template <class Key>
std::vector<Key> gather_sorted(Communicator& communicator, std::vector<Key> mine) {
  std::ranges::sort(mine);
  auto all = gather<Key>(communicator, mine);
  merge_runs(all);
  return all;
}

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

// The number of samples of device memory, of all ranks together, for the first boundaries and for
// each bucket with borders. More samples leave fewer records to sort twice, but all ranks sort all
// samples.
inline std::uint64_t wanted_samples(std::uint64_t total, std::uint64_t ranks) {
  constexpr std::uint64_t least = 1 << 10, records_of_sample = 1 << 12, most_of_rank = 1 << 12;
  return std::clamp(total / records_of_sample, least, std::max(least, ranks * most_of_rank));
}

// Returns where the records for each rank begin, and the end, in a list that is divided into
// buckets: bucket b begins at begins[b], and the last number of `begins` is the end. `candidates`
// are the keys of the open buckets, sorted; first_candidate[i] is the first one of the i-th open
// bucket.
template <class Key>
std::vector<std::uint64_t> cuts_of(Communicator& communicator, const Borders<Key>& search,
                                   std::span<const Key> candidates,
                                   std::span<const std::uint64_t> first_candidate,
                                   std::span<const std::uint64_t> begins) {
  using Place = typename Border<Key>::Place;
  const auto& borders = search.borders();
  std::vector<std::uint64_t> counts(begins.size() - 1);
  for (std::size_t b = 0; b < counts.size(); ++b) counts[b] = begins[b + 1] - begins[b];
  const auto left = ties_left<Key>(communicator, borders, candidates, counts);
  std::vector<std::uint64_t> cuts{0};
  for (std::size_t b = 0; b < borders.size(); ++b) {
    const std::uint64_t bucket = borders[b].bucket;
    std::uint64_t at = begins[bucket] + left[b];
    if (borders[b].place == Place::after_bucket) at = begins[bucket + 1];
    if (borders[b].place == Place::at_value) {
      const auto& open = search.open_buckets();
      const auto index = std::ranges::lower_bound(open, bucket) - open.begin();
      at += static_cast<std::uint64_t>(std::ranges::lower_bound(candidates, borders[b].value) -
                                       candidates.begin()) -
            first_candidate[static_cast<std::size_t>(index)];
    }
    cuts.push_back(at);
  }
  cuts.push_back(begins.back());
  return cuts;
}

}  // namespace sortium::distributed
