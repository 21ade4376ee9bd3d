// One measurement of a benchmark: an algorithm, on a device or on the host, for one problem.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <sortium/sortium.hpp>

#include "host_sort.hpp"

namespace app {

// Ctrl-C or SIGTERM has come: what is under way ends early, what is done is kept. The second one ends the program.
[[nodiscard]] bool interrupted();
void keep_results_on_signals();

struct Case {
  sortium::Problem problem;  // Payload::values are the records' positions
  std::string distribution;
  double min_seconds;
};

struct Measurement {
  double seconds = 0;  // of one sort, on average
  std::uint64_t repetitions = 0;
  bool correct = false;
  std::string parameters;
  std::uint64_t run_length = 0;  // of a partial sort
};

// An OpenCL or CUDA device, or the host, which runs std::sort and its kin.
class Bench {
 public:
  virtual ~Bench() = default;
  virtual std::string id() const = 0;
  virtual std::string name() const = 0;
  virtual std::string driver() const = 0;
  virtual std::string language() const = 0;
  // Bytes read and written per second by a copy of a large buffer: no sort that moves its records once is faster.
  virtual double copy_rate() = 0;
  virtual sortium::Device* device() { return nullptr; }

  // The protocol of document 000. Throws sortium::Error or Failure; where memory does not suffice, Error(out_of_memory)
  // before any is used.
  virtual Measurement measure(const std::string& algorithm, const std::string& parameters, const Case& c) = 0;
};

[[nodiscard]] std::unique_ptr<Bench> make_device_bench(std::shared_ptr<sortium::Device> device);
[[nodiscard]] std::unique_ptr<Bench> make_host_bench();

// What an O(N^2) sort of `count` records takes, from one of `known_count` that took `seconds`.
[[nodiscard]] inline double quadratic_seconds(double seconds, std::uint64_t known_count, std::uint64_t count) {
  const double ratio = static_cast<double>(count) / static_cast<double>(known_count);
  return seconds * ratio * ratio;
}
// One sort of so many records tells how long one of more will take.
constexpr std::uint64_t quadratic_probe = 1 << 12;

}  // namespace app
