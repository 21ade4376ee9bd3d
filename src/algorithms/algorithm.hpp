// Floor 3: the contract of a room. An algorithm is a folder and a line in registry.cpp; everything
// else sees it only through this.
#pragma once

#include <map>
#include <memory>
#include <sortium/core.hpp>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

// The parameters that a caller asked for: "r=5,items=128". Checked against the room's own table.
class Parameters {
 public:
  Parameters() = default;
  // Throws Error(invalid_argument) for text that is not name=value[,…], a name that the algorithm
  // has not, or a value outside of its limits.
  Parameters(std::string_view text, const AlgorithmInfo& algorithm);

  [[nodiscard]] bool has(std::string_view name) const {
    return values_.find(name) != values_.end();
  }
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t otherwise) const;
  [[nodiscard]] std::string word(std::string_view name, std::string_view otherwise) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

[[nodiscard]] constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

// Slices of the one scratch buffer that a sort gets, each begun on memory's own boundaries.
class ScratchLayout {
 public:
  struct Slice {
    std::uint64_t offset = 0, bytes = 0;
    [[nodiscard]] Memory in(const Operands& o) const { return o.scratch.slice(offset, bytes); }
  };
  Slice add(std::uint64_t bytes) {
    const Slice s{total_, bytes};
    total_ += (bytes + alignment - 1) / alignment * alignment;
    return s;
  }
  [[nodiscard]] std::uint64_t bytes() const { return total_; }
  static constexpr std::uint64_t alignment = 512;

 private:
  std::uint64_t total_ = 0;
};

// Throws Error(invalid_argument) that names what of the problem is none that can be solved. In
// plan.cpp.
void check(const Problem& problem);

// One planned sort: made for a Problem and a device's capabilities without touching the device.
class Sorter {
 public:
  virtual ~Sorter() = default;
  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  // The parameters in force, given or chosen: "variant=gpu,work_group=256,…"
  [[nodiscard]] virtual std::string parameters() const = 0;
  // Of a partial sort: how many records each sorted run has (the last may have fewer); else 0.
  [[nodiscard]] virtual std::uint64_t run() const { return 0; }
  // The least that an out-of-place sort reads and writes of keys and values in global memory, in
  // bytes; 0 where the design does not fix it.
  [[nodiscard]] virtual std::uint64_t bytes_moved() const { return 0; }
  virtual void build(Device& device, const Capabilities& capabilities) = 0;
  // Only enqueues. Problem::count is at least 1.
  virtual void enqueue(Queue& queue, const Operands& operands) = 0;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  [[nodiscard]] virtual const AlgorithmInfo& info() const = 0;
  // Throws Error(unsupported) that says what the device allows where it cannot do it with these
  // parameters.
  [[nodiscard]] virtual std::unique_ptr<Sorter> plan(const Problem& problem,
                                                     const Capabilities& device,
                                                     const Parameters& parameters) const = 0;
};

// Every room, in the order of registry.cpp.
[[nodiscard]] const std::vector<const Algorithm*>& registry();
// The room called `name`. Throws Error(not_found) that lists the names, "auto" among them.
[[nodiscard]] const Algorithm& find_algorithm(std::string_view name);
struct Planned {
  const Algorithm* algorithm;
  std::unique_ptr<Sorter> sorter;
};
// The room's plan with the parameters of `text`; where it is empty, with those that were tuned for
// the device (tuning.hpp) if there are any that the room accepts, else with the room's own.
[[nodiscard]] Planned plan_room(const Algorithm& room, const Problem& problem,
                                const Capabilities& device, std::string_view text = {});
// What "auto" is for the problem and the device: the fastest of those that need no more scratch
// memory than `max_scratch_bytes` (0: any), and is none of `except`. Throws Error(invalid_argument)
// that says the least which would do.
[[nodiscard]] Planned plan_auto(const Problem& problem, const Capabilities& device,
                                std::uint64_t max_scratch_bytes = 0,
                                const std::vector<const Algorithm*>& except = {});

// A radix sort's passes and the two buffers that they alternate between, so that the last one
// writes the output and the input is only read.
class PingPong {
 public:
  PingPong() = default;
  PingPong(const Problem& problem, unsigned passes, ScratchLayout& layout);

  struct Pass {
    Memory keys_in, keys_out, values_in, values_out;
    bool make_positions;  // values_in is not there: a value is its record's position
  };
  // Call once before the first pass: in place, an odd number of passes starts from a copy.
  void start(Queue& queue, const Operands& operands) const;
  [[nodiscard]] Pass pass(unsigned index, const Operands& operands) const;

 private:
  Problem problem_{};
  unsigned passes_ = 0;
  ScratchLayout::Slice keys_[2], values_;
};

// What passes that each read the keys so many times, the values once, and write both once, read and
// write in all, in bytes. The first pass makes positions instead of reading them, and the last
// writes no keys that nobody wants.
[[nodiscard]] std::uint64_t bytes_of_passes(const Problem& problem, std::uint64_t passes,
                                            unsigned key_readings);

// Digits of at most `digit_bits` bits that cover the problem's bits, as even as they can be.
struct Digit {
  std::uint32_t shift, mask;
};
[[nodiscard]] std::vector<Digit> digits(const Problem& problem, unsigned digit_bits);

// The digits as two kernel arguments: byte p of `shifts` and of `widths` is pass p's shift and
// width in bits.
struct PackedDigits {
  std::uint64_t shifts = 0, widths = 0;
};
[[nodiscard]] PackedDigits packed(const std::vector<Digit>& digits);

// Records whose ties can be told apart must keep their order: a sort that is not stable by itself
// takes their positions along.
[[nodiscard]] inline bool composite(const Problem& p) {
  return p.payload != Payload::none || info(p.key).is_float || key_bits(p) != info(p.key).bits();
}

// The problem as a radix sort's kernels are specialised for it: they take their bits from digits(),
// so that one kernel serves every bit range.
[[nodiscard]] inline Problem radix_problem(Problem problem) {
  problem.begin_bit = problem.end_bit = 0;
  return problem;
}

}  // namespace sortium
