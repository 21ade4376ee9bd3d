// Two selection sorts of E. Bainville, "OpenCL Sorting" (2011; document 000): for every record, a
// work-item counts the records before it.
#include <fmt/format.h>

#include <algorithm>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr auto document = "E. Bainville, OpenCL Sorting, 2011 (document 000)";

// What selection.cl is specialised for.
struct SelectionParameters {
  unsigned work_group;  // work-items of a work-group
  std::uint64_t block;  // ranks that selection_blocks loads into local memory at a time

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group).set("BLOCK", block);
  }
};

class SelectionSorter final : public Sorter {
 public:
  SelectionSorter(const Problem& problem, const Capabilities& device, const Parameters& given,
                  bool blocks)
      : problem_(problem), blocks_(blocks), copy_(problem, 1, layout_) {
    const bool cpu = device.kind == DeviceKind::cpu;
    const unsigned largest = std::min(device.max_work_group, 1024u);
    work_group_ = given.number("work_group", std::min(largest, cpu ? 64u : 256u));
    factor_ = std::stoull(given.word("block_factor", cpu ? "32" : "4"));
    const std::uint64_t key = info(problem.key).bytes, most = device.local_memory / key;
    if (work_group_ > largest || (blocks_ && factor_ * work_group_ > most))
      throw Error(
          ErrorCode::unsupported,
          fmt::format("selection-blocks: block_factor={} with work_group={} needs {} bytes of "
                      "local memory; the "
                      "device allows work_group up to {}, and block_factor × work_group up to {}",
                      factor_, work_group_, factor_ * work_group_ * key, largest, most));

    // A launch handles enough records to keep the device busy, but takes about a second at most. So
    // other work can run between launches, and the operating system's watchdog does not stop them.
    constexpr std::uint64_t comparisons = std::uint64_t{1} << 31,
                            records = 2048;  // for each compute unit
    const std::uint64_t count = std::max<std::uint64_t>(problem.count, 1);
    per_launch_ =
        ceil_div(device.compute_units * std::max(comparisons / count, records), work_group_) *
        work_group_;
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override {
    return blocks_ ? fmt::format("block_factor={},work_group={}", factor_, work_group_) : "";
  }

  void build(Device& device, const Capabilities& capabilities) override {
    const SelectionParameters parameters{.work_group = static_cast<unsigned>(work_group_),
                                         .block = factor_ * work_group_};
    module_ = kernels::build(device, capabilities, kernels::embedded::selection_cl,
                             parameters.defines(problem_));
    place_ = module_->kernel(blocks_ ? "selection_blocks" : "selection_global");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    copy_.start(queue, o);
    const auto b = copy_.pass(0, o);
    for (std::uint64_t first = 0; first < problem_.count; first += per_launch_) {
      const std::uint64_t end = std::min(first + per_launch_, problem_.count);
      const Arg args[] = {{"keys_in", b.keys_in},
                          {"keys_out", b.keys_out},
                          {"values_in", b.values_in},
                          {"values_out", b.values_out},
                          {"n", problem_.count},
                          {"first", first},
                          {"end", end}};
      queue.launch({*place_, ceil_div(end - first, work_group_), static_cast<unsigned>(work_group_),
                    args, "place"});
      queue.flush();
    }
  }

 private:
  Problem problem_;
  bool blocks_;
  ScratchLayout layout_;
  PingPong copy_;  // of the input, if the sort is in place
  std::uint64_t work_group_ = 0,
                factor_ = 0;  // work-items of a work-group; ranks that each of them loads at a time
  std::uint64_t per_launch_ = 0;  // records of a launch
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> place_;
};

class Selection final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "selection",
        .title = "every record counts the records before it in global memory, and is written once",
        .source = document,
        .stable = true,
        .comparison = true,
        .quadratic = true,
        .cost =
            "N² comparisons; every work-item reads all keys; the records are written once; 1 "
            "launch, more for "
            "inputs that would keep the device for seconds",
        .parameters = {}};
    return info;
  }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SelectionSorter>(problem, device, given, false);
  }
};

class SelectionBlocks final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "selection-blocks",
        .title = "selection with the keys staged through local memory, block by block",
        .source = document,
        .stable = true,
        .comparison = true,
        .quadratic = true,
        .cost =
            "N² comparisons in local memory; every work-group reads all keys; the records are "
            "written once; 1 "
            "launch, more for inputs that would keep the device for seconds",
        .parameters = {{"block_factor",
                        "keys that a work-item stages at a time",
                        0,
                        0,
                        {"1", "2", "4", "8", "16", "32"}},
                       {"work_group", "work-items of a work-group", 1, 1024, {}}}};
    return info;
  }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SelectionSorter>(problem, device, given, true);
  }
};

}  // namespace

const Algorithm& catalog::selection() {
  static const Selection algorithm;
  return algorithm;
}
const Algorithm& catalog::selection_blocks() {
  static const SelectionBlocks algorithm;
  return algorithm;
}

}  // namespace sortium
