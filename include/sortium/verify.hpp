// Checks on the device that records are sorted, and that a sort has neither lost nor changed any.
#pragma once

#include <sortium/export.h>

#include <sortium/device.hpp>
#include <sortium/problem.hpp>

namespace sortium {

struct Verdict {
  // Number of neighbouring pairs that are out of order; with Payload::positions, ties out of order
  // count, too.
  std::uint64_t unsorted = 0;
  // The first i for which records i and i + 1 are out of order; Problem::count if there is none.
  std::uint64_t first_unsorted = 0;
  // Checksum of the records (key and value), independent of their order: a sort does not change it.
  std::uint64_t checksum = 0;
};

// Returns what the records on the queue's device are like. To check a sort, compare the checksums
// before and after it, and see that `unsorted` is 0.
//
// Reads `problem.count` keys once, and values unless the payload is none. With Payload::positions,
// empty `values` mean 0, 1, 2, …, the positions before an argsort. With `run_length`, only
// neighbours within the same run of that many records must be in order. Allocates a few KB, and
// waits for the result. Throws Error(invalid_argument) if keys or values are missing.
[[nodiscard]] SORTIUM_API Verdict verify(Queue& queue, const Problem& problem, Memory keys,
                                         Memory values, std::uint64_t run_length = 0);

}  // namespace sortium
