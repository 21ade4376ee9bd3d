// Short lists in device memory: every rank receives all records, sorts them, and keeps its part. A
// partition would take longer, because its steps wait for the device and for the other ranks.
#pragma once

#include <cstdint>
#include <sortium/distributed.hpp>

#include "device_plans.hpp"
#include "device_steps.hpp"
#include "extent.hpp"

namespace sortium::distributed {

// The most bytes of a short list. Measured on an H200 with two ranks that copy from each other.
inline constexpr std::uint64_t largest_short_list = std::uint64_t{1} << 27;

// A list is short if it has at most so many bytes (record_bytes()) over all ranks, on each rank.
[[nodiscard]] std::uint64_t most_short_bytes(const Device& device,
                                             const Communicator& communicator);
// Bytes of a record, without positions.
[[nodiscard]] unsigned record_bytes(const Problem& problem);

// What a DeviceSorter lends.
struct ShortSort {
  Communicator& communicator;
  Plans& plans;
  Queue& queue;
  Queue &link, &copies;  // of the exchange
  KeptMemory &keys, &values, &scratch;
};
// Sorts a short list; all ranks call it. `problem` and `operands`: this rank's, as for
// DeviceSorter::sort(). `part`: the rank's part of the sorted list.
Report sort_short(const ShortSort& lent, const Problem& problem, const Operands& operands,
                  const Extent& extent, const Part& part);

}  // namespace sortium::distributed
