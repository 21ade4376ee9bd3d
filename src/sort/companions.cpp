#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <sortium/search.hpp>

#include "../algorithms/select.hpp"
#include "../kernels/kernels.hpp"
#include "companion_checks.hpp"
#include "companions_host.hpp"
#include "embedded.hpp"
#include "out_of_memory.hpp"
#include "records.hpp"
#include "validate.hpp"

namespace sortium {

using namespace companions;

namespace {

// The parameters of companions.cl.
struct CompanionParameters {
  unsigned work_group;   // work-items of a work-group, a power of two
  unsigned items;        // neighbouring records of a work-item in a tile
  unsigned count_bytes;  // bytes of a run's length: 4 or 8

  [[nodiscard]] kernels::Defines defines(const Problem& problem) const {
    return kernels::Defines()
        .problem(problem)
        .set("WG", work_group)
        .set("ITEMS", items)
        .set("COUNT_BYTES", count_bytes);
  }
};

}  // namespace

struct OperationPlan::Impl {
  // gpu_items: the `items` of a GPU.
  Impl(std::shared_ptr<Device> on, const Problem& p, unsigned gpu_items = 8)
      : device(std::move(on)), problem(checked(p)), found(capabilities(*device)) {
    const bool gpu = found.kind != DeviceKind::cpu;
    const auto largest = std::bit_floor(std::min(found.max_work_group, 256u));
    const bool has_sub_groups = largest >= found.sub_group_size;
    const unsigned least = has_sub_groups && found.sub_group_words != SubGroupWords::emulated
                               ? found.sub_group_size
                               : 1;
    work_group = gpu && has_sub_groups ? largest : least;
    items = gpu ? gpu_items : std::max(1024 / work_group, 1u);
    while (items > 1 && tile() * (info(p.key).bytes + 4) + 1024 > found.local_memory) items /= 2;
    const std::uint64_t tiles = ceil_div(problem.count, tile());
    part = ceil_div(tiles,
                    std::clamp<std::uint64_t>((gpu ? 8 : 4) * std::uint64_t{found.compute_units}, 1,
                                              std::max<std::uint64_t>(tiles, 1))) *
           tile();
    work_groups = ceil_div(problem.count, std::max<std::uint64_t>(part, 1));
  }
  virtual ~Impl() = default;

  [[nodiscard]] std::uint64_t tile() const { return std::uint64_t{work_group} * items; }
  [[nodiscard]] bool host() const { return found.backend == Backend::host; }
  void build(const Problem& p, unsigned length_bytes = 4) {
    const CompanionParameters parameters{
        .work_group = work_group, .items = items, .count_bytes = length_bytes};
    module =
        kernels::build(*device, found, kernels::embedded::companions_cl, parameters.defines(p));
  }
  void check_run(const Queue& queue, std::span<const Operand> operands) const {
    validate_queue(queue, *device);
    validate_operands(operands, space_of(found.backend));
  }
  [[nodiscard]] Operands scratch_of(const Memory& memory) const {
    Operands o;
    o.scratch = memory;
    return o;
  }

  std::shared_ptr<Device> device;
  Problem problem;
  const Capabilities& found;
  unsigned work_group, items;
  std::uint64_t part = 0, work_groups = 0;  // part: records of a work-group
  ScratchLayout scratch;
  std::shared_ptr<Module> module;
};

namespace {

// Makes the implementation of the plan `name`.
template <class Impl, class... Arguments>
std::unique_ptr<Impl> make(std::string_view name, std::shared_ptr<Device> device,
                           const Problem& problem, const Arguments&... arguments) try {
  return std::make_unique<Impl>(std::move(device), problem, arguments...);
} catch (const std::bad_alloc&) {
  throw_out_of_memory(name, operand_bytes(problem));
}

}  // namespace

OperationPlan::OperationPlan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OperationPlan::OperationPlan(OperationPlan&&) noexcept = default;
OperationPlan& OperationPlan::operator=(OperationPlan&&) noexcept = default;
OperationPlan::~OperationPlan() = default;
std::uint64_t OperationPlan::scratch_bytes() const { return impl_->scratch.bytes(); }
const Problem& OperationPlan::problem() const { return impl_->problem; }

namespace {

using Impl = OperationPlan::Impl;

struct IsSortedImpl : Impl {
  IsSortedImpl(std::shared_ptr<Device> on, const Problem& p) : Impl(std::move(on), p) {
    if (host()) return;
    firsts = scratch.add(work_groups * 8);
    build(problem);
    parts = module->kernel("sorted_parts");
    whole = module->kernel("sorted_whole");
  }
  ScratchLayout::Slice firsts;
  std::unique_ptr<Kernel> parts, whole;
};

// True if the kernels cannot move values of this size. Such values are gathered afterwards.
bool has_elements(const Problem& p) {
  return p.payload == Payload::values && p.value_bytes != 4 && p.value_bytes != 8;
}
Problem without_elements(Problem p) {
  if (!has_elements(p)) return p;
  validate_value_bytes(p.value_bytes);
  p.payload = Payload::none;
  return p;
}

struct UniqueImpl : Impl {
  UniqueImpl(std::shared_ptr<Device> on, const Problem& p, unsigned bytes)
      : Impl(std::move(on), without_elements(p), info(p.key).bytes == 8 ? 8 : 16),
        length_bytes(bytes) {
    problem = p;
    if (length_bytes != 0 && length_bytes != 4 && length_bytes != 8)
      refuse(fmt::format("length_bytes is {}; 0, 4 and 8 are allowed", length_bytes));
    if (length_bytes == 4 && p.count > 0xffffffffu)
      refuse(fmt::format("count is {}; 4-byte lengths reach 2^32 - 1 records (use 8)", p.count));
    if (host()) return;
    const unsigned index = kernels::index_bytes(p.count);
    counts = scratch.add(work_groups * index);
    if (length_bytes != 0 || has_elements(p)) starts = scratch.add(p.count * index);
    build(without_elements(p), length_bytes == 8 ? 8 : 4);
    if (has_elements(p))
      mover.emplace(*device, PermuteProblem{Direction::gather, p.count, p.value_bytes, index},
                    MovedElements{MovedElements::Kind::counted});
    tally = module->kernel("unique_tally");
    gather = module->kernel("unique_gather");
    lengths = module->kernel("unique_lengths");
  }
  unsigned length_bytes;
  ScratchLayout::Slice counts, starts;
  std::unique_ptr<Kernel> tally, gather, lengths;
  std::optional<Mover> mover;  // moves values of other sizes
};

struct MergeImpl : Impl {
  MergeImpl(std::shared_ptr<Device> on, const Problem& p, std::uint64_t first)
      // An odd number, so that neighbouring work-items use different banks of local memory.
      : Impl(std::move(on), p,
             info(p.key).bytes == 8       ? 9
             : p.payload == Payload::none ? 23
                                          : 15),
        a_count(first) {
    if (a_count > p.count)
      refuse(fmt::format("a_count is {}; it is at most the count of both, {}", a_count, p.count));
    if (p.payload == Payload::positions)
      refuse("payload is positions; a merge moves values or none");
    if (host()) return;
    tiles = ceil_div(p.count, tile());
    at_cuts = scratch.add((tiles + 1) * 8);
    build(problem);
    cuts = module->kernel("merge_cuts");
    two = module->kernel("merge_two");
  }
  std::uint64_t a_count, tiles = 0;
  ScratchLayout::Slice at_cuts;
  std::unique_ptr<Kernel> cuts, two;
};

struct SearchImpl : Impl {
  SearchImpl(std::shared_ptr<Device> on, const Problem& p, std::uint64_t count, Bound which)
      : Impl(std::move(on), with_places(p)), needles(count), bound(which) {
    check_search(needles, bound);
    if (host()) return;
    build(problem);
    places = module->kernel("search_places");
  }
  std::uint64_t needles;
  Bound bound;
  std::unique_ptr<Kernel> places;
};

struct NthElementImpl : Impl {
  NthElementImpl(std::shared_ptr<Device> on, const Problem& p, std::uint64_t place)
      : Impl(std::move(on), p), n(place) {
    check_nth(p, n);
    if (host()) return;
    select = RadixSelect(problem, found, {}, scratch);
    select.build(*device, found);
  }
  std::uint64_t n;
  RadixSelect select;
};

template <class T>
const T& as(const std::unique_ptr<Impl>& impl) {
  return static_cast<const T&>(*impl);
}

// Enough work-groups for `count` work-items, up to 64 for each compute unit; then work-items loop.
std::uint64_t work_groups_for(const Impl& impl, std::uint64_t count) {
  return std::min(ceil_div(count, impl.work_group), std::uint64_t{64} * impl.found.compute_units);
}

}  // namespace

IsSortedPlan::IsSortedPlan(std::shared_ptr<Device> device, const Problem& problem)
    : OperationPlan(make<IsSortedImpl>("IsSortedPlan", std::move(device), problem)) {}

void IsSortedPlan::run(Queue& queue, const Operands& o) const {
  const auto& m = as<IsSortedImpl>(impl_);
  const auto& p = m.problem;
  const unsigned key = info(p.key).bytes;
  const Operand all[] = {{"keys", o.keys, p.count * key, key, false},
                         {"result", o.result, 8, 8},
                         {"scratch", o.scratch, m.scratch.bytes(), 16}};
  m.check_run(queue, all);
  if (p.count == 0) return queue.fill(o.result, 0, 8);
#ifdef SORTIUM_WITH_HOST
  if (m.host()) {
    const std::uint64_t first = on_host::first_unsorted(p, o.keys);
    return queue.write(o.result, &first, 8);
  }
#endif
  const Memory firsts = m.firsts.in(m.scratch_of(o.scratch));
  const Arg parts[] = {{"keys", o.keys}, {"firsts", firsts}, {"n", p.count}, {"part", m.part}};
  queue.launch({*m.parts, m.work_groups, m.work_group, parts, "is_sorted"});
  const Arg whole[] = {
      {"firsts", firsts}, {"result", o.result}, {"parts", m.work_groups}, {"n", p.count}};
  queue.launch({*m.whole, 1, m.work_group, whole, "is_sorted"});
}

UniquePlan::UniquePlan(std::shared_ptr<Device> device, const Problem& problem,
                       unsigned length_bytes)
    : OperationPlan(make<UniqueImpl>("UniquePlan", std::move(device), problem, length_bytes)) {}

namespace {

// The first launch counts the runs that begin in each part. The second one writes the first record
// of each run.
void enqueue_unique(const UniqueImpl& m, Queue& queue, const UniquePlan::Operands& o) {
  const auto& p = m.problem;
  const auto scratch = m.scratch_of(o.scratch);
  const Memory counts = m.counts.in(scratch),
               starts = m.starts.bytes != 0 ? m.starts.in(scratch) : Memory{};
  const bool moves = !m.mover;  // the kernel moves the values with the keys
  const Arg tally[] = {{"keys", o.keys_in}, {"counts", counts}, {"n", p.count}, {"part", m.part}};
  queue.launch({*m.tally, m.work_groups, m.work_group, tally, "tally"});
  const Arg gather[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", moves ? o.values_in : Memory{}},
                        {"values_out", moves ? o.values_out : Memory{}},
                        {"starts", starts},
                        {"counts", counts},
                        {"runs", o.runs},
                        {"n", p.count},
                        {"part", m.part}};
  queue.launch({*m.gather, m.work_groups, m.work_group, gather, "compact"});
  if (m.mover) m.mover->enqueue(queue, o.values_in, starts, o.values_out, o.runs);
  if (m.length_bytes == 0) return;
  const Arg lengths[] = {
      {"starts", starts}, {"lengths", o.lengths}, {"runs", o.runs}, {"n", p.count}};
  queue.launch({*m.lengths, work_groups_for(m, p.count), m.work_group, lengths, "lengths"});
}

}  // namespace

void UniquePlan::run(Queue& queue, const Operands& o) const {
  const auto& m = as<UniqueImpl>(impl_);
  const auto& p = m.problem;
  const unsigned key = info(p.key).bytes;
  const bool values = p.payload != Payload::none;
  const unsigned unit = unit_of(p.value_bytes);
  const Operand all[] = {
      {"keys_in", o.keys_in, p.count * key, key, false},
      {"keys_out", o.keys_out, p.keys_out ? p.count * key : 0, key},
      {"values_in", o.values_in, p.payload == Payload::values ? p.count * p.value_bytes : 0, unit,
       false},
      {"values_out", o.values_out, values ? p.count * p.value_bytes : 0, unit},
      {"lengths", o.lengths, p.count * m.length_bytes, std::max(m.length_bytes, 1u)},
      {"runs", o.runs, 8, 8},
      {"scratch", o.scratch, m.scratch.bytes(), 16}};
  m.check_run(queue, all);
  if (p.count == 0) return queue.fill(o.runs, 0, 8);
#ifdef SORTIUM_WITH_HOST
  if (m.host()) {
    const std::uint64_t runs = on_host::unique(p, o, m.length_bytes);
    return queue.write(o.runs, &runs, 8);
  }
#endif
  enqueue_unique(m, queue, o);
}

MergePlan::MergePlan(std::shared_ptr<Device> device, const Problem& problem, std::uint64_t a_count)
    : OperationPlan(make<MergeImpl>("MergePlan", std::move(device), problem, a_count)) {}

void MergePlan::run(Queue& queue, const Operands& o) const {
  const auto& m = as<MergeImpl>(impl_);
  const auto& p = m.problem;
  const unsigned key = info(p.key).bytes, value = p.payload == Payload::none ? 0 : p.value_bytes;
  const std::uint64_t a = m.a_count, b = p.count - a;
  const Operand all[] = {{"a_keys", o.a_keys, a * key, key, false},
                         {"b_keys", o.b_keys, b * key, key, false},
                         {"keys_out", o.keys_out, p.count * key, key},
                         {"a_values", o.a_values, a * value, p.value_bytes, false},
                         {"b_values", o.b_values, b * value, p.value_bytes, false},
                         {"values_out", o.values_out, p.count * value, p.value_bytes},
                         {"scratch", o.scratch, m.scratch.bytes(), 16}};
  m.check_run(queue, all);
  if (p.count == 0) return;
#ifdef SORTIUM_WITH_HOST
  if (m.host()) return queue.call("merge", [&] { on_host::merge(p, a, o); });
#endif
  const Memory cuts = m.at_cuts.in(m.scratch_of(o.scratch));
  const Arg cut[] = {{"a", o.a_keys}, {"b", o.b_keys}, {"cuts", cuts},
                     {"a_count", a},  {"b_count", b},  {"tiles", m.tiles}};
  queue.launch({*m.cuts, ceil_div(m.tiles + 1, m.work_group), m.work_group, cut, "cut"});
  const Arg two[] = {
      {"a", o.a_keys},          {"b", o.b_keys},          {"keys_out", o.keys_out},
      {"a_values", o.a_values}, {"b_values", o.b_values}, {"values_out", o.values_out},
      {"cuts", cuts},           {"a_count", a},           {"b_count", b}};
  queue.launch({*m.two, m.tiles, m.work_group, two, "merge"});
}

SearchPlan::SearchPlan(std::shared_ptr<Device> device, const Problem& problem,
                       std::uint64_t needles, Bound bound)
    : OperationPlan(make<SearchImpl>("SearchPlan", std::move(device), problem, needles, bound)) {}

void SearchPlan::run(Queue& queue, const Operands& o) const {
  const auto& m = as<SearchImpl>(impl_);
  const auto& p = m.problem;
  const unsigned key = info(p.key).bytes;
  const Operand all[] = {{"keys", o.keys, p.count * key, key, false},
                         {"needles", o.needles, m.needles * key, key, false},
                         {"places", o.places, m.needles * p.value_bytes, p.value_bytes}};
  m.check_run(queue, all);
  if (m.needles == 0) return;
#ifdef SORTIUM_WITH_HOST
  if (m.host()) return queue.call("search", [&] { on_host::search(p, m.needles, m.bound, o); });
#endif
  const Arg args[] = {{"keys", o.keys},
                      {"needles", o.needles},
                      {"places", o.places},
                      {"n", p.count},
                      {"needle_count", m.needles},
                      {"upper", std::uint32_t{m.bound == Bound::upper}}};
  queue.launch({*m.places, work_groups_for(m, m.needles), m.work_group, args, "search"});
}

NthElementPlan::NthElementPlan(std::shared_ptr<Device> device, const Problem& problem,
                               std::uint64_t n)
    : OperationPlan(make<NthElementImpl>("NthElementPlan", std::move(device), problem, n)) {}

void NthElementPlan::run(Queue& queue, const Operands& o) const {
  const auto& m = as<NthElementImpl>(impl_);
  const auto& p = m.problem;
  const unsigned key = info(p.key).bytes;
  const std::uint64_t values = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
  const Operand all[] = {
      {"keys_in", o.keys_in, p.count * key, key, false},
      {"keys_out", o.keys_out, p.keys_out ? p.count * key : 0, key},
      {"values_in", o.values_in, p.payload == Payload::values ? values : 0, p.value_bytes, false},
      {"values_out", o.values_out, values, p.value_bytes},
      {"scratch", o.scratch, m.scratch.bytes(), 16},
      {"offsets", o.offsets, 0, 1}};
  m.check_run(queue, all);
#ifdef SORTIUM_WITH_HOST
  if (m.host())
    return queue.call("select",
                      [&] { select_on_host(p, o, m.found.compute_units, m.n + 1, p.count); });
#endif
  m.select.enqueue(queue, o, m.n + 1, p.count);
}

}  // namespace sortium
