// The dimensions of msd's count, and the limits that its samples are compared with.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "../parts/radix_passes.hpp"
#include "msd_shape.hpp"

namespace sortium::msd {
namespace {

// The samples, and an allowance for their error, may fill this share of the capacity of a bucket of
// spread orders.
constexpr double spread_fill = 0.9;
// The samples may fill this share of the capacity of a bucket of stretched keys.
constexpr double stretch_fill = 0.85;
// Words of local memory in which the samples' hash table shows most keys that repeat.
constexpr std::uint64_t frequent_words = 16384;
// Words of local memory in which the samples' hash table for pivots seldom has collisions.
constexpr std::uint64_t pivot_words = 16384;
// The fewest samples of a pivot; fewer may have the same key by chance.
constexpr unsigned least_pivot_samples = 4;
// Digits have few values if in none of them more than one key in this many has a rare value.
// Measured on an H100.
constexpr unsigned rare_share = 3;

// Passes over this many digits or fewer take less time than the sort of stretched keys. Three
// digits have 2^24 values, so in lists of more than 2^25 records keys repeat and crowd the bins of
// the local sort.
// Measured on an H200.
unsigned most_digits_instead_of_stretch(const Problem& p) {
  return info(p.key).bytes == 8 || p.count > std::uint64_t{1} << 25 ? 3 : 2;
}
// The same for mapped and equalized keys, which take more time.
unsigned most_digits_instead_of_map(const Problem& p) { return info(p.key).bytes == 8 ? 4 : 3; }

// Returns the expected number of samples in `records` records, if the list has `samples` samples.
double samples_of(const Problem& p, std::uint64_t records, unsigned samples) {
  return static_cast<double>(records) * samples / static_cast<double>(p.count);
}

// Returns the number of samples per work-item of a count with work-groups of 1024.
unsigned most_samples(const Problem& p, const Shape& shape, bool shares_unit) {
  if (p.count < many_sampled_from) return shape.spread_bits != 0 ? 8 : 4;
  return shares_unit ? 8 : 16;
}

// The same for a map.
unsigned most_map_samples(const Problem& p, bool shares_unit) {
  return p.count < many_sampled_from || shares_unit ? 8 : 16;
}

// True if 4-byte floats with values or positions are partitioned by spread orders.
bool is_f32_pairs(const Problem& p, const Shape& shape) {
  return shape.spread_bits != 0 && info(p.key).bytes == 4 && p.payload != Payload::none;
}

// Returns the 32-bit words of local memory for the counts, or for the samples' tables, which use
// the same memory before.
std::uint64_t count_words(const Problem& p, const Capabilities& device, const Shape& shape,
                          const CountShape& count) {
  const std::uint64_t counts = shape.most_buckets() * std::uint64_t{count.bits} / 32;
  const std::uint64_t digit_counts = radix_size * info(p.key).bytes;
  const std::uint64_t entries = shape.equalizer.possible() ? 2 * Equalizer::cells : 0;
  // In a table with few words, a frequent key may go unnoticed.
  const bool shows_frequent = shape.frequent.samples != 0 && has_much_local(device);
  const std::uint64_t tags =
      shows_frequent ? frequent_words
      : count.tells_repeats || count.tells_few_digits || shape.frequent.samples != 0 ? 4096
                                                                                     : 0;
  const std::uint64_t pivots = shape.map.cells == 0     ? 0
                               : has_much_local(device) ? pivot_words
                                                        : 4096;
  // Eight parts of each lead (msd_spread.cl), two in a word. Fewer parts do not show where the
  // leads of f64 are dense.
  const std::uint64_t parts =
      shape.spread_bits != 0 && has_much_local(device) ? std::uint64_t{4} << shape.spread_bits : 0;
  return std::max({counts, digit_counts, tags, pivots, entries, parts});
}

// Bytes of msd_count_memory_t (msd_samples.cl).
std::uint64_t count_bytes(const Problem& p, const Capabilities& device, const Shape& shape,
                          const CountShape& count) {
  const std::uint64_t leads = std::uint64_t{1} << shape.spread_bits;
  const std::uint64_t spread = shape.spread_bits != 0 ? 4 * leads + 20 : 0, differ = 8;
  return count_words(p, device, shape, count) * 4 +
         kernels::scan_bytes(p, device, count.work_group) + spread + differ +
         shape.map.local_bytes(info(p.key).bytes) + shape.equalizer.local_bytes() + 2 * gap_bytes;
}

}  // namespace

CountShape make_count_shape(const Problem& problem, const Capabilities& device, const Shape& shape,
                            bool tells_few_digits) {
  CountShape count;
  // Repeated keys do no harm to floats without values, whose buckets have spare capacity, nor to
  // buckets without a local sort. In long lists, f64 keys that repeat can be mapped.
  count.tells_repeats =
      shape.samples_keys && !partition_sorts(problem, shape) &&
      (shape.spread_bits == 0 || (sorts_positions(problem) && shape.map.cells == 0));
  count.tells_few_digits = shape.samples_keys && tells_few_digits;
  count.stretch_digits = most_digits_instead_of_stretch(problem) + 1;
  count.map_digits = most_digits_instead_of_map(problem) + 1;
  // If more work-groups share a compute unit, each counts fewer keys, so narrow counts overflow
  // less often.
  while (count.bits > 4 && count_bytes(problem, device, shape, count) > device.local_struct) {
    count.bits /= 2;
    count.resident = 4;
    count.work_group = count_work_group / count.resident;
  }
  count.words = count_words(problem, device, shape, count);
  count.bytes = count_bytes(problem, device, shape, count);
  if (count.bytes > device.local_struct || device.max_work_group < count_work_group)
    throw Error(ErrorCode::unsupported,
                fmt::format("msd: counting by {} bits needs {} bytes of local memory and {} "
                            "work-items; the device allows "
                            "{} and {}",
                            shape.bits, count.bytes, count_work_group, device.local_struct,
                            device.max_work_group));

  if (shape.samples_keys) {
    const auto samples = [&](unsigned most) {  // a power of two for each work-item
      return count_work_group * static_cast<unsigned>(std::bit_floor(std::clamp<std::uint64_t>(
                                    problem.count / count_work_group, 1, most)));
    };
    count.judged = samples(most_samples(problem, shape, count.resident > 1));
    count.sampled = count.judged;
    if (shape.map.cells != 0 || shape.equalizer.possible())
      count.sampled =
          std::max(count.judged, samples(most_map_samples(problem, count.resident > 1)));
    // The stride is odd, so samples spread over all memory banks. It is 0 for short lists: all
    // samples are then the first key.
    const std::uint64_t share = problem.count / count.sampled;
    count.sample_stride = share == 0 ? 0 : (share - 1) | 1;
  }
  count.groups = std::min<std::uint64_t>(ceil_div(problem.count, count_items * count.work_group),
                                         std::uint64_t{device.compute_units} * count.resident);
  return count;
}

SampleLimits make_sample_limits(const Problem& problem, const Shape& shape,
                                const CountShape& count) {
  SampleLimits limits;
  const auto clamped = [](double x, double least) {
    return static_cast<std::uint32_t>(std::clamp(x, least, 1e9));
  };
  // Allows four standard deviations above the mean, and 8 more for small means. Keys that spread do
  // not exceed this by chance.
  const auto crowd_of = [&](double full) {
    return std::min(static_cast<std::uint32_t>(full + 4 * std::sqrt(full) + 8),
                    (1u << count.bits) - 1);
  };
  const double full = samples_of(problem, bucket_capacity(problem, shape), count.judged);
  const double judged = count.judged;
  const auto records = static_cast<double>(problem.count);
  limits.crowd = crowd_of(full);
  // If all buckets were full, each sample would share its bucket with `full` others: judged * full
  // / 2 pairs. More pairs mean that a bucket exceeds its capacity. The margin is that of
  // crowd_of().
  const double pairs = judged * full / 2;
  limits.pairs = clamped(pairs + 4 * std::sqrt(pairs) + 8, 1.0);
  if (shape.map.cells != 0) {
    // The samples of a bucket that is certainly too large are in excess.
    const double mapped = samples_of(problem, shape.mapped_local.capacity(), count.sampled);
    limits.map_crowd = clamped(mapped + 3 * std::sqrt(mapped) + 2, 1.0);
    limits.map_crowded =
        clamped(samples_of(problem, most_listed(problem, shape), count.sampled) / 2, 1.0);
    // A pivot takes two buckets: together, at most a quarter of all.
    limits.pivot = std::max(least_pivot_samples, 8 * count.sampled >> shape.map.bits);
  }
  if (shape.equalizer.possible()) {
    const double equalized = samples_of(problem, shape.local.capacity(), count.sampled);
    limits.equalized_crowd = clamped(equalized + 5 * std::sqrt(equalized) + 4, 1.0);
  }
  // A range of leading bits has 64 samples if keys are uniform. Chance exceeds this limit in one
  // list of a thousand. A range of spread orders may be as full as its buckets allow.
  const auto ranges = std::min<std::uint64_t>(shape.buckets(), std::max(count.judged / 64, 1u));
  const double of_range = judged / static_cast<double>(ranges),
               most_of_range = full * shape.buckets() / static_cast<double>(ranges);
  limits.coarse = clamped(shape.spread_bits != 0 ? most_of_range + 1.5 * std::sqrt(most_of_range)
                                                 : of_range + 4.5 * std::sqrt(of_range),
                          1.0);
  // Uniform keys, as above, or less than the buckets allow: the largest bucket of a smooth curve is
  // as full as its range.
  limits.stretch_coarse = std::max(limits.coarse, clamped(stretch_fill * most_of_range, 1.0));
  const double buckets_of_lead =
      std::ldexp(1.0, static_cast<int>(shape.bits) - static_cast<int>(shape.spread_bits));
  limits.lead = clamped(256 * spread_fill * full * buckets_of_lead, 1.0);

  // If each key occurs m times, a bucket's size has a standard deviation of sqrt(m * mean). The
  // largest of many thousand buckets is four of these above the mean. Larger m than `most_alike`
  // crowd the bins. A table of tags detects a third of the samples that repeat.
  const auto mean = static_cast<double>(problem.count >> shape.bits);
  const double spare = static_cast<double>(bucket_capacity(problem, shape)) - mean;
  // There are 2^23 f32 numbers from 1 to 2. If all of them occur, they leave no bits to sort by, so
  // bins are by position, and not crowded.
  const double of_number = records / (1 << 23);
  const double most_alike = is_f32_pairs(problem, shape)   ? std::max(12.0, 1.5 * of_number)
                            : sorts_positions(problem)     ? 16.0
                            : info(problem.key).bytes == 4 ? 40.0
                                                           : 3.0;
  const double m = std::min(spare * spare / (16 * mean), most_alike);
  limits.repeats = clamped(m * judged * judged / (3 * records), 2.0);
  limits.rare = count.judged / rare_share;
  return limits;
}

}  // namespace sortium::msd
