// Floor 3: the interface that every algorithm implements. To add an algorithm, add a folder and a
// line in registry.cpp. All other code uses algorithms only through this header.
#pragma once

#include <map>
#include <memory>
#include <sortium/core.hpp>
#include <sortium/device.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

namespace tuning {
struct Entry;
}

// The parameters that a caller named: "r=5,items=128". Checked against AlgorithmInfo::parameters.
class Parameters {
 public:
  Parameters() = default;
  // Throws Error(invalid_argument) if the text is not name=value[,…], if the algorithm has no
  // parameter of that name, or if a value is outside its limits.
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

// Slices of the one scratch buffer of a sort. Each begins at a multiple of `alignment` bytes.
class ScratchLayout {
 public:
  struct Slice {
    std::uint64_t offset = 0, bytes = 0;
    [[nodiscard]] Memory in(const Operands& o) const { return o.scratch.slice(offset, bytes); }
  };
  Slice add(std::uint64_t bytes) {
    const Slice s{total_, bytes};
    last_ = total_;
    total_ += (bytes + alignment - 1) / alignment * alignment;
    return s;
  }
  // Like add(). For arrays in host memory: a loop uses this one and the one before it.
  // AMD's processors find a line in the first-level cache by a hash of address bits 12 to 27, so
  // two such arrays must not be a multiple of 2^28 bytes apart, nor almost (Lipp et al., "Take A
  // Way", 2020).
  Slice add_apart(std::uint64_t bytes) {
    constexpr std::uint64_t period = std::uint64_t{1} << 28, some_pages = 5 * 4096;
    const std::uint64_t distance = total_ - last_, rest = distance % period;
    if (distance > some_pages && (rest < some_pages || rest > period - some_pages))
      total_ += 2 * some_pages;
    return add(bytes);
  }
  [[nodiscard]] std::uint64_t bytes() const { return total_; }
  static constexpr std::uint64_t alignment = 512;

 private:
  std::uint64_t total_ = 0, last_ = 0;  // last_: where the last slice begins
};

// One planned sort. It is made for a Problem and a device's capabilities, without using the device.
class Sorter {
 public:
  virtual ~Sorter() = default;
  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  // The parameters in use, named by the caller or chosen: "variant=gpu,work_group=256,…"
  [[nodiscard]] virtual std::string parameters() const = 0;
  // Records in each sorted run of a partial sort (the last run may have fewer); else 0.
  [[nodiscard]] virtual std::uint64_t run() const { return 0; }
  // See Plan::bytes_moved().
  [[nodiscard]] virtual std::uint64_t bytes_moved() const { return 0; }
  // Returns a sorter of the same problem, but with a stride, that reads and writes records where
  // they are. Returns null if it sorts only records that lie side by side, or if copies are faster.
  [[nodiscard]] virtual std::unique_ptr<Sorter> with_stride(const Problem& problem,
                                                            const Capabilities& device) const {
    static_cast<void>(problem), static_cast<void>(device);
    return nullptr;
  }
  // Makes the sorter write only the first sorted records; the outputs then hold only these. Returns
  // false, and changes nothing, if it always writes all.
  virtual bool write_first(std::uint64_t /*records*/) { return false; }
  virtual void build(Device& device, const Capabilities& capabilities) = 0;
  // Only enqueues. Problem::count is at least 1.
  virtual void enqueue(Queue& queue, const Operands& operands) = 0;
};

// How fast an algorithm is on a problem, compared with other algorithms. Ranks ascend from slow to
// fast. "auto" plans the suitable algorithms from the highest rank down, and takes the first that
// the device can run and that passed its self-test.
enum class Rank : std::uint8_t {
  unsuited,            // auto never selects it
  last_resort,         // correct on every device; used if the others fail their self-tests
  many_launches,       // several launches for each digit
  one_launch_a_digit,  // one launch for each digit; work-groups wait for earlier ones
  few_moves,           // two or three moves of the records, whatever the number of digits
  counts_keys,         // counts the keys, which have few possible values
  one_cluster_of_few,  // one launch on a cluster, for so few records that one_group is faster
  one_group,           // one launch on one compute unit
  one_cluster,         // one launch on a cluster of compute units
  only_one,            // the only algorithm for its problems
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;
  [[nodiscard]] virtual const AlgorithmInfo& info() const = 0;
  // Returns how well the algorithm suits a problem on a device. Called only if is_made_for() is
  // true.
  [[nodiscard]] virtual Rank suits(const Problem& problem, const Capabilities& device) const {
    static_cast<void>(problem), static_cast<void>(device);
    return Rank::unsuited;
  }
  // True if a smaller parameter "chunk" (records) reduces scratch_bytes() and makes the sort
  // slower. If the caller limits scratch memory, auto chooses the largest chunk that satisfies the
  // limit.
  [[nodiscard]] virtual bool trades_memory() const { return false; }
  // Returns a Sorter. Throws Error(unsupported), naming what the device allows, if the device
  // cannot run the algorithm with these parameters.
  [[nodiscard]] virtual std::unique_ptr<Sorter> plan(const Problem& problem,
                                                     const Capabilities& device,
                                                     const Parameters& parameters) const = 0;
};

// All algorithms, in the order of registry.cpp.
[[nodiscard]] const std::vector<const Algorithm*>& registry();
// Returns the algorithm called `name`. Throws Error(not_found) listing all names and "auto".
[[nodiscard]] const Algorithm& find_algorithm(std::string_view name);
// True if the algorithm is made for this kind of problem and device: info().segments and
// info().limit tell whether it sorts segments and first records, info().host whether it runs on
// cpu:0. All three must match.
[[nodiscard]] bool is_made_for(const Algorithm& algorithm, const Problem& problem,
                               const Capabilities& device);
struct Planned {
  const Algorithm* algorithm;
  std::unique_ptr<Sorter> sorter;
  Problem sorted;  // what `algorithm` sorts: the caller's problem, or its rows, or narrow positions
};
// Returns the best tuned entry for an algorithm: the one with the longest device name, then the
// nearest count, then the last one. Returns nullptr if no entry matches.
[[nodiscard]] const tuning::Entry* find_tuned(const std::vector<tuning::Entry>& entries,
                                              std::string_view algorithm, const Problem& problem,
                                              const Capabilities& device);
// Returns the algorithm's plan with the parameters in `text`. If `text` is empty, uses the
// parameters that were tuned for the device (tuning.hpp) if the algorithm accepts them, else the
// defaults.
[[nodiscard]] Planned plan_algorithm(const Algorithm& algorithm, const Problem& problem,
                                     const Capabilities& device, std::string_view text = {});
// Returns the plan that "auto" selects: the highest-ranked suitable algorithm, not in `except`,
// that needs at most `max_scratch_bytes` of scratch memory (0: any amount). Throws
// Error(invalid_argument) naming the bytes needed if there is none.
[[nodiscard]] Planned plan_auto(const Problem& problem, const Capabilities& device,
                                std::uint64_t max_scratch_bytes = 0,
                                const std::vector<const Algorithm*>& except = {});

// The passes of a radix sort. They alternate between two buffers, such that the last pass writes
// the output and no pass writes the input.
class PingPong {
 public:
  PingPong() = default;
  PingPong(const Problem& problem, unsigned passes, ScratchLayout& layout);

  struct Pass {
    Memory keys_in, keys_out, values_in, values_out;
    bool make_positions;  // values are the records' positions: there is no values_in
  };
  // Call once before the first pass. Enqueues a copy of the input if the sort is in place and the
  // number of passes is odd.
  void start(Queue& queue, const Operands& operands) const;
  [[nodiscard]] Pass pass(unsigned index, const Operands& operands) const;

 private:
  Problem problem_{};
  unsigned passes_ = 0;
  ScratchLayout::Slice keys_[2], values_;
};

// Returns the bytes that all passes together read and write. Each pass reads the keys
// `key_readings` times and the values once, and writes keys and values once. The first pass does
// not read positions. The last pass does not write keys if the problem has no keys_out.
[[nodiscard]] std::uint64_t bytes_of_passes(const Problem& problem, std::uint64_t passes,
                                            unsigned key_readings);

// Returns digits of at most `digit_bits` bits that cover the problem's bit range, with widths as
// equal as possible.
struct Digit {
  std::uint32_t shift, mask;
};
[[nodiscard]] std::vector<Digit> digits(const Problem& problem, unsigned digit_bits);

// The digits as two kernel arguments: byte p of `shifts` and of `widths` is the shift and the width
// of pass p, in bits.
struct PackedDigits {
  std::uint64_t shifts = 0, widths = 0;
};
[[nodiscard]] PackedDigits packed(const std::vector<Digit>& digits);

// True if tied records can differ, so that the output shows their order. Then a sort that is not
// stable by itself must compare positions after keys.
[[nodiscard]] inline bool composite(const Problem& p) {
  return p.payload != Payload::none || info(p.key).is_float || key_bits(p) != info(p.key).bits();
}

// Returns the problem that the kernels of a radix sort are compiled for: the given one without its
// bit range. The kernels receive digits() as arguments, so one compiled kernel sorts by any bit
// range.
[[nodiscard]] inline Problem radix_problem(Problem problem) {
  problem.begin_bit = problem.end_bit = 0;
  return problem;
}

}  // namespace sortium
