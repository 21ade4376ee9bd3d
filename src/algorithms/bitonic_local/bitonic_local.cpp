// Batcher's bitonic network inside each work-group: "Parallel bitonic, local" of E. Bainville,
// "OpenCL Sorting" (2011; document 000), which document 004 has too.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What bitonic_local.cl is specialised for.
struct BitonicLocalParameters {
  unsigned work_group;  // work-items of a work-group, a power of two

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group);
  }
};

class BitonicLocalSorter final : public Sorter {
 public:
  BitonicLocalSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const std::uint64_t largest = std::bit_floor(
        std::min<std::uint64_t>({device.max_work_group, 1024, device.local_memory / (2 * record)}));
    const std::uint64_t usual = device.kind == DeviceKind::cpu ? 64 : 256;
    work_group_ = static_cast<unsigned>(given.number("work_group", std::min(largest, usual)));
    if (!std::has_single_bit(work_group_) || work_group_ > largest)
      throw Error(ErrorCode::unsupported,
                  fmt::format("bitonic-local: work_group={} is not a power of two from 1 to {}, "
                              "the most that the device "
                              "allows (work-groups of {}, {} bytes of local memory)",
                              work_group_, largest, device.max_work_group, device.local_memory));
  }

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override { return fmt::format("work_group={}", work_group_); }
  std::uint64_t run() const override { return work_group_; }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    module_ = kernels::build(device, capabilities, kernels::embedded::bitonic_local_cl,
                             BitonicLocalParameters{work_group_}.defines(problem_));
    sort_ = module_->kernel("bitonic_local");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"values_in", o.values_in},
                        {"keys_out", o.keys_out},
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

class BitonicLocal final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "bitonic-local",
        .title =
            "block sort: every work-group sorts its records by Batcher's bitonic network in local "
            "memory",
        .source = "E. Bainville, OpenCL Sorting, 2011 (document 000), Parallel bitonic, local",
        .stable = false,
        .partial = true,
        .comparison = true,
        .cost =
            "1 launch; reads and writes the records once; W(W+1)/2 steps in local memory for W = "
            "log2(work_group)",
        .parameters = {{"work_group",
                        "work-items of a work-group, and records of a sorted run: a power of two",
                        1,
                        1024,
                        {},
                        true}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<BitonicLocalSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::bitonic_local() {
  static const BitonicLocal algorithm;
  return algorithm;
}

}  // namespace sortium
