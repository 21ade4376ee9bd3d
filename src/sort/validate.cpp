#include "validate.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "../core/refuse.hpp"
#include "strided.hpp"

namespace sortium {

namespace {

constexpr unsigned max_value_bytes = 256;

void validate_segments(const Problem& p) {
  validate_stride(p);
  if (p.segments == 0) return;
  if (p.offset_bytes != 0 && p.offset_bytes != 4 && p.offset_bytes != 8)
    refuse(fmt::format("offset_bytes is {}; 4 and 8 are allowed, and 0 if there are no offsets",
                       p.offset_bytes));
  if (p.offset_bytes == 0 && p.count % p.segments != 0)
    refuse(fmt::format("count is {}; without offsets it must be a multiple of segments, {}",
                       p.count, p.segments));
  if (p.offset_bytes == 4 && p.count >= (std::uint64_t{1} << 32))
    refuse(fmt::format("count is {}; 4-byte offsets of segments reach 2^32 - 1 records (use 8)",
                       p.count));
  if (p.segments > max_records)
    refuse(fmt::format("segments is {}; up to 2^40 is allowed", p.segments));
  if (p.limit > max_records / p.segments)
    refuse(fmt::format("limit is {}; with {} segments up to {} is allowed, 2^40 records in all",
                       p.limit, p.segments, max_records / p.segments));
}

}  // namespace

// -----------------------------------------------------------------------------------------------
// Problems and capabilities
// -----------------------------------------------------------------------------------------------

void refuse_enumeration(unsigned value, unsigned last, const char* name) {
  refuse(fmt::format("{} is the number {}; 0 to {} is allowed", name, value, last));
}

void validate_problem(const Problem& p) {
  validate_enumeration(p.key, KeyType::bf16, "key");
  validate_enumeration(p.payload, Payload::positions, "payload");
  validate_enumeration(p.order, Order::descending, "order");
  validate_enumeration(p.nan, NanOrder::bits, "nan");
  validate_enumeration(p.zeros, ZeroOrder::distinct, "zeros");
  const auto& key = info(p.key);
  const unsigned end = p.end_bit == 0 ? key.bits() : p.end_bit;
  if (p.begin_bit >= end || end > key.bits())
    refuse(fmt::format("bits {}:{} are not a range of the {} bits of a {} key", p.begin_bit,
                       p.end_bit, key.bits(), key.name));
  if (p.payload != Payload::none && p.value_bytes != 4 && p.value_bytes != 8)
    refuse(
        fmt::format("value_bytes is {}; 4 and 8 are allowed (values of other sizes are columns of "
                    "a RecordPlan)",
                    p.value_bytes));
  if (p.payload == Payload::positions && p.value_bytes == 4 && p.count > (std::uint64_t{1} << 32))
    refuse(fmt::format("count is {}; 4-byte positions reach 2^32 records (use 8)", p.count));
  if (!p.keys_out && p.payload != Payload::positions)
    refuse("keys_out is false, which is allowed only with Payload::positions");
  validate_segments(p);
  if (p.limit > p.count)
    refuse(fmt::format("limit is {}; it is at most the count, {}", p.limit, p.count));
  if (p.count > max_records) refuse(fmt::format("count is {}; up to 2^40 is allowed", p.count));
}

void validate_value_bytes(unsigned value_bytes) {
  if (value_bytes == 0 || value_bytes > max_value_bytes)
    refuse(fmt::format("value_bytes is {}; 1 to {} are allowed", value_bytes, max_value_bytes));
}

void validate_capabilities(const Capabilities& c) {
  const auto within = [](const char* field, std::uint64_t value, std::uint64_t least,
                         std::uint64_t most) {
    if (value < least || value > most)
      refuse(fmt::format("capabilities.{} is {}; {} to {} is allowed", field, value, least, most));
  };
  within("backend", static_cast<unsigned>(c.backend), 0, 2);
  within("kind", static_cast<unsigned>(c.kind), 0, 2);
  within("sub_group_words", static_cast<unsigned>(c.sub_group_words), 0, 3);
  within("compute_units", c.compute_units, 1, 1u << 20);
  within("max_work_group", c.max_work_group, 1, 1u << 16);
  within("sub_group_size", c.sub_group_size, 1, 1u << 10);
  if (!std::has_single_bit(c.sub_group_size))
    refuse(fmt::format("capabilities.sub_group_size is {}; powers of two are allowed",
                       c.sub_group_size));
  within("cluster_groups", c.cluster_groups, 1, 64);
  if (c.backend == Backend::host) return;          // runs no kernels, so it has no local memory
  constexpr std::uint64_t least_local = 1u << 10;  // bytes; OpenCL guarantees 1 KB
  within("local_memory", c.local_memory, least_local, 1u << 30);
  within("local_struct", c.local_struct, least_local, 1u << 30);
}

// -----------------------------------------------------------------------------------------------
// Operands
// -----------------------------------------------------------------------------------------------

std::string Operand::text() const {
  return column < 0 ? std::string(name) : fmt::format("{}[{}]", name, column);
}

void validate_queue(const Queue& queue, Device& device) {
  if (queue.device().native_context() != device.native_context())
    refuse(fmt::format("queue is of another device or context than the plan, which is for {}",
                       device.info().name));
}

namespace {

void validate_place(const Operand& a, Space space) {
  if (a.bytes == 0) {
    if (a.memory && std::string_view(a.name) != "scratch")
      refuse(fmt::format("{} is given, but this plan does not use it", a.text()));
    return;
  }
  if (!a.memory)
    refuse(space == Space::host
               ? fmt::format("{} is null", a.text())
               : fmt::format("{} is missing; {} bytes are needed", a.text(), a.bytes));
  if (a.memory.bytes != 0 && a.memory.bytes < a.bytes)
    refuse(fmt::format("{} has {} bytes; {} are needed", a.text(), a.memory.bytes, a.bytes));
  if (space == Space::host) return;
  // The start of an OpenCL buffer is aligned for every type.
  const std::uint64_t start =
      space == Space::opencl ? a.memory.offset
                             : reinterpret_cast<std::uintptr_t>(a.memory.handle) + a.memory.offset;
  if (start % a.unit != 0)
    refuse(fmt::format("{} begins at byte {}, which is not a multiple of {}", a.text(), start,
                       a.unit));
}

bool overlap(const Operand& a, const Operand& b, Space space) {
  auto from_a = a.memory.offset, from_b = b.memory.offset;
  if (space != Space::opencl) {
    from_a += reinterpret_cast<std::uintptr_t>(a.memory.handle);
    from_b += reinterpret_cast<std::uintptr_t>(b.memory.handle);
  } else if (a.memory.handle != b.memory.handle) {
    return false;
  }
  return from_a < from_b + b.bytes && from_b < from_a + a.bytes;
}

void validate_apart(const Operand& a, const Operand& b, Space space) {
  if (a.bytes == 0 || b.bytes == 0 || !(a.written || b.written) || !overlap(a, b, space)) return;
  const bool may_be_same = b.in_place_of != nullptr && std::string_view(b.in_place_of) == a.name;
  if (may_be_same && same(a.memory, b.memory)) return;
  refuse(fmt::format("{} and {} overlap; {}", a.text(), b.text(),
                     may_be_same ? "they may only be identical (in place)" : "they must not"));
}

}  // namespace

void validate_operands(std::span<const Operand> operands, Space space) {
  for (const auto& a : operands) validate_place(a, space);
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (std::size_t j = i + 1; j < operands.size(); ++j)
      validate_apart(operands[i], operands[j], space);
}

void validate_sort_operands(const Problem& p, const Operands& o, std::uint64_t scratch_bytes,
                            Space space) {
  const unsigned key = info(p.key).bytes;
  const bool reads_values = p.payload == Payload::values, has_values = p.payload != Payload::none;
  const std::uint64_t out = records_out(p);
  const bool keys_in_place = p.keys_out && same(o.keys_in, o.keys_out);
  const bool values_in_place = reads_values && same(o.values_in, o.values_out);
  if (p.limit != 0 && ((keys_in_place && o.keys_in) || (values_in_place && o.values_in)))
    refuse("with a limit, keys_out and values_out must be separate from keys_in and values_in");
  const Operand all[] = {
      {"keys_in", o.keys_in, p.count * key, key},
      {"keys_out", o.keys_out, p.keys_out ? out * key : 0, key, true, -1, "keys_in"},
      {"values_in", o.values_in, reads_values ? p.count * p.value_bytes : 0, p.value_bytes},
      {"values_out", o.values_out, has_values ? out * p.value_bytes : 0, p.value_bytes, true, -1,
       "values_in"},
      {"scratch", o.scratch, scratch_bytes, 16},
      {"offsets", o.offsets, offsets_bytes(p.segments, p.offset_bytes), p.offset_bytes},
  };
  validate_operands(all, space);
  if (space != Space::host && reads_values && keys_in_place != values_in_place)
    refuse("keys and values must both be sorted in place or both out of place");
}

// -----------------------------------------------------------------------------------------------
// Offsets of segments
// -----------------------------------------------------------------------------------------------

namespace {

template <class Offset>
void validate_ascending(const Problem& p, const void* offsets) {
  const auto offset = [&](std::uint64_t s) {  // memcpy: offsets need not be aligned
    Offset value;
    std::memcpy(&value, static_cast<const std::byte*>(offsets) + s * sizeof value, sizeof value);
    return value;
  };
  if (offset(0) != 0) refuse(fmt::format("offsets[0] is {}; the first must be 0", offset(0)));
  for (std::uint64_t s = 0; s < p.segments; ++s)
    if (offset(s + 1) < offset(s))
      refuse(fmt::format("offsets[{}] is {}, less than the one before, {}; they must ascend", s + 1,
                         offset(s + 1), offset(s)));
  if (offset(p.segments) != p.count)
    refuse(fmt::format("offsets[{}] is {}; the last must be the number of keys, {}", p.segments,
                       offset(p.segments), p.count));
}

}  // namespace

void validate_offsets(const Problem& p, const void* offsets) {
  if (p.offset_bytes == 0) return;
  if (offsets == nullptr)
    refuse(fmt::format("offsets is null; {} segments need {} of them", p.segments, p.segments + 1));
  if (p.offset_bytes == 4)
    validate_ascending<std::uint32_t>(p, offsets);
  else
    validate_ascending<std::uint64_t>(p, offsets);
}

}  // namespace sortium
