// Sorts records in host memory: makes a RecordPlan and its device memory, and copies both ways.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sortium/sortium.hpp>

#include "few.hpp"
#include "host.hpp"
#include "out_of_memory.hpp"
#include "records.hpp"
#include "validate.hpp"

namespace sortium {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

std::uint64_t column_bytes(const RecordProblem& problem) {
  std::uint64_t bytes = 0;
  for (const auto& c : problem.columns) bytes += problem.count * c.bytes;
  return bytes;
}

// True if a device may use host memory with elements of this size in place.
bool is_aligned(const void* m, unsigned bytes) {
  return reinterpret_cast<std::uintptr_t>(m) % unit_of(bytes) == 0;
}

// Device memory for an array of the host: that array itself (`direct`, on CPUs), or a copy.
class Mirror {
 public:
  Mirror(Device& device, void* host, std::uint64_t bytes, bool direct)
      : device_(device),
        host_(host),
        bytes_(bytes),
        direct_(direct),
        buffer_(direct ? device.adopt(host, bytes) : device.allocate(bytes)) {}
  [[nodiscard]] Memory memory() const { return buffer_->memory(); }
  void write(Queue& queue) const {
    if (!direct_) queue.write(memory(), host_, bytes_);
  }
  void sync(Queue& queue) const {
    if (direct_) device_.sync_host(queue, *buffer_);
  }
  void read(Queue& queue, void* to) const {
    if (!direct_) queue.read(to, memory(), bytes_);
  }

 private:
  Device& device_;
  void* host_;
  std::uint64_t bytes_;
  bool direct_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace

void detail::check_positions_of_none(std::uint64_t positions) {
  if (positions != 0) refuse(fmt::format("{} positions of no values", positions));
}

HostReport sort_records_host(const RecordProblem& problem, const RecordHostOperands& o,
                             const Options& options) try {
  validate_record_problem(problem);
  if (options.order != Order::ascending || options.begin_bit != 0 || options.end_bit != 0 ||
      options.nan != NanOrder::last || options.zeros != ZeroOrder::tied)
    refuse(
        "options.order, begin_bit, end_bit, nan and zeros are not for records; each field of the "
        "key has its own");
  Stopwatch watch;
  HostReport report;
  // As in sort_host: the way to a device and back takes longer than to sort few records.
  const bool stay = problem.count <= few::records && options.algorithm == "auto" &&
                    options.parameters.empty() && options.max_scratch_bytes == 0;
  const auto device =
      stay ? device_near(options.device) : device_for({.limit = problem.limit}, options);

  // A CPU sorts the caller's memory in place if it is aligned. Other devices sort a copy in place.
  // With a limit, the output is shorter than the input, and separate.
  const bool cpu = device->info().claimed.kind == DeviceKind::cpu;
  const std::size_t columns = problem.columns.size();
  RecordProblem own = problem;
  std::vector<bool> direct(columns);
  const auto out = [&](std::size_t c) -> void* {
    if (problem.columns[c].moved == Moved::in_place) return const_cast<void*>(o.columns_in[c]);
    return problem.columns[c].moved == Moved::out && !o.columns_out.empty() ? o.columns_out[c]
                                                                            : nullptr;
  };
  if (problem.segments != 0)
    validate_offsets({.count = problem.count,
                      .segments = problem.segments,
                      .offset_bytes = problem.offset_bytes},
                     o.offsets);
  if (problem.count != 0) {
    std::vector<Memory> in_memory(o.columns_in.size()), out_memory(o.columns_out.size());
    std::ranges::transform(o.columns_in, in_memory.begin(), host_memory);
    std::ranges::transform(o.columns_out, out_memory.begin(), host_memory);
    validate_record_operands(
        problem, {in_memory, out_memory, host_memory(o.positions), {}, host_memory(o.offsets)}, 0,
        Space::host);
    for (std::size_t c = 0; c < columns; ++c) {
      auto& column = own.columns[c];
      direct[c] =
          cpu && is_aligned(o.columns_in[c], column.bytes) && is_aligned(out(c), column.bytes);
      if (!direct[c] && column.moved == Moved::out && problem.limit == 0)
        column.moved = Moved::in_place;
    }
  }
  const RecordPlan plan(device, own,
                        {options.algorithm, options.parameters, options.max_scratch_bytes});
  report.device = device->info().name;
  report.algorithm = plan.algorithm().name;
  report.parameters = plan.parameters();
  if (problem.count == 0) return report;
  const auto queue = device->make_queue();
  report.plan_seconds = watch.lap();

  // Everything is allocated before anything is written.
  std::vector<Mirror> in, outs;
  const std::uint64_t count_out = records_out(problem);
  std::vector<Memory> in_memory, out_memory(columns);
  in.reserve(columns), outs.reserve(columns);
  std::vector<const Mirror*> written(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    const std::uint64_t bytes = problem.count * problem.columns[c].bytes;
    in.emplace_back(*device, const_cast<void*>(o.columns_in[c]), bytes, direct[c]);
    in_memory.push_back(in.back().memory());
    if (own.columns[c].moved == Moved::in_place) written[c] = &in.back();
    if (own.columns[c].moved != Moved::out) continue;
    outs.emplace_back(*device, out(c), count_out * problem.columns[c].bytes, direct[c]);
    out_memory[c] = outs.back().memory();
    written[c] = &outs.back();
  }
  std::unique_ptr<Mirror> positions;
  if (problem.position_bytes != 0)
    positions = std::make_unique<Mirror>(*device, o.positions, count_out * problem.position_bytes,
                                         cpu && is_aligned(o.positions, problem.position_bytes));
  std::unique_ptr<Mirror> offsets;
  if (problem.segments != 0) {
    offsets = std::make_unique<Mirror>(*device, const_cast<void*>(o.offsets),
                                       (problem.segments + 1) * problem.offset_bytes,
                                       cpu && is_aligned(o.offsets, problem.offset_bytes));
    offsets->write(*queue);
  }
  const auto scratch = device->allocate(plan.scratch_bytes());
  for (const auto& m : in) m.write(*queue);
  if (problem.segments != 0 &&
      problem.limit != 0) {  // short segments leave some of the output as it was
    for (const auto& m : outs) m.write(*queue);
    if (positions) positions->write(*queue);
  }
  report.transfer_seconds = watch.lap();

  plan.run(*queue, {in_memory, out_memory, positions ? positions->memory() : Memory{},
                    scratch->memory(), offsets ? offsets->memory() : Memory{}});
  for (const auto* m : written)
    if (m != nullptr) m->sync(*queue);
  if (positions) positions->sync(*queue);
  queue->finish();
  report.sort_seconds = watch.lap();

  for (std::size_t c = 0; c < columns; ++c)
    if (written[c] != nullptr) written[c]->read(*queue, out(c));
  if (positions) positions->read(*queue, o.positions);
  report.transfer_seconds += watch.lap();
  if (cpu && std::ranges::count(direct, false) == 0) report.transfer_seconds = 0;
  return report;
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_records_host", column_bytes(problem));
}

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
  for (std::uint64_t i = 0; i < problem.count; ++i) {
    std::uint64_t position = 0;
    std::memcpy(&position, static_cast<const std::byte*>(positions) + i * problem.index_bytes,
                problem.index_bytes);
    if (position >= elements)
      refuse(fmt::format("positions[{}] is {}; there are {} elements", i, position, elements));
  }

  const auto device = device_near(options.device);
  const bool cpu = device->info().claimed.kind == DeviceKind::cpu;
  const Permute permute(device, problem);
  const auto queue = device->make_queue();
  const auto mirror = [&](const void* m, std::uint64_t bytes, unsigned element) {
    return Mirror(*device, const_cast<void*>(m), bytes, cpu && is_aligned(m, element));
  };
  const Mirror from = mirror(in, in_bytes, problem.element_bytes);
  const Mirror at = mirror(positions, position_bytes, problem.index_bytes);
  const Mirror to = mirror(out, out_bytes, problem.element_bytes);
  from.write(*queue);
  at.write(*queue);
  if (!gathers) to.write(*queue);  // elements that no position names keep their contents
  permute.run(*queue, from.memory(), at.memory(), to.memory());
  to.sync(*queue);
  queue->finish();
  to.read(*queue, out);
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
      refuse(fmt::format("column {} has {} elements, column 0 has {}; as many are needed",
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
