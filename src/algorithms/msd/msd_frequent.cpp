#include "msd_frequent.hpp"

#include <algorithm>
#include <bit>

#include "../../kernels/concurrently.hpp"
#include "embedded.hpp"

namespace sortium::msd {
namespace {

constexpr std::uint64_t least_samples = 1024, most_samples_used = 8192;
// There is one sample for this many records. With more samples, the table takes longer to make.
constexpr std::uint64_t records_of_sample = 2048;
constexpr unsigned frequent_work_group = 512;
constexpr unsigned part = 32;  // keys of a part: a team for each key is half a sub-group
constexpr std::uint64_t state_bytes = 64;
constexpr std::uint64_t most_records = 0xffff0000;  // indices near them fit 32 bits

constexpr std::uint64_t masks_of_item = 4;  // MASKS of msd_frequent_codes.cl
constexpr unsigned least_bytes = 3;         // passes over fewer bytes are as fast as codes

std::uint64_t key_bytes(const Problem& p) { return info(p.key).bytes; }

// In shorter lists, the two launches of lists of keys alone, or the three of lists with values,
// cost more than they save. Measured on an H200.
std::uint64_t frequent_from(const Problem& p) {
  return std::uint64_t{1} << (p.payload == Payload::none ? 23 : key_bytes(p) == 8 ? 24 : 25);
}

// At most one in so many keys with values may be in the rest. Passes over long keys take longer, so
// the others may be more. Measured on an H200.
unsigned rest_share(const Problem& p) { return key_bytes(p) == 8 ? 4 : 20; }

// Keys that a work-item of msd_count_frequent or msd_encode_frequent has in a tile.
std::uint64_t frequent_items(const Problem& p) { return 128 / key_bytes(p); }

// Returns the least share of samples that must have a key of several samples. If fewer have one,
// passes over all keys are faster. Passes over long keys take longer, so their share is less. In a
// short list, the two launches take as long as the passes that they save. Measured on an H200.
double least_share(const Problem& p) {
  if (p.payload != Payload::none) return 1 - 1.0 / rest_share(p);
  const auto n = static_cast<double>(p.count);
  return std::min(0.5, key_bytes(p) == 8 ? 0.25 + 1.5e6 / n : 0.28 + 2.2e6 / n);
}

// Bytes of msd_frequent_memory_t.
std::uint64_t frequent_bytes(const Problem& p, const Capabilities& device, const FrequentShape& s) {
  return s.slots * (key_bytes(p) + 4) + 4 + kernels::scan_bytes(p, device, frequent_work_group) +
         gap_bytes;
}

// Bytes of msd_codes_memory_t.
std::uint64_t codes_bytes(const Problem& p, const Capabilities& device, const FrequentShape& s) {
  return frequent_bytes(p, device, s) + 2 * s.slots + 4 * (part + 8) + gap_bytes;
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

FrequentShape make_frequent_shape(const Problem& problem, const Capabilities& device,
                                  bool any_count) {
  if (!any_count && problem.count < frequent_from(problem)) return {};
  if (!device.compiles || key_bytes(problem) < 4 || key_bits(problem) != info(problem.key).bits() ||
      problem.count >= most_records)
    return {};
  FrequentShape s;
  s.encodes = problem.payload != Payload::none;
  s.samples = static_cast<unsigned>(std::bit_floor(
      std::clamp(problem.count / records_of_sample, least_samples, most_samples_used)));
  const std::uint64_t lanes = std::min(device.sub_group_size, 32u);
  if (s.encodes && masks_of_item * lanes < frequent_items(problem)) return {};
  for (; s.samples >= least_samples; s.samples /= 2) {
    s.slots = s.samples == most_samples_used ? s.samples : 2 * s.samples;
    s.bytes = frequent_bytes(problem, device, s);
    s.codes_bytes = s.encodes ? codes_bytes(problem, device, s) : 0;
    s.insert_bytes = insert_bytes(problem, device, s);
    if (std::max({s.bytes, s.codes_bytes, s.insert_bytes}) <= device.local_struct) break;
  }
  if (s.samples < least_samples || frequent_work_group > device.max_work_group) return {};
  s.apart = static_cast<std::uint32_t>(problem.count / s.samples);
  s.groups = device.compute_units;
  if (s.encodes) {
    s.rest_share = rest_share(problem);
    const std::uint64_t tile = frequent_work_group * frequent_items(problem);
    s.mask_bytes = 4 * ceil_div(problem.count, tile) * (tile / lanes);
    s.chunks = ceil_div(problem.count, masks_of_item * frequent_work_group * lanes);
  }
  return s;
}

unsigned FrequentShape::most_singles(unsigned judged) const {
  // The share of such samples is about that of the keys that no sample shows (Good, 1953). The
  // table's samples tell it better in lists of fewer than 2^26 records, so a little more is
  // allowed.
  return encodes ? judged * 5 / 4 / rest_share : 0;
}

std::uint64_t FrequentShape::cleared_bytes() const {
  return samples != 0 ? state_bytes + 4 * (slots + chunks) : 0;
}

kernels::Defines FrequentShape::defines(const Problem& problem) const {
  kernels::Defines defines;
  defines.problem(radix_problem(problem))
      .set("WG", frequent_work_group)
      .set("ITEMS", frequent_items(problem))
      .resident(1, frequent_work_group)
      .set("SAMPLES", samples)
      .set("SLOTS", slots)
      .set("PART", part)
      .set("INSERT_ITEMS", 64 / key_bytes(problem))
      .local_struct("msd_insert_memory_t", insert_bytes);
  if (encodes)
    defines.set("LEAST_BYTES", least_bytes).local_struct("msd_codes_memory_t", codes_bytes);
  else
    defines.local_struct("msd_frequent_memory_t", bytes);
  return defines;
}

FrequentKeys::FrequentKeys(const Problem& problem, const Capabilities& device,
                           const FrequentShape& shape, const ScratchLayout::Slice& unused,
                           ScratchLayout& layout)
    : problem_(problem), shape_(shape) {
  if (shape.samples == 0) return;
  samples_ = {0, shape.samples * key_bytes(problem)};
  table_ = {samples_.bytes, shape.slots * key_bytes(problem)};
  runs_ = {table_.offset + table_.bytes, runs_bytes(problem, shape)};
  const std::uint64_t bytes = runs_.offset + runs_.bytes;
  const std::uint64_t begin = unused.bytes >= bytes ? unused.offset : layout.add(bytes).offset;
  for (auto* slice : {&samples_, &table_, &runs_}) slice->offset += begin;
  if (!shape.encodes) return;

  const Problem codes{.key = KeyType::u16,
                      .count = problem.count,
                      .payload = problem.payload,
                      .value_bytes = problem.value_bytes,
                      .keys_out = false};
  ScratchLayout tables, of_keys;
  code_passes_ = std::make_unique<RadixPasses>(
      codes, device, Parameters(), RadixPassOptions{.algorithm = "msd", .between = true}, tables);
  rest_ = of_keys.add(problem.count / shape.rest_share * key_bytes(problem));
  second_codes_ = of_keys.add(2 * problem.count);
  masks_ = of_keys.add(shape.mask_bytes);
  code_tables_ = of_keys.add(tables.bytes());
  own_code_tables_ = of_keys.bytes() > problem.count * key_bytes(problem);
  if (own_code_tables_) {
    masks_ = layout.add(masks_.bytes);
    code_tables_ = layout.add(tables.bytes());
  }
}

void FrequentKeys::build(Device& device, const Capabilities& capabilities) {
  if (shape_.samples == 0) return;
  using namespace kernels::embedded;
  auto codes = kernels::concurrently([&] {
    if (shape_.encodes) code_passes_->build(device, capabilities);
  });
  module_ = kernels::build(
      device, capabilities,
      {msd_frequent_cl, shape_.encodes ? msd_frequent_codes_cl : msd_frequent_count_cl,
       msd_frequent_insert_cl},
      shape_.defines(problem_));
  count_ = module_->kernel(shape_.encodes ? "msd_encode_frequent" : "msd_count_frequent");
  insert_ = module_->kernel("msd_insert_frequent");
  codes.get();
}

void FrequentKeys::sort(Queue& queue, const Operands& o, const RadixPasses& passes, Memory skewed,
                        Memory cleared) const {
  const RadixPasses::Gate gate{skewed, 1, ~0u};
  if (shape_.samples == 0) return passes.sort(queue, o, gate);
  const Memory state = cleared.slice(0, state_bytes), rest_state = state.slice(0, 8);
  if (!may_sort(o)) return passes.sort(queue, o, gate, rest_state);
  const Memory counts = cleared.slice(state_bytes, 4 * std::uint64_t{shape_.slots});
  const PingPong::Pass scratch = passes.buffers().pass(0, o), output = passes.buffers().pass(1, o);
  const auto least = static_cast<std::uint32_t>(shape_.samples * least_share(problem_));
  if (shape_.encodes) {
    const std::uint64_t counts_end = counts.offset + counts.bytes - cleared.offset;
    encode(queue, o, skewed, state, counts, cleared.slice(counts_end, cleared.bytes - counts_end),
           least, scratch, output);
  } else {
    const Arg count[] = {{"keys", o.keys_in},   {"samples", samples(o)},    {"table", table_.in(o)},
                         {"counts", counts},    {"rest", scratch.keys_out}, {"state", state},
                         {"n", problem_.count}, {"skewed", skewed},         {"verdict", verdict},
                         {"least", least}};
    queue.launch({*count_, shape_.groups, frequent_work_group, count, "frequent"});
  }
  passes.sort(queue, o, gate, rest_state);
  const Arg insert[] = {
      {"table", table_.in(o)},        {"counts", counts},    {"rest", scratch.keys_out},
      {"values", scratch.values_out}, {"runs", runs_.in(o)}, {"keys_out", o.keys_out},
      {"values_out", o.values_out},   {"state", state},      {"n", problem_.count}};
  queue.launch({*insert_, shape_.groups, frequent_work_group, insert, "insert"});
}

void FrequentKeys::encode(Queue& queue, const Operands& o, Memory skewed, Memory state,
                          Memory counts, Memory rests, std::uint32_t least,
                          const PingPong::Pass& scratch, const PingPong::Pass& output) const {
  const auto of_keys = [&](const ScratchLayout::Slice& slice) {
    return scratch.keys_out.slice(slice.offset, slice.bytes);
  };
  Operands tables;
  tables.scratch = own_code_tables_ ? code_tables_.in(o) : of_keys(code_tables_);
  const Memory code_cleared = code_passes_->cleared(tables),
               first_codes = output.keys_out.slice(0, 2 * problem_.count),
               second_codes = of_keys(second_codes_);
  const Arg args[] = {
      {"keys", o.keys_in},
      {"samples", samples(o)},
      {"table", table_.in(o)},
      {"counts", counts},
      {"codes", first_codes},
      {"rest", of_keys(rest_)},
      {"masks", own_code_tables_ ? masks_.in(o) : of_keys(masks_)},
      {"rests", rests},
      {"places", runs_.in(o)},
      {"state", state},
      {"n", problem_.count},
      {"cleared", code_cleared},
      {"words", code_cleared.bytes / 4},
      {"skewed", skewed},
      {"verdict", verdict},
      {"least", least},
      {"most_rest", static_cast<std::uint32_t>(problem_.count / shape_.rest_share)}};
  queue.launch({*count_, shape_.groups, frequent_work_group, args, "frequent"});
  const PingPong::Pass first{first_codes, second_codes,
                             scratch.make_positions ? Memory{} : o.values_in, output.values_out,
                             scratch.make_positions},
      second{second_codes, {}, output.values_out, scratch.values_out, false};
  code_passes_->sort_between(queue, tables, first, second, {state.slice(0, 4), 1, 1},
                             state.slice(0, 8));
}

}  // namespace sortium::msd
