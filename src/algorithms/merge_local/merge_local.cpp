// Merge sort of blocks in local memory: E. Bainville, "OpenCL Sorting" (2011), "Parallel merge,
// local".
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

namespace sortium {
namespace {

// What merge_local.cl is specialised for.
struct MergeLocalParameters {
  unsigned work_group;  // work-items of a work-group, a power of two

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines().problem(problem).set("WG", work_group);
  }
};

class MergeLocalSorter final : public Sorter {
 public:
  MergeLocalSorter(const Problem& problem, const Capabilities& device, const Parameters& given)
      : problem_(problem) {
    const std::uint64_t record =
        info(problem.key).bytes + (problem.payload == Payload::none ? 0 : problem.value_bytes);
    const std::uint64_t most = std::bit_floor(std::min<std::uint64_t>(
        {device.max_work_group, device.local_memory / record, std::uint64_t{1024}}));
    const std::uint64_t chosen = given.number(
        "work_group", std::min<std::uint64_t>(most, device.kind == DeviceKind::cpu ? 64 : 256));
    if (!std::has_single_bit(chosen) || chosen > most)
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "merge-local: work_group={} is not a power of two up to {}, which is what the device "
              "allows for records of {} bytes (work-groups of {}, {} bytes of local memory)",
              chosen, most, record, device.max_work_group, device.local_memory));
    work_group_ = static_cast<unsigned>(chosen);
  }

  std::uint64_t scratch_bytes() const override { return 0; }
  std::string parameters() const override { return fmt::format("work_group={}", work_group_); }
  std::uint64_t run() const override { return work_group_; }
  std::uint64_t bytes_moved() const override { return bytes_of_passes(problem_, 1, 1); }

  void build(Device& device, const Capabilities& capabilities) override {
    module_ = kernels::build(device, capabilities, kernels::embedded::merge_local_cl,
                             MergeLocalParameters{work_group_}.defines(problem_));
    kernel_ = module_->kernel("merge_local");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    const Arg args[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", o.values_in},
                        {"values_out", o.values_out},
                        {"n", problem_.count}};
    queue.launch({*kernel_, (problem_.count + work_group_ - 1) / work_group_, work_group_, args,
                  "merge blocks"});
  }

 private:
  Problem problem_;
  unsigned work_group_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

class MergeLocal final : public Algorithm {
 public:
  const AlgorithmInfo& info() const override {
    static const AlgorithmInfo info{
        .name = "merge-local",
        .title = "merge sort of blocks of work_group records in local memory: leaves sorted runs",
        .source = "E. Bainville, OpenCL Sorting, 2011: Parallel merge, local (document 000)",
        .stable = true,
        .partial = true,
        .comparison = true,
        .cost =
            "1 pass, 1 launch: reads and writes every record once; log2(work_group) merges in "
            "local memory",
        .parameters = {{"work_group",
                        "work-items of a work-group, and records of a sorted run; a power of two",
                        1,
                        1024,
                        {},
                        true}}};
    return info;
  }

  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters& given) const override {
    return std::make_unique<MergeLocalSorter>(problem, device, given);
  }
};

}  // namespace

const Algorithm& catalog::merge_local() {
  static const MergeLocal algorithm;
  return algorithm;
}

}  // namespace sortium
