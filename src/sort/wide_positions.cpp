#include "wide_positions.hpp"

#include "../kernels/kernels.hpp"
#include "element_loops.hpp"
#include "embedded.hpp"

namespace sortium {

namespace {

constexpr unsigned narrow_bytes = 4;

Problem with_narrow_positions(Problem problem) {
  problem.value_bytes = narrow_bytes;
  return problem;
}

class WideningSorter final : public Sorter {
 public:
  WideningSorter(const Problem& problem, std::unique_ptr<Sorter> narrow)
      : problem_(problem), narrow_(std::move(narrow)) {
    positions_ = layout_.add(records_out(problem) * narrow_bytes);
    inner_ = layout_.add(narrow_->scratch_bytes());
  }

  std::uint64_t scratch_bytes() const override { return layout_.bytes(); }
  std::string parameters() const override { return narrow_->parameters(); }
  std::uint64_t run() const override { return narrow_->run(); }
  std::uint64_t bytes_moved() const override {
    const std::uint64_t narrow = narrow_->bytes_moved();
    return narrow == 0 ? 0 : narrow + records_out(problem_) * (narrow_bytes + problem_.value_bytes);
  }
  std::unique_ptr<Sorter> with_stride(const Problem& problem,
                                      const Capabilities& device) const override {
    auto narrow = narrow_->with_stride(with_narrow_positions(problem), device);
    if (narrow == nullptr) return nullptr;
    return std::make_unique<WideningSorter>(problem, std::move(narrow));
  }

  void build(Device& device, const Capabilities& c) override {
    narrow_->build(device, c);
    work_group_ = work_group_size(c);
    const unsigned items = c.kind == DeviceKind::cpu ? 1 : 4;
    work_groups_ = work_groups_for(c, ceil_div(records_out(problem_), items));
    kernels::Defines defines;
    defines.problem({}).set("WG", work_group_).set("ITEMS", items);
    module_ = kernels::build(device, c, {kernels::embedded::widen_cl}, defines);
    kernel_ = module_->kernel("widen_positions");
  }

  void enqueue(Queue& queue, const Operands& operands) override {
    Operands narrow = operands;
    narrow.values_out = positions_.in(operands);
    narrow.scratch = inner_.in(operands);
    narrow_->enqueue(queue, narrow);
    const Arg args[] = {{"narrow", narrow.values_out},
                        {"positions", operands.values_out},
                        {"n", records_out(problem_)}};
    queue.launch({*kernel_, work_groups_, work_group_, args, "widen"});
  }

 private:
  Problem problem_;
  std::unique_ptr<Sorter> narrow_;
  ScratchLayout layout_;
  ScratchLayout::Slice positions_, inner_;
  unsigned work_group_ = 0;
  std::uint64_t work_groups_ = 0;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

bool widens_positions(const Problem& p, const Capabilities& device) {
  // The additional launch costs more than it saves for shorter lists, for segments that one launch
  // sorts, and for few first records. The first records of short segments leave gaps in the output;
  // widening would overwrite them.
  constexpr std::uint64_t least = std::uint64_t{1} << 20, most = std::uint64_t{1} << 32;
  const bool whole_list = p.segments == 0 && p.limit == 0,
             has_gaps = p.segments != 0 && p.limit != 0;
  return device.backend != Backend::host && p.payload == Payload::positions &&
         p.value_bytes > narrow_bytes && p.count <= most && !has_gaps &&
         ((p.count >= least && whole_list) || !device.compiles);
}

Planned plan_wide_positions(const Problem& problem,
                            const std::function<Planned(const Problem&)>& plan_narrow) {
  Planned planned = plan_narrow(with_narrow_positions(problem));
  planned.sorter = std::make_unique<WideningSorter>(problem, std::move(planned.sorter));
  return planned;
}

Planned plan_with_positions(
    const Problem& problem, const Capabilities& device, std::uint64_t max_scratch_bytes,
    const std::function<Planned(const Problem&, std::uint64_t)>& plan_sort) {
  if (!widens_positions(problem, device)) return plan_sort(problem, max_scratch_bytes);
  std::uint64_t of_sort = 0;
  Planned wide = plan_wide_positions(problem, [&](const Problem& narrow) {
    Planned planned = plan_sort(narrow, 0);
    of_sort = planned.sorter->scratch_bytes();
    return planned;
  });
  const std::uint64_t all = wide.sorter->scratch_bytes();
  if (max_scratch_bytes == 0 || all <= max_scratch_bytes) return wide;
  const std::uint64_t of_positions = all - of_sort;
  if (device.compiles || of_positions >= max_scratch_bytes)
    return plan_sort(problem, max_scratch_bytes);
  return plan_wide_positions(problem, [&](const Problem& narrow) {
    return plan_sort(narrow, max_scratch_bytes - of_positions);
  });
}

}  // namespace sortium
