// What sorts of records on device memory, on host memory, and their companions share.
#pragma once

#include <sortium/records.hpp>

#include "validate.hpp"

namespace sortium {

// They throw Error(invalid_argument) that names the field, column or operand that is wrong.
void validate_record_problem(const RecordProblem& problem);
void validate_permute_problem(const PermuteProblem& problem);
void validate_record_operands(const RecordProblem& problem, const RecordOperands& operands,
                              std::uint64_t scratch_bytes, Space space);

// Which of a Mover's positions there are.
struct Places {
  enum class Kind : std::uint8_t {
    all,
    counted,      // the first ones: as many as a u64 on the device says
    of_segments,  // `limit` for each segment, fewer where it is shorter
  };
  Kind kind = Kind::all;
  std::uint64_t limit = 0;
  unsigned offset_bytes = 4;  // of the segments' offsets
};

// What a Permute is made of: its problem and operands are checked by others.
class Mover {
 public:
  Mover(Device& device, const PermuteProblem& problem, const Places& places = {});
  // `places_memory`: the number, or the offsets.
  void enqueue(Queue& queue, Memory in, Memory positions, Memory out,
               Memory places_memory = {}) const;

 private:
  void move_on_host(Queue& queue, Memory in, Memory positions, Memory out,
                    Memory places_memory) const;

  PermuteProblem problem_;
  Places places_;
  std::uint32_t units_;  // of an element
  unsigned work_group_;
  std::uint64_t groups_;
  std::shared_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace sortium
