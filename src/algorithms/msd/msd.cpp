// MSD radix sort with a local sort, and onesweep where the keys do not spread: the records are
// parted by their leading bits into buckets, which one work-group each can sort. Whether that works
// is known on the device alone, where a word lets either these launches or those of onesweep do
// something; nobody waits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <future>

#include "../../kernels/kernels.hpp"
#include "../bin_sort.hpp"
#include "../onesweep/onesweep.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr unsigned count_work_group = 1024, count_items = 16, tile_count_items = 4,
                   local_items = 19, digit_bits = 8, most_bits = 2 * digit_bits;
constexpr unsigned sector_bytes = 32;  // of memory, in which it is written
constexpr unsigned most_run = 8;     // tiles that a work-group takes in a row; measured on an H200
constexpr double spread_fill = 0.9;  // how full a bucket may be by what samples say
constexpr std::uint64_t sampled_from = std::uint64_t{1}
                                       << 22;  // records; below, sampling costs more than it saves
constexpr std::uint64_t few_digits_share =
    32;  // two keys agree in a digit more often than one time in this; measured on an H200
constexpr std::uint64_t many_sampled_from = std::uint64_t{1} << 26;
constexpr std::uint64_t cleared_at_once = 1u << 14,
                        most_clearing = 128;  // bytes a work-group, and work-groups, that clear
constexpr std::uint64_t tiles_counted_to = std::uint64_t{1}
                                           << 21;  // records; above, there are too many to add up

// How buckets are sorted.
struct LocalSort {
  unsigned work_group = 0, position_bits = 0, sort_bits = 0;
  bool values_late = false, keep_keys = false;
  std::uint64_t bytes = 0;  // of msd_local_memory_t

  [[nodiscard]] std::uint64_t capacity() const { return std::uint64_t{work_group} * local_items; }
};

// A float's sign and exponent, by whose shares its orders are spread; 0 where keys stay as they
// are.
unsigned spread_bits(const Problem& p) {
  if (!info(p.key).is_float || key_bits(p) != info(p.key).bits()) return 0;
  return info(p.key).bits() - static_cast<unsigned>(std::countr_zero(info(p.key).infinity));
}
// Whether the local sort has to take positions along. Spread orders do not tie.
bool with_positions(const Problem& p) {
  return spread_bits(p) != 0 ? p.payload != Payload::none : composite(p);
}

// Local memory of a compute unit, for all its work-groups. NVIDIA's OpenCL only tells what one of
// them may have.
std::uint64_t unit_local(const Capabilities& device) {
  return device.local_struct * (device.sub_group_words == SubGroupWords::ptx ? 4 : 1);
}

// Whether the local sort's items do not say all of their keys' bits.
bool gathers_keys(const Problem& p) {
  return spread_bits(p) == 0 && (info(p.key).is_float || key_bits(p) != info(p.key).bits());
}

// For buckets by `bits` leading bits; work_group is 0 where it cannot be done.
LocalSort local_sort(const Problem& p, const Capabilities& device, unsigned bits) {
  LocalSort local;
  // Keys that spread evenly leave buckets that differ by the square root of their size: seven of
  // these are enough for all. Spread orders have room by powers of two, which leaves buckets of up
  // to twice the mean and what samples are off.
  const auto mean = static_cast<double>(p.count >> bits) + 1;
  const double most = spread_bits(p) != 0 ? 2 * mean / spread_fill : mean + 7 * std::sqrt(mean);
  unsigned work_group = std::min(device.sub_group_size, 32u);
  while (work_group * local_items < most) work_group *= 2;
  if (work_group > std::min(device.max_work_group, 1024u)) return local;
  local.position_bits = static_cast<unsigned>(std::bit_width(work_group * local_items - 1));
  local.sort_bits = info(p.key).bits();
  if (with_positions(p)) {
    const unsigned needed = key_bits(p) - bits + local.position_bits;
    if (needed > 64) return local;
    local.sort_bits = needed > 32 ? 64 : 32;
  }
  const std::uint64_t values = p.payload == Payload::none ? 0 : p.value_bytes;
  const std::uint64_t items = bin_sort_bytes(p, device, work_group, local_items, local.sort_bits);
  std::uint64_t beside = work_group * local_items * values + 16;
  // Keys wait in local memory, too, where that leaves room for three work-groups.
  const std::uint64_t keys = std::uint64_t{work_group} * local_items * info(p.key).bytes;
  local.keep_keys = gathers_keys(p) && 3 * (items + beside + keys) <= device.local_struct;
  if (local.keep_keys) beside += keys;
  local.values_late = items + beside > device.local_struct;
  local.bytes = local.values_late ? std::max(items, beside) : items + beside;
  if (local.bytes <= device.local_struct) local.work_group = work_group;
  return local;
}

// Up to so many records, one partition does, and larger local sorts; measured on an H200.
std::uint64_t one_level(const Problem& p) {
  return std::uint64_t{1}
         << (p.payload == Payload::none && info(p.key).bytes == 4 && spread_bits(p) == 0 ? 22 : 21);
}

// As few buckets as the local sort allows: one partition, or two. If that many bits decide, nothing
// is left to sort.
unsigned leading_bits(const Problem& problem, const Capabilities& device, const Parameters& given) {
  if (key_bits(problem) <= most_bits) return key_bits(problem);
  const auto spread =
      static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(problem.count, 2) - 1));
  const unsigned log2_bucket =
      spread_bits(problem) != 0 ? 11 : 12;  // buckets of spread orders differ more
  const unsigned least =
      problem.count <= one_level(problem)
          ? digit_bits
          : std::clamp(spread, log2_bucket + 9, log2_bucket + most_bits) - log2_bucket;
  auto bits = static_cast<unsigned>(given.number("bits", least));
  if (given.has("bits")) return bits;
  while (bits < most_bits && local_sort(problem, device, bits).work_group == 0) ++bits;
  // More buckets than need be, if the local sort's items then have half the bits.
  unsigned narrow = bits;
  while (narrow < most_bits && local_sort(problem, device, narrow).sort_bits == 64) ++narrow;
  return bits > digit_bits && local_sort(problem, device, narrow).sort_bits == 32 ? narrow : bits;
}

// How lists are parted once that are short: tile by tile, by a work-group each. `count` is 0 where
// they are not.
struct TilePartition {
  unsigned work_group = 256, items = 0;
  std::uint64_t count = 0, bytes = 0;  // of tiles; of msd_tile_memory_t
};

TilePartition tile_partition(const Problem& p, const Capabilities& device, unsigned bits) {
  TilePartition part;
  if (bits != digit_bits || spread_bits(p) != 0 || p.count > tiles_counted_to) return part;
  const bool much_local = device.local_struct > 128 * 1024;
  if (much_local) part.work_group = 512;
  const std::uint64_t key = info(p.key).bytes,
                      value = p.payload == Payload::none ? 0 : p.value_bytes,
                      work_group = part.work_group;
  const std::uint64_t fixed = kernels::rank_bytes(device, work_group, 256) + work_group * 4 +
                              256 * 4 + kernels::scan_bytes(p, device, 256) + 64;
  const std::uint64_t sums = 2 * work_group / 32 * 256 * 4;
  const std::uint64_t most = device.local_struct > fixed
                                 ? (device.local_struct - fixed) / (work_group * (key + value))
                                 : 0;
  if (most == 0 || fixed + sums > device.local_struct || device.max_work_group < work_group)
    throw Error(ErrorCode::unsupported,
                fmt::format("msd: a tile of {} records needs {} bytes of local memory; the device "
                            "allows {}, and {} "
                            "work-items",
                            work_group, fixed + std::max(sums, work_group * (key + value)),
                            device.local_struct, device.max_work_group));
  // Registers bound the items. Of odd numbers the one that costs least, where each round of tiles
  // costs as much as some ten items.
  const std::uint64_t bound = std::min<std::uint64_t>(most, 96 / (key / 4 + value / 4 + 1)),
                      at_once = device.compute_units * work_group;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint64_t items = 1; items <= bound; items += 2) {
    const std::uint64_t cost = ceil_div(p.count, at_once * items) * (items + 10);
    if (cost < least) part.items = static_cast<unsigned>(items), least = cost;
  }
  part.count = ceil_div(p.count, work_group * part.items);
  part.bytes = fixed + std::max(sums, work_group * part.items * (key + value));
  return part;
}

// How keys are parted whose ties nobody can tell apart: by msd_partition. `items` is 0 where
// onesweep's passes do it.
struct KeyPartition {
  unsigned work_group = 256, items = 0, resident = 2, run = 1;
  std::uint64_t bytes = 0, groups = 0;  // of msd_partition_memory_t
};

KeyPartition key_partition(const Problem& p, const Capabilities& device) {
  KeyPartition part;
  if (with_positions(p)) return part;
  const std::uint64_t key = info(p.key).bytes;
  const bool much_local = device.local_struct > 128 * 1024;
  const std::uint64_t fixed = 256 * (sector_bytes + 16) + (2 * 257 + 2 * 256) * 4 + 256 * 8 +
                              3 * 20 + kernels::scan_bytes(p, device, 256) + 64;
  const std::uint64_t room =
      much_local ? device.local_struct / part.resident - 1024 : device.local_struct;
  const std::uint64_t most = room > fixed ? (room - fixed) / (key * part.work_group) : 0;
  // Registers bound the items; and the list has to be a tile at least.
  part.items = static_cast<unsigned>(
      std::min({std::uint64_t{key == 8 ? 27u : 47u}, most, p.count / part.work_group}));
  if (part.items == 0) return part;
  const std::uint64_t tile = std::uint64_t{part.work_group} * part.items,
                      tiles = ceil_div(p.count, tile),
                      at_once = std::uint64_t{device.compute_units} * part.resident;
  part.bytes = fixed + tile * key;
  part.groups = std::min(tiles, at_once * (much_local ? 1 : 4));
  part.run = static_cast<unsigned>(std::clamp<std::uint64_t>(tiles / at_once / 2, 1, most_run));
  return part;
}

class MsdSorter final : public Sorter {
 public:
  MsdSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem),
        spread_bits_(spread_bits(problem)),
        bits_(leading_bits(problem, device, given)),
        tiles_(tile_partition(problem, device, bits_)),
        samples_keys_(
            tiles_.count == 0 &&
            (spread_bits_ != 0 || given.number("sample", problem.count > sampled_from) != 0)),
        keys_(tiles_.count == 0 ? key_partition(problem, device) : KeyPartition{}),
        lsd_(
            problem, device, {},
            {.segments = keys_.items != 0 || tiles_.count != 0 ? 0 : std::uint64_t{1} << digit_bits,
             .cleared_bytes = cleared_bytes(),
             .spread_bits = spread_bits_,
             .skewed = true,
             .tells_few_digits = samples_keys_}) {
    const auto unsupported = [](const std::string& why) {
      throw Error(ErrorCode::unsupported, "msd: " + why);
    };
    if (problem.count >> 32 != 0)
      unsupported(fmt::format("count is {}; fewer than 2^32 records are allowed", problem.count));
    if (key_bits(problem) <= digit_bits ||
        (only_parts() && (!composite(problem) || spread_bits_ != 0)))
      unsupported(fmt::format("{} bits are to be sorted, which onesweep does in {} passes as well",
                              key_bits(problem), ceil_div(key_bits(problem), digit_bits)));
    if (only_parts() && given.has("bits"))
      unsupported(fmt::format("bits={}, but all of the {} bits that decide are leading bits here",
                              given.number("bits", 0), key_bits(problem)));
    if (!only_parts()) local_ = local_sort(problem, device, bits_);
    if (!only_parts() && local_.work_group == 0)
      unsupported(fmt::format(
          "with {} leading bits a work-group would sort some {} records, more than the device's {} "
          "bytes of local memory or {} work-items allow",
          bits_, (problem.count >> bits_) + 1, device.local_struct, device.max_work_group));
    scratch_.add(lsd_.scratch_bytes());  // the first part of ours, so that one description of
                                         // operands serves both
    if (tiles_.count == 0) {
      const auto count_bytes = [&] {
        const std::uint64_t spread = spread_bits_ != 0 ? (std::uint64_t{4} << spread_bits_) +
                                                             (std::uint64_t{4} << spread_bits_) / 64
                                                       : 0;
        return count_words() * 4 + kernels::scan_bytes(problem, device, count_work_items()) +
               spread + 64;
      };
      // Counts of fewer bits overflow less where more work-groups share a compute unit, and so the
      // keys.
      while (count_bits_ > 4 && count_bytes() > device.local_struct)
        count_bits_ /= 2, count_share_ = 4;
      count_bytes_ = count_bytes();
      if (count_bytes_ > device.local_struct || device.max_work_group < count_work_group)
        unsupported(fmt::format(
            "counting by {} bits needs {} bytes of local memory and {} work-items; the device "
            "allows {} and {}",
            bits_, count_bytes_, count_work_group, device.local_struct, device.max_work_group));
      samples_ = scratch_.add(std::uint64_t{sampled()} * info(problem.key).bytes);
    }
    count_groups_ =
        std::min<std::uint64_t>(ceil_div(problem.count, count_items * count_work_items()),
                                std::uint64_t{device.compute_units} * count_share_);
    if (!only_parts()) {
      resident_ = std::max(
          1u,
          std::min<unsigned>(
              (local_.sort_bits == 64 && with_positions(problem) ? 768 : 1024) / local_.work_group,
              static_cast<unsigned>(unit_local(device) / (local_.bytes + 1024))));
      // Of the bits that are still open, the highest choose one of 16 * work_group bins.
      const unsigned open_bits =
          key_bits(problem) - bits_ + (with_positions(problem) ? local_.position_bits : 0);
      const auto bin_bits = static_cast<unsigned>(std::bit_width(16 * local_.work_group - 1));
      bin_shift_ = open_bits > bin_bits ? open_bits - bin_bits : 0;
      bins_by_place_ =
          with_positions(problem) && spread_bits_ == 0 && key_bits(problem) - bits_ < bin_bits;
    }
    verdict_ = scratch_.add(4);
    starts_ = scratch_.add(((std::uint64_t{1} << bits_) + 1) * 4);
    table_ = scratch_.add(tiles_.count * buckets() * 2);
    for (auto& table : spread_)
      table = scratch_.add(spread_bits_ != 0 ? std::uint64_t{4} << spread_bits_ : 0);
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    return only_parts() ? lsd_.parameters()
                        : fmt::format("bits={},local={}x{},{}", bits_, local_.work_group,
                                      local_items, lsd_.parameters());
  }
  std::uint64_t bytes_moved() const override {  // where keys spread; where they do not, it is more
    const unsigned passes = (bits_ > digit_bits ? 2 : 1) + (only_parts() ? 0 : 1);
    return problem_.count * info(problem_.key).bytes + bytes_of_passes(problem_, passes, 1);
  }

  void build(Device& device, const Capabilities& capabilities) override {
    // Side by side: a first use waits for them.
    auto passes = std::async(std::launch::async, [&] { lsd_.build(device, capabilities); });
    using namespace kernels::embedded;
    auto count = std::async(std::launch::async, [&] { return build_count(device, capabilities); });
    kernels::Defines local;
    local.problem(radix_problem(problem_))
        .resident(resident_, local_.work_group)
        .set("VALUES_LATE", int{local_.values_late})
        .set("GATHER_KEYS", int{gathers_keys(problem_)})
        .set("KEEP_KEYS", int{local_.keep_keys})
        .set("BY_PLACE", int{bins_by_place_});
    set_bin_sort(local, local_.work_group, local_items, local_.sort_bits, with_positions(problem_),
                 local_.position_bits, bin_shift_);
    if (spread_bits_ != 0)
      local.set("SPREAD_BITS", spread_bits_).set("ONE_LEAD", int{bits_ >= spread_bits_});
    std::future<std::shared_ptr<Module>> partition;
    if (keys_.items != 0)
      partition = std::async(std::launch::async, [&] {
        kernels::Defines own;
        own.problem(radix_problem(problem_))
            .set("WG", keys_.work_group)
            .set("ITEMS", keys_.items)
            .resident(keys_.resident, keys_.work_group)
            .set("RUN", keys_.run)
            .set("SECTOR_BYTES", sector_bytes);
        if (spread_bits_ != 0) own.set("SPREAD_BITS", spread_bits_);
        return kernels::build(device, capabilities, msd_partition_cl, own);
      });
    if (!only_parts()) {
      local_module_ =
          kernels::build_joined(device, capabilities, {bins_cl, bin_sort_cl, msd_local_cl}, local);
      sort_local_ = local_module_->kernel("msd_local");
    }
    count_module_ = count.get();
    count_ = count_module_->kernel(tiles_.count != 0 ? "msd_count_tiles" : "msd_count");
    if (tiles_.count != 0)
      partition_ = count_module_->kernel("msd_partition_tiles");
    else
      start_ = count_module_->kernel("msd_start");
    if (keys_.items != 0) {
      partition_module_ = partition.get();
      partition_ = partition_module_->kernel("msd_partition");
    }
    passes.get();
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Memory cleared = lsd_.cleared(o), extension = lsd_.extension(o),
                 overfull = verdict_.in(o), starts = starts_.in(o);
    const std::uint32_t open =
        problem_.begin_bit + key_bits(problem_) - bits_;  // the bits below are still open
    const Memory spread = spread_bits_ != 0 ? spread_[0].in(o) : Memory{},
                 back = spread_bits_ != 0 ? spread_[1].in(o) : Memory{};
    const auto capacity = static_cast<std::uint32_t>(most_of_bucket());
    lsd_.start(queue, o);
    if (tiles_.count != 0) {
      const Arg count_args[] = {o.keys_in, table_.in(o), problem_.count,
                                open,      cleared,      cleared.bytes / 4};
      queue.launch({*count_, tiles_.count, count_work_group, count_args, "count"});
    } else {
      const Memory counts = extension.slice(counts_offset, std::uint64_t{4} << bits_);
      const Memory samples = samples_.in(o);
      const Arg start_args[] = {o.keys_in, samples, sampled(),        apart(),
                                overfull,  cleared, cleared.bytes / 4};
      const auto clearing =
          std::clamp<std::uint64_t>(ceil_div(cleared.bytes, cleared_at_once), 1, most_clearing);
      queue.launch({*start_, clearing, count_work_group, start_args, "start"});
      const Arg count_args[] = {o.keys_in,      samples,
                                counts,         overfull,
                                problem_.count, open,
                                crowd(),        repeats_most(),
                                few_repeats(),  few_agree(),
                                spread,         back,
                                lead_most(),    extension.slice(done_offset, 8),
                                starts,         capacity};
      queue.launch({*count_, count_groups_, count_work_items(), count_args, "count",
                    static_cast<unsigned>(count_bytes_)});
    }

    const unsigned second =
        only_parts() ? bits_ / 2 : bits_ - digit_bits;  // bits of the second digit; tiles have one
    if (tiles_.count != 0) {
      const auto pass = lsd_.passes().pass(0, o);
      const Arg args[] = {pass.keys_in,
                          pass.keys_out,
                          pass.make_positions ? Memory{} : pass.values_in,
                          pass.values_out,
                          table_.in(o),
                          starts,
                          overfull,
                          problem_.count,
                          open,
                          static_cast<std::uint32_t>(tiles_.count),
                          capacity};
      queue.launch({*partition_, tiles_.count, tiles_.work_group, args, "partition",
                    static_cast<unsigned>(tiles_.bytes)});
    } else {
      std::vector<Digit> digits{{open + second, (1u << (bits_ - second)) - 1}};
      if (second != 0) digits.push_back({open, (1u << second) - 1});
      if (keys_.items != 0)
        part_keys(queue, o, digits, spread);
      else
        lsd_.partition(queue, o, starts, spread, digits, {overfull, 0, 0});
    }
    if (!only_parts()) {
      const auto from = lsd_.passes().pass(second != 0 ? 1 : 0, o);
      const Arg local_args[] = {from.keys_out,
                                o.keys_out,
                                from.values_out,
                                o.values_out,
                                starts,
                                overfull,
                                back,
                                std::uint32_t{problem_.begin_bit},
                                open - problem_.begin_bit,
                                bin_shift_};
      queue.launch({*sort_local_, buckets(), local_.work_group, local_args, "local",
                    static_cast<unsigned>(local_.bytes)});
    }
    lsd_.sort(queue, o, {overfull, 1, ~0u});
  }

 private:
  void part_keys(Queue& queue, const Operands& o, const std::vector<Digit>& digits,
                 Memory spread) const {
    const auto word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const Memory extension = lsd_.extension(o);
    const auto a = lsd_.passes().pass(0, o), b = lsd_.passes().pass(1, o);
    const auto [shifts, widths] = packed(digits);
    const Arg args[] = {a.keys_in,
                        a.keys_out,
                        b.keys_out,
                        starts_.in(o),
                        extension.slice(reserved_offset(), reserved_bytes()),
                        extension.slice(state_offset, 16),
                        verdict_.in(o),
                        problem_.count,
                        word(digits.size()),
                        word(shifts),
                        word(widths),
                        spread};
    queue.launch({*partition_, keys_.groups, keys_.work_group, args, "partition",
                  static_cast<unsigned>(keys_.bytes)});
  }
  [[nodiscard]] std::uint32_t buckets() const { return std::uint32_t{1} << bits_; }
  // The kernels that count and scan; of short lists, those that count and part.
  [[nodiscard]] std::shared_ptr<Module> build_count(Device& device,
                                                    const Capabilities& capabilities) const {
    using namespace kernels::embedded;
    kernels::Defines defines;
    defines.problem(radix_problem(problem_));
    if (tiles_.count != 0) {
      defines.set("COUNT_WG", count_work_group)
          .set("COUNT_ITEMS", tile_count_items)
          .set("WG", tiles_.work_group)
          .set("ITEMS", tiles_.items);
      return kernels::build_joined(device, capabilities, {columns_cl, msd_tiles_cl}, defines);
    }
    defines.set("WG", count_work_items())
        .set("ITEMS", count_items)
        .set("START_WG", count_work_group)
        .set("SAMPLES", sampled() / count_work_items())
        .set("BUCKETS", buckets())
        .set("COUNT_BITS", count_bits_)
        .set("COUNT_WORDS", count_words())
        .set("TELLS_REPEATS", int{tells_repeats()});
    if (tells_few_digits()) defines.set("FEW_DIGITS", OnesweepSorter::few_digits);
    if (spread_bits_ != 0) defines.set("SPREAD_BITS", spread_bits_).set("BUCKET_BITS", bits_);
    return kernels::build(device, capabilities, msd_cl, defines);
  }
  // Whether parts by all bits that decide are what is wanted.
  [[nodiscard]] bool only_parts() const { return key_bits(problem_) == bits_; }
  // Records. Parts that nobody sorts may be large, but keys that are alike are slow to count, and
  // to part by one digit.
  [[nodiscard]] std::uint64_t most_of_bucket() const {
    return only_parts() ? ceil_div(problem_.count, 64) : local_.capacity();
  }
  [[nodiscard]] unsigned count_work_items() const {
    return count_work_group / count_share_;
  }  // of a work-group
  // Keys that are looked at first, by each work-item of the count as many.
  [[nodiscard]] unsigned sampled() const {
    if (!samples_keys_) return 0;
    const unsigned most = problem_.count < many_sampled_from ? (spread_bits_ != 0 ? 8 : 4)
                          : count_share_ > 1                 ? 8
                                                             : 16;
    return count_work_group * static_cast<unsigned>(std::clamp<std::uint64_t>(
                                  problem_.count / count_work_group, 1, most));
  }
  // How far apart they are: an odd number, so that they lie in all of the memory's banks. Of fewer
  // keys than that, the first is taken again and again.
  [[nodiscard]] std::uint64_t apart() const {
    const std::uint64_t share = samples_keys_ ? problem_.count / sampled() : 0;
    return share == 0 ? 0 : (share - 1) | 1;
  }
  // Of the count's local memory.
  [[nodiscard]] std::uint64_t count_words() const {
    return std::max<std::uint64_t>({buckets() * std::uint64_t{count_bits_} / 32,
                                    std::uint64_t{256} * info(problem_.key).bytes,
                                    tells_repeats() || tells_few_digits() ? 4096u : 0u});
  }
  // How many of them a full bucket has.
  [[nodiscard]] double samples_of_bucket() const {
    return static_cast<double>(most_of_bucket()) * sampled() / static_cast<double>(problem_.count);
  }
  // More say that a bucket is overfull, and not by chance.
  [[nodiscard]] std::uint32_t crowd() const {
    return std::min(
        static_cast<std::uint32_t>(samples_of_bucket() + 4 * std::sqrt(samples_of_bucket()) + 8),
        (1u << count_bits_) - 1);
  }
  // How many, times 256, the buckets of one value of the leading bits may have, if it has as much
  // room as before.
  [[nodiscard]] std::uint32_t lead_most() const {
    const double buckets =
        std::ldexp(1.0, static_cast<int>(bits_) - static_cast<int>(spread_bits_));
    return static_cast<std::uint32_t>(
        std::clamp(256 * spread_fill * samples_of_bucket() * buckets, 1.0, 1e9));
  }
  [[nodiscard]] bool tells_few_digits() const { return samples_keys_ && lsd_.tells_few_digits(); }
  // Whether samples are asked if keys repeat. Floats do as a rule, and have room for it; parts that
  // nobody sorts, too.
  [[nodiscard]] bool tells_repeats() const {
    return samples_keys_ && spread_bits_ == 0 && !only_parts();
  }
  // How many may. Where keys have m records each, a bucket's records differ from the mean by the
  // square root of m times the mean, and one of many thousand buckets by four times that. Bins of
  // keys alone are slow with fewer. A third of what repeats meets others in the table.
  [[nodiscard]] std::uint32_t repeats_most() const {
    const auto mean = static_cast<double>(problem_.count >> bits_),
               spare = static_cast<double>(most_of_bucket()) - mean;
    const double m = std::min(spare * spare / (16 * mean), with_positions(problem_) ? 1e9 : 3.0);
    return static_cast<std::uint32_t>(std::clamp(
        m * sampled() * sampled() / (3 * static_cast<double>(problem_.count)), 2.0, 1e9));
  }
  // More repeats than this say that onesweep's shape for few digits is the better one, up to
  // narrow_to records; and so do, of any list, more pairs of samples that agree in a digit, each in
  // both orders (by chance, one in 256 does).
  [[nodiscard]] std::uint32_t few_repeats() const {
    return problem_.count <= OnesweepSorter::narrow_to ? sampled() / 64 : ~0u;
  }
  [[nodiscard]] std::uint32_t few_agree() const {
    return static_cast<std::uint32_t>(std::uint64_t{sampled()} * sampled() / few_digits_share +
                                      sampled());
  }
  // Cleared before each sort: msd_partition's state, how many work-groups are done with the count,
  // the buckets' counts, and what msd_partition reserves of the output.
  static constexpr std::uint64_t state_offset = 0, done_offset = 16, counts_offset = 32;
  [[nodiscard]] std::uint64_t reserved_offset() const {
    return counts_offset + (std::uint64_t{4} << bits_);
  }
  [[nodiscard]] std::uint64_t reserved_bytes() const {
    return keys_.items != 0 ? 8 * (256 + (std::uint64_t{1} << bits_)) : 0;
  }
  [[nodiscard]] std::uint64_t cleared_bytes() const { return reserved_offset() + reserved_bytes(); }

  Problem problem_;
  unsigned spread_bits_ = 0, bits_ = 0;
  TilePartition tiles_;
  bool samples_keys_ = false;  // before they are counted
  KeyPartition keys_;
  OnesweepSorter lsd_;
  unsigned resident_ = 1, bin_shift_ = 0;
  bool bins_by_place_ = false;
  unsigned count_bits_ = 16,
           count_share_ = 1;  // of a bucket's count in local memory; work-groups of a compute unit
  LocalSort local_;
  std::uint64_t count_bytes_ = 0, count_groups_ = 0;
  ScratchLayout scratch_;
  ScratchLayout::Slice verdict_, samples_,
      starts_;                              // the first: the word that tells the ways apart
  ScratchLayout::Slice table_, spread_[2];  // of tiles' counts; of orders and of spread orders
  std::shared_ptr<Module> count_module_, partition_module_, local_module_;
  std::unique_ptr<Kernel> start_, count_, partition_, sort_local_;
};

class Msd final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "msd",
        .title =
            "MSD radix sort by 8 to 16 leading bits, then buckets in local memory; onesweep where "
            "keys do not spread",
        .source = "Stehle, Jacobsen 2017 (hybrid radix sort); Adinets, Merrill 2022",
        .stable = true,
        .cost =
            "one reading of the keys, one or two passes and, if more than 16 bits decide, the "
            "local sort, which read and "
            "write every record once; "
            "5 launches, of short lists 4, of long ones with values 6, of floats one more, of "
            "which either the last or some before it find nothing to do",
        .parameters = {{"bits", "leading bits that make a bucket", digit_bits, most_bits, {}},
                       {"sample",
                        "1: some keys are looked at before all are counted, by default of more "
                        "than 2^22 records",
                        0,
                        1,
                        {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<MsdSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::msd() {
  static const Msd room;
  return room;
}

}  // namespace sortium
