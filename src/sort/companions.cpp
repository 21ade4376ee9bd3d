#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <sortium/search.hpp>

#include "../algorithms/scan.hpp"
#include "../algorithms/select.hpp"
#include "../kernels/kernels.hpp"
#include "companions_host.hpp"
#include "embedded.hpp"
#include "host.hpp"
#include "host_arrays.hpp"
#include "out_of_memory.hpp"
#include "records.hpp"
#include "validate.hpp"

namespace sortium {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

const Problem& checked(const Problem& p) {
  validate_problem(p);
  if (p.segments != 0 || p.limit != 0)
    refuse(fmt::format("the problem has segments ({}) or a limit ({}), which only sorts may have",
                       p.segments, p.limit));
  return p;
}

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
  Impl(std::shared_ptr<Device> on, const Problem& p)
      : device(std::move(on)), problem(checked(p)), found(capabilities(*device)) {
    const bool gpu = found.kind != DeviceKind::cpu;
    const auto largest = std::bit_floor(std::min(found.max_work_group, 256u));
    const unsigned least = found.sub_group_words == SubGroupWords::emulated
                               ? 1
                               : std::min(found.sub_group_size, largest);
    work_group = gpu ? largest : least;
    items = gpu ? 8 : std::max(1024 / work_group, 1u);
    while (items > 1 && tile() * (info(p.key).bytes + 4) + 1024 > found.local_memory) items /= 2;
    const std::uint64_t tiles = ceil_div(problem.count, tile());
    part = ceil_div(tiles,
                    std::clamp<std::uint64_t>((gpu ? 8 : 4) * std::uint64_t{found.compute_units}, 1,
                                              std::max<std::uint64_t>(tiles, 1))) *
           tile();
    groups = ceil_div(problem.count, std::max<std::uint64_t>(part, 1));
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
  std::uint64_t part = 0, groups = 0;  // records of a work-group's part; number of work-groups
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
    firsts = scratch.add(groups * 8);
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
      : Impl(std::move(on), without_elements(p)), length_bytes(bytes) {
    problem = p;
    if (length_bytes != 0 && length_bytes != 4 && length_bytes != 8)
      refuse(fmt::format("length_bytes is {}; 0, 4 and 8 are allowed", length_bytes));
    if (length_bytes == 4 && p.count > 0xffffffffu)
      refuse(fmt::format("count is {}; 4-byte lengths reach 2^32 - 1 records (use 8)", p.count));
    if (host()) return;
    const unsigned index = kernels::index_bytes(p.count);
    counts = scratch.add((groups + 1) * index);
    if (length_bytes != 0 || has_elements(p)) starts = scratch.add(p.count * index);
    scan = Scan(groups + 1, 1, p.count, found, scratch);
    scan.build(*device, found);
    build(without_elements(p), length_bytes == 8 ? 8 : 4);
    if (has_elements(p))
      mover.emplace(*device, PermuteProblem{Direction::gather, p.count, p.value_bytes, index},
                    Places{Places::Kind::counted});
    tally = module->kernel("unique_tally");
    gather = module->kernel("unique_gather");
    lengths = module->kernel("unique_lengths");
  }
  unsigned length_bytes;
  ScratchLayout::Slice counts, starts;
  Scan scan;
  std::unique_ptr<Kernel> tally, gather, lengths;
  std::optional<Mover> mover;  // moves values of other sizes
};

struct MergeImpl : Impl {
  MergeImpl(std::shared_ptr<Device> on, const Problem& p, std::uint64_t first)
      : Impl(std::move(on), p), a_count(first) {
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

Problem with_places(Problem p) {
  if (p.value_bytes == 4 && p.count > 0xffffffffu)
    refuse(fmt::format("count is {}; 4-byte places reach 2^32 - 1 records (use value_bytes 8)",
                       p.count));
  p.payload = Payload::positions;
  return p;
}

void check_search(std::uint64_t needles, Bound bound) {
  validate_enumeration(bound, Bound::upper, "bound");
  if (needles > std::uint64_t{1} << 40)
    refuse(fmt::format("needles is {}; up to 2^40 is allowed", needles));
}

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

void check_nth(const Problem& p, std::uint64_t n) {
  if (n >= p.count) refuse(fmt::format("n is {}; it is less than the count, {}", n, p.count));
}

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
std::uint64_t groups_for(const Impl& impl, std::uint64_t count) {
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
  queue.launch({*m.parts, m.groups, m.work_group, parts, "is_sorted"});
  const Arg whole[] = {
      {"firsts", firsts}, {"result", o.result}, {"parts", m.groups}, {"n", p.count}};
  queue.launch({*m.whole, 1, m.work_group, whole, "is_sorted"});
}

UniquePlan::UniquePlan(std::shared_ptr<Device> device, const Problem& problem,
                       unsigned length_bytes)
    : OperationPlan(make<UniqueImpl>("UniquePlan", std::move(device), problem, length_bytes)) {}

namespace {

// Counts the runs of each part, scans the counts, then writes each run's first record.
void enqueue_unique(const UniqueImpl& m, Queue& queue, const UniquePlan::Operands& o) {
  const auto& p = m.problem;
  const auto scratch = m.scratch_of(o.scratch);
  const Memory counts = m.counts.in(scratch),
               starts = m.starts.bytes != 0 ? m.starts.in(scratch) : Memory{};
  const bool moves = !m.mover;  // the kernel moves the values with the keys
  const Arg tally[] = {{"keys", o.keys_in}, {"counts", counts}, {"n", p.count}, {"part", m.part}};
  queue.launch({*m.tally, m.groups, m.work_group, tally, "tally"});
  m.scan.enqueue(queue, scratch, counts);
  const Arg gather[] = {{"keys_in", o.keys_in},
                        {"keys_out", o.keys_out},
                        {"values_in", moves ? o.values_in : Memory{}},
                        {"values_out", moves ? o.values_out : Memory{}},
                        {"starts", starts},
                        {"counts", counts},
                        {"runs", o.runs},
                        {"n", p.count},
                        {"part", m.part}};
  queue.launch({*m.gather, m.groups, m.work_group, gather, "compact"});
  if (m.mover) m.mover->enqueue(queue, o.values_in, starts, o.values_out, o.runs);
  if (m.length_bytes == 0) return;
  const Arg lengths[] = {
      {"starts", starts}, {"lengths", o.lengths}, {"runs", o.runs}, {"n", p.count}};
  queue.launch({*m.lengths, groups_for(m, p.count), m.work_group, lengths, "lengths"});
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
  queue.launch({*m.places, groups_for(m, m.needles), m.work_group, args, "search"});
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

// ---------------------------------------------------------------------------------------------
// Host memory
// ---------------------------------------------------------------------------------------------

namespace {

// One call on host memory: the device, its queue, and the caller's arrays on the device.
class HostCall {
 public:
  explicit HostCall(const std::string& name)
      : device(backend::device_near(name)), queue(device->make_queue()), arrays_(*device) {}

  // Returns device memory for a caller's array that the device reads.
  Memory in(const void* from, std::uint64_t bytes, unsigned element_bytes) {
    return arrays_.add(from, nullptr, bytes, arrays_.can_adopt(from, element_bytes));
  }
  // Returns device memory for a caller's array that the device writes. If that array is also the
  // input `in`, returns other memory, which run() copies to the array.
  Memory out(void* to, std::uint64_t bytes, unsigned element_bytes, const void* in = nullptr) {
    const bool adopts = to != in && arrays_.can_adopt(to, element_bytes);
    return arrays_.add(nullptr, to, bytes, adopts);
  }
  Memory scratch(std::uint64_t bytes) { return arrays_.scratch(bytes); }

  // Copies the inputs to the device, runs `work`, and copies the outputs back.
  template <class Work>
  void run(const Work& work) {
    start(work);
    arrays_.read(*queue);
  }
  // The same without copying the outputs back.
  template <class Work>
  void start(const Work& work) {
    arrays_.write(*queue);
    arrays_.run(*queue, work);
  }
  std::uint64_t number(const Memory& from) {
    std::uint64_t n = 0;
    queue->read(&n, from, 8);
    return n;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Queue> queue;

 private:
  HostArrays arrays_;
};

// The bytes of the keys, and of the values (0 without a payload), of `records` records.
std::uint64_t key_bytes(const Problem& p, std::uint64_t records) {
  return records * info(p.key).bytes;
}
std::uint64_t value_bytes(const Problem& p, std::uint64_t records) {
  return p.payload == Payload::none ? 0 : records * p.value_bytes;
}

// True if the calling thread should do the work itself, as cpu:0 would: there are few records (of a
// search, needles), the arrays are aligned, and no other device is named. A plan, a queue and
// buffers would take longer than the work.
bool suits_calling_thread(std::uint64_t records, const std::string& device,
                          std::initializer_list<std::pair<const void*, unsigned>> arrays) {
#ifdef SORTIUM_WITH_HOST
  constexpr std::uint64_t few_records = 1u << 14;
  return records <= few_records && (device == "cpu:0" || !backend::names_device(device)) &&
         std::ranges::all_of(arrays, [](const auto& array) {
           return reinterpret_cast<std::uintptr_t>(array.first) % unit_of(array.second) == 0;
         });
#else
  (void)records, (void)device, (void)arrays;
  return false;
#endif
}

// Makes an operand of a caller's array. The address of an empty array is ignored.
Operand host_operand(const char* name, const void* array, std::uint64_t bytes, bool written,
                     const char* in_place_of = nullptr) {
  return {name, host_memory(bytes == 0 ? nullptr : array), bytes, 1, written, -1, in_place_of};
}

// Throws Error(invalid_argument) naming the operand that is null or overlaps another one. Outputs
// may be the inputs.
void validate_in_place_operands(const Problem& p, const HostOperands& h, void* lengths,
                                std::uint64_t length_bytes) {
  const Operand all[] = {
      host_operand("keys_in", h.keys_in, key_bytes(p, p.count), false),
      host_operand("keys_out", h.keys_out, p.keys_out ? key_bytes(p, p.count) : 0, true, "keys_in"),
      host_operand("values_in", h.values_in,
                   p.payload == Payload::values ? value_bytes(p, p.count) : 0, false),
      host_operand("values_out", h.values_out, value_bytes(p, p.count), true, "values_in"),
      host_operand("lengths", lengths, p.count * length_bytes, true)};
  validate_operands(all, Space::host);
}

}  // namespace

void detail::check_k(std::uint64_t k, std::uint64_t count) {
  if (k == 0 || k > count)
    refuse(fmt::format("k is {}; 1 to {}, the number of records, is allowed", k, count));
}

std::uint64_t first_unsorted_host(const Problem& p, const void* keys,
                                  const std::string& device) try {
  HostCall call(device);
  const IsSortedPlan plan(call.device, p);
  const Operand all[] = {host_operand("keys", keys, key_bytes(p, p.count), false)};
  validate_operands(all, Space::host);
  const IsSortedPlan::Operands o{call.in(keys, key_bytes(p, p.count), info(p.key).bytes),
                                 call.out(nullptr, 8, 8), call.scratch(plan.scratch_bytes())};
  call.start([&] { plan.run(*call.queue, o); });
  return call.number(o.result);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("first_unsorted_host", operand_bytes(p));
}

std::uint64_t unique_host(const Problem& p, const HostOperands& h, void* lengths,
                          unsigned length_bytes, const std::string& device) try {
  HostCall call(device);
  if (lengths == nullptr) length_bytes = 0;
  const UniquePlan plan(call.device, p, length_bytes);
  validate_in_place_operands(p, h, lengths, length_bytes);
  UniquePlan::Operands o;
  o.keys_in = call.in(h.keys_in, key_bytes(p, p.count), info(p.key).bytes);
  if (p.payload == Payload::values)
    o.values_in = call.in(h.values_in, value_bytes(p, p.count), p.value_bytes);
  if (p.keys_out) o.keys_out = call.scratch(key_bytes(p, p.count));
  o.values_out = call.scratch(value_bytes(p, p.count));
  o.lengths = call.scratch(p.count * length_bytes);
  o.runs = call.scratch(8);
  o.scratch = call.scratch(plan.scratch_bytes());
  call.start([&] { plan.run(*call.queue, o); });

  const std::uint64_t runs = call.number(o.runs);
  const auto read = [&](void* to, const Memory& from, std::uint64_t bytes) {
    if (bytes != 0) call.queue->read(to, from, bytes);
  };
  if (p.keys_out) read(h.keys_out, o.keys_out, key_bytes(p, runs));
  read(h.values_out, o.values_out, value_bytes(p, runs));
  read(lengths, o.lengths, runs * length_bytes);
  return runs;
} catch (const std::bad_alloc&) {
  throw_out_of_memory("unique_host", operand_bytes(p));
}

void merge_host(const Problem& p, std::uint64_t a_count, const HostMergeOperands& h,
                const std::string& device) try {
  HostCall call(device);
  const MergePlan plan(call.device, p, a_count);
  const std::uint64_t b_count = p.count - a_count;
  const unsigned key = info(p.key).bytes;
  const Operand all[] = {host_operand("a_keys", h.a_keys, key_bytes(p, a_count), false),
                         host_operand("b_keys", h.b_keys, key_bytes(p, b_count), false),
                         host_operand("keys_out", h.keys_out, key_bytes(p, p.count), true),
                         host_operand("a_values", h.a_values, value_bytes(p, a_count), false),
                         host_operand("b_values", h.b_values, value_bytes(p, b_count), false),
                         host_operand("values_out", h.values_out, value_bytes(p, p.count), true)};
  validate_operands(all, Space::host);
  MergePlan::Operands o;
  o.a_keys = call.in(h.a_keys, key_bytes(p, a_count), key);
  o.b_keys = call.in(h.b_keys, key_bytes(p, b_count), key);
  o.keys_out = call.out(h.keys_out, key_bytes(p, p.count), key);
  o.a_values = call.in(h.a_values, value_bytes(p, a_count), p.value_bytes);
  o.b_values = call.in(h.b_values, value_bytes(p, b_count), p.value_bytes);
  o.values_out = call.out(h.values_out, value_bytes(p, p.count), p.value_bytes);
  o.scratch = call.scratch(plan.scratch_bytes());
  call.run([&] { plan.run(*call.queue, o); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("merge_host", operand_bytes(p));
}

void search_host(const Problem& p, const void* keys, const void* needles,
                 std::uint64_t needle_count, void* places, Bound bound,
                 const std::string& device) try {
  checked(with_places(p));
  check_search(needle_count, bound);
  const std::uint64_t place_bytes = needle_count * p.value_bytes;
  const Operand all[] = {host_operand("keys", keys, key_bytes(p, p.count), false),
                         host_operand("needles", needles, key_bytes(p, needle_count), false),
                         host_operand("places", places, place_bytes, true)};
#ifdef SORTIUM_WITH_HOST
  const unsigned key = info(p.key).bytes;
  if (suits_calling_thread(needle_count, device,
                           {{keys, key}, {needles, key}, {places, p.value_bytes}})) {
    validate_operands(all, Space::host);
    return on_host::search(p, needle_count, bound,
                           {host_memory(keys), host_memory(needles), host_memory(places)});
  }
#endif
  HostCall call(device);
  const SearchPlan plan(call.device, p, needle_count, bound);
  validate_operands(all, Space::host);
  const SearchPlan::Operands o{call.in(keys, key_bytes(p, p.count), info(p.key).bytes),
                               call.in(needles, key_bytes(p, needle_count), info(p.key).bytes),
                               call.out(places, place_bytes, p.value_bytes)};
  call.run([&] { plan.run(*call.queue, o); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("search_host", (p.count + needle_count) * info(p.key).bytes);
}

void nth_element_host(const Problem& p, std::uint64_t n, const HostOperands& h,
                      const std::string& device) try {
  check_nth(checked(p), n);
#ifdef SORTIUM_WITH_HOST
  const unsigned key = info(p.key).bytes, value = std::max(p.value_bytes, 1u);
  const bool in_place =
      h.keys_out == h.keys_in || (h.values_in != nullptr && h.values_out == h.values_in);
  if (!in_place &&
      suits_calling_thread(
          p.count, device,
          {{h.keys_in, key}, {h.keys_out, key}, {h.values_in, value}, {h.values_out, value}})) {
    validate_in_place_operands(p, h, nullptr, 0);
    const bool has_values = p.payload != Payload::none;
    const Operands o{host_memory(h.keys_in),
                     host_memory(p.keys_out ? h.keys_out : nullptr),
                     host_memory(p.payload == Payload::values ? h.values_in : nullptr),
                     host_memory(has_values ? h.values_out : nullptr),
                     {},
                     {}};
    return select_on_host(p, o, 1, n + 1, p.count);
  }
#endif
  HostCall call(device);
  const NthElementPlan plan(call.device, p, n);
  validate_in_place_operands(p, h, nullptr, 0);
  Operands o;
  o.keys_in = call.in(h.keys_in, key_bytes(p, p.count), info(p.key).bytes);
  if (p.payload == Payload::values)
    o.values_in = call.in(h.values_in, value_bytes(p, p.count), p.value_bytes);
  if (p.keys_out)
    o.keys_out = call.out(h.keys_out, key_bytes(p, p.count), info(p.key).bytes, h.keys_in);
  o.values_out = call.out(h.values_out, value_bytes(p, p.count), p.value_bytes, h.values_in);
  o.scratch = call.scratch(plan.scratch_bytes());
  call.run([&] { plan.run(*call.queue, o); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("nth_element_host", operand_bytes(p));
}

}  // namespace sortium
