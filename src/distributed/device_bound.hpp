// The bound of a DeviceSorter's memory (DeviceOptions::max_bytes).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <sortium/distributed.hpp>

#include "../core/refuse.hpp"

namespace sortium::distributed {

// Bounds the memory beside the operands: `part` is the number of records in the rank's part. Frees
// memory that was kept for longer lists. Returns the method for the sorts, whose scratch memory is
// what the records leave.
template <class State>
Method bound_memory(State& s, const Problem& p, const DeviceOptions& options, std::uint64_t part) {
  Method method = options.method;
  s.max_scratch_bytes = ~std::uint64_t{0};
  if (options.max_bytes == 0) return method;
  const bool alone = s.communicator.size() == 1;
  const std::uint64_t keys = alone ? 0 : p.count * info(p.key).bytes;
  const std::uint64_t values = alone || p.payload == Payload::none ? 0 : p.count * p.value_bytes;
  const std::uint64_t unwanted = alone || p.keys_out ? 0 : part * info(p.key).bytes;
  const std::uint64_t records = keys + values + unwanted;
  if (options.max_bytes <= records)
    refuse(
        fmt::format("max_bytes is {}; {} are needed for the records, and more for scratch memory",
                    options.max_bytes, records));
  s.max_scratch_bytes = options.max_bytes - records;
  if (method.max_scratch_bytes != 0)
    s.max_scratch_bytes = std::min(s.max_scratch_bytes, method.max_scratch_bytes);
  method.max_scratch_bytes = s.max_scratch_bytes;
  s.keys.keep_at_most(keys);
  s.values.keep_at_most(values);
  s.unwanted_keys.keep_at_most(unwanted);
  s.scratch.keep_at_most(s.max_scratch_bytes);
  return method;
}

}  // namespace sortium::distributed
