// Finds the exact borders between the ranks' parts of the sorted list, in two stages. This is the
// part of the search that is the same on every rank; it sends nothing itself. Callers exchange the
// samples and sum the histograms, so that a simulation of many ranks runs the same code.
//
// Stage 1. Sampled keys bracket every border by two boundaries. The boundaries divide the records
// into buckets, and the global bucket counts tell in which bucket each border lies. Buckets within
// a bracket have few records.
//
// Stage 2. The candidates are the records of the buckets that contain borders. Every rank sorts its
// candidates. In each round, samples from the interval around each border become splitters, and a
// global histogram counts the candidates between and at the splitters. It tells between which two
// splitters the border lies. If the border is at a splitter, it is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "order_key.hpp"

namespace sortium::distributed {

// Random numbers that depend only on the seed (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Returns how many samples a rank with `count` of the `total` records draws if all ranks together
// draw `samples`. The result is rounded at random, so that its expected value is exact.
inline std::uint64_t samples_of(std::uint64_t count, std::uint64_t total, std::uint64_t samples,
                                Random& random) {
  if (samples >= total) return count;
  const double share =
      static_cast<double>(count) * static_cast<double>(samples) / static_cast<double>(total);
  return std::min(count, static_cast<std::uint64_t>(share + random.unit()));
}

// Divides `range` elements into `count` equal strata and returns a random one of stratum s.
inline std::uint64_t stratum(std::uint64_t s, std::uint64_t count, std::uint64_t range,
                             Random& random) {
  const double place = (static_cast<double>(s) + random.unit()) / static_cast<double>(count);
  return std::min(static_cast<std::uint64_t>(place * static_cast<double>(range)), range - 1);
}

// A cut of the list between two ranks. Records with keys below `value` lie left of the border, and
// so do the first `ties_left` records with the key `value`, in the order of ranks and positions.
// All other records lie right of it.
template <class Key>
struct Border {
  enum class Place : std::uint8_t {
    before_bucket,  // all records of the bucket lie right
    after_bucket,   // all records of the bucket lie left
    at_value,
    among_ties,  // as at_value, and all records of the bucket have this value
  };
  std::uint64_t bucket = 0;
  Place place = Place::at_value;
  Key value{};
  std::uint64_t ties_left = 0;
};

template <class Key>
class Borders {
 public:
  using Place = typename Border<Key>::Place;

  // targets[b] is the number of records of the list that lie left of border b; ascending.
  Borders(std::vector<std::uint64_t> targets, std::uint64_t total)
      : targets_(std::move(targets)), total_(total), borders_(targets_.size()) {}

  // Returns the number of samples of stage 1, over all ranks: enough for narrow brackets, and few
  // enough to be exchanged quickly.
  [[nodiscard]] std::uint64_t first_samples() const {
    const std::uint64_t for_few_ranks = std::clamp<std::uint64_t>(total_ / 256, 1 << 10, 1 << 16);
    return std::max<std::uint64_t>(for_few_ranks, 16 * targets_.size());
  }

  // Sets boundaries() from the samples of all ranks, ascending.
  void set_first_samples(std::span<const Key> samples);
  // The boundaries, ascending. Bucket b has the keys k with boundary[b - 1] <= k < boundary[b].
  [[nodiscard]] const std::vector<Key>& boundaries() const { return boundaries_; }
  [[nodiscard]] std::uint64_t buckets() const { return boundaries_.size() + 1; }
  // True if the bucket's boundaries leave only one key.
  [[nodiscard]] bool has_one_value(std::uint64_t bucket) const {
    if (bucket == 0 || bucket == boundaries_.size()) return false;
    Key next = boundaries_[bucket - 1];
    return next.increment() && next == boundaries_[bucket];
  }

  // Adds boundaries. `more` may have any order, and boundaries that are there.
  void add_boundaries(std::span<const Key> more);

  // Sets the number of records in each bucket, over all ranks.
  void set_bucket_counts(std::span<const std::uint64_t> counts);
  // The buckets whose records are candidates, ascending.
  [[nodiscard]] const std::vector<std::uint64_t>& open_buckets() const { return open_buckets_; }

  // Adds boundaries around each border that is not exact; set_bucket_counts() must follow.
  // `samples` are keys of the open buckets, of all ranks, ascending; all samples of a bucket stand
  // for equally many records. `margin`: a border is at most so many samples from its
  // estimate. If it is not, there are more candidates. `counts` are those of set_bucket_counts().
  void add_brackets(std::span<const Key> samples, std::span<const std::uint64_t> counts,
                    std::uint64_t margin);

  [[nodiscard]] bool exact() const { return open_.empty(); }
  // Appends this rank's samples for one round to `samples`. `candidates` are this rank's
  // candidates, sorted.
  void draw(std::span<const Key> candidates, Random& random, std::vector<Key>& samples) const;
  // Sets the splitters from the samples of all ranks, in any order.
  void set_splitters(std::vector<Key> samples);
  // The size of the histogram: it counts the candidates before, at and after each splitter.
  [[nodiscard]] std::uint64_t histogram_size() const { return 2 * splitters_.size() + 1; }
  // Adds this rank's candidates to `histogram`.
  void add_counts(std::span<const Key> candidates, std::span<std::uint64_t> histogram) const;
  // Narrows every interval, from the global histogram.
  void narrow(std::span<const std::uint64_t> histogram);

  [[nodiscard]] const std::vector<Border<Key>>& borders() const { return borders_; }

 private:
  // An interval of keys around one or more borders that are not exact yet. It contains neither of
  // its ends.
  struct Interval {
    bool has_low = false, has_high = false;
    Key low{}, high{};
    std::uint64_t count = 0;  // candidates of all ranks
    friend bool operator==(const Interval&, const Interval&) = default;
  };
  struct Open {
    std::uint64_t border;
    std::uint64_t target;  // number of candidates left of the border
    Interval interval;
  };

  // Returns the number of samples that each interval gets in a round. If there are few open
  // borders, each can have many samples, which saves rounds.
  [[nodiscard]] std::uint64_t round_samples() const {
    return std::clamp<std::uint64_t>((1 << 13) / open_.size(), 8, 1024);
  }
  static std::uint64_t begin_of(const Interval& i, std::span<const Key> sorted) {
    return i.has_low ? std::ranges::upper_bound(sorted, i.low) - sorted.begin() : 0;
  }
  static std::uint64_t end_of(const Interval& i, std::span<const Key> sorted) {
    return i.has_high ? std::ranges::lower_bound(sorted, i.high) - sorted.begin() : sorted.size();
  }
  void add_bracket(std::span<const Key> samples, std::uint64_t target);
  void add_quantiles(std::span<const Key> samples);

  std::vector<std::uint64_t> targets_;
  std::uint64_t total_;
  std::vector<Border<Key>> borders_;
  std::vector<Key> boundaries_;
  std::vector<std::uint64_t> open_buckets_;
  std::vector<Open> open_;  // by border
  std::vector<Key> splitters_;
};

// Adds boundaries around the sample that estimates a border. The sampling error of a quantile q has
// a standard deviation of at most sqrt(samples * q * (1 - q)) samples; a bracket extends 3 standard
// deviations to each side.
template <class Key>
void Borders<Key>::add_bracket(std::span<const Key> samples, std::uint64_t target) {
  const auto count = static_cast<double>(samples.size());
  const double q = static_cast<double>(target) / static_cast<double>(total_);
  const double error = 3 * std::sqrt(count * q * (1 - q)) + 1;
  const double low = q * count - error, high = q * count + error;
  if (low >= 0) boundaries_.push_back(samples[static_cast<std::uint64_t>(low)]);
  if (high < count) {
    Key above = samples[static_cast<std::uint64_t>(high)];
    if (above.increment()) boundaries_.push_back(above);
  }
}

// Adds boundaries at equal distances. If there are many ranks, a sampling error is wider than a
// rank's part, and brackets would overlap. Four buckets for each rank leave a quarter of the
// records as candidates.
template <class Key>
void Borders<Key>::add_quantiles(std::span<const Key> samples) {
  const std::uint64_t step = std::max<std::uint64_t>(samples.size() / (4 * targets_.size()), 1);
  for (std::uint64_t s = step; s < samples.size(); s += step) {
    boundaries_.push_back(samples[s]);
    Key above = samples[s];  // a frequent key has a bucket to itself
    if (samples[s] == samples[s - step] && above.increment()) boundaries_.push_back(above);
  }
}

template <class Key>
void Borders<Key>::set_first_samples(std::span<const Key> samples) {
  const auto count = static_cast<double>(samples.size());
  if (3 * std::sqrt(count) * static_cast<double>(targets_.size()) > count) {
    add_quantiles(samples);
  } else {
    for (const auto target : targets_)
      if (target > 0 && target < total_) add_bracket(samples, target);
  }
  add_boundaries({});
}

template <class Key>
void Borders<Key>::add_boundaries(std::span<const Key> more) {
  boundaries_.insert(boundaries_.end(), more.begin(), more.end());
  std::ranges::sort(boundaries_);
  boundaries_.erase(std::unique(boundaries_.begin(), boundaries_.end()), boundaries_.end());
}

template <class Key>
void Borders<Key>::add_brackets(std::span<const Key> samples, std::span<const std::uint64_t> counts,
                                std::uint64_t margin) {
  std::vector<Key> added;
  std::uint64_t bucket = 0, before = 0;  // records in the buckets before `bucket`
  for (const auto& o : open_) {
    while (bucket < borders_[o.border].bucket) before += counts[bucket++];
    const auto first =
        bucket == 0 ? samples.begin() : std::ranges::lower_bound(samples, boundaries_[bucket - 1]);
    const auto last = bucket == boundaries_.size()
                          ? samples.end()
                          : std::ranges::lower_bound(samples, boundaries_[bucket]);
    const auto length = static_cast<std::uint64_t>(last - first);
    const double share =
        static_cast<double>(targets_[o.border] - before) / static_cast<double>(counts[bucket]);
    const auto at = static_cast<std::uint64_t>(share * static_cast<double>(length));
    // The keys at both ends get buckets of their own: each may be frequent.
    const auto add = [&](std::uint64_t sample) {
      Key key = first[static_cast<std::ptrdiff_t>(sample)];
      added.push_back(key);
      if (key.increment()) added.push_back(key);
    };
    if (at >= margin) add(at - margin);
    if (at + margin < length) add(at + margin);
  }
  add_boundaries(added);
}

template <class Key>
void Borders<Key>::set_bucket_counts(std::span<const std::uint64_t> counts) {
  borders_.assign(targets_.size(), {});
  open_buckets_.clear();
  open_.clear();
  std::uint64_t bucket = 0, before = 0, candidates_before = 0;
  for (std::uint64_t b = 0; b < borders_.size(); ++b) {
    const std::uint64_t target = targets_[b];
    while (bucket + 1 < counts.size() && target > before + counts[bucket]) {
      if (!open_buckets_.empty() && open_buckets_.back() == bucket)
        candidates_before += counts[bucket];
      before += counts[bucket++];
    }
    borders_[b].bucket = bucket;
    if (target == before) {
      borders_[b].place = Place::before_bucket;
    } else if (target == before + counts[bucket]) {
      borders_[b].place = Place::after_bucket;
    } else if (has_one_value(bucket)) {
      borders_[b] = {bucket, Place::among_ties, boundaries_[bucket - 1], target - before};
    } else {
      if (open_buckets_.empty() || open_buckets_.back() != bucket) open_buckets_.push_back(bucket);
      Interval interval{.count = counts[bucket]};
      open_.push_back({b, candidates_before + target - before, interval});
    }
  }
  // At first, the interval of a bucket ends at the bucket's boundaries. The lower boundary is
  // itself a key of the bucket, so the interval's lower end is the next smaller key.
  for (auto& o : open_) {
    const std::uint64_t b = borders_[o.border].bucket;
    if (b > 0 && boundaries_[b - 1] != Key{}) {
      o.interval.has_low = true;
      o.interval.low = boundaries_[b - 1];
      o.interval.low.decrement();
    }
    if (b < boundaries_.size()) {
      o.interval.has_high = true;
      o.interval.high = boundaries_[b];
    }
  }
}

template <class Key>
void Borders<Key>::draw(std::span<const Key> candidates, Random& random,
                        std::vector<Key>& samples) const {
  const std::uint64_t samples_each = round_samples();
  auto open = open_.begin();
  for (std::uint64_t at = 0; at < candidates.size();) {
    // Skip intervals that end before the next candidate.
    open = std::partition_point(open, open_.end(), [&](const Open& o) {
      return o.interval.has_high && !(candidates[at] < o.interval.high);
    });
    if (open == open_.end()) break;
    const std::uint64_t begin = std::max(at, begin_of(open->interval, candidates));
    const std::uint64_t end = end_of(open->interval, candidates);
    at = std::max(begin, end);
    if (begin >= end) continue;
    const std::uint64_t count = samples_of(end - begin, open->interval.count, samples_each, random);
    for (std::uint64_t s = 0; s < count; ++s)
      samples.push_back(candidates[begin + stratum(s, count, end - begin, random)]);
  }
}

template <class Key>
void Borders<Key>::set_splitters(std::vector<Key> samples) {
  for (const auto& o : open_) {
    if (o.interval.has_low) samples.push_back(o.interval.low);
    if (o.interval.has_high) samples.push_back(o.interval.high);
  }
  std::ranges::sort(samples);
  samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
  splitters_ = std::move(samples);
}

// Advances from splitter to splitter or from candidate to candidate, whichever are fewer. The cost
// is that number times a logarithm.
template <class Key>
void Borders<Key>::add_counts(std::span<const Key> candidates,
                              std::span<std::uint64_t> histogram) const {
  auto from = splitters_.begin();
  for (auto at = candidates.begin(); at != candidates.end();) {
    from = std::lower_bound(from, splitters_.end(), *at);
    const auto splitter = static_cast<std::uint64_t>(from - splitters_.begin());
    const bool at_splitter = from != splitters_.end() && *from == *at;
    const auto end = at_splitter                ? std::upper_bound(at, candidates.end(), *from)
                     : from == splitters_.end() ? candidates.end()
                                                : std::lower_bound(at, candidates.end(), *from);
    histogram[2 * splitter + (at_splitter ? 1 : 0)] += static_cast<std::uint64_t>(end - at);
    at = end;
  }
}

template <class Key>
void Borders<Key>::narrow(std::span<const std::uint64_t> histogram) {
  std::vector<Open> still_open;
  std::uint64_t slot = 0,
                before = 0;  // number of candidates in the histogram's slots before `slot`
  for (auto& o : open_) {
    while (o.target > before + histogram[slot]) before += histogram[slot++];
    const std::uint64_t splitter = slot / 2;
    if (slot % 2 == 1) {
      borders_[o.border].value = splitters_[splitter];
      borders_[o.border].ties_left = o.target - before;
      continue;
    }
    if (o.target == before + histogram[slot] && splitter < splitters_.size()) {
      borders_[o.border].value = splitters_[splitter];  // no record with this key lies left
      continue;
    }
    o.interval = {.has_low = splitter > 0,
                  .has_high = splitter < splitters_.size(),
                  .count = histogram[slot]};
    if (splitter > 0) o.interval.low = splitters_[splitter - 1];
    if (splitter < splitters_.size()) o.interval.high = splitters_[splitter];
    still_open.push_back(o);
  }
  open_ = std::move(still_open);
}

}  // namespace sortium::distributed
