// One-sweep radix sort: Adinets, Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs" (2022), with
// decoupled look-back (Merrill, Garland 2016), software-pipelined.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr std::uint64_t radix_size = 256;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

class OnesweepSorter final : public Sorter {
 public:
  OnesweepSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), digits_(digits(problem, 8)), passes_(problem, digits_.size(), scratch_) {
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
    work_group_ = static_cast<unsigned>(given.number("work_group", device.local_struct > 128 * 1024 ? 512 : 256));
    if (!std::has_single_bit(work_group_) || work_group_ < radix_size || work_group_ > device.max_work_group)
      throw Error(ErrorCode::unsupported, fmt::format("onesweep: work_group={} is not a power of two between 256 and {}",
                                                      work_group_, device.max_work_group));

    // A tile as large as local memory and registers allow: long runs of a digit make whole memory transactions.
    const std::uint64_t key = info(problem.key).bytes, value = problem.payload == Payload::none ? 0 : problem.value_bytes;
    const std::uint64_t index = kernels::index_bytes(problem.count);
    const std::uint64_t rank_words = (device.ordered_local_atomics ? 1 : 2) * radix_size;  // SG_RANK_WORDS
    const std::uint64_t fixed = 4 * radix_size * index + work_group_ / lanes * rank_words * 4 + work_group_ * 4 + 128;
    const std::uint64_t record = (async_ ? 2 : 1) * key + value;
    resident_ = static_cast<unsigned>(given.number("resident", 1));
    const std::uint64_t room = device.local_struct / resident_ - (resident_ > 1 ? 1024 : 0);
    const std::uint64_t most = room > fixed ? (room - fixed) / (record * work_group_) : 0;
    // Registers bound the items (two for a key of 8 bytes). An odd number keeps equal runs of digits, which sorted input
    // has, from starting in the same bank of local memory.
    // A short list is spread over all compute units.
    const std::uint64_t spread = ceil_div(problem.count, std::uint64_t{device.compute_units} * work_group_);
    const std::uint64_t wanted = std::min<std::uint64_t>({most, key == 8 ? 23u : 47u, std::max<std::uint64_t>(spread | 1, 5)});
    items_ = static_cast<unsigned>(given.number("items", wanted % 2 == 0 && wanted > 1 ? wanted - 1 : wanted));
    if (items_ < 1 || items_ > most)
      throw Error(ErrorCode::unsupported,
                  fmt::format("onesweep: items={} with work_group={} needs {} bytes of local memory; the device allows "
                              "{}, which is items up to {}", std::max(items_, 1u), work_group_,
                              fixed + std::max(items_, 1u) * record * work_group_, room, most));
    local_bytes_ = static_cast<unsigned>(fixed + items_ * record * work_group_);
    tiles_ = ceil_div(problem.count, std::uint64_t{work_group_} * items_);
    groups_ = std::min<std::uint64_t>(tiles_, std::uint64_t{device.compute_units} *
                                                  given.number("groups", device.local_struct > 64 * 1024 ? resident_ : 4));
    look_bits_ = problem.count < (std::uint64_t{1} << 30) ? 32 : 64;

    // Cleared together: the histograms, the tickets, and the first pass's look-back table.
    const std::uint64_t table = tiles_ * radix_size * look_bits_ / 8;
    histograms_ = scratch_.add(digits_.size() * radix_size * 4);
    tickets_ = scratch_.add(digits_.size() * 4);
    look_[0] = scratch_.add(table);
    cleared_ = {histograms_.offset, look_[0].offset + table - histograms_.offset};
    look_[1] = scratch_.add(table);
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override {
    return fmt::format("work_group={},items={},resident={},async={}", work_group_, items_, resident_,
                       async_ ? "on" : "off");
  }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(radix_problem(problem_))
        .set("WG", work_group_)
        .set("ITEMS", items_)
        .set("RESIDENT", resident_)
        .set("PASSES", digits_.size())
        .set("ASYNC", int{async_})
        .set("LOOK_BITS", look_bits_);
    module_ = kernels::build(device, capabilities, kernels::embedded::onesweep_cl, defines);
    histogram_ = module_->kernel("onesweep_histogram");
    pass_ = module_->kernel("onesweep_pass");
    histogram_groups_ = 4 * capabilities.compute_units;
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const auto [shifts, widths] = packed(digits_);
    passes_.start(queue, o);
    queue.fill(cleared_.in(o), 0, cleared_.bytes, "clear");
    const Memory histograms = histograms_.in(o), tickets = tickets_.in(o);
    const Arg histogram_args[] = {o.keys_in, histograms, problem_.count, shifts, widths};
    queue.launch({*histogram_, std::min<std::uint64_t>(histogram_groups_, ceil_div(problem_.count, 4 * work_group_)),
                  work_group_, histogram_args, "histogram"});
    for (unsigned p = 0; p < digits_.size(); ++p) {
      const auto b = passes_.pass(p, o);
      const Arg args[] = {b.keys_in, b.keys_out, b.values_in, b.values_out, histograms, look_[p % 2].in(o),
                          look_[1 - p % 2].in(o), tickets, problem_.count, digits_[p].shift, digits_[p].mask,
                          std::uint32_t{b.make_positions}, std::uint32_t{p}};
      queue.launch({*pass_, groups_, work_group_, args, "sweep", local_bytes_});
    }
  }

 private:
  Problem problem_;
  std::vector<Digit> digits_;
  ScratchLayout scratch_;
  PingPong passes_;
  bool async_ = false;
  unsigned work_group_ = 0, items_ = 0, resident_ = 0, look_bits_ = 0, local_bytes_ = 0;
  std::uint64_t tiles_ = 0, groups_ = 0, histogram_groups_ = 0;
  ScratchLayout::Slice histograms_, tickets_, look_[2], cleared_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> histogram_, pass_;
};

class Onesweep final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "onesweep",
        .title = "LSD radix sort, 8-bit digits, one reading and one writing a pass, with decoupled look-back",
        .source = "Adinets, Merrill 2022; Merrill, Garland 2016",
        .stable = true,
        .cost = "bits/8 passes that read and write every record once, and one reading of the keys before; bits/8 + 2 "
                "launches",
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
