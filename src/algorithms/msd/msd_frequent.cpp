#include "msd_frequent.hpp"

#include <algorithm>
#include <bit>

#include "embedded.hpp"

namespace sortium::msd {
namespace {

constexpr std::uint64_t least_samples = 1024, most_samples_used = 8192;
// There is one sample for this many records. With more samples, the table takes longer to make.
constexpr std::uint64_t records_of_sample = 2048;
constexpr unsigned frequent_work_group = 512;
constexpr unsigned part = 32;  // keys of a part: a team for each key is half a sub-group
constexpr std::uint64_t state_bytes = 32;
constexpr std::uint64_t most_records = 0xffff0000;  // indices near them fit 32 bits

std::uint64_t key_bytes(const Problem& p) { return info(p.key).bytes; }

// Returns the least share of samples that must have a key of several samples. If fewer have one,
// passes over all keys are faster. Passes over long keys take longer, so their share is less. In a
// short list, the two launches take as long as the passes that they save. Measured on an H200.
double least_share(const Problem& p) {
  const auto n = static_cast<double>(p.count);
  return std::min(0.5, key_bytes(p) == 8 ? 0.25 + 1.5e6 / n : 0.28 + 2.2e6 / n);
}

// Bytes of msd_frequent_memory_t.
std::uint64_t frequent_bytes(const Problem& p, const Capabilities& device, const FrequentShape& s) {
  return s.slots * (key_bytes(p) + 4) + 4 + kernels::scan_bytes(p, device, frequent_work_group) +
         gap_bytes;
}

// Bytes of runs_t.
std::uint64_t runs_bytes(const Problem& p, const FrequentShape& s) {
  return s.samples * (key_bytes(p) + 8) + 16;
}

// Bytes of msd_insert_memory_t.
std::uint64_t insert_bytes(const Problem& p, const Capabilities& device, const FrequentShape& s) {
  constexpr std::uint64_t part_bytes = std::uint64_t{12} * part + 4;
  return runs_bytes(p, s) + kernels::scan_bytes(p, device, frequent_work_group) + part_bytes +
         gap_bytes;
}

}  // namespace

FrequentShape make_frequent_shape(const Problem& problem, const Capabilities& device) {
  if (!device.compiles || problem.payload != Payload::none || key_bytes(problem) < 4 ||
      key_bits(problem) != info(problem.key).bits() || problem.count >= most_records)
    return {};
  FrequentShape s;
  s.samples = static_cast<unsigned>(std::bit_floor(
      std::clamp(problem.count / records_of_sample, least_samples, most_samples_used)));
  for (; s.samples >= least_samples; s.samples /= 2) {
    s.slots = s.samples == most_samples_used ? s.samples : 2 * s.samples;
    s.bytes = frequent_bytes(problem, device, s);
    s.insert_bytes = insert_bytes(problem, device, s);
    if (std::max(s.bytes, s.insert_bytes) <= device.local_struct) break;
  }
  if (s.samples < least_samples || frequent_work_group > device.max_work_group) return {};
  s.apart = static_cast<std::uint32_t>(problem.count / s.samples);
  s.groups = device.compute_units;
  return s;
}

std::uint64_t FrequentShape::cleared_bytes() const {
  return samples != 0 ? state_bytes + 4 * std::uint64_t{slots} : 0;
}

kernels::Defines FrequentShape::defines(const Problem& problem) const {
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .set("WG", frequent_work_group)
      .set("ITEMS", 128 / key_bytes(problem))
      .resident(1, frequent_work_group)
      .set("SAMPLES", samples)
      .set("SLOTS", slots)
      .set("PART", part)
      .set("INSERT_ITEMS", 64 / key_bytes(problem))
      .local_struct("msd_frequent_memory_t", bytes)
      .local_struct("msd_insert_memory_t", insert_bytes);
  return defines;
}

FrequentKeys::FrequentKeys(const Problem& problem, const FrequentShape& shape,
                           const ScratchLayout::Slice& unused, ScratchLayout& layout)
    : problem_(problem), shape_(shape) {
  if (shape.samples == 0) return;
  samples_ = {0, shape.samples * key_bytes(problem)};
  table_ = {samples_.bytes, shape.slots * key_bytes(problem)};
  runs_ = {table_.offset + table_.bytes, runs_bytes(problem, shape)};
  const std::uint64_t bytes = runs_.offset + runs_.bytes;
  const std::uint64_t begin = unused.bytes >= bytes ? unused.offset : layout.add(bytes).offset;
  for (auto* slice : {&samples_, &table_, &runs_}) slice->offset += begin;
}

void FrequentKeys::build(Device& device, const Capabilities& capabilities) {
  if (shape_.samples == 0) return;
  module_ = kernels::build(device, capabilities, {kernels::embedded::msd_frequent_cl},
                           shape_.defines(problem_));
  count_ = module_->kernel("msd_count_frequent");
  insert_ = module_->kernel("msd_insert_frequent");
}

void FrequentKeys::sort(Queue& queue, const Operands& o, const RadixPasses& passes, Memory skewed,
                        Memory cleared) const {
  const RadixPasses::Gate gate{skewed, 1, ~0u};
  if (shape_.samples == 0) return passes.sort(queue, o, gate);
  const Memory rest = passes.buffers().pass(0, o).keys_out, state = cleared.slice(0, state_bytes),
               counts = cleared.slice(state_bytes, cleared.bytes - state_bytes);
  const auto least = static_cast<std::uint32_t>(shape_.samples * least_share(problem_));
  const Arg count[] = {{"keys", o.keys_in},   {"samples", samples(o)}, {"table", table_.in(o)},
                       {"counts", counts},    {"rest", rest},          {"state", state},
                       {"n", problem_.count}, {"skewed", skewed},      {"verdict", verdict},
                       {"least", least}};
  queue.launch({*count_, shape_.groups, frequent_work_group, count, "frequent"});
  passes.sort(queue, o, gate, state.slice(0, 8));
  const Arg insert[] = {{"table", table_.in(o)}, {"counts", counts},       {"rest", rest},
                        {"runs", runs_.in(o)},   {"keys_out", o.keys_out}, {"state", state},
                        {"n", problem_.count}};
  queue.launch({*insert_, shape_.groups, frequent_work_group, insert, "insert"});
}

}  // namespace sortium::msd
