// The selection sorts of E. Bainville, "OpenCL Sorting" (2011): every record counts the records before it.
#include <fmt/format.h>

#include <algorithm>

#include "../../kernels/kernels.hpp"
#include "../rooms.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

constexpr auto document = "E. Bainville, OpenCL Sorting, 2011 (document 000)";

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Work-items of a work-group: those asked for, or what suits the device.
unsigned work_group_of(const AlgorithmInfo& room, const Capabilities& device, const Parameters& given) {
  const unsigned largest = std::min(device.max_work_group, 1024u);
  const auto wanted = given.number("work_group", std::min(largest, device.kind == DeviceKind::cpu ? 64u : 256u));
  if (wanted > largest)
    throw Error(ErrorCode::unsupported, fmt::format("{}: work_group={} is too large; the device allows up to {}",
                                                    room.name, wanted, largest));
  return static_cast<unsigned>(wanted);
}

// `selection` and `selection-blocks`: the whole input is counted, so it must not be overwritten meanwhile.
class WholeSorter final : public Sorter {
 public:
  WholeSorter(const AlgorithmInfo& room, const Problem& problem, const Capabilities& device, const Parameters& given,
              bool blocks)
      : problem_(problem), blocks_(blocks), copy_(problem, 1, layout_), work_group_(work_group_of(room, device, given)) {
    if (blocks_) {
      factor_ = std::stoull(given.word("block_factor", device.kind == DeviceKind::cpu ? "32" : "4"));
      const std::uint64_t key = info(problem.key).bytes, most = device.local_memory / key;
      if (factor_ * work_group_ > most)
        throw Error(ErrorCode::unsupported,
                    fmt::format("selection-blocks: block_factor={} with work_group={} needs {} bytes of local memory; "
                                "the device has {}, which allows block_factor × work_group up to {}",
                                factor_, work_group_, factor_ * work_group_ * key, device.local_memory, most));
    }
    // A launch is kept to so many comparisons that it takes about a second at most, unless that would leave most of
    // the device idle: then other work gets its turn, and a watchdog has no reason to bite.
    constexpr std::uint64_t comparisons = std::uint64_t{1} << 31, items = 2048;  // of a compute unit
    per_launch_ = ceil_div(device.compute_units * std::max(comparisons / std::max<std::uint64_t>(problem.count, 1), items),
                           work_group_) * work_group_;
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override {
    return blocks_ ? fmt::format("block_factor={},work_group={}", factor_, work_group_) : "";
  }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(problem_).set("WG", work_group_).set("BLOCK", factor_ * work_group_);
    module_ = kernels::build(device, capabilities, kernels::embedded::selection_cl, defines);
    place_ = module_->kernel(blocks_ ? "selection_blocks" : "selection_global");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    copy_.start(queue, o);
    const auto b = copy_.pass(0, o);
    for (std::uint64_t first = 0; first < problem_.count; first += per_launch_) {
      const std::uint64_t end = std::min(first + per_launch_, problem_.count);
      const Arg args[] = {b.keys_in, b.keys_out, b.values_in, b.values_out, problem_.count, first, end};
      queue.launch({*place_, ceil_div(end - first, work_group_), work_group_, args, "place"});
      queue.flush();
    }
  }

 private:
  Problem problem_;
  bool blocks_;
  ScratchLayout layout_;
  PingPong copy_;  // of the input, where the output is to go over it
  unsigned work_group_;
  std::uint64_t factor_ = 1, per_launch_ = 0;  // ranks staged by a work-item; records placed by a launch
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> place_;
};

// `selection-local`: a work-group has its records in registers before it writes, so in place needs no scratch.
class LocalSorter final : public Sorter {
 public:
  LocalSorter(const AlgorithmInfo& room, const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem), work_group_(work_group_of(room, device, given)) {}

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override { return fmt::format("work_group={}", work_group_); }
  std::uint64_t run() const override { return work_group_; }

  void build(Device& device, const Capabilities& capabilities) override {
    kernels::Defines defines;
    defines.problem(problem_).set("WG", work_group_).set("BLOCK", work_group_);
    module_ = kernels::build(device, capabilities, kernels::embedded::selection_cl, defines);
    sort_ = module_->kernel("selection_local");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Arg args[] = {o.keys_in, o.keys_out, o.values_in, o.values_out, problem_.count};
    queue.launch({*sort_, ceil_div(problem_.count, work_group_), work_group_, args, "sort blocks"});
  }

 private:
  Problem problem_;
  unsigned work_group_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_;
};

Parameter work_group_parameter() { return {"work_group", "work-items of a work-group", 1, 1024, {}}; }

class Selection final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "selection",
        .title = "every record counts the records before it in global memory, and is written once",
        .source = document,
        .comparison = true,
        .quadratic = true,
        .cost = "N² comparisons; every work-item reads all keys; the records are written once; 1 launch, more for "
                "inputs that would keep the device for seconds",
        .parameters = {}};
    return info;
  }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<WholeSorter>(info(), problem, device, given, false);
  }
};

class SelectionBlocks final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "selection-blocks",
        .title = "selection with the keys staged through local memory, block by block",
        .source = document,
        .comparison = true,
        .quadratic = true,
        .cost = "N² comparisons in local memory; every work-group reads all keys; the records are written once; 1 "
                "launch, more for inputs that would keep the device for seconds",
        .parameters = {{"block_factor", "keys that a work-item stages at a time", 0, 0, {"1", "2", "4", "8", "16", "32"}},
                       work_group_parameter()}};
    return info;
  }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<WholeSorter>(info(), problem, device, given, true);
  }
};

class SelectionLocal final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "selection-local",
        .title = "every work-group sorts its own work_group records by selection in local memory",
        .source = document,
        .partial = true,
        .comparison = true,
        .cost = "work_group comparisons a record; the records are read and written once; 1 launch",
        .parameters = {work_group_parameter()}};
    return info;
  }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<LocalSorter>(info(), problem, device, given);
  }
};

}  // namespace

const Algorithm& rooms::selection() {
  static const Selection room;
  return room;
}
const Algorithm& rooms::selection_blocks() {
  static const SelectionBlocks room;
  return room;
}
const Algorithm& rooms::selection_local() {
  static const SelectionLocal room;
  return room;
}

}  // namespace sortium
