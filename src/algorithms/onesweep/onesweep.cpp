// One-sweep radix sort: Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs" (2022), with
// decoupled look-back (Merrill, Garland 2016), software-pipelined.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"
#include "onesweep.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t radix_size = 256, head_bytes = 256;
constexpr std::uint64_t shared_from = std::uint64_t{1} << 21;  // records; measured on an H200

// A ticket and a count of written tiles for each pass and for the histograms.
std::uint64_t state_bytes(std::uint64_t passes) { return 2 * (passes + 1) * 4; }

}  // namespace

OnesweepSorter::OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given,
                               Extension extension)
    : problem_(problem), digits_(digits(problem, 8)), passes_(problem, digits_.size(), scratch_),
      spread_bits_(extension.spread_bits), segmented_(extension.segments != 0), counted_(extension.counted) {
  if (device.kind == DeviceKind::cpu)
    throw Error(ErrorCode::unsupported, "onesweep: made for GPUs; a CPU does better with lsd (and PoCL's compiler "
                                        "fails at barriers inside of conditions)");
  if (!device.forward_progress)
    throw Error(ErrorCode::unsupported, "onesweep: the device gives no forward progress to waiting work-groups");
  if (problem.count >= std::uint64_t{1} << 32)
    throw Error(ErrorCode::unsupported, fmt::format("onesweep: count is {}; fewer than 2^32 records are allowed",
                                                    problem.count));
  const unsigned lanes = std::min(device.sub_group_size, 32u);
  async_ = device.async_copy && given.word("async", "on") == "on";
  // Of small records, two work-groups share a compute unit: one ranks while the other waits. Larger ones would have too
  // small tiles then, and short lists too few.
  const bool much_local = device.local_struct > 128 * 1024;
  const bool halves = much_local && problem.payload == Payload::none && info(problem.key).bytes <= 4 && problem.count > shared_from;
  work_group_ = static_cast<unsigned>(given.number("work_group", much_local && !halves ? 512 : 256));
  if (!std::has_single_bit(work_group_) || work_group_ < radix_size || work_group_ > device.max_work_group)
    throw Error(ErrorCode::unsupported, fmt::format("onesweep: work_group={} is not a power of two between 256 and {}",
                                                    work_group_, device.max_work_group));

  // A tile as large as local memory and registers allow: long runs of a digit make whole memory transactions.
  const std::uint64_t key = info(problem.key).bytes, value = problem.payload == Payload::none ? 0 : problem.value_bytes;
  const std::uint64_t index = kernels::index_bytes(problem.count);
  const std::uint64_t rank_words = (device.ordered_local_atomics ? 1 : 2) * radix_size;  // SG_RANK_WORDS
  const std::uint64_t segments_bytes = segmented_ ? radix_size * 4 + 16 : 0;
  const std::uint64_t fixed = 4 * radix_size * index + work_group_ / lanes * rank_words * 4 + work_group_ * 4 + head_bytes + 64 +
                              segments_bytes;
  const std::uint64_t record = (async_ ? 2 : 1) * key + value;
  resident_ = static_cast<unsigned>(given.number("resident", halves && work_group_ == 256 ? 2 : 1));
  const std::uint64_t room = device.local_struct / resident_ - (resident_ > 1 ? 1024 : 0);
  const std::uint64_t most = room > fixed ? (room - fixed) / (record * work_group_) : 0;
  // Registers bound the items (two for a key of 8 bytes). An odd number keeps equal runs of digits, which sorted input
  // has, from starting in the same bank of local memory.
  // The list's last round of tiles should keep all compute units busy, too: of odd items, those that cost least, where a
  // tile costs as much as some ten items of each work-item, however small it is.
  const std::uint64_t at_once = std::uint64_t{device.compute_units} * resident_ * work_group_;
  std::uint64_t wanted = 1, least = ~std::uint64_t{0};
  for (std::uint64_t items = 1; items <= std::min<std::uint64_t>(most, key == 8 ? 21u : 47u); items += 2) {
    const std::uint64_t cost = ceil_div(problem.count, at_once * items) * (items + 10);
    if (cost <= least) wanted = items, least = cost;
  }
  items_ = static_cast<unsigned>(given.number("items", wanted));
  if (items_ > most)
    throw Error(ErrorCode::unsupported,
                fmt::format("onesweep: items={} with work_group={} needs {} bytes of local memory; the device allows "
                            "{}, which is items up to {}", items_, work_group_,
                            fixed + items_ * record * work_group_, room, most));
  local_bytes_ = static_cast<unsigned>(fixed + items_ * record * work_group_);
  tiles_ = ceil_div(problem.count, std::uint64_t{work_group_} * items_) + extension.segments;
  groups_ = std::min<std::uint64_t>(tiles_, std::uint64_t{device.compute_units} *
                                                given.number("groups", device.local_struct > 64 * 1024 ? resident_ : 4));
  copies_ = static_cast<unsigned>(std::bit_floor(
      std::clamp<std::uint64_t>((local_bytes_ - head_bytes - segments_bytes) / (digits_.size() * radix_size * 4), 1, 32)));
  look_bits_ = problem.count < (std::uint64_t{1} << 30) ? 32 : 64;

  // Cleared together: the histograms, the passes' states, what msd wants cleared, and the first pass's look-back table;
  // the second's is cleared by the first, but for msd, where passes have different tiles. One partition does without look-back
  // where tiles are counted before.
  const std::uint64_t table = tiles_ * radix_size * look_bits_ / 8;
  // Floats are counted and sorted as codes, and where that does not do, counted again.
  codes_ = info(problem.key).is_float;
  may_tie_ = codes_ && (problem.nan != NanOrder::bits || problem.zeros != ZeroOrder::distinct);
  for (auto& counts : counts_)
    if (&counts == counts_ || may_tie_) counts = {scratch_.add(digits_.size() * radix_size * 4), scratch_.add(state_bytes(digits_.size()))};
  partition_state_ = scratch_.add(state_bytes(2));
  ties_ = scratch_.add(4);
  if (extension.cleared_bytes != 0) extension_ = scratch_.add(extension.cleared_bytes);
  look_[0] = scratch_.add(table);
  look_[1] = scratch_.add(table);
  const auto& last = look_[segmented_ && !counted_ ? 1 : 0];
  const std::uint64_t begin = counts_[0].histograms.offset;
  cleared_ = {begin, last.offset + table - begin};
}

std::string OnesweepSorter::parameters() const {
  return fmt::format("work_group={},items={},resident={},async={}", work_group_, items_, resident_,
                     async_ ? "on" : "off");
}

void OnesweepSorter::build(Device& device, const Capabilities& capabilities) {
  const auto make = [&](bool segmented, bool codes) {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_))
        .set("WG", work_group_)
        .set("ITEMS", items_)
        .set("RESIDENT", resident_)
        .set("PASSES", segmented ? 2 : digits_.size())
        .set("ASYNC", int{async_})
        .set("LOOK_BITS", look_bits_)
        .set("COPIES", copies_)
        .set("SEGMENTED", int{segmented})
        .set("CODES", int{codes});
    defines.set("COUNTED", int{segmented && counted_});
    if (segmented && spread_bits_ != 0) defines.set("SPREAD_BITS", spread_bits_);
    return kernels::build(device, capabilities, kernels::embedded::onesweep_cl, defines);
  };
  module_ = make(false, codes_);
  sort_ = module_->kernel("onesweep");
  if (may_tie_) {
    ties_module_ = make(false, false);
    sort_ties_ = ties_module_->kernel("onesweep");
  }
  if (!segmented_) return;
  segmented_module_ = make(true, spread_bits_ != 0);
  partition_ = segmented_module_->kernel("onesweep");
}

void OnesweepSorter::enqueue(Queue& queue, const Operands& o) {
  start(queue, o);
  clear(queue, o);
  sort(queue, o, {});
}

void OnesweepSorter::sort(Queue& queue, const Operands& o, Gate gate) const {
  launch(queue, o, *sort_, counts_[0].histograms.in(o), counts_[0].state.in(o), {}, digits_, gate, "sort");
  if (may_tie_) launch(queue, o, *sort_ties_, counts_[1].histograms.in(o), counts_[1].state.in(o), {}, digits_, {ties_.in(o), 1},
                       "sort");
}

void OnesweepSorter::partition(Queue& queue, const Operands& o, Memory starts, Memory spread,
                               const std::vector<Digit>& digits, Gate gate, std::uint32_t capacity) const {
  launch(queue, o, *partition_, starts, partition_state_.in(o), spread, digits, gate, "partition", capacity);
}

void OnesweepSorter::launch(Queue& queue, const Operands& o, Kernel& kernel, Memory starts, Memory state,
                            Memory spread, const std::vector<Digit>& digits, Gate gate, std::string_view phase,
                            std::uint32_t capacity) const {
  const auto [shifts, widths] = packed(digits);
  const auto a = passes_.pass(0, o), b = digits_.size() > 1 ? passes_.pass(1, o) : PingPong::Pass{};
  const bool last_keys = problem_.keys_out || digits.size() < digits_.size();
  const Arg args[] = {a.keys_in, a.keys_out, b.keys_out, a.values_in, a.values_out, b.values_out, starts, look_[0].in(o),
                      look_[1].in(o), state, problem_.count, shifts, widths, static_cast<std::uint32_t>(digits.size()),
                      std::uint32_t{a.make_positions}, std::uint32_t{last_keys}, ties_.in(o), spread, gate.word, gate.open, capacity};
  queue.launch({kernel, groups_, work_group_, args, phase, local_bytes_});
}

namespace {

class Onesweep final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "onesweep",
        .title = "LSD radix sort, 8-bit digits, one reading and one writing a pass, with decoupled look-back",
        .source = "Adinets, Merrill 2022; Merrill, Garland 2016",
        .stable = true,
        .cost = "bits/8 passes that read and write every record once, and one reading of the keys before; 1 launch "
                "and a fill; passes over digits that all keys share are left out by twos",
        .parameters = {{"work_group", "work-items of a work-group", 256, 1024, {}},
                       {"items", "records of a work-item in a tile", 1, 64, {}},
                       {"resident", "work-groups that share a compute unit's local memory", 1, 8, {}},
                       {"groups", "work-groups launched for each compute unit", 1, 64, {}},
                       {"async", "the copy engine brings tiles, where there is one", 0, 0, {"on", "off"}}}};
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
