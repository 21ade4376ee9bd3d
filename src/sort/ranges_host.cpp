// Sorts of keys and values in ranges, as records of one or two columns.
#include "ranges.hpp"
#include "validate.hpp"

namespace sortium {

RecordProblem as_records(const Problem& p, const HostOperands& o) {
  const auto moved = [](const void* in, const void* out) {
    return out == nullptr ? Moved::no : in == out ? Moved::in_place : Moved::out;
  };
  RecordProblem records{.count = p.count,
                        .columns = {{info(p.key).bytes, moved(o.keys_in, o.keys_out)}},
                        .key = {{0, 0, p.key, p.order, p.nan, p.zeros, p.begin_bit, p.end_bit}},
                        .segments = p.segments,
                        .offset_bytes = p.offset_bytes,
                        .limit = p.limit,
                        .stride = p.stride};
  if (p.payload == Payload::values)
    records.columns.push_back({p.value_bytes, moved(o.values_in, o.values_out)});
  if (p.payload == Payload::positions) records.position_bytes = p.value_bytes;
  return records;
}

bool must_be_in_ranges(Device& device, const Problem& p, const Method& method,
                       const Options& options) {
  if (p.count < 2) return false;
  const std::uint64_t key_bytes = p.count * info(p.key).bytes;
  const std::uint64_t value_bytes = p.payload == Payload::none ? 0 : p.count * p.value_bytes;
  const bool must =
      needs_ranges(device, options, key_bytes + value_bytes, std::max(key_bytes, value_bytes),
                   [&] { return Plan::scratch_bytes_for(p, capabilities(device), method); });
  return must && are_ranges_possible(p.segments, p.limit, options);
}

HostReport sort_list_in_ranges(const std::shared_ptr<Device>& device, const Problem& p,
                               const HostOperands& o, const Options& options) {
  validate_problem(p);
  const Operands operands{host_memory(o.keys_in), host_memory(o.keys_out), host_memory(o.values_in),
                          host_memory(o.values_out)};
  validate_sort_operands(p, operands, 0, Space::host);
  const RecordProblem records = as_records(p, o);
  const void* const in[] = {o.keys_in, o.values_in};
  void* const out[] = {o.keys_out, o.values_out};
  void* const positions = p.payload == Payload::positions ? o.values_out : nullptr;
  return sort_in_ranges(device, records,
                        {{in, records.columns.size()}, {out, records.columns.size()}, positions},
                        options);
}

}  // namespace sortium
