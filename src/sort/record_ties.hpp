// Completes a sort of records on cpu:0. After the sort by the most significant word of the key, few
// records tie, or few groups of them do. Only these are sorted by the next word, each group by
// itself: the lower words of all other records are never read.
#pragma once

#include <sortium/device.hpp>
#include <span>

#include "record_words.hpp"

namespace sortium::record_ties {

// True if this build has cpu:0, and records of several words are sorted in this way on the device.
[[nodiscard]] bool suits(const RecordProblem& problem, const Capabilities& device,
                         const Method& method);

struct Operands {
  std::span<const Memory> columns;
  Memory first_words;  // of the sorted records; they are overwritten
  Memory positions;    // of the sorted records in the columns
  Memory scratch;      // scratch_bytes() bytes
};
[[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t count, unsigned position_bytes);
// `words` are those of the key, least significant first. Allocates nothing, and does not throw.
void sort(Queue& queue, const RecordProblem& problem, const std::vector<Word>& words,
          unsigned position_bytes, const Operands& operands);

}  // namespace sortium::record_ties
