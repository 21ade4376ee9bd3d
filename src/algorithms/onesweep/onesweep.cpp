// One-sweep radix sort: Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
// for GPUs" (2022), with decoupled look-back (Merrill, Garland 2016), software-pipelined.
#include "onesweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <future>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t radix_size = 256, head_bytes = 256,
                        gap_bytes = 64;  // the last: what may lie between arrays
constexpr std::uint64_t shared_from = std::uint64_t{1}
                                      << 21;  // records; measured on an H200, like the next
constexpr std::uint64_t narrow_from = std::uint64_t{1} << 21,
                        narrow_from_codes = std::uint64_t{1} << 23;
constexpr std::uint64_t least_items =
    3;  // of a work-item: with 1, there are three times as many tiles to look back at

// A ticket and a count of written tiles for each pass and for the histograms.
std::uint64_t state_bytes(std::uint64_t passes) { return 2 * (passes + 1) * 4; }

}  // namespace

OnesweepSorter::OnesweepSorter(const Problem& problem, const Capabilities& device,
                               const Parameters& given, Extension extension)
    : problem_(problem),
      digits_(digits(problem, 8)),
      passes_(problem, digits_.size(), scratch_),
      spread_bits_(extension.spread_bits),
      segmented_(extension.segments != 0) {
  if (device.kind == DeviceKind::cpu)
    throw Error(ErrorCode::unsupported,
                "onesweep: made for GPUs; a CPU does better with lsd (and PoCL's compiler "
                "fails at barriers inside of conditions)");
  if (!device.forward_progress)
    throw Error(ErrorCode::unsupported,
                "onesweep: the device gives no forward progress to waiting work-groups");
  // A work-group counts its keys by 32 bits, and it may get more of them than others.
  if (problem.count / device.compute_units >> 28 != 0)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("onesweep: count is {}; with {} compute units fewer than {} are allowed",
                    problem.count, device.compute_units,
                    std::uint64_t{device.compute_units} << 28));
  // Where NaN come first, orders are other numbers than codes: what is sorted by some of their bits
  // is sorted without.
  codes_ = info(problem.key).is_float &&
           (problem.nan != NanOrder::first || key_bits(problem) == info(problem.key).bits());
  count_bits_ = static_cast<unsigned>(given.number("count_bits", 30));
  long_counts_ = problem.count >> count_bits_ != 0;
  shape_ = shape(device, given, extension.segments, false);
  // Where keys are known not to spread, records with values are better off with smaller tiles, and
  // two work-groups that share a compute unit; of long lists, where digits are few, too, for else
  // the runs are too short. Short lists have too few tiles for it: all begin at once, and half as
  // large ones look back twice as far.
  const bool narrow = extension.skewed && problem.payload != Payload::none &&
                      shape_.resident == 1 && shape_.work_group == 2 * radix_size &&
                      problem.count > (codes_ ? narrow_from_codes : narrow_from);
  if (!narrow || extension.tells_few_digits || problem.count > narrow_to)
    sorts_.push_back({.shape = shape_});
  if (narrow && (extension.tells_few_digits || problem.count <= narrow_to))
    sorts_.push_back({.shape = shape(device, given, 0, true)});

  // Cleared together: the histograms, the passes' states, what msd wants cleared, the marks of long
  // counts, and the look-back table.
  std::uint64_t tiles = shape_.tiles, mark_rows = shape_.mark_rows;
  for (const auto& sort : sorts_)
    tiles = std::max(tiles, sort.shape.tiles),
    mark_rows = std::max(mark_rows, sort.shape.mark_rows);
  const std::uint64_t table = tiles * radix_size * 4;
  // Floats are counted and sorted as codes, and where that does not do, counted again.
  may_tie_ = codes_ && (problem.nan != NanOrder::bits || problem.zeros != ZeroOrder::distinct);
  for (auto& counts : counts_)
    if (&counts == counts_ || may_tie_)
      counts = {scratch_.add(digits_.size() * radix_size * kernels::index_bytes(problem.count)),
                scratch_.add(state_bytes(digits_.size()))};
  partition_state_ = scratch_.add(state_bytes(2));
  ties_ = scratch_.add(4);
  if (extension.cleared_bytes != 0) extension_ = scratch_.add(extension.cleared_bytes);
  marks_ = scratch_.add(
      long_counts_ ? std::max<std::uint64_t>(2, digits_.size()) * mark_rows * radix_size * 4 : 0);
  look_ = scratch_.add(table);
  const std::uint64_t begin = counts_[0].histograms.offset;
  cleared_ = {begin, look_.offset + table - begin};
}

OnesweepSorter::Shape OnesweepSorter::shape(const Capabilities& device, const Parameters& given,
                                            std::uint64_t segments, bool narrow) const {
  Shape s;
  // Without values, two work-groups share a compute unit: one ranks while the other waits. With
  // values tiles would be too small then, and short lists have too few.
  const bool much_local = device.local_struct > 128 * 1024;
  const bool halves =
      much_local && problem_.payload == Payload::none && problem_.count > shared_from;
  s.work_group = static_cast<unsigned>(
      given.number("work_group", much_local && !halves && !narrow ? 2 * radix_size : radix_size));
  if (!std::has_single_bit(s.work_group) || s.work_group < radix_size ||
      s.work_group > device.max_work_group)
    throw Error(ErrorCode::unsupported,
                fmt::format("onesweep: work_group={} is not a power of two between 256 and {}",
                            s.work_group, device.max_work_group));

  // A tile as large as local memory and registers allow: long runs of a digit make whole memory
  // transactions.
  const std::uint64_t key = info(problem_.key).bytes,
                      value = problem_.payload == Payload::none ? 0 : problem_.value_bytes;
  const std::uint64_t index = kernels::index_bytes(problem_.count);
  const std::uint64_t segments_bytes = segmented_ ? radix_size * 4 + 16 : 0;
  // Where there is little local memory, keys and values take turns in it, and work-groups share a
  // compute unit, so that one does something while another waits.
  s.turns = !much_local && value != 0;
  const std::uint64_t runs_bytes = value == 0 || s.turns ? 0 : radix_size * 4;
  const std::uint64_t fixed = (2 * radix_size + 1) * index + runs_bytes +
                              kernels::scan_bytes(problem_, device, radix_size) +
                              kernels::rank_bytes(device, s.work_group, radix_size) +
                              s.work_group * 4 + head_bytes + gap_bytes + segments_bytes;
  const std::uint64_t record = s.turns ? std::max(key, value) : key + value;
  const bool shares =
      much_local ? narrow || (halves && s.work_group == radix_size) : s.work_group == radix_size;
  s.resident = static_cast<unsigned>(given.number("resident", shares ? 2 : 1));
  const std::uint64_t room =
      much_local && s.resident > 1 ? device.local_struct / s.resident - 1024 : device.local_struct;
  const std::uint64_t places =
      (std::uint64_t{1} << (value == 0 ? 16 : 15)) -
      1;  // in a tile, that a rank's half of a word, or a run's word can say
  const std::uint64_t most =
      room > fixed ? std::min((room - fixed) / (record * s.work_group), places / s.work_group) : 0;
  // Registers bound the items (two for a key or value of 8 bytes). An odd number keeps equal runs
  // of digits, which sorted input has, from starting in the same bank of local memory. The list's
  // last round of tiles should keep all compute units busy, too: of odd items, those that cost
  // least, where a tile costs as much as some ten items of each work-item, however small it is.
  const std::uint64_t at_once = std::uint64_t{device.compute_units} * s.resident * s.work_group;
  std::uint64_t wanted = 1, least = ~std::uint64_t{0};
  const std::uint64_t bound = value == 0         ? (key == 8 ? 33 : 55)
                              : key + value <= 8 ? (s.turns ? 29 : 37)
                              : s.turns          ? 17
                                                 : (key + value <= 12 ? 27 : 19);
  for (std::uint64_t items = least_items; items <= std::min(most, bound); items += 2) {
    const std::uint64_t cost = ceil_div(problem_.count, at_once * items) * (items + 10);
    if (cost <= least) wanted = items, least = cost;
  }
  s.items = static_cast<unsigned>(given.number("items", wanted));
  if (s.items > most)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("onesweep: items={} with work_group={} needs {} bytes of local memory; the "
                    "device allows "
                    "{}, which is items up to {}",
                    s.items, s.work_group, fixed + s.items * record * s.work_group, room, most));
  s.common_share = narrow ? 40 : 8;  // measured on an H200
  s.local_bytes = static_cast<unsigned>(fixed + s.items * record * s.work_group);
  s.tiles = ceil_div(problem_.count, std::uint64_t{s.work_group} * s.items) + segments;
  const std::uint64_t mark_tiles = (std::uint64_t{1} << (count_bits_ - 1)) / s.tile();
  if (mark_tiles == 0)
    throw Error(ErrorCode::unsupported,
                fmt::format("onesweep: count_bits={} are too few for tiles of {} records",
                            count_bits_, s.tile()));
  s.mark_rows = (ceil_div(problem_.count, s.tile()) + radix_size) / mark_tiles + 1;
  s.groups =
      std::min<std::uint64_t>(s.tiles, std::uint64_t{device.compute_units} *
                                           given.number("groups", much_local ? s.resident : 4));
  s.copies = static_cast<unsigned>(std::bit_floor(std::clamp<std::uint64_t>(
      (s.local_bytes - head_bytes - gap_bytes - segments_bytes) / (digits_.size() * radix_size * 4),
      1, 32)));
  return s;
}

std::string OnesweepSorter::parameters() const {
  return fmt::format("work_group={},items={},resident={}", shape_.work_group, shape_.items,
                     shape_.resident);
}

void OnesweepSorter::build(Device& device, const Capabilities& capabilities) {
  const auto make = [&](const Shape& shape, bool segmented, bool codes) {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_))
        .set("WG", shape.work_group)
        .set("ITEMS", shape.items)
        .resident(shape.resident, shape.work_group)
        .set("PASSES", segmented ? 2 : digits_.size())
        .set("COUNT_BITS", count_bits_)
        .set("LONG_COUNTS", int{long_counts_})
        .set("COPIES", shape.copies)
        .set("TURNS", int{shape.turns})
        .set("SEGMENTED", int{segmented})
        .set("COMMON_SHARE", shape.common_share)
        .set("CODES", int{codes});
    if (segmented && spread_bits_ != 0) defines.set("SPREAD_BITS", spread_bits_);
    using namespace kernels::embedded;
    return kernels::build_joined(
        device, capabilities,
        {columns_cl, onesweep_tiles_cl, shape.turns ? onesweep_turns_cl : onesweep_pipelined_cl,
         onesweep_cl},
        defines);
  };
  const auto build_sort = [&](Sort& sort) {
    sort.module = make(sort.shape, false, codes_);
    sort.kernel = sort.module->kernel("onesweep");
  };
  // Side by side: a first use waits for them.
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < sorts_.size(); ++i)
    others.push_back(std::async(std::launch::async, [&, i] { build_sort(sorts_[i]); }));
  build_sort(sorts_[0]);
  if (may_tie_) {
    ties_module_ = make(sorts_[0].shape, false, false);
    sort_ties_ = ties_module_->kernel("onesweep");
  }
  if (segmented_) {
    segmented_module_ = make(shape_, true, spread_bits_ != 0);
    partition_ = segmented_module_->kernel("onesweep");
  }
  for (auto& other : others) other.get();
}

void OnesweepSorter::enqueue(Queue& queue, const Operands& o) {
  start(queue, o);
  clear(queue, o);
  sort(queue, o, {});
}

void OnesweepSorter::sort(Queue& queue, const Operands& o, Gate gate) const {
  for (const Sort& sort : sorts_) {
    Gate own = gate;
    if (tells_few_digits())
      (&sort == &sorts_[0] ? own.most : own.least) =
          &sort == &sorts_[0] ? few_digits - 1 : few_digits;
    launch(queue, o, *sort.kernel, sort.shape, counts_[0].histograms.in(o), counts_[0].state.in(o),
           {}, digits_, own, "sort");
  }
  if (may_tie_)
    launch(queue, o, *sort_ties_, sorts_[0].shape, counts_[1].histograms.in(o),
           counts_[1].state.in(o), {}, digits_, {ties_.in(o), 1, ~0u}, "sort");
}

void OnesweepSorter::partition(Queue& queue, const Operands& o, Memory starts, Memory spread,
                               const std::vector<Digit>& digits, Gate gate) const {
  launch(queue, o, *partition_, shape_, starts, partition_state_.in(o), spread, digits, gate,
         "partition");
}

void OnesweepSorter::launch(Queue& queue, const Operands& o, Kernel& kernel, const Shape& shape,
                            Memory starts, Memory state, Memory spread,
                            const std::vector<Digit>& digits, Gate gate,
                            std::string_view phase) const {
  const auto [shifts, widths] = packed(digits);
  const auto a = passes_.pass(0, o), b = digits_.size() > 1 ? passes_.pass(1, o) : PingPong::Pass{};
  const bool last_keys = problem_.keys_out || digits.size() < digits_.size();
  const Arg args[] = {a.keys_in,
                      a.keys_out,
                      b.keys_out,
                      a.values_in,
                      a.values_out,
                      b.values_out,
                      starts,
                      look_.in(o),
                      marks_.in(o),
                      state,
                      problem_.count,
                      shifts,
                      widths,
                      static_cast<std::uint32_t>(digits.size()),
                      std::uint32_t{a.make_positions},
                      std::uint32_t{last_keys},
                      ties_.in(o),
                      spread,
                      gate.word,
                      gate.least,
                      gate.most};
  queue.launch({kernel, shape.groups, shape.work_group, args, phase, shape.local_bytes});
}

namespace {

class Onesweep final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "onesweep",
        .title =
            "LSD radix sort, 8-bit digits, one reading and one writing a pass, with decoupled "
            "look-back",
        .source = "Adinets, Merrill 2022; Merrill, Garland 2016",
        .stable = true,
        .cost =
            "bits/8 passes that read and write every record once, and one reading of the keys "
            "before; 1 launch "
            "and a fill; passes over digits that all keys share are left out by twos",
        .parameters = {
            {"work_group", "work-items of a work-group", 256, 1024, {}},
            {"items", "records of a work-item in a tile", 1, 64, {}},
            {"resident",
             "work-groups that share a compute unit's registers and local memory",
             1,
             8,
             {}},
            {"count_bits",
             "bits of a count in the look-back table; more records take a further table, of marks",
             9,
             30,
             {}},
            {"groups", "work-groups launched for each compute unit", 1, 64, {}}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<OnesweepSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::onesweep() {
  static const Onesweep room;
  return room;
}

}  // namespace sortium
