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

// All algorithms, as `Method::algorithm` and `Options::algorithm` name them.
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

struct Method {
  std::string algorithm = "auto";
  std::string parameters{};  // "name=value,…" of that algorithm
  // The most scratch memory, in bytes; 0: no limit. "auto" takes a slower algorithm if the fastest
  // needs more (the least is about a hundredth of the records' bytes). If no algorithm needs so
  // little, the plan throws Error(invalid_argument) with the least that is enough.
  std::uint64_t max_scratch_bytes = 0;
};

class Sorter;  // an algorithm's planned sort; internal

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

  // Enqueues the sort; allocates nothing and waits for nothing. (cpu:0 sorts before run() returns.
  // It allocates 8 bytes a record if 64-bit keys with values agree in most of their bits; if that
  // fails, it throws Error(out_of_memory) and leaves the input as it was.) In place: keys_out is
  // keys_in and values_out is values_in; otherwise the input is left as it was. Throws
  // Error(invalid_argument) naming the operand that is missing, superfluous, too small, misaligned
  // or overlapping another.
  void run(Queue& queue, const Operands& operands) const;

  struct Phase {
    std::string name;
    double seconds;  // device time
    unsigned launches;
  };
  // Runs once and waits. Returns the device time by phase, in the order of the phases' first
  // launches. The queue must be able to trace.
  [[nodiscard]] std::vector<Phase> profile(Queue& queue, const Operands& operands) const;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const AlgorithmInfo& algorithm() const { return *algorithm_; }
  [[nodiscard]] std::string parameters() const;  // those in force
  [[nodiscard]] std::uint64_t run_length()
      const;  // of a partial sort: records in a sorted run; else 0
  // Lower bound of the bytes of keys and values that run() reads and writes in device memory, out
  // of place; 0 if the algorithm's design does not fix it.
  [[nodiscard]] std::uint64_t bytes_moved() const;

 private:
  std::shared_ptr<Device> device_;
  Problem problem_;
  const AlgorithmInfo* algorithm_ = nullptr;
  std::unique_ptr<Sorter> sorter_;
};

// A small sort whose result is known. The first Plan of its kind on a device and driver runs one,
// once: the cache keeps that it passed (SORTIUM_SELF_TEST=off turns it off). If it fails, because
// the device's compiler built a kernel wrongly, "auto" takes the next algorithm that passes; a Plan
// whose Method names the algorithm throws Error(unsupported) with the case that failed.
struct SelfTest {
  std::string algorithm;
  Problem problem;
  bool supported;       // false: the device cannot run this algorithm; `failure` says why
  std::string failure;  // empty: passed
};
// Runs the self-tests of all algorithms that the device has, or of the one called `algorithm`, with
// several key types, with and without values. Returns one result a test. Throws Error(not_found)
// for an unknown name.
[[nodiscard]] std::vector<SelfTest> self_test(Device& device, std::string_view algorithm = {});

}  // namespace sortium
