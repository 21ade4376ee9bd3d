// Simulates the search for exact borders with many ranks: the library's own code
// (src/distributed/borders.hpp), with few keys for each rank.
//
//   simulate-ranks RANKS KEYS_OF_A_RANK
//
// Prints, for several distributions of the keys, what the search costs each rank: histograms,
// bytes that it receives in all-gathers, bytes of the numbers that are reduced, and candidates. It
// checks every border against the sorted list, and exits with 1 if one is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "distributed/borders.hpp"

namespace {

using sortium::distributed::Border;
using sortium::distributed::Borders;
using sortium::distributed::Random;
using Key = sortium::distributed::OrderKey<1>;
using Place = Border<Key>::Place;

struct Costs {
  unsigned histograms = 0;
  std::uint64_t gathered_bytes = 0, reduced_bytes = 0;
  std::uint64_t candidates = 0;  // of all ranks
};

using Lists = std::vector<std::vector<Key>>;  // for each rank

// Stage 1: samples, buckets, their counts. Returns each rank's sorted candidates.
Lists count_buckets(Borders<Key>& borders, const Lists& lists, std::uint64_t total,
                    std::vector<Random>& random, Costs& costs) {
  std::vector<Key> samples;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    const auto& keys = lists[r];
    const auto mine =
        sortium::distributed::samples_of(keys.size(), total, borders.first_samples(), random[r]);
    for (std::uint64_t s = 0; s < mine; ++s)
      samples.push_back(keys[mine == keys.size()
                                 ? s
                                 : sortium::distributed::stratum(s, mine, keys.size(), random[r])]);
  }
  costs.gathered_bytes += samples.size() * sizeof(Key);
  std::ranges::sort(samples);
  borders.set_first_samples(samples);

  const auto& boundaries = borders.boundaries();
  const auto bucket_of = [&](const Key& key) {
    return static_cast<std::uint64_t>(std::ranges::upper_bound(boundaries, key) -
                                      boundaries.begin());
  };
  std::vector<std::uint64_t> counts(borders.buckets());
  for (const auto& keys : lists)
    for (const auto& key : keys) ++counts[bucket_of(key)];
  costs.reduced_bytes += counts.size() * sizeof(std::uint64_t);
  costs.histograms = 1;
  borders.set_bucket_counts(counts);

  std::vector<char> is_open(counts.size());
  for (const auto b : borders.open_buckets()) is_open[b] = 1;
  Lists candidates(lists.size());
  for (std::size_t r = 0; r < lists.size(); ++r) {
    for (const auto& key : lists[r])
      if (is_open[bucket_of(key)] != 0) candidates[r].push_back(key);
    std::ranges::sort(candidates[r]);
    costs.candidates += candidates[r].size();
  }
  return candidates;
}

// Stage 2: rounds until every border is exact.
void refine(Borders<Key>& borders, const Lists& candidates, std::vector<Random>& random,
            Costs& costs) {
  for (; !borders.exact(); ++costs.histograms) {
    std::vector<Key> samples;
    for (std::size_t r = 0; r < candidates.size(); ++r)
      borders.draw(candidates[r], random[r], samples);
    costs.gathered_bytes += samples.size() * sizeof(Key);
    borders.set_splitters(std::move(samples));
    std::vector<std::uint64_t> histogram(borders.histogram_size());
    for (const auto& mine : candidates) borders.add_counts(mine, histogram);
    costs.reduced_bytes += histogram.size() * sizeof(std::uint64_t);
    borders.narrow(histogram);
  }
}

// Returns the number of borders that do not cut the list where they should.
std::uint64_t wrong_borders(const Borders<Key>& borders, std::vector<Key> all,
                            const std::vector<std::uint64_t>& targets) {
  std::ranges::sort(all);
  const auto& boundaries = borders.boundaries();
  const auto index = [&](const auto it) { return static_cast<std::uint64_t>(it - all.begin()); };
  std::uint64_t wrong = 0;
  for (std::size_t b = 0; b < targets.size(); ++b) {
    const auto& border = borders.borders()[b];
    std::uint64_t left = 0;
    if (border.place == Place::at_value || border.place == Place::among_ties) {
      left = index(std::ranges::lower_bound(all, border.value)) + border.ties_left;
      if (left > index(std::ranges::upper_bound(all, border.value))) ++wrong;
    } else {
      const std::uint64_t bucket = border.bucket + (border.place == Place::after_bucket ? 1 : 0);
      left = bucket == 0 ? 0
             : bucket > boundaries.size()
                 ? all.size()
                 : index(std::ranges::lower_bound(all, boundaries[bucket - 1]));
    }
    wrong += left == targets[b] ? 0 : 1;
  }
  return wrong;
}

// Zipf's distribution with exponent 1 over 10^6 keys, by the inverse of its approximate integral.
Key draw_key(std::string_view distribution, std::uint64_t rank, Random& random) {
  if (distribution == "constant") return {{42}};
  if (distribution == "zipf") return {{static_cast<std::uint64_t>(std::pow(1e6, random.unit()))}};
  if (distribution == "sorted") return {{rank << 32 | random.next() >> 32}};
  return {{random.next()}};
}

bool simulate(std::string_view distribution, std::uint64_t ranks, std::uint64_t keys_of_a_rank) {
  std::vector<Random> random;
  Lists lists(ranks);
  std::vector<Key> all;
  for (std::uint64_t r = 0; r < ranks; ++r) {
    random.emplace_back(r + 1);
    for (std::uint64_t i = 0; i < keys_of_a_rank; ++i)
      lists[r].push_back(draw_key(distribution, r, random[r]));
    all.insert(all.end(), lists[r].begin(), lists[r].end());
  }
  std::vector<std::uint64_t> targets;
  for (std::uint64_t r = 1; r < ranks; ++r) targets.push_back(r * keys_of_a_rank);

  Costs costs;
  Borders<Key> borders(targets, all.size());
  const Lists candidates = count_buckets(borders, lists, all.size(), random, costs);
  refine(borders, candidates, random, costs);
  const double candidate_share =
      static_cast<double>(costs.candidates) / static_cast<double>(all.size());
  const std::uint64_t wrong = wrong_borders(borders, std::move(all), targets);
  fmt::print(
      "{:8} ranks, {:6} keys each, {:8}: {:2} histograms, {:9.3f} MB gathered, {:9.3f} MB "
      "reduced, {:5.1f} % candidates, {} wrong borders\n",
      ranks, keys_of_a_rank, distribution, costs.histograms,
      static_cast<double>(costs.gathered_bytes) * 1e-6,
      static_cast<double>(costs.reduced_bytes) * 1e-6, candidate_share * 100, wrong);
  return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: simulate-ranks RANKS KEYS_OF_A_RANK\n");
    return 2;
  }
  bool right = true;
  for (const auto* distribution : {"uniform", "zipf", "constant", "sorted"})
    right = simulate(distribution, std::stoull(argv[1]), std::stoull(argv[2])) && right;
  return right ? 0 : 1;
}
