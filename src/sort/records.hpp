// Shared by sorts of records on device memory, on host memory, and their companions.
#pragma once

#include <sortium/records.hpp>

#include "validate.hpp"

namespace sortium {

// These throw Error(invalid_argument) naming the wrong field, column or operand.
void validate_record_problem(const RecordProblem& problem);
void validate_permute_problem(const PermuteProblem& problem);
void validate_record_operands(const RecordProblem& problem, const RecordOperands& operands,
                              std::uint64_t scratch_bytes, Space space);

// Returns the bytes of all columns.
[[nodiscard]] std::uint64_t column_bytes(const RecordProblem& problem);

// Which elements a Mover moves.
struct MovedElements {
  enum class Kind : std::uint8_t {
    all,
    counted,      // the first n; n is a u64 in device memory
    of_segments,  // the first `limit` of each segment, or all of a shorter one
  };
  Kind kind = Kind::all;
  std::uint64_t limit = 0;
  unsigned offset_bytes = 4;  // as in Problem
  std::uint64_t length = 0;   // records of each segment if offset_bytes is 0: rows
};

// Permutes elements without validation; the caller has validated problem and operands.
class Mover {
 public:
  Mover(Device& device, const PermuteProblem& problem, const MovedElements& moved = {});
  // `count_or_offsets`: the number of elements (counted), or the segments' offsets (of_segments).
  void enqueue(Queue& queue, Memory in, Memory positions, Memory out,
               Memory count_or_offsets = {}) const;

 private:
  void move_on_host(Queue& queue, Memory in, Memory positions, Memory out,
                    Memory count_or_offsets) const;

  PermuteProblem problem_;
  MovedElements moved_;
  std::uint32_t units_;  // units of an element
  unsigned work_group_;
  std::uint64_t work_groups_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace sortium
