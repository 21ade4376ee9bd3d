// Sorts records in host memory: makes a RecordPlan and its device memory, and copies both ways.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sortium/sortium.hpp>

#include "../core/refuse.hpp"
#include "../distributed/devices.hpp"
#include "costs.hpp"
#include "few.hpp"
#include "host.hpp"
#include "host_arrays.hpp"
#include "out_of_memory.hpp"
#include "ranges.hpp"
#include "records.hpp"
#include "validate.hpp"

namespace sortium {

namespace {

// Returns the array that receives column `c`; nullptr if the column is not moved.
void* output_of(const RecordProblem& problem, const RecordHostOperands& o, std::size_t c) {
  switch (problem.columns[c].moved) {
    case Moved::in_place:
      return const_cast<void*>(o.columns_in[c]);
    case Moved::out:
      return o.columns_out.empty() ? nullptr : o.columns_out[c];
    default:
      return nullptr;
  }
}

void validate_options(const Options& options) {
  if (options.order != Order::ascending || options.begin_bit != 0 || options.end_bit != 0 ||
      options.nan != NanOrder::last || options.zeros != ZeroOrder::tied)
    refuse(
        "options.order, begin_bit, end_bit, nan and zeros are not for records; each field of the "
        "key has its own");
}

void validate_host_operands(const RecordProblem& problem, const RecordHostOperands& o) {
  if (problem.segments != 0)
    validate_offsets({.count = problem.count,
                      .segments = problem.segments,
                      .offset_bytes = problem.offset_bytes,
                      .stride = problem.stride},
                     o.offsets);
  if (problem.count == 0) return;
  std::vector<Memory> in(o.columns_in.size()), out(o.columns_out.size());
  std::ranges::transform(o.columns_in, in.begin(), host_memory);
  std::ranges::transform(o.columns_out, out.begin(), host_memory);
  validate_record_operands(problem, {in, out, host_memory(o.positions), {}, host_memory(o.offsets)},
                           0, Space::host);
}

// As in sort_host(): few records are sorted on the host, because copies to a device and back take
// longer than the sort.
std::shared_ptr<Device> device_for_records(const RecordProblem& problem, const Options& options) {
  const bool is_few = problem.count <= few::records && options.algorithm == "auto" &&
                      options.parameters.empty() && options.max_scratch_bytes == 0;
  if (is_few || (options.algorithm == "auto" && problem.limit != 0))
    return backend::device_near(options.device);
  if (options.algorithm == "auto" && problem.segments == 0 &&
      !backend::names_device(options.device)) {
    const std::uint64_t bytes = column_bytes(problem) + problem.count * problem.position_bytes;
    const auto kind = costs::kind_of_records(bytes / std::max<std::uint64_t>(problem.count, 1));
    return costs::fastest_device(kind, problem.count, bytes, options);
  }
  return device_for({.segments = problem.segments}, options);
}

// One call's arrays on the device. A CPU uses the caller's columns without copies if they are
// aligned. If it must keep its input (HostArrays::keeps_input), it sorts into memory of its own,
// and copies the result after the sort has succeeded. Other columns are copied, and the copies are
// sorted in place.
class StagedRecords {
 public:
  StagedRecords(Device& device, const RecordProblem& problem, const RecordHostOperands& o)
      : arrays_(device), given_(problem), problem_(problem), operands_(o) {
    for (std::size_t c = 0; problem.count != 0 && c < problem.columns.size(); ++c) {
      auto& column = problem_.columns[c];
      adopts_.push_back(arrays_.can_adopt(o.columns_in[c], column.bytes) &&
                        arrays_.can_adopt(output_of(problem, o, c), column.bytes));
      if (adopts_[c] && arrays_.keeps_input() && column.moved == Moved::in_place)
        column.moved = Moved::out;
      if (!adopts_[c] && column.moved == Moved::out && problem.limit == 0)
        column.moved = Moved::in_place;
    }
  }

  // The problem that the device solves.
  [[nodiscard]] const RecordProblem& problem() const { return problem_; }
  [[nodiscard]] HostArrays& arrays() { return arrays_; }

  // Allocates all memory that the sort needs. The operands refer to this object.
  [[nodiscard]] RecordOperands stage(std::uint64_t scratch_bytes) {
    const Problem extent{.count = given_.count, .segments = given_.segments, .limit = given_.limit};
    for (std::size_t c = 0; c < adopts_.size(); ++c) {
      const auto column =
          arrays_.add_sorted(extent, operands_.columns_in[c], output_of(given_, operands_, c),
                             given_.columns[c].bytes, adopts_[c]);
      in_.push_back(column.in);
      out_.push_back(problem_.columns[c].moved == Moved::out ? column.out : Memory{});
    }
    Memory positions, offsets;
    if (const unsigned bytes = given_.position_bytes; bytes != 0)
      positions = arrays_
                      .add_sorted(extent, nullptr, operands_.positions, bytes,
                                  arrays_.can_adopt(operands_.positions, bytes))
                      .out;
    if (const auto bytes = offsets_bytes(given_.segments, given_.offset_bytes); bytes != 0)
      offsets = arrays_.add(operands_.offsets, nullptr, bytes,
                            arrays_.can_adopt(operands_.offsets, given_.offset_bytes));
    return {in_, out_, positions, arrays_.scratch(scratch_bytes), offsets};
  }

 private:
  HostArrays arrays_;
  const RecordProblem& given_;
  RecordProblem problem_;
  const RecordHostOperands& operands_;
  std::vector<bool> adopts_;  // for each column, true if the device uses it without a copy
  std::vector<Memory> in_, out_;
};

}  // namespace

void detail::check_positions_of_none(std::uint64_t positions) {
  if (positions != 0) refuse(fmt::format("{} positions, but there are no values", positions));
}

namespace {

// Returns true if the records must be sorted in ranges. Throws Error(invalid_argument) if they
// cannot be.
bool must_be_in_ranges(Device& device, const RecordProblem& p, const Method& method,
                       const Options& options) {
  if (p.count < 2) return false;
  std::uint64_t largest = p.position_bytes;
  for (const auto& c : p.columns) largest = std::max<std::uint64_t>(largest, c.bytes);
  const bool must =
      needs_ranges(device, options, column_bytes(p) + p.count * p.position_bytes, p.count * largest,
                   [&] { return RecordPlan::scratch_bytes_for(p, capabilities(device), method); });
  return must && are_ranges_possible(p.segments, p.limit, options);
}

HostReport sort_records_on(const std::shared_ptr<Device>& device, const RecordProblem& problem,
                           const RecordHostOperands& o, const Options& options) {
  const Method method{options.algorithm, options.parameters, options.max_scratch_bytes};
  if (must_be_in_ranges(*device, problem, method, options))
    return sort_in_ranges(device, problem, o, options);
  Stopwatch watch;
  StagedRecords staged(*device, problem, o);
  const RecordPlan plan(device, staged.problem(), method);
  HostReport report;
  report.device = device->info().name;
  report.algorithm = plan.algorithm().name;
  report.parameters = plan.parameters();
  if (problem.count == 0) return report;
  const auto queue = device->make_queue();
  report.plan_seconds = watch.lap();

  const RecordOperands operands = staged.stage(plan.scratch_bytes());
  staged.arrays().write(*queue, options);
  report.transfer_seconds = watch.lap();

  staged.arrays().run(*queue, [&] { plan.run(*queue, operands); });
  report.sort_seconds = watch.lap();

  staged.arrays().read(*queue);
  report.transfer_seconds += watch.lap();
  return report;
}

}  // namespace

HostReport sort_records_host(const RecordProblem& problem, const RecordHostOperands& o,
                             const Options& options) try {
  validate_record_problem(problem);
  validate_options(options);
  validate_host_operands(problem, o);
  if (distributed::is_device_list(options.device))
    return distributed::sort_records_on_devices(problem, o, options);
  check_stop(options);
  return sort_on(device_for_records(problem, options), options.device,
                 [&](const auto& device) { return sort_records_on(device, problem, o, options); });
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_records_host", column_bytes(problem));
}

namespace {

// Throws Error(invalid_argument) if a position is not below `elements`. Positions need no
// alignment.
template <class Index>
void check_positions(const std::byte* positions, std::uint64_t count, std::uint64_t elements) {
  const auto at = [&](std::uint64_t i) {
    Index position = 0;
    std::memcpy(&position, positions + i * sizeof(Index), sizeof(Index));
    return position;
  };
  constexpr std::uint64_t block = 4096;
  for (std::uint64_t begin = 0; begin < count; begin += block) {
    const std::uint64_t end = std::min(begin + block, count);
    Index highest = 0;
    for (std::uint64_t i = begin; i < end; ++i) highest = std::max(highest, at(i));
    if (highest < elements) continue;
    for (std::uint64_t i = begin; i < end; ++i)
      if (at(i) >= elements)
        refuse(fmt::format("positions[{}] is {}; there are {} elements", i, at(i), elements));
  }
}

}  // namespace

void permute_host(const PermuteProblem& problem, const void* in, const void* positions, void* out,
                  const Options& options) try {
  validate_permute_problem(problem);
  detail::refuse_method(options, "a permutation");
  if (problem.count == 0) return;
  const std::uint64_t elements = problem.elements == 0 ? problem.count : problem.elements;
  const bool gathers = problem.direction == Direction::gather;
  const std::uint64_t in_bytes = (gathers ? elements : problem.count) * problem.element_bytes;
  const std::uint64_t out_bytes = (gathers ? problem.count : elements) * problem.element_bytes;
  const std::uint64_t position_bytes = problem.count * problem.index_bytes;
  const Operand all[] = {{"in", host_memory(in), in_bytes, 1, false},
                         {"positions", host_memory(positions), position_bytes, 1, false},
                         {"out", host_memory(out), out_bytes, 1}};
  validate_operands(all, Space::host);
  const auto check =
      problem.index_bytes == 4 ? check_positions<std::uint32_t> : check_positions<std::uint64_t>;
  check(static_cast<const std::byte*>(positions), problem.count, elements);

  const auto device = backend::device_near(options.device);
  const Permute permute(device, problem);
  const auto queue = device->make_queue();
  HostArrays arrays(*device);
  const auto add = [&](const void* from, void* to, std::uint64_t bytes, unsigned element) {
    return arrays.add(from, to, bytes, arrays.can_adopt(to != nullptr ? to : from, element));
  };
  const Memory from = add(in, nullptr, in_bytes, problem.element_bytes);
  const Memory at = add(positions, nullptr, position_bytes, problem.index_bytes);
  // A scatter does not change elements that no position names.
  const Memory to = add(gathers ? nullptr : out, out, out_bytes, problem.element_bytes);
  arrays.write(*queue);
  arrays.run(*queue, [&] { permute.run(*queue, from, at, to); });
  arrays.read(*queue);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("permute_host",
                      problem.count * (problem.element_bytes + problem.index_bytes));
}

HostReport sort_records(void* records, unsigned record_bytes, std::uint64_t count,
                        const std::vector<Field>& key, const Options& options) try {
  const void* const in = records;
  return sort_records_host({count, {{record_bytes, Moved::in_place}}, key}, {{&in, 1}}, options);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_records", count * record_bytes);
}

HostReport sort_records(const void* records, void* records_out, unsigned record_bytes,
                        std::uint64_t count, const std::vector<Field>& key,
                        const Options& options) try {
  return sort_records_host({count, {{record_bytes, Moved::out}}, key},
                           {{&records, 1}, {&records_out, 1}}, options);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_records", count * record_bytes);
}

HostReport sort_columns(const std::vector<KeyColumn>& keys, const std::vector<HostColumn>& values,
                        const Options& options) try {
  if (keys.empty()) refuse("the key has no columns");
  RecordProblem problem{.count = keys[0].column.count};
  std::vector<const void*> memory;
  const auto add = [&](const HostColumn& c) {
    if (c.count != problem.count)
      refuse(fmt::format("column {} has {} elements, column 0 has {}; the numbers must be equal",
                         memory.size(), c.count, problem.count));
    problem.columns.push_back({c.bytes, Moved::in_place});
    memory.push_back(c.data);
  };
  for (const auto& k : keys) {
    problem.key.push_back(k.field);
    problem.key.back().column = static_cast<unsigned>(memory.size());
    add(k.column);
  }
  for (const auto& v : values) add(v);
  return sort_records_host(problem, {memory}, options);
} catch (const std::bad_alloc&) {
  std::uint64_t bytes = 0;
  for (const auto& k : keys) bytes += k.column.count * k.column.bytes;
  for (const auto& v : values) bytes += v.count * v.bytes;
  throw_out_of_memory("sort_columns", bytes);
}

HostReport detail::sort_wide(Field field, void* keys, std::uint64_t count, void* values,
                             unsigned value_bytes, Options options) try {
  field.order = options.order;
  field.begin_bit = options.begin_bit;
  field.end_bit = options.end_bit;
  field.nan = options.nan;
  field.zeros = options.zeros;
  options.order = Order::ascending;
  options.begin_bit = options.end_bit = 0;
  options.nan = NanOrder::last;
  options.zeros = ZeroOrder::tied;
  RecordProblem problem{count, {{field.type.size(), Moved::in_place}}, {field}};
  if (value_bytes != 0) problem.columns.push_back({value_bytes, Moved::in_place});
  const void* const memory[] = {keys, values};
  return sort_records_host(problem, {{memory, problem.columns.size()}}, options);
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort", count * (field.type.size() + value_bytes));
}

}  // namespace sortium
