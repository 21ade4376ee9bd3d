// Selection inside each work-group: "Parallel selection, local" of E. Bainville, "OpenCL
// Sorting" (2011; document 000).
#include <fmt/format.h>

#include <algorithm>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What selection_local.cl is specialised for.
struct SelectionLocalParameters {
  unsigned work_group;  // work-items of a work-group

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group);
  }
};

class SelectionLocalSorter final : public Sorter {
 public:
  SelectionLocalSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    const unsigned largest = std::min(device.max_work_group, 1024u);
    const unsigned usual = device.kind == DeviceKind::cpu ? 64 : 256;
    work_group_ = static_cast<unsigned>(given.number("work_group", std::min(largest, usual)));
    if (work_group_ > largest)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("selection-local: work_group={} is too large; the device allows up to {}",
                      work_group_, largest));
  }

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override { return fmt::format("work_group={}", work_group_); }
  std::uint64_t run() const override { return work_group_; }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    module_ = kernels::build(device, capabilities, kernels::embedded::selection_local_cl,
                             SelectionLocalParameters{work_group_}.defines(problem_));
    sort_ = module_->kernel("selection_local");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"n", problem_.count}};
    queue.launch({*sort_, (problem_.count + work_group_ - 1) / work_group_, work_group_, args,
                  "block sort"});
  }

 private:
  Problem problem_;
  unsigned work_group_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> sort_;
};

class SelectionLocal final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "selection-local",
        .title = "block sort: every work-group sorts its records by selection in local memory",
        .source = "E. Bainville, OpenCL Sorting, 2011 (document 000), Parallel selection, local",
        .stable = true,
        .partial = true,
        .comparison = true,
        .cost =
            "1 launch; reads and writes the records once; work_group comparisons in local memory "
            "for each record",
        .parameters = {{"work_group",
                        "work-items of a work-group, and records of a sorted run",
                        1,
                        1024,
                        {},
                        true}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<SelectionLocalSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::selection_local() {
  static const SelectionLocal algorithm;
  return algorithm;
}

}  // namespace sortium
