// What a benchmark measures on: a device with the library's algorithms, or the host with std::sort
// and its kin.
#pragma once

#include <cstdint>
#include <memory>
#include <sortium/sortium.hpp>
#include <string>

#include "io/host_sort.hpp"
#include "protocol/measure.hpp"

namespace app {

class Bench {
 public:
  virtual ~Bench() = default;
  virtual std::string id() const = 0;
  virtual std::string name() const = 0;
  virtual std::string driver() const = 0;
  virtual std::string language() const = 0;
  // Bytes read and written per second by a copy of a large buffer, of copies of `min_seconds` in
  // all: no sort that moves its records once is faster.
  virtual double copy_rate(double min_seconds) = 0;

  // Throws sortium::Error or Failure; where memory does not suffice, Error(out_of_memory) before
  // any is used.
  virtual Measurement measure(const std::string& algorithm, const std::string& parameters,
                              const Case& c) = 0;
};

[[nodiscard]] std::unique_ptr<Bench> make_device_bench(std::shared_ptr<sortium::Device> device);
[[nodiscard]] std::unique_ptr<Bench> make_host_bench();

// What an O(N^2) sort of `count` records takes, from one of `known_count` that took `seconds`.
[[nodiscard]] inline double quadratic_seconds(double seconds, std::uint64_t known_count,
                                              std::uint64_t count) {
  const double ratio = static_cast<double>(count) / static_cast<double>(known_count);
  return seconds * ratio * ratio;
}
// One sort of so many records tells how long one of more will take.
constexpr std::uint64_t quadratic_probe = 1 << 12;

}  // namespace app
