// The dimensions of msd's kernels: pure functions of the problem, the device's capabilities and the
// caller's parameters. tests/msd_shape_test.cpp tests them at their limits.
#pragma once

#include "../../kernels/kernels.hpp"
#include "../algorithm.hpp"
#include "../parts/equalize.hpp"
#include "../parts/key_map.hpp"

namespace sortium::msd {

constexpr unsigned digit_bits = 8, most_leading_bits = 2 * digit_bits;
constexpr std::uint64_t radix_size = 1u << digit_bits;
constexpr std::uint64_t gap_bytes = 64;  // alignment gaps between a structure's arrays
constexpr unsigned local_items = 19;     // records that a work-item has in most local sorts
constexpr unsigned sector_bytes = 32;    // the device writes memory in units of this many bytes
constexpr unsigned count_work_group = 1024, count_items = 16;  // of msd_start and msd_count
constexpr unsigned tile_count_items = 4;                       // of msd_count_tiles

// True if a map computed from samples may assign the keys to buckets (key_map.cl): 64-bit keys that
// are compared by all their bits. For 32-bit keys it is not worth it: onesweep's four passes are as
// fast, measured on an H100.
[[nodiscard]] bool maps_keys(const Problem& problem);

// True if keys may be equalized (equalize.cl): integers of 32 bits that are compared by all bits.
[[nodiscard]] bool may_be_equalized(const Problem& problem);

// Returns the number of bits of sign and exponent if keys are floats that are compared by all bits:
// these are partitioned by spread orders (see spread_order in primitives.cl). Returns 0 for all
// other keys.
[[nodiscard]] unsigned spread_bits(const Problem& problem);

// True if keys are partitioned by spread orders, and the order has equal keys of different bits:
// NaNs or zeros.
[[nodiscard]] bool has_classes(const Problem& problem);

// True if the local sort must carry positions to keep ties in the order of the input. Spread orders
// have no ties.
[[nodiscard]] bool sorts_positions(const Problem& problem);

// True if an item of the local sort of keys with the same leading bits does not have all bits of
// its key, so the keys must be gathered after the sort.
[[nodiscard]] bool gathers_keys(const Problem& problem);

struct Shape;

// Lists of at least this many records have more samples.
constexpr std::uint64_t many_sampled_from = std::uint64_t{1} << 26;

// How one work-group sorts a bucket (msd_local.cl) or a group of mapped buckets
// (msd_local_mapped.cl) in local memory.
struct LocalSort {
  unsigned work_group = 0;       // work-items; 0: a bucket does not fit
  unsigned items = local_items;  // records that a work-item has
  unsigned resident = 1;         // work-groups that share a compute unit
  unsigned sort_bits = 0;        // bits of an item: 32 or 64
  unsigned position_bits = 0;    // how many of these bits are the position in the bucket; 0 for
                                 // mapped keys, whose groups differ in this
  unsigned bin_shift = 0;        // an item's bits from this one upwards choose its bin
  unsigned bin_share = 16;       // bins for each work-item
  bool bins_by_place = false;    // buckets leave fewer bits to sort by than a bin's number has
  bool values_late = false;      // values are loaded after the sort, into the items' memory
  bool keep_keys = false;        // a copy of the keys stays in local memory during the sort
  unsigned joined = 0;           // mapped keys: buckets of a ticket, which are divided into groups
  unsigned shares = 1;           // mapped keys: tickets that share the groups of these buckets
  std::uint64_t groups = 0;      // mapped keys: work-groups launched
  std::uint64_t bytes = 0;       // size of msd_local_memory_t or msd_mapped_memory_t

  // Returns the parameters of msd_local.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Shape& shape) const;
  // Returns the parameters of msd_local_mapped.cl.
  [[nodiscard]] kernels::Defines mapped_defines(const Problem& problem, const Shape& shape) const;
  [[nodiscard]] unsigned bins() const { return bin_share * work_group; }
  // The number of records in the largest bucket that can be sorted.
  [[nodiscard]] std::uint64_t capacity() const { return std::uint64_t{work_group} * items; }
};

// How a short list is partitioned by one digit, with one work-group for each tile (msd_tiles.cl).
struct TilePartition {
  unsigned work_group = 256, items = 0;
  std::uint64_t count = 0;  // tiles; 0: the list is not partitioned in this way
  std::uint64_t bytes = 0;  // size of msd_tile_memory_t
  // Cells in which keys are counted if leading bits do not spread (msd_cells.cl); 0: they are not.
  unsigned cells = 0;

  // Returns the parameters of msd_tiles.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

// How keys without values are partitioned, if equal keys have equal bits (msd_partition.cl).
struct KeyPartition {
  unsigned work_group = 256;
  unsigned items = 0;      // keys that a work-item has in a tile; 0: RadixPasses partitions instead
  unsigned resident = 2;   // work-groups that share a compute unit
  unsigned run = 1;        // consecutive tiles that a work-group gets with one ticket
  bool mapped = false;     // keys are mapped
  bool local_map = false;  // the map is copied to local memory
  bool equalized = false;  // the first pass equalizes keys
  bool sets_aside = false;  // the first pass sets keys aside
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;  // size of msd_partition_memory_t

  // Returns the parameters of msd_partition.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Shape& shape) const;
};

// How the keys of each bucket are counted if no TilePartition counts them (msd_count.cl).
struct CountShape {
  unsigned work_group = count_work_group;  // work-items
  unsigned resident = 1;                   // work-groups that share a compute unit
  unsigned bits = 16;                      // width of a bucket's count in local memory
  unsigned sampled = 0;             // keys that are gathered as samples before all keys are counted
  unsigned judged = 0;              // how many of the samples tell whether the keys spread
  std::uint64_t sample_stride = 0;  // keys from one sample to the next
  bool tells_repeats = false;       // samples tell whether keys repeat
  bool tells_few_digits = false;    // samples tell whether most digits have few values
  // Keys are stretched, or mapped or equalized, only if the samples differ in at least so many
  // digits of 8 bits.
  unsigned stretch_digits = 0, map_digits = 0;
  std::uint64_t words = 0;  // 32-bit words of local memory for the counts
  std::uint64_t groups = 0;
  std::uint64_t bytes = 0;  // size of msd_count_memory_t

  // Returns the parameters of msd_count.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem, const Shape& shape) const;
};

// Thresholds for the samples. If the samples exceed one of them, keys are not partitioned by
// leading bits or not mapped; see msd_count.
struct SampleLimits {
  std::uint32_t crowd = 0;  // the most samples in one bucket of leading bits
  std::uint32_t pairs = 0;  // the most pairs of samples that are in the same bucket
  std::uint32_t map_crowd =
      0;  // samples that one mapped bucket may have before others count for `map_crowded`
  std::uint32_t map_crowded =
      0;  // the most samples that lie in a mapped bucket beyond its first `map_crowd`
  std::uint32_t pivot = 0;   // the fewest samples of a pivot (key_map.cl)
  std::uint32_t coarse = 0;  // the most samples in one of the ranges COARSE (msd_samples.cl)
  std::uint32_t stretch_coarse = 0;  // the same for stretched keys
  std::uint32_t equalized_crowd =
      0;  // more samples than this in a bucket of equalized keys are in excess
  std::uint32_t lead =
      0;  // 256 times the most samples of a lead (msd_count.cl) before its range doubles
  std::uint32_t repeats = 0;  // the most samples that have the same key as another sample
  // The most samples that have a rare value of a digit, if digits have few values.
  std::uint32_t rare = 0;
};

// How keys in a narrow range are stretched (stretch.cl).
struct Stretch {
  bool possible = false;
  unsigned most = 0;  // log2 of the largest scale

  static constexpr std::uint64_t bytes = 32;  // of a stretch_t in global memory
};

// How the frequent keys of a list are counted or encoded (msd_frequent.cl).
struct FrequentShape {
  unsigned samples = 0;            // samples that tell which keys are frequent; 0: none are counted
  bool encodes = false;            // records are sorted by codes of the frequent keys
  unsigned rest_share = 0;         // encodes: at most one key in so many may be in the rest
  std::uint32_t apart = 0;         // keys from one sample to the next
  unsigned slots = 0;              // places of the table of frequent keys
  std::uint64_t groups = 0;        // work-groups of each of the two launches
  std::uint64_t chunks = 0;        // encodes: chunks of the list (msd_frequent_codes.cl)
  std::uint64_t mask_bytes = 0;    // encodes: memory for mask words
  std::uint64_t bytes = 0;         // size of msd_frequent_memory_t
  std::uint64_t codes_bytes = 0;   // encodes: size of msd_codes_memory_t
  std::uint64_t insert_bytes = 0;  // size of msd_insert_memory_t

  // If more than this many of `judged` samples have a key of no other sample, the rest is probably
  // too large to encode keys. 0: keys are not encoded.
  [[nodiscard]] unsigned most_singles(unsigned judged) const;
  // Bytes of memory that must be 0 at first.
  [[nodiscard]] std::uint64_t cleared_bytes() const;
  // Returns the parameters of msd_frequent.cl.
  [[nodiscard]] kernels::Defines defines(const Problem& problem) const;
};

struct Shape {
  unsigned spread_bits = 0;  // see spread_bits()
  Stretch stretch;
  unsigned aside_tile =
      0;  // records of a tile if the first pass sets keys aside (msd_set_aside.cl); else 0
  // Not 0: NaNs and tied zeros may have leading digits of their own (CLASS_DIGITS of
  // msd_set_aside.cl).
  unsigned class_digits = 0;
  KeyMap map;  // without cells: no map is made
  Equalizer equalizer;
  unsigned bits = 0;          // number of leading bits that choose a bucket
  bool samples_keys = false;  // samples are examined before all keys are counted
  TilePartition tiles;
  FrequentShape frequent;
  // A short list whose radix passes partition it themselves, if its leading digit spreads
  // (RadixPasses::sort_or_partition).
  bool passes_partition = false;
  KeyPartition keys, mapped_keys, equalized_keys,
      keys_beside_aside;  // the last one is for lists with keys that are set aside
  LocalSort local, mapped_local;

  // Bytes of the table `spread` or `back` (primitives.cl).
  [[nodiscard]] std::uint64_t spread_bytes() const {
    return spread_bits == 0 ? 0 : (std::uint64_t{4} << spread_bits) + (class_digits != 0 ? 8 : 0);
  }
  // True if the keys are counted by msd_count.cl.
  [[nodiscard]] bool counts_buckets() const { return tiles.count == 0 && !passes_partition; }
  [[nodiscard]] std::uint32_t buckets() const { return std::uint32_t{1} << bits; }
  std::uint64_t list_cost = 0, list_part = 2;  // see most_listed()
  // True if mapped buckets that are too large for the local sort are listed and sorted on their
  // own.
  [[nodiscard]] bool lists_overfull() const { return map.cells != 0 && map.bits > digit_bits; }
  // The most buckets that a list may have: by leading bits, if it is equalized, or if it is mapped.
  [[nodiscard]] std::uint32_t most_buckets() const {
    return std::max({buckets(), equalizer.buckets(), map.cells != 0 ? map.buckets() : 0});
  }
  // Bytes of the memory `cells` of msd_cell_sort.cl: CELL_STATE words and the counts of the cells.
  [[nodiscard]] std::uint64_t cell_bytes() const {
    constexpr std::uint64_t state_words = 1024;
    return tiles.cells == 0 ? 0 : 4 * (state_words + tiles.cells / 2);
  }
  // Bytes of the memory `tables` of msd_cell_sort.cl.
  [[nodiscard]] std::uint64_t cell_table_bytes() const {
    constexpr std::uint64_t radix = 256;
    return tiles.cells == 0 ? 0
                            : 4 * (2 * std::uint64_t{tiles.cells} + tiles.cells / 4 + radix + 4);
  }
  // Bytes of the memory `aside` of msd_set_aside.cl.
  [[nodiscard]] std::uint64_t aside_bytes(const Problem& problem) const {
    if (aside_tile == 0) return class_digits != 0 ? 16 : 0;
    return 4 * (4 + 2 * (ceil_div(problem.count, aside_tile) + 1));
  }
  // Width in bits of the partition's second digit; 0 if it has one digit.
  [[nodiscard]] unsigned second_digit_bits(const Problem& problem) const;
};

// Memory that a sort needs zeroed in addition to that of the radix passes. The members are offsets
// in RadixPasses::extension(), in bytes.
struct Cleared {
  static constexpr std::uint64_t partition_state = 0;  // 3 words for msd_partition
  static constexpr std::uint64_t local_ticket = 12;    // a word for msd_local_mapped
  static constexpr std::uint64_t done = 16;     // 2 words: work-groups that have finished the count
  static constexpr std::uint64_t stretch = 32;  // STRETCH_WORDS of stretch.cl
  static constexpr std::uint64_t reserved =
      stretch + Stretch::bytes;  // two words for each bucket of each pass
  std::uint64_t reserved_bytes = 0;
  std::uint64_t counts = 0, counts_bytes = 0;      // one word for each bucket
  std::uint64_t aside = 0, aside_bytes = 0;        // see msd_set_aside.cl
  std::uint64_t cells = 0, cells_bytes = 0;        // the counts of cells
  std::uint64_t frequent = 0, frequent_bytes = 0;  // see FrequentKeys
  std::uint64_t bytes = 0;

  Cleared(const Problem& problem, const Shape& shape)
      : reserved_bytes(shape.keys.items != 0 ? 8 * (256 + std::uint64_t{shape.most_buckets()}) : 0),
        counts(reserved + reserved_bytes),
        counts_bytes(std::uint64_t{4} * shape.most_buckets()),
        aside(counts + counts_bytes),
        aside_bytes(shape.aside_bytes(problem)),
        cells((aside + aside_bytes + 15) / 16 * 16),
        cells_bytes(shape.cell_bytes()),
        frequent((cells + cells_bytes + 15) / 16 * 16),
        frequent_bytes(shape.frequent.cleared_bytes()),
        bytes(frequent + frequent_bytes) {}
};

// True if partitioning by all key bits already sorts the list, so that no local sort is needed.
[[nodiscard]] bool partition_sorts(const Problem& problem, const Shape& shape);
// The list is not partitioned by leading bits if a bucket has more records than this.
[[nodiscard]] std::uint64_t bucket_capacity(const Problem& problem, const Shape& shape);
// The whole list is sorted by radix passes if the buckets that are too large have more records than
// this together. Listed buckets are sorted in scratch memory, which must hold their records twice.
[[nodiscard]] std::uint64_t most_listed(const Problem& problem, const Shape& shape);

// Throws Error(unsupported) if msd cannot sort the problem on the device with these parameters.
[[nodiscard]] Shape make_shape(const Problem& problem, const Capabilities& device,
                               const Parameters& given);
// Frequent keys are counted only in lists of fewer than 2^32 - 2^16 keys of 32 or 64 bits that are
// compared by all their bits. With values or positions, they are encoded. Devices without a
// compiler do neither: packages have no kernels for it. Lists must be long, unless `any_count`.
[[nodiscard]] FrequentShape make_frequent_shape(const Problem& problem, const Capabilities& device,
                                                bool any_count);
// `tells_few_digits`: the sort of keys that do not spread has a special case for digits with few
// values, so the samples must detect it. Throws Error(unsupported) if local memory cannot hold the
// counts.
[[nodiscard]] CountShape make_count_shape(const Problem& problem, const Capabilities& device,
                                          const Shape& shape, bool tells_few_digits);
[[nodiscard]] SampleLimits make_sample_limits(const Problem& problem, const Shape& shape,
                                              const CountShape& count);

}  // namespace sortium::msd
