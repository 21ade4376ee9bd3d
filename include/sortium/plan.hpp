// Sorts in device memory: a Plan is made once for a problem and a device, and run as often as one
// likes. Includes the list of algorithms and the self-test.
#pragma once

#include <cstdint>
#include <memory>
#include <sortium/algorithm_info.hpp>
#include <sortium/device.hpp>
#include <sortium/problem.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

// Every algorithm there is, for `Options::algorithm`.
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

struct Method {
  std::string algorithm = "auto";
  std::string parameters{};  // "name=value,…" of that algorithm
  // A ceiling for scratch memory; 0: none. "auto" takes a slower algorithm that keeps to it (down
  // to some hundredth of the records); where none does, Error(invalid_argument) says the least that
  // would do.
  std::uint64_t max_scratch_bytes = 0;
};

class Sorter;  // a room's planned sort; internal

// A sort of one Problem on one device: planned and compiled once, run as often as one likes.
class Plan {
 public:
  // Checks the problem, chooses algorithm and parameters, and builds the kernels (from the cache:
  // tens of milliseconds; else up to seconds). Allocates no device memory. Throws Error:
  // invalid_argument, not_found (algorithm), unsupported (the device cannot), build_failed.
  Plan(std::shared_ptr<Device> device, const Problem& problem, const Method& method = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  // The scratch memory that run() must be given. The same number without any device:
  // Plan::scratch_bytes_for.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  // Touches no device. `capabilities` may be sortium::capabilities(device), or filled in by hand.
  [[nodiscard]] static std::uint64_t scratch_bytes_for(const Problem& problem,
                                                       const Capabilities& capabilities,
                                                       const Method& method = {});

  // Enqueues the sort; allocates nothing, waits for nothing. (cpu:0 sorts at once, and allocates 8
  // bytes a record where 64-bit keys with values agree in most of their bits; Error(out_of_memory)
  // leaves the input as it was.) In place: keys_out = keys_in and values_out = values_in; else the
  // input is left as it was. Any other overlap is refused. Throws Error(invalid_argument) that
  // names the operand that is missing, too small, misaligned or overlapping.
  void run(Queue& queue, const Operands& operands) const;

  struct Phase {
    std::string name;
    double seconds;  // device time
    unsigned launches;
  };
  // Runs once, waits, and says where the device time went, phase by phase in the order of their
  // first launch. The queue must be able to trace.
  [[nodiscard]] std::vector<Phase> profile(Queue& queue, const Operands& operands) const;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const AlgorithmInfo& algorithm() const { return *algorithm_; }
  [[nodiscard]] std::string parameters() const;  // those in force
  [[nodiscard]] std::uint64_t run_length()
      const;  // of a partial sort: records in a sorted run; else 0
  // The least that run() reads and writes of keys and values in device memory, out of place, in
  // bytes; 0 where the algorithm's design does not fix it.
  [[nodiscard]] std::uint64_t bytes_moved() const;

 private:
  std::shared_ptr<Device> device_;
  Problem problem_;
  const AlgorithmInfo* algorithm_ = nullptr;
  std::unique_ptr<Sorter> sorter_;
};

// A small sort with a known answer. The first Plan of its kind on a device and driver runs one by
// itself (once; the cache keeps that it passed; SORTIUM_SELF_TEST=off leaves it out): where the
// device's compiler got a kernel wrong, "auto" takes the next algorithm that passes, and a named
// one is refused with the case that failed.
struct SelfTest {
  std::string algorithm;
  Problem problem;
  bool supported;       // false: the device cannot run this algorithm; `failure` says why
  std::string failure;  // empty: passed
};
// Every algorithm that the device has, or the one that is named, with keys of several types, with
// and without values, now. Throws Error(not_found) for a name that no algorithm has.
[[nodiscard]] std::vector<SelfTest> self_test(Device& device, std::string_view algorithm = {});

}  // namespace sortium
