// Writes the first records of each segment: sorts all segments, and copies the first records of
// each.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"

#ifdef SORTIUM_WITH_HOST
#include "../../device/host_threads.hpp"
#endif

namespace sortium {
namespace {

class TopkSegmentedSorter final : public Sorter {
 public:
  TopkSegmentedSorter(const Problem& problem, const Capabilities& device) : problem_(problem) {
    Problem whole = problem;
    whole.limit = 0;
    sort_ = plan_auto(whole, device).sorter;
    on_host_ = device.backend == Backend::host;
    work_group_ = std::min(device.max_work_group, device.kind == DeviceKind::cpu ? 1u : 256u);
    groups_ = std::uint64_t{device.compute_units} * (device.kind == DeviceKind::cpu ? 4 : 16);
    if (problem.keys_out) keys_ = scratch_.add(problem.count * info(problem.key).bytes);
    if (problem.payload != Payload::none)
      values_ = scratch_.add(problem.count * problem.value_bytes);
    inner_ = scratch_.add(sort_->scratch_bytes());
  }

  std::uint64_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string parameters() const override { return sort_->parameters(); }

  void build(Device& device, const Capabilities& capabilities) override {
    sort_->build(device, capabilities);
    if (on_host_) return;
    kernels::Defines defines;
    defines.problem(radix_problem(problem_))
        .set("WG", work_group_)
        .set("OFFSET_BITS", 8 * problem_.offset_bytes);
    module_ = kernels::build(device, capabilities,
                             {kernels::embedded::offsets_cl, kernels::embedded::topk_segmented_cl},
                             defines);
    take_ = module_->kernel("topk_segmented_take");
  }

  void enqueue(Queue& queue, const Operands& o) override {
    Operands whole{.keys_in = o.keys_in,
                   .values_in = o.values_in,
                   .scratch = inner_.in(o),
                   .offsets = o.offsets};
    if (problem_.keys_out) whole.keys_out = keys_.in(o);
    if (problem_.payload != Payload::none) whole.values_out = values_.in(o);
    sort_->enqueue(queue, whole);
    if (on_host_) return queue.call("take", [&] { take_on_host(whole, o); });
    const Arg args[] = {{"keys_in", whole.keys_out}, {"values_in", whole.values_out},
                        {"keys_out", o.keys_out},    {"values_out", o.values_out},
                        {"offsets", o.offsets},      {"segments", problem_.segments},
                        {"limit", problem_.limit}};
    const std::uint64_t wanted = ceil_div(problem_.segments * problem_.limit, work_group_);
    queue.launch({*take_, std::min(groups_, wanted), work_group_, args, "take"});
  }

 private:
  void take_on_host(const Operands& from, const Operands& to) const {
#ifdef SORTIUM_WITH_HOST
    const auto at = [](const Memory& m, std::uint64_t bytes) {
      return static_cast<std::byte*>(m.handle) + m.offset + bytes;
    };
    const auto offset = [&](std::uint64_t s) {
      std::uint64_t value = 0;
      std::memcpy(&value, at(to.offsets, s * problem_.offset_bytes), problem_.offset_bytes);
      return value;
    };
    const auto copy = [&](const Memory& out, const Memory& in, unsigned bytes, std::uint64_t s,
                          std::uint64_t begin, std::uint64_t count) {
      if (in)
        std::memcpy(at(out, s * problem_.limit * bytes), at(in, begin * bytes), count * bytes);
    };
    host::repeatable_for_all(
        tbb::blocked_range<std::uint64_t>(0, problem_.segments, 64), [&](const auto& range) {
          for (auto s = range.begin(); s != range.end(); ++s) {
            const std::uint64_t begin = offset(s),
                                count = std::min(problem_.limit, offset(s + 1) - begin);
            copy(to.keys_out, from.keys_out, info(problem_.key).bytes, s, begin, count);
            copy(to.values_out, from.values_out, problem_.value_bytes, s, begin, count);
          }
        });
#else
    (void)from, (void)to;
#endif
  }

  Problem problem_;
  std::unique_ptr<Sorter> sort_;
  bool on_host_ = false;
  unsigned work_group_ = 0;
  std::uint64_t groups_ = 0;
  ScratchLayout scratch_;
  ScratchLayout::Slice keys_, values_, inner_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> take_;
};

class TopkSegmented final : public Algorithm {
 public:
  explicit TopkSegmented(bool host)
      : info_{.name = host ? "topk-segmented-host" : "topk-segmented",
              .title = host ? "cpu:0: the first records of each segment; sorts whole segments"
                            : "the first records of each segment; sorts whole segments",
              .source = "Hou, Liu, Feng 2017",
              .stable = true,
              .host = host,
              .segments = true,
              .limit = true,
              .cost = "a segmented sort out of place, and a copy of the first records"} {}
  const AlgorithmInfo& info() const override { return info_; }
  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters&) const override {
    return std::make_unique<TopkSegmentedSorter>(problem, device);
  }

 private:
  AlgorithmInfo info_;
};

}  // namespace

const Algorithm& catalog::topk_segmented() {
  static const TopkSegmented algorithm(false);
  return algorithm;
}

const Algorithm& catalog::topk_segmented_host() {
  static const TopkSegmented algorithm(true);
  return algorithm;
}

}  // namespace sortium
