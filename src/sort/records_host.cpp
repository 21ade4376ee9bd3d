// Sorts records in host memory: makes a RecordPlan and its device memory, and copies both ways.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
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

// The array that column `c` is written to; nullptr if it is not moved.
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
                      .offset_bytes = problem.offset_bytes},
                     o.offsets);
  if (problem.count == 0) return;
  std::vector<Memory> in(o.columns_in.size()), out(o.columns_out.size());
  std::ranges::transform(o.columns_in, in.begin(), host_memory);
  std::ranges::transform(o.columns_out, out.begin(), host_memory);
  validate_record_operands(problem, {in, out, host_memory(o.positions), {}, host_memory(o.offsets)},
                           0, Space::host);
}

// As in sort_host: the way to a device and back takes longer than to sort few records.
std::shared_ptr<Device> device_for_records(const RecordProblem& problem, const Options& options) {
  const bool stay = problem.count <= few::records && options.algorithm == "auto" &&
                    options.parameters.empty() && options.max_scratch_bytes == 0;
  return stay ? device_near(options.device) : device_for({.limit = problem.limit}, options);
}

// One call's arrays as the device sees them. A CPU sorts the caller's arrays in place if they are
// aligned (`direct`). Other devices sort copies in place. With a limit, the output is shorter than
// the input, and separate.
class StagedRecords {
 public:
  StagedRecords(Device& device, const RecordProblem& problem, const RecordHostOperands& o)
      : device_(device),
        problem_(problem),
        own_(problem),
        operands_(o),
        cpu_(device.info().claimed.kind == DeviceKind::cpu),
        direct_(problem.columns.size()) {
    for (std::size_t c = 0; problem.count != 0 && c < direct_.size(); ++c) {
      auto& column = own_.columns[c];
      direct_[c] = cpu_ && is_aligned(o.columns_in[c], column.bytes) &&
                   is_aligned(output_of(problem, o, c), column.bytes);
      if (!direct_[c] && column.moved == Moved::out && problem.limit == 0)
        column.moved = Moved::in_place;
    }
  }

  // The problem that the device solves.
  [[nodiscard]] const RecordProblem& problem() const { return own_; }
  // True if the device works on the caller's own columns.
  [[nodiscard]] bool copies_nothing() const {
    return cpu_ && std::ranges::count(direct_, false) == 0;
  }

  // Allocates all memory that the sort needs.
  void allocate(std::uint64_t scratch_bytes) {
    const RecordHostOperands& o = operands_;
    const std::size_t columns = direct_.size();
    const std::uint64_t count_out = records_out(problem_);
    in_.reserve(columns), out_.reserve(columns);
    out_memory_.resize(columns), written_.resize(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::uint64_t bytes = problem_.columns[c].bytes;
      in_.emplace_back(device_, const_cast<void*>(o.columns_in[c]), problem_.count * bytes,
                       direct_[c]);
      in_memory_.push_back(in_.back().memory());
      if (own_.columns[c].moved == Moved::in_place) written_[c] = &in_.back();
      if (own_.columns[c].moved != Moved::out) continue;
      out_.emplace_back(device_, output_of(problem_, o, c), count_out * bytes, direct_[c]);
      out_memory_[c] = out_.back().memory();
      written_[c] = &out_.back();
    }
    if (problem_.position_bytes != 0)
      positions_.emplace(device_, o.positions, count_out * problem_.position_bytes,
                         cpu_ && is_aligned(o.positions, problem_.position_bytes));
    if (problem_.segments != 0)
      offsets_.emplace(device_, const_cast<void*>(o.offsets),
                       (problem_.segments + 1) * problem_.offset_bytes,
                       cpu_ && is_aligned(o.offsets, problem_.offset_bytes));
    scratch_ = device_.allocate(scratch_bytes);
  }

  // Copies the input to the device.
  void write(Queue& queue) const {
    if (offsets_) offsets_->write(queue);
    for (const auto& m : in_) m.write(queue);
    if (problem_.segments == 0 || problem_.limit == 0) return;
    // Segments shorter than the limit leave some of the output as it was.
    for (const auto& m : out_) m.write(queue);
    if (positions_) positions_->write(queue);
  }
  [[nodiscard]] RecordOperands operands() const {
    return {in_memory_, out_memory_, positions_ ? positions_->memory() : Memory{},
            scratch_->memory(), offsets_ ? offsets_->memory() : Memory{}};
  }
  // Makes what the device wrote into the caller's own arrays visible there.
  void sync(Queue& queue) const {
    for (const auto* m : written_)
      if (m != nullptr) m->sync(queue);
    if (positions_) positions_->sync(queue);
  }
  // Copies the output from the device.
  void read(Queue& queue) const {
    for (std::size_t c = 0; c < written_.size(); ++c)
      if (written_[c] != nullptr) written_[c]->read(queue, output_of(problem_, operands_, c));
    if (positions_) positions_->read(queue, operands_.positions);
  }

 private:
  Device& device_;
  const RecordProblem& problem_;
  RecordProblem own_;
  const RecordHostOperands& operands_;
  bool cpu_;
  std::vector<bool> direct_;
  std::vector<Mirror> in_, out_;
  std::vector<Memory> in_memory_, out_memory_;
  std::vector<const Mirror*> written_;  // of each column, the memory that the sort writes
  std::optional<Mirror> positions_, offsets_;
  std::unique_ptr<Buffer> scratch_;
};

}  // namespace

void detail::check_positions_of_none(std::uint64_t positions) {
  if (positions != 0) refuse(fmt::format("{} positions of no values", positions));
}

HostReport sort_records_host(const RecordProblem& problem, const RecordHostOperands& o,
                             const Options& options) try {
  validate_record_problem(problem);
  validate_options(options);
  Stopwatch watch;
  const auto device = device_for_records(problem, options);
  validate_host_operands(problem, o);
  StagedRecords staged(*device, problem, o);
  const RecordPlan plan(device, staged.problem(),
                        {options.algorithm, options.parameters, options.max_scratch_bytes});
  HostReport report;
  report.device = device->info().name;
  report.algorithm = plan.algorithm().name;
  report.parameters = plan.parameters();
  if (problem.count == 0) return report;
  const auto queue = device->make_queue();
  report.plan_seconds = watch.lap();

  staged.allocate(plan.scratch_bytes());  // before anything is written
  staged.write(*queue);
  report.transfer_seconds = watch.lap();

  plan.run(*queue, staged.operands());
  staged.sync(*queue);
  queue->finish();
  report.sort_seconds = watch.lap();

  staged.read(*queue);
  report.transfer_seconds += watch.lap();
  if (staged.copies_nothing()) report.transfer_seconds = 0;
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
