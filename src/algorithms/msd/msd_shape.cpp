#include "msd_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "../../kernels/kernels.hpp"
#include "../parts/bin_sort.hpp"
#include "../parts/radix_passes.hpp"
#include "../parts/tile_items.hpp"

namespace sortium::msd {
namespace {

// Most bytes of msd_partition_memory_t with a map. Two work-groups of this size leave half of an
// H200's 256 KB per compute unit to the cache.
constexpr std::uint64_t mapped_tile_bytes = 66 * 1024 - 512;
constexpr unsigned most_run = 8;  // most consecutive tiles of one ticket; measured on an H200
// A map has 2^this times as many buckets as a division into full local sorts would have, so a
// bucket may be larger than planned by this factor. Local sorts join buckets that are not.
constexpr unsigned map_spare_bits = 2;
// The least capacity of a local sort of mapped keys, as a multiple of the mean bucket: if all bits
// of a bucket's number are used up, and if buckets are not joined.
constexpr double map_least_spare = 1.8;
// A list of mapped keys has at least this many tickets of the local sort for each work-group.
constexpr std::uint64_t mapped_tickets = 4;
// The capacity of a bucket of spread orders, as a multiple of the mean bucket. The number range of
// each exponent is rounded up to a power of two, and gets as many buckets as its densest part
// needs, so the largest bucket has two to four times the mean. In long lists the least is enough.
constexpr double spread_spare = 3.1, least_spread_spare = 2.22;
// In local sorts of 32-bit keys, work-items may have more records than local_items, so that
// work-groups are smaller and their work-items wait less at barriers. Work-groups of fewer than 128
// work-items gain nothing. Measured on an H200.
constexpr std::array more_local_items{25u, 31u};
constexpr unsigned least_local_work_group = 128;
// If work-items have more records than local_items, a bucket of spread orders has at least this
// multiple of the mean bucket's records as its capacity. In a simulation with normal keys, the
// largest bucket had up to 3.67 times the mean.
constexpr double full_spread_spare = 3.8;
// In shorter lists than this, sampling costs more than it saves.
constexpr std::uint64_t sampled_from = std::uint64_t{1} << 22;
// Keys are mapped only in lists of more than this many records. In shorter lists the two additional
// launches slow down keys that spread too much. Measured on an H100.
constexpr std::uint64_t mapped_from = std::uint64_t{1} << 22;
// Keys are equalized only in lists of more than this many records. In shorter lists, radix passes
// are as fast. Measured on an H100 and, with values, on an H200.
constexpr std::uint64_t equalized_from = std::uint64_t{1} << 25,
                        equalized_with_values_from = std::uint64_t{3} << 23;
// There are 2^this times as many buckets of equalized keys as by leading bits, because the buckets
// of a cell are a power of two, and its samples are few.
constexpr unsigned equalized_spare_bits = 1;
// The least capacity of all buckets of equalized keys together, as a multiple of the records.
constexpr double least_equalized_spare = 2.2;
// Keys are stretched only in lists of more than this many records. In shorter lists, radix passes
// are as fast. Measured on an H100.
constexpr std::uint64_t stretched_from = std::uint64_t{1} << 23;
// Keys are set aside only in lists with at least this many bytes of keys. In shorter lists the
// additional launch slows down lists without such keys by more than 3 %.
constexpr std::uint64_t aside_from_bytes = 16 << 20;
// The number of cells of a map. Such a map takes 12 KB of local memory.
constexpr unsigned map_cells = 1024;
// The fixed cost of sorting listed buckets, expressed in bytes of records that radix passes sort
// meanwhile; measured on an H100.
constexpr std::uint64_t list_cost_bytes = 28'000'000;
// In lists with more records than this, there are too many tiles for every work-group to add up all
// tile counts.
constexpr std::uint64_t tiles_counted_to = std::uint64_t{1} << 21;
// In shorter lists, `auto` selects other algorithms.
constexpr std::uint64_t cells_from = std::uint64_t{1} << 16;
// The number of cells in which short lists are counted.
constexpr unsigned list_cells = 1u << 14;
// The most records of a work-item in a local sort of cells.
constexpr unsigned most_cell_items = 23;
// The least capacity of a bucket of cells as a multiple of the mean: its last cell may exceed it.
constexpr double cell_spare = 1.2;

[[noreturn]] void unsupported(const std::string& why) {
  throw Error(ErrorCode::unsupported, "msd: " + why);
}

std::uint64_t value_bytes(const Problem& p) {
  return p.payload == Payload::none ? 0 : p.value_bytes;
}

// Returns the bytes of local memory of a compute unit, which its work-groups share. NVIDIA's OpenCL
// only reports what one work-group may have.
std::uint64_t local_bytes_of_unit(const Capabilities& device) {
  return device.local_struct * (device.sub_group_words == SubGroupWords::ptx ? 4 : 1);
}

// Returns the expected number of records in the largest of 2^bits buckets if keys are uniform.
double uniform_bucket(const Problem& p, unsigned bits) {
  // The sizes of buckets of uniform keys have a standard deviation of about the square root of the
  // mean; seven times that covers the largest bucket.
  const auto mean = static_cast<double>(p.count >> bits) + 1;
  return mean + 7 * std::sqrt(mean);
}

// The same if keys spread. `spare` is for spread orders.
double expected_bucket(const Problem& p, unsigned bits, double spare) {
  if (spread_bits(p) != 0) return spare * (static_cast<double>(p.count >> bits) + 1);
  return uniform_bucket(p, bits);
}

// Returns how many work-groups run on a compute unit at the same time. Each uses `bytes` of local
// memory.
unsigned work_groups_at_once(const Problem& p, const Capabilities& device, unsigned work_group,
                             unsigned sort_bits, std::uint64_t bytes) {
  const unsigned by_registers = (sort_bits == 64 && sorts_positions(p) ? 768 : 1024) / work_group;
  const auto by_local = static_cast<unsigned>(local_bytes_of_unit(device) / (bytes + 1024));
  return std::max(1u, std::min(by_registers, by_local));
}

// Sets values_late, keep_keys and bytes (of msd_local_memory_t) for a work-group of this size.
void place_in_local_memory(const Problem& p, const Capabilities& device, unsigned work_group,
                           LocalSort& local) {
  const std::uint64_t records = std::uint64_t{work_group} * local.items;
  const std::uint64_t sort =
      bin_sort_bytes(p, device, work_group, local.items, local.sort_bits, local.bin_share);
  const std::uint64_t keys = records * info(p.key).bytes;
  std::uint64_t beside = records * value_bytes(p) + 16;
  // Keep a copy of the keys in local memory if three work-groups still fit a compute unit. Late
  // values overwrite it.
  local.keep_keys =
      !local.values_late && gathers_keys(p) && 3 * (sort + beside + keys) <= device.local_struct;
  if (local.keep_keys) beside += keys;
  if (sort + beside > device.local_struct) local.values_late = true;
  local.bytes = local.values_late ? std::max(sort, beside) : sort + beside;
}

// Returns `local` with a shape for buckets of up to `most` records by `bits` leading bits; `local`
// has items, bin_share, and values_late if values shall be late in any case. Its work_group is 0 if
// a work-group cannot sort such a bucket.
LocalSort local_sort_of(const Problem& p, const Capabilities& device, unsigned bits, double most,
                        LocalSort local = {}, unsigned least_work_group = 1) {
  unsigned work_group = std::max(std::min(device.sub_group_size, 32u), least_work_group);
  while (work_group * local.items < most) work_group *= 2;
  if (work_group > std::min(device.max_work_group, 1024u)) return local;

  const unsigned low_bits = key_bits(p) - bits;  // of a key, below the bucket's
  local.position_bits = static_cast<unsigned>(std::bit_width(work_group * local.items - 1));
  local.sort_bits = info(p.key).bits();
  if (sorts_positions(p)) {
    const unsigned needed = low_bits + local.position_bits;
    if (needed > 64) return local;
    local.sort_bits = needed > 32 ? 64 : 32;
  }
  place_in_local_memory(p, device, work_group, local);
  if (local.bytes > device.local_struct) return local;
  local.work_group = work_group;

  local.resident = work_groups_at_once(p, device, work_group, local.sort_bits, local.bytes);
  // The highest open bits choose the bin.
  const unsigned open_bits = low_bits + (sorts_positions(p) ? local.position_bits : 0);
  const auto bin_bits = static_cast<unsigned>(std::bit_width(local.bins() - 1));
  local.bin_shift = open_bits > bin_bits ? open_bits - bin_bits : 0;
  local.bins_by_place = sorts_positions(p) && spread_bits(p) == 0 && low_bits < bin_bits;
  return local;
}

// The same for the largest bucket that is expected if keys spread. `spare`: see expected_bucket().
// More records of a work-item may make the work-group smaller.
LocalSort local_sort(const Problem& p, const Capabilities& device, unsigned bits,
                     double spare = spread_spare) {
  const double most = expected_bucket(p, bits, spare);
  const double full =
      spread_bits(p) != 0 ? std::max(most, expected_bucket(p, bits, full_spread_spare)) : most;
  LocalSort usual = local_sort_of(p, device, bits, most);
  if (!device.compiles) return usual;  // packages have kernels for local_items only
  const auto with = [&](unsigned items, bool values_late, unsigned least = least_local_work_group) {
    return local_sort_of(p, device, bits, full, {.items = items, .values_late = values_late},
                         least);
  };
  // Few samples tell little about the fullest bucket: spare capacity without larger work-groups.
  if (spread_bits(p) != 0 && p.count < many_sampled_from && usual.work_group != 0 &&
      static_cast<double>(usual.capacity()) < full)
    if (const auto more = with(more_local_items[0], false, usual.work_group);
        more.work_group == usual.work_group)
      usual = more;
  // One digit has few buckets: small work-groups would leave compute units idle.
  if (info(p.key).bytes != 4 || bits <= digit_bits) return usual;
  // Spread orders need many buckets: 2^22 normal f32 keys in 2^11 fuller buckets fell back.
  // Integers keep their spare capacity where they may need it: for values of equal keys, and if
  // they may be equalized.
  constexpr unsigned least_spread_bits = 12;
  if (spread_bits(p) != 0 ? bits < least_spread_bits
                          : sorts_positions(p) || p.count > equalized_from)
    return usual;
  LocalSort smallest = usual;
  for (const unsigned items : more_local_items) {
    LocalSort local = with(items, false);
    if (p.payload != Payload::none)
      if (const auto late = with(items, true); late.resident > local.resident) local = late;
    if (local.work_group != 0 &&
        (smallest.work_group == 0 || local.work_group < smallest.work_group))
      smallest = local;
  }
  return smallest;
}

// True if a short list whose leading bits do not spread may be sorted by cells: keys of 8 bytes
// without values. (Radix passes over shorter keys are as fast.)
bool may_have_cells(const Problem& p, const Capabilities& device) {
  return p.count > cells_from && key_bits(p) == 64 && !sorts_positions(p) && device.compiles &&
         has_much_local(device);
}

// Bytes of cell_memory_t (msd_cell_sort.cl).
std::uint64_t cell_bytes(const Problem& p, const Capabilities& device, const LocalSort& local,
                         unsigned cells) {
  const std::uint64_t work_group = local.work_group, radix = radix_size;
  const std::uint64_t keys = local.capacity() * (info(p.key).bytes + 1);
  return std::max(keys, local.bytes) + cells + kernels::rank_bytes(device, work_group, radix) +
         4 * work_group + 4 * radix + kernels::scan_bytes(p, device, work_group) + 16 + gap_bytes;
}

// Returns the local sort for groups of mapped buckets. Its work_group is 0 if a work-group of up to
// 1024 work-items cannot sort `least` records.
LocalSort mapped_local_sort(const Problem& p, const Capabilities& device, double least) {
  LocalSort local;
  local.sort_bits = info(p.key).bits();
  unsigned work_group = std::min(device.sub_group_size, 32u);
  while (work_group * local_items < least) work_group *= 2;
  if (work_group > std::min(device.max_work_group, 1024u)) return local;
  const std::uint64_t records = std::uint64_t{work_group} * local_items;
  const std::uint64_t sort = bin_sort_bytes(p, device, work_group, local_items, local.sort_bits);
  const std::uint64_t values = records * value_bytes(p);
  const std::uint64_t joined = 33 * (info(p.key).bytes + 4) + gap_bytes;
  local.values_late = sort + values + joined > device.local_struct;
  local.bytes = joined + (local.values_late ? std::max(sort, values) : sort + values);
  if (local.bytes > device.local_struct) return local;
  local.work_group = work_group;
  local.resident = work_groups_at_once(p, device, work_group, local.sort_bits, local.bytes);
  return local;
}

// The numbers of leading bits that built kernels have are multiples of this.
constexpr unsigned usual_bits_step = 4;

// Returns `bits`, or without a compiler the next number that built kernels have.
unsigned usual_bits(unsigned bits, const Capabilities& device) {
  constexpr unsigned step = usual_bits_step;
  return device.compiles ? bits : (bits + step - 1) / step * step;
}

// Returns how many work-groups share the groups of one ticket, if the local sort of mapped keys has
// `tickets` tickets.
unsigned shares_of_tickets(std::uint64_t tickets, std::uint64_t groups_at_once,
                           const Capabilities& device) {
  // Built kernels run on any number of compute units, so theirs depends on the tickets alone.
  const std::uint64_t wanted = device.compiles ? mapped_tickets * groups_at_once : 2048;
  return static_cast<unsigned>(std::bit_ceil(std::clamp<std::uint64_t>(wanted / tickets, 1, 32)));
}

// Returns how many consecutive tiles a work-group gets with one ticket, a power of two, so that
// neighbouring counts share one compiled kernel. Built kernels have the least and the most.
unsigned run_of_tiles(std::uint64_t tiles, std::uint64_t groups_at_once,
                      const Capabilities& device) {
  const std::uint64_t run =
      std::bit_floor(std::clamp<std::uint64_t>(tiles / groups_at_once / 2, 1, most_run));
  return static_cast<unsigned>(device.compiles || run == most_run ? run : 1);
}

// Chooses the map and the local sort of mapped keys. The map stays without cells if no local sort
// suits.
void choose_map(const Problem& p, const Capabilities& device, const Parameters& given,
                Shape& shape) {
  const auto count = static_cast<double>(p.count);
  // Keys outside the window have some of the buckets.
  const auto choose = [&](unsigned bits, double least = 0) {
    const double mean = count / (0.85 * std::ldexp(1.0, static_cast<int>(bits)));
    shape.mapped_local =
        mapped_local_sort(p, device, std::max(map_least_spare * mean + 256, least));
    shape.map.bits = bits;
    return shape.mapped_local.work_group != 0;
  };
  const auto given_bits = static_cast<unsigned>(given.number("bits", 0));
  bool found = false;
  if (given_bits != 0) {
    found = choose(std::min(given_bits + map_spare_bits, most_leading_bits));
  } else {
    // As many buckets as leave the spare bits to local sorts of 256 work-items.
    const double full = 256 * local_items;
    const auto log2_full = static_cast<unsigned>(std::ceil(std::log2(std::max(1.0, count / full))));
    const unsigned bits = std::clamp(log2_full + map_spare_bits, digit_bits + 2, most_leading_bits);
    found = choose(usual_bits(bits, device), full - 1);
  }
  if (!found) return;
  shape.map.cells = map_cells;
  LocalSort& local = shape.mapped_local;
  const std::uint64_t at_once = std::uint64_t{device.compute_units} * local.resident;
  local.joined = shape.map.bits > digit_bits ? 32 : 8;
  const std::uint64_t tickets = shape.map.buckets() / local.joined;
  local.shares = shares_of_tickets(tickets, at_once, device);
  local.groups = std::min(at_once, tickets * local.shares);
}

// In lists of up to this many records, one digit and larger local sorts are faster than two digits;
// measured on an H200.
std::uint64_t one_digit_to(const Problem& p) {
  const bool small_keys =
      p.payload == Payload::none && info(p.key).bytes == 4 && spread_bits(p) == 0;
  return std::uint64_t{1} << (small_keys ? 22 : 21);
}

// Returns the fewest leading bits with which the local sort can sort a bucket. If the key has no
// more bits than a partition supports, returns all of them: then no local sort is needed.
unsigned leading_bits(const Problem& problem, const Capabilities& device, const Parameters& given) {
  if (key_bits(problem) <= most_leading_bits) return key_bits(problem);
  const auto log2_count =
      static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(problem.count, 2) - 1));
  // Buckets of spread orders differ more, so they are smaller.
  const unsigned log2_bucket = spread_bits(problem) != 0 ? 11 : 12;
  const unsigned least =
      problem.count <= one_digit_to(problem)
          ? digit_bits
          : std::clamp(log2_count, log2_bucket + 9, log2_bucket + most_leading_bits) - log2_bucket;
  if (given.has("bits")) return static_cast<unsigned>(given.number("bits", least));
  unsigned bits = usual_bits(least, device);
  const unsigned step = device.compiles ? 1 : usual_bits_step;
  while (bits < most_leading_bits && local_sort(problem, device, bits).work_group == 0)
    bits += step;
  // A partition by two digits divides floats further, rather than have larger local sorts.
  while (spread_bits(problem) != 0 && bits > digit_bits && bits < most_leading_bits &&
         local_sort(problem, device, bits).work_group > 256)
    bits += step;
  // Use more buckets than needed if the items of the local sort then have 32 bits instead of 64.
  unsigned narrow = bits;
  while (narrow < most_leading_bits && local_sort(problem, device, narrow).sort_bits == 64)
    narrow += step;
  return bits > digit_bits && local_sort(problem, device, narrow).sort_bits == 32 ? narrow : bits;
}

// Bytes of msd_tile_memory_t (msd_tiles.cl) without its union of sums and tile.
std::uint64_t fixed_tile_bytes(const Problem& p, const Capabilities& device,
                               std::uint64_t work_group) {
  const std::uint64_t ranks = kernels::rank_bytes(device, work_group, radix_size);
  const std::uint64_t digit_sums = work_group * 4, to_out = radix_size * 4;
  return ranks + digit_sums + to_out + kernels::scan_bytes(p, device, radix_size) + gap_bytes;
}

TilePartition tile_partition(const Problem& p, const Capabilities& device, unsigned bits) {
  TilePartition tiles;
  if (bits != digit_bits || p.count > tiles_counted_to) return tiles;
  tiles.work_group = has_much_local(device) ? 512 : 256;
  const std::uint64_t work_group = tiles.work_group;
  const std::uint64_t fixed = fixed_tile_bytes(p, device, work_group);
  const std::uint64_t sums = 2 * (work_group / 32) * radix_size * 4;
  const std::uint64_t key = info(p.key).bytes, value = value_bytes(p);
  const std::uint64_t of_item = work_group * (key + value);
  const std::uint64_t most =
      device.local_struct > fixed ? (device.local_struct - fixed) / of_item : 0;
  if (most == 0 || fixed + sums > device.local_struct || device.max_work_group < work_group)
    unsupported(fmt::format(
        "a tile of {} records needs {} bytes of local memory; the device "
        "allows {}, and {} work-items",
        work_group, fixed + std::max(sums, of_item), device.local_struct, device.max_work_group));
  const std::uint64_t in_registers = 96 / (key / 4 + value / 4 + 1);
  tiles.items = cheapest_items(p.count, device.compute_units * work_group,
                               {1, std::min(most, in_registers)}, device);
  tiles.count = ceil_div(p.count, work_group * tiles.items);
  tiles.bytes = fixed + std::max(sums, of_item * tiles.items);
  return tiles;
}

// Adds the sort by cells to a short list's shape, if it is possible.
void choose_cells(const Problem& p, const Capabilities& device, Shape& shape) {
  if (shape.tiles.count == 0 || partition_sorts(p, shape) || !may_have_cells(p, device)) return;
  const double least = cell_spare * static_cast<double>(p.count) / radix_size,
               most = std::max(uniform_bucket(p, shape.bits), least);
  LocalSort local;
  local.items = local_items;
  while (local.items < most_cell_items && local.items * radix_size < most) local.items += 2;
  local.bin_share = 32;  // crowded bins are slow to sort
  local = local_sort_of(p, device, shape.bits, most, local, radix_size);
  if (local.work_group == 0) return;
  const std::uint64_t bytes = std::max(local.bytes, cell_bytes(p, device, local, list_cells));
  const std::uint64_t tile_bytes = shape.tiles.bytes + 2 * std::uint64_t{list_cells} + gap_bytes;
  if (bytes > device.local_struct || tile_bytes > device.local_struct) return;
  local.bytes = bytes;
  shape.local = local;
  // Each work-group sorts one bucket. More registers make the partition by cells faster.
  shape.local.resident = std::min<unsigned>(
      local.resident, static_cast<unsigned>(ceil_div(radix_size, device.compute_units)));
  shape.tiles.cells = list_cells;
  shape.tiles.bytes = tile_bytes;
}

// Bytes of msd_partition_memory_t (msd_partition.cl) without the tile's keys.
std::uint64_t fixed_partition_bytes(const Problem& p, const Capabilities& device,
                                    const Shape& shape, const KeyPartition& keys) {
  const std::uint64_t spare_slots = radix_size * (sector_bytes + 16);  // SLOTS - TILE
  const std::uint64_t segments_and_first_tiles = 2 * (radix_size + 1) * 4;
  const std::uint64_t ranks = 2 * radix_size * 4, runs = radix_size * 8, tiles = 3 * 20;
  const std::uint64_t set_aside =
      keys.sets_aside ? 4 * (keys.work_group / std::min(device.sub_group_size, 32u) + 3 * 3 + 4)
                      : 0;
  const std::uint64_t map = keys.local_map
                                ? shape.map.local_bytes(info(p.key).bytes) + spare_slots / 16
                            : keys.equalized ? shape.equalizer.local_bytes()
                                             : 0;
  return spare_slots + segments_and_first_tiles + ranks + runs + tiles + map +
         kernels::scan_bytes(p, device, radix_size) + set_aside + gap_bytes;
}

KeyPartition key_partition(const Problem& p, const Capabilities& device, const Shape& shape,
                           bool mapped, bool sets_aside = false, bool equalized = false) {
  KeyPartition keys;
  keys.sets_aside = sets_aside;
  keys.equalized = equalized;
  if (sorts_positions(p)) return keys;
  const std::uint64_t key = info(p.key).bytes;
  const bool much_local = has_much_local(device);
  keys.mapped = mapped;
  keys.local_map = mapped && much_local;
  const std::uint64_t fixed = fixed_partition_bytes(p, device, shape, keys);
  const std::uint64_t available = !much_local      ? device.local_struct
                                  : keys.local_map ? mapped_tile_bytes
                                                   : device.local_struct / keys.resident - 1024;
  // A mapped key's digit is kept for every 16 bytes of keys, in one byte.
  const std::uint64_t item_bytes = key * keys.work_group * (keys.local_map ? 17 : 16) / 16;
  const std::uint64_t most = available > fixed ? (available - fixed) / item_bytes : 0;
  // The number of items is limited by registers, and the list must have at least one tile. Short
  // lists have a power of two, so that neighbouring counts share one compiled kernel.
  const std::uint64_t in_registers = key == 8 ? 27 : 47;
  keys.items = static_cast<unsigned>(
      std::min({in_registers, most, std::bit_floor(p.count / keys.work_group)}));
  if (keys.items == 0) return keys;
  const std::uint64_t tile = std::uint64_t{keys.work_group} * keys.items;
  const std::uint64_t tiles = ceil_div(p.count, tile);
  const std::uint64_t at_once = std::uint64_t{device.compute_units} * keys.resident;
  keys.bytes = fixed + keys.items * item_bytes;
  keys.groups = std::min(tiles, at_once * (much_local ? 1 : 4));
  keys.run = run_of_tiles(tiles, at_once, device);
  return keys;
}

// Chooses the number of buckets of equalized keys.
Equalizer choose_equalizer(const Problem& p, const Capabilities& device, const Parameters& given,
                           const Shape& shape) {
  const LocalSort& local = shape.local;
  if (!may_be_equalized(p) || !shape.samples_keys || partition_sorts(p, shape) ||
      local.work_group == 0 || local.sort_bits != 32)
    return {};
  if (!device.compiles) return {};  // packages have no kernels for equalized keys
  // Counts of more buckets than by leading bits would be narrow with little local memory.
  const auto from = p.payload == Payload::none ? equalized_from : equalized_with_values_from;
  if (!given.has("sample") && (p.count <= from || !has_much_local(device))) return {};
  // A distance and a position fit an item together.
  const unsigned least =
      sorts_positions(p) ? Equalizer::hidden_bits + local.position_bits : digit_bits + 2;
  Equalizer equalizer;
  equalizer.bits = std::clamp(shape.bits + equalized_spare_bits, least, most_leading_bits);
  const auto capacity = static_cast<double>(local.capacity() << equalizer.bits);
  return capacity < least_equalized_spare * static_cast<double>(p.count) ? Equalizer{} : equalizer;
}

// Chooses how keys in a narrow range are stretched.
Stretch choose_stretch(const Problem& p, const Shape& shape) {
  Stretch stretch;
  if (info(p.key).is_float || key_bits(p) != info(p.key).bits() || !shape.samples_keys ||
      partition_sorts(p, shape) || shape.local.work_group == 0)
    return stretch;
  // A larger scale leaves fewer bits in which a bucket's keys differ. Enough of these bits must
  // remain to choose a bin.
  const auto bin_bits = static_cast<unsigned>(std::bit_width(shape.local.bins() - 1));
  const unsigned low_bits = key_bits(p) - shape.bits;
  stretch.most = low_bits > bin_bits ? low_bits - bin_bits : 0;
  stretch.possible = stretch.most != 0;
  return stretch;
}

// Returns the number of keys in a tile of the first pass if it sets keys aside, else 0.
unsigned aside_tile(const Problem& p, const Parameters& given, const KeyPartition& keys) {
  const std::uint64_t bytes = p.count * info(p.key).bytes;
  if (bytes < aside_from_bytes && !given.has("bits")) return 0;
  return keys.work_group * keys.items;
}

void check_shape(const Problem& problem, const Capabilities& device, const Parameters& given,
                 const Shape& shape) {
  const bool sorted = partition_sorts(problem, shape);
  if (problem.count >> 32 != 0)
    unsupported(fmt::format("count is {}; fewer than 2^32 records are allowed", problem.count));
  if (key_bits(problem) <= digit_bits ||
      (sorted && (!composite(problem) || shape.spread_bits != 0)))
    unsupported(fmt::format("{} bits are to be sorted, which onesweep does in {} passes as well",
                            key_bits(problem), ceil_div(key_bits(problem), digit_bits)));
  if (sorted && given.has("bits"))
    unsupported(fmt::format("bits={}, but all {} bits of the key are leading bits here",
                            given.number("bits", 0), key_bits(problem)));
  if (!sorted && shape.local.work_group == 0)
    unsupported(fmt::format(
        "with {} leading bits a work-group would sort some {} records, more than the device's {} "
        "bytes of local memory or {} work-items allow",
        shape.bits, (problem.count >> shape.bits) + 1, device.local_struct, device.max_work_group));
}

}  // namespace

bool maps_keys(const Problem& p) {
  return info(p.key).bytes == 8 && key_bits(p) == info(p.key).bits();
}

bool may_be_equalized(const Problem& p) {
  return info(p.key).bytes == 4 && !info(p.key).is_float && key_bits(p) == info(p.key).bits();
}

unsigned spread_bits(const Problem& p) {
  if (!info(p.key).is_float || key_bits(p) != info(p.key).bits()) return 0;
  return info(p.key).bits() - static_cast<unsigned>(std::countr_zero(info(p.key).infinity));
}

bool has_classes(const Problem& p) {
  return spread_bits(p) != 0 && (p.nan != NanOrder::bits || p.zeros != ZeroOrder::distinct);
}

bool sorts_positions(const Problem& p) {
  return spread_bits(p) != 0 ? p.payload != Payload::none : composite(p);
}

bool gathers_keys(const Problem& p) {
  return spread_bits(p) == 0 && (info(p.key).is_float || key_bits(p) != info(p.key).bits());
}

bool partition_sorts(const Problem& problem, const Shape& shape) {
  return key_bits(problem) == shape.bits;
}

unsigned Shape::second_digit_bits(const Problem& problem) const {
  return partition_sorts(problem, *this) ? bits / 2 : bits - digit_bits;
}

std::uint64_t bucket_capacity(const Problem& problem, const Shape& shape) {
  // Buckets that need no local sort may be large. But many equal keys are slow to count and slow to
  // partition by one digit.
  return partition_sorts(problem, shape) ? ceil_div(problem.count, 64) : shape.local.capacity();
}

std::uint64_t most_listed(const Problem& problem, const Shape& shape) {
  const std::uint64_t most = problem.count / shape.list_part;
  return most - std::min(most, shape.list_cost);
}

Shape make_shape(const Problem& problem, const Capabilities& device, const Parameters& given) {
  Shape shape;
  shape.spread_bits = spread_bits(problem);
  shape.bits = leading_bits(problem, device, given);
  shape.tiles = tile_partition(problem, device, shape.bits);
  const bool spreads = given.has("bits") || given.has("sample");
  if (shape.spread_bits == 0 || !spreads) choose_cells(problem, device, shape);
  // Short lists of floats are sorted by cells instead of spread orders.
  if (shape.spread_bits != 0 && shape.tiles.cells != 0)
    shape.spread_bits = 0;
  else if (shape.spread_bits != 0)
    shape.tiles = {};
  if (shape.bits == digit_bits && !given.has("sample") && !info(problem.key).is_float &&
      !partition_sorts(problem, shape) && RadixPasses::may_partition(problem, device, given)) {
    shape.tiles = {};
    shape.passes_partition = true;
  }
  if (shape.counts_buckets()) {
    shape.samples_keys =
        shape.spread_bits != 0 || given.number("sample", problem.count > sampled_from) != 0;
    const bool many = problem.count > mapped_from || given.has("sample");
    if (shape.samples_keys && !partition_sorts(problem, shape))
      shape.frequent = make_frequent_shape(problem, device, given.has("sample"));
    if (shape.samples_keys && maps_keys(problem) && many) choose_map(problem, device, given, shape);
    // With a compiler, the passes over the whole list leave out half of the digits of most lists,
    // and then cost half as much. Tests sample short lists, whose listed buckets should be sorted.
    shape.list_part = device.compiles && !given.has("sample") ? 4 : 2;
    const std::uint64_t record = info(problem.key).bytes + value_bytes(problem);
    shape.list_cost = given.has("sample") ? 8 : list_cost_bytes / record;
    shape.keys = key_partition(problem, device, shape, false);
    if (shape.map.cells != 0) shape.mapped_keys = key_partition(problem, device, shape, true);
    if (has_classes(problem)) shape.class_digits = sorts_positions(problem) ? 1 : 2;
    if (shape.class_digits == 2) {
      shape.keys_beside_aside = key_partition(problem, device, shape, false, true);
      shape.aside_tile = aside_tile(problem, given, shape.keys_beside_aside);
    }
  }
  if (!partition_sorts(problem, shape) && shape.tiles.cells == 0) {
    shape.local = local_sort(problem, device, shape.bits);
    if (shape.local.work_group == 0)
      shape.local = local_sort(problem, device, shape.bits, least_spread_spare);
  }
  if (problem.count > stretched_from || given.has("sample"))
    shape.stretch = choose_stretch(problem, shape);
  shape.equalizer = choose_equalizer(problem, device, given, shape);
  if (shape.equalizer.possible())
    shape.equalized_keys = key_partition(problem, device, shape, false, false, true);
  check_shape(problem, device, given, shape);
  return shape;
}

}  // namespace sortium::msd
