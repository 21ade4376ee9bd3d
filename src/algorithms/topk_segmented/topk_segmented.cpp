// Writes the first records of each segment: sorts all segments, and copies the first records of
// each. Rows have other ways on GPUs (topk_rows.hpp). cpu:0 selects among the words of short
// segments instead (group_records.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "../../kernels/kernels.hpp"
#include "../catalog.hpp"
#include "embedded.hpp"
#include "topk_rows.hpp"

#ifdef SORTIUM_WITH_HOST
#include "../../device/host_threads.hpp"
#include "../segmented_host/group_records.hpp"
#include "../segmented_host/host_offsets.hpp"
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
#ifdef SORTIUM_WITH_HOST
    if (on_host_) offsets_ = scratch_.add(segmented::spare_offset_bytes(problem));
#endif
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
#ifdef SORTIUM_WITH_HOST
    if (on_host_ && are_short(o)) return queue.call("select", [&] { select_on_host(o); });
#endif
    Operands whole{.keys_in = o.keys_in,
                   .values_in = o.values_in,
                   .scratch = inner_.in(o),
                   .offsets = o.offsets};
    if (problem_.keys_out) whole.keys_out = keys_.in(o);
    if (problem_.payload != Payload::none) whole.values_out = values_.in(o);
    sort_->enqueue(queue, whole);
    if (on_host_) return queue.call("take", [&] { take_on_host(whole, o); });
    const Arg args[] = {
        {"keys_in", whole.keys_out},     {"values_in", whole.values_out},
        {"keys_out", o.keys_out},        {"values_out", o.values_out},
        {"offsets", o.offsets},          {"length", problem_.count / problem_.segments},
        {"segments", problem_.segments}, {"limit", problem_.limit}};
    const std::uint64_t wanted = ceil_div(problem_.segments * problem_.limit, work_group_);
    queue.launch({*take_, std::min(groups_, wanted), work_group_, args, "take"});
  }

 private:
#ifdef SORTIUM_WITH_HOST
  static constexpr std::uint64_t most_short =
      segmented::GroupRecords<std::uint32_t, std::uint32_t>::most;

  static std::byte* at(const Memory& m, std::uint64_t bytes) {
    return static_cast<std::byte*>(m.handle) + m.offset + bytes;
  }
  template <class T>
  static T* array_at(const Memory& m, std::uint64_t element) {
    return m ? reinterpret_cast<T*>(at(m, element * sizeof(T))) : nullptr;
  }
  template <class Body>
  auto with_offsets(const Operands& o, const Body& body) const {
    return segmented::with_offsets(problem_, o.offsets, offsets_.in(o), body);
  }
  [[nodiscard]] bool are_short(const Operands& o) const {
    return with_offsets(o, [&](const auto* offsets) {
      std::uint64_t longest = 0;
      for (std::uint64_t s = 0; s < problem_.segments; ++s)
        longest = std::max<std::uint64_t>(longest, offsets[s + 1] - offsets[s]);
      return longest <= most_short;
    });
  }

  void select_on_host(const Operands& o) const {
    with_offsets(o, [&](const auto* offsets) {
      constexpr std::uint64_t at_once = 64;
      host::repeatable_for_all(
          tbb::blocked_range<std::uint64_t>(0, problem_.segments, at_once),
          [&](const auto& range) { select_groups(o, offsets, range.begin(), range.end()); });
    });
  }
  template <class Offset>
  void select_groups(const Operands& o, const Offset* offsets, std::uint64_t first,
                     std::uint64_t last) const {
    for (std::uint64_t s = first, end = 0; s < last; s = end) {
      end = s + 1;
      while (end < last && offsets[end + 1] - offsets[s] <= most_short) ++end;
      const std::span group(offsets + s, end - s + 1);
      const bool wide = problem_.payload != Payload::none && problem_.value_bytes == 8;
      const auto with = [&](auto key) {
        if (wide)
          select_group<decltype(key), std::uint64_t>(o, group, s);
        else
          select_group<decltype(key), std::uint32_t>(o, group, s);
      };
      switch (info(problem_.key).bytes) {
        case 1:
          with(std::uint8_t{});
          break;
        case 2:
          with(std::uint16_t{});
          break;
        case 4:
          with(std::uint32_t{});
          break;
        default:
          with(std::uint64_t{});
      }
    }
  }
  template <class Key, class Value, class Offset>
  void select_group(const Operands& o, std::span<const Offset> offsets, std::uint64_t first) const {
    using Group = segmented::GroupRecords<Key, Value>;
    const sample::Ranks ranks(problem_, sample::has_codes(problem_));
    const std::uint64_t begin = offsets.front(), to = first * problem_.limit;
    const typename Group::Arrays arrays{
        array_at<const Key>(o.keys_in, begin),
        problem_.keys_out ? array_at<Key>(o.keys_out, to) : nullptr,
        problem_.payload == Payload::values ? array_at<const Value>(o.values_in, begin) : nullptr,
        problem_.payload != Payload::none ? array_at<Value>(o.values_out, to) : nullptr, begin};
    Group(problem_, ranks).select(arrays, offsets, problem_.limit);
  }
#endif

  void take_on_host(const Operands& from, const Operands& to) const {
#ifdef SORTIUM_WITH_HOST
    const auto copy = [&](const Memory& out, const Memory& in, unsigned bytes, std::uint64_t s,
                          std::uint64_t begin, std::uint64_t count) {
      if (in)
        std::memcpy(at(out, s * problem_.limit * bytes), at(in, begin * bytes), count * bytes);
    };
    with_offsets(to, [&](const auto* offsets) {
      host::repeatable_for_all(
          tbb::blocked_range<std::uint64_t>(0, problem_.segments, 64), [&](const auto& range) {
            for (auto s = range.begin(); s != range.end(); ++s) {
              const std::uint64_t begin = offsets[s];
              const auto count = std::min<std::uint64_t>(problem_.limit, offsets[s + 1] - begin);
              copy(to.keys_out, from.keys_out, info(problem_.key).bytes, s, begin, count);
              copy(to.values_out, from.values_out, problem_.value_bytes, s, begin, count);
            }
          });
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
  ScratchLayout::Slice keys_, values_, inner_, offsets_;
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
              .cost = host ? "segments of up to 2^11 records: selection in a core's cache; else a "
                             "segmented "
                             "sort out of place, and a copy of the first records"
                           : "a segmented sort out of place, and a copy of the first records"} {}
  const AlgorithmInfo& info() const override { return info_; }
  Rank suits(const Problem&, const Capabilities&) const override { return Rank::only_one; }
  std::unique_ptr<Sorter> plan(const Problem& problem, const Capabilities& device,
                               const Parameters&) const override {
    if (auto rows = make_topk_rows(problem, device)) return rows;
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
