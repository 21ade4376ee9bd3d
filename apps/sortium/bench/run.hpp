// The places where a benchmark measures: a device with the library's algorithms, or the host with
// std::sort and other peers.
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
  // Returns the bytes read and written per second by copies of a large buffer, made for
  // `min_seconds`. No sort that moves its records once is faster.
  virtual double copy_rate(double min_seconds) = 0;

  // Throws sortium::Error or Failure; Error(out_of_memory) before it allocates if there is
  // not enough memory.
  virtual Measurement measure(const std::string& algorithm, const std::string& parameters,
                              const Case& c) = 0;
};

[[nodiscard]] std::unique_ptr<Bench> make_device_bench(std::shared_ptr<sortium::Device> device);
[[nodiscard]] std::unique_ptr<Bench> make_host_bench();

// Returns the time that an O(N^2) sort of `count` records takes, if one of `known_count`
// takes `seconds`.
[[nodiscard]] inline double quadratic_seconds(double seconds, std::uint64_t known_count,
                                              std::uint64_t count) {
  const double ratio = static_cast<double>(count) / static_cast<double>(known_count);
  return seconds * ratio * ratio;
}
// Number of records of a sort that predicts the time for more records.
constexpr std::uint64_t quadratic_probe = 1 << 12;

}  // namespace app
