// Checks on the device that records are sorted, and that they are the records there were before.
#pragma once

#include <sortium/device.hpp>
#include <sortium/problem.hpp>

namespace sortium {

struct Verdict {
  std::uint64_t unsorted =
      0;  // neighbours out of order; with Payload::positions, ties out of order too
  std::uint64_t first_unsorted =
      0;  // the first of them: records i and i + 1; where there is none: Problem::count
  std::uint64_t checksum =
      0;  // of the records (key and value) in any order: equal before and after a sort
};

// Reads `problem.count` keys, and values unless the payload is none (values may be left out: then
// they are taken to be the records' positions, which is what an argsort's input is). With
// `run_length`, only neighbours within the same run of so many records must be in order. Allocates
// some KB; waits for the queue. Keys must be there.
[[nodiscard]] Verdict verify(Queue& queue, const Problem& problem, Memory keys, Memory values,
                             std::uint64_t run_length = 0);

}  // namespace sortium
