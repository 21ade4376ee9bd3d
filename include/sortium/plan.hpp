// Sorts in device memory. A Plan is made once for a problem and a device, and can run any number of
// times. Also: the list of algorithms, and the self-test.
#pragma once

#include <sortium/export.h>

#include <cstdint>
#include <memory>
#include <sortium/algorithm_info.hpp>
#include <sortium/capabilities.hpp>
#include <sortium/problem.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

// All algorithms, as `Method::algorithm` and `Options::algorithm` name them.
[[nodiscard]] SORTIUM_API std::vector<AlgorithmInfo> algorithms();

struct Method {
  std::string algorithm = "auto";
  std::string parameters{};  // "name=value,…" of that algorithm
  // The most scratch memory, in bytes; 0: no limit. If the fastest algorithm needs more, "auto"
  // selects a slower one, which needs about a hundredth of the records' bytes. If no algorithm
  // fits, the Plan throws Error(invalid_argument) naming the least number of bytes that suffices.
  std::uint64_t max_scratch_bytes = 0;
};

class Sorter;  // an algorithm's planned sort; internal

// A sort of one Problem on one device. Its constructor plans and compiles; run() only sorts.
class SORTIUM_API Plan {
 public:
  // Checks the problem, selects algorithm and parameters, and builds the kernels: tens of
  // milliseconds if the cache has them, else up to seconds. Allocates no device memory. Throws
  // Error: invalid_argument, not_found (algorithm), unsupported (by the device), build_failed,
  // out_of_memory (of the host).
  Plan(std::shared_ptr<Device> device, const Problem& problem, const Method& method = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  // Bytes of scratch memory that run() needs. Plan::scratch_bytes_for() returns the same number
  // without a device.
  [[nodiscard]] std::uint64_t scratch_bytes() const;
  // Needs no device. `capabilities` may be sortium::capabilities(device), or filled in by hand.
  [[nodiscard]] static std::uint64_t scratch_bytes_for(const Problem& problem,
                                                       const Capabilities& capabilities,
                                                       const Method& method = {});

  // Enqueues the sort. Allocates nothing and does not wait. In place: keys_out is keys_in and
  // values_out is values_in; otherwise the input is left unchanged. Throws Error(invalid_argument)
  // naming the operand that is missing, superfluous, too small, misaligned or overlapping another.
  //
  // On cpu:0 the sort has ended when run() returns. If 64-bit keys with values agree in most of
  // their bits, run() allocates 8 bytes a record there. If the allocation fails, run() throws
  // Error(out_of_memory) and leaves the input unchanged.
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
  [[nodiscard]] std::string parameters() const;  // those in use
  [[nodiscard]] std::uint64_t run_length()
      const;  // for a partial sort: records in a sorted run; else 0
  // The least bytes of keys and values that run() reads and writes in device memory, out of place,
  // if it makes all its passes. For some lists it makes fewer, for example if all keys have the
  // same digit. Returns 0 if the number is not known beforehand.
  [[nodiscard]] std::uint64_t bytes_moved() const;

 private:
  std::shared_ptr<Device> device_;
  Problem problem_;
  const AlgorithmInfo* algorithm_ = nullptr;
  std::unique_ptr<Sorter> sorter_;
};

// A self-test is a small sort whose result is known. The first Plan of its kind on a device and
// driver runs one; the cache keeps the success. SORTIUM_SELF_TEST=off turns self-tests off. A
// failure means that the device's compiler built a kernel wrongly: then "auto" selects the next
// algorithm that passes. A Plan whose Method names the algorithm throws Error(unsupported) with the
// case that failed.
struct SelfTest {
  std::string algorithm;
  Problem problem;
  bool supported;       // false: the device cannot run this algorithm; `failure` says why
  std::string failure;  // empty: passed
};
// Runs the self-tests of all algorithms that run on the device, or of the one called `algorithm`,
// with several key types, with and without values. Returns one result per test. Throws
// Error(not_found) for an unknown name.
[[nodiscard]] SORTIUM_API std::vector<SelfTest> self_test(Device& device,
                                                          std::string_view algorithm = {});

}  // namespace sortium
