// The dimensions of msd's kernels: pure functions of the problem, the device's capabilities and the
// caller's parameters. tests/msd_shape_test.cpp has them at their borders.
#pragma once

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"

namespace sortium::msd {

constexpr unsigned digit_bits = 8, most_leading_bits = 2 * digit_bits;
constexpr unsigned local_items = 19;   // records of a work-item in the local sort
constexpr unsigned sector_bytes = 32;  // memory is written in units of so many bytes
constexpr unsigned count_work_group = 1024, count_items = 16;  // of msd_start and msd_count
constexpr unsigned tile_count_items = 4;                       // of msd_count_tiles
// The count's verdict, unless it lists buckets (RadixPasses::listed), that keys are mapped.
constexpr std::uint32_t verdict_mapped = ~std::uint32_t{0};

// True if a map of the samples may assign the keys to buckets (msd_map.cl): integers of 64 bits
// without values, if all of their bits are compared. (Of 32 bits, onesweep's four passes are as
// fast, measured on an H200.)
[[nodiscard]] bool maps_keys(const Problem& problem);

// Floats of which all bits are compared are partitioned by spread orders (see spread_order in
// primitives.cl): the bits of sign and exponent. 0 for all other keys.
[[nodiscard]] unsigned spread_bits(const Problem& problem);

// True if NaNs or zeros of different bits are equal, and keys without values are partitioned by
// spread orders.
[[nodiscard]] bool has_classes(const Problem& problem);

// True if the local sort must carry positions to keep ties in the order of the input. Spread orders
// have no ties.
[[nodiscard]] bool sorts_positions(const Problem& problem);

// True if the local sort's items hold only some of their key's bits, so that keys are gathered.
[[nodiscard]] bool gathers_keys(const Problem& problem);

struct Shape;

// How one work-group sorts a bucket in local memory (msd_local.cl).
struct LocalSort {
  unsigned work_group = 0;     // work-items; 0: a bucket does not fit
  unsigned resident = 1;       // work-groups that share a compute unit
  unsigned sort_bits = 0;      // bits of an item: 32 or 64
  unsigned position_bits = 0;  // of them, bits of the position in the bucket
  unsigned bin_shift = 0;      // an item's bits from here on choose its bin
  bool bins_by_place = false;  // fewer bits are open than a bin's number has
  bool values_late = false;    // values are loaded after the sort, into the items' memory
  bool keep_keys = false;      // keys wait in local memory
  std::uint64_t bytes = 0;     // of msd_local_memory_t

  // The parameters of msd_local.cl, for buckets by leading bits or, with `map_cells`, for groups of
  // mapped buckets.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Shape& shape,
                                         unsigned map_cells) const;
  [[nodiscard]] unsigned bins() const { return 16 * work_group; }
  // Records of the largest bucket.
  [[nodiscard]] std::uint64_t capacity() const { return std::uint64_t{work_group} * local_items; }
};

// How a short list is partitioned by one digit, one work-group a tile (msd_tiles.cl).
struct TilePartition {
  unsigned work_group = 256, items = 0;
  std::uint64_t count = 0;  // tiles; 0: the list is not partitioned in this way
  std::uint64_t bytes = 0;  // of msd_tile_memory_t

  // The parameters of msd_tiles.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

// How keys without values are partitioned if equal keys are identical (msd_partition.cl).
struct KeyPartition {
  unsigned work_group = 256;
  unsigned items = 0;       // of a work-item in a tile; 0: RadixPasses partitions
  unsigned resident = 2;    // work-groups that share a compute unit
  unsigned run = 1;         // tiles of a ticket
  unsigned map_cells = 0;   // of the map, if keys are mapped
  bool local_map = false;   // the map is copied to local memory
  bool sets_aside = false;  // the first pass sets keys aside
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;  // of msd_partition_memory_t

  // The parameters of msd_partition.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Shape& shape) const;
};

// How the keys of each bucket are counted (msd_count.cl), unless a TilePartition counts them.
struct CountShape {
  unsigned work_group = count_work_group;  // work-items
  unsigned bits = 16;                      // of a bucket's count in local memory
  unsigned sampled = 0;                    // keys that are gathered before all are counted
  unsigned judged = 0;                     // of them, keys that tell whether the others spread
  std::uint64_t sample_stride = 0;         // keys from one sample to the next
  bool tells_repeats = false;              // samples tell whether keys repeat
  bool tells_few_digits = false;           // samples tell whether most digits have few values
  std::uint64_t words = 0;                 // of the counts in local memory
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;  // of msd_count_memory_t

  // The parameters of msd_count.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Shape& shape) const;
};

// Thresholds for the samples. A list whose samples pass one of them is not partitioned.
struct SampleLimits {
  std::uint32_t crowd = 0;        // samples of one bucket
  std::uint32_t map_crowd = 0;    // the same, of a mapped bucket
  std::uint32_t map_crowded = 0;  // samples beyond `map_crowd` in their bucket
  std::uint32_t dense_width = 0;  // bits of a window in which repeated keys crowd no bins
  std::uint32_t lead = 0;         // 256 times the samples of one value of the spread bits
  std::uint32_t repeats = 0;      // samples whose key another sample has, too
  std::uint32_t few_repeats = 0;  // the same; more say that digits are few
  std::uint32_t few_agree = 0;    // pairs of samples that agree in a digit; more say that it is few
};

struct Shape {
  unsigned spread_bits = 0;  // see spread_bits()
  unsigned aside_tile =
      0;  // records of a tile whose pass sets keys aside (msd_set_aside.cl); 0: none
  unsigned map_cells = 0;     // of a map; 0: none is made
  unsigned map_bits = 0;      // log2 of the buckets of mapped keys
  unsigned bits = 0;          // leading bits that make a bucket
  bool samples_keys = false;  // some keys are looked at before all are counted
  TilePartition tiles;
  KeyPartition keys, mapped_keys, keys_beside_aside;  // the last one sets keys aside
  LocalSort local;
  std::uint64_t mapped_local_groups = 0;  // work-groups that sort groups of mapped buckets

  [[nodiscard]] std::uint32_t buckets() const { return std::uint32_t{1} << bits; }
  // True if overfull buckets are listed, and sorted by themselves.
  [[nodiscard]] bool lists_overfull() const { return map_cells != 0 && map_bits > digit_bits; }
  // Buckets of keys that are mapped or not, whatever are more.
  [[nodiscard]] std::uint32_t most_buckets() const {
    return std::uint32_t{1} << (map_bits > bits ? map_bits : bits);
  }
  // 32-bit words of a map in global memory: MAP_WORDS of msd_map.cl.
  [[nodiscard]] std::uint64_t map_words() const { return 8 + map_cells + map_cells / 4; }
  // Bytes of `aside` in msd_set_aside.cl.
  [[nodiscard]] std::uint64_t aside_bytes(const Problem& problem) const {
    return aside_tile == 0 ? 0 : 4 * (4 + 2 * (ceil_div(problem.count, aside_tile) + 1));
  }
  // Bits of the second digit of the partition; 0: there is one digit.
  [[nodiscard]] unsigned second_digit_bits(const Problem& problem) const;
};

// True if partitioning by all key bits already sorts the list, so that no local sort is needed.
[[nodiscard]] bool partition_sorts(const Problem& problem, const Shape& shape);
// More records in one bucket than this are not partitioned.
[[nodiscard]] std::uint64_t bucket_capacity(const Problem& problem, const Shape& shape);
// If more records than this are in overfull buckets, the whole list is sorted anew: they are sorted
// in scratch memory, which holds them twice.
[[nodiscard]] std::uint64_t most_listed(const Problem& problem);

// Throws Error(unsupported) if msd cannot sort the problem on the device with these parameters.
[[nodiscard]] Shape make_shape(const Problem& problem, const Capabilities& device,
                               const Parameters& given);
// `tells_few_digits`: the sort of skewed keys differs for few digits. Throws Error(unsupported) if
// local memory does not hold the counts.
[[nodiscard]] CountShape make_count_shape(const Problem& problem, const Capabilities& device,
                                          const Shape& shape, bool tells_few_digits);
[[nodiscard]] SampleLimits make_sample_limits(const Problem& problem, const Shape& shape,
                                              const CountShape& count);

}  // namespace sortium::msd
