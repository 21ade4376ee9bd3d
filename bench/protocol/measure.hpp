// How a sort is measured: the protocol of document 000, device times, and the check of the result.
// The program `sortium` and the programs of bench/peers share this protocol, so that all figures
// are comparable.
#pragma once

#include <cstdint>
#include <functional>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

namespace app {

// interrupted() returns true after Ctrl-C or SIGTERM: the current measurement ends early, and
// finished results are kept. A second signal ends the program.
[[nodiscard]] bool interrupted();
void keep_results_on_signals();

// Writes keys [first, first + count) of the input to `out`.
using MakeKeys = std::function<void(std::uint64_t first, std::uint64_t count, void* out)>;

// The sort to measure. Values are 4 bytes wide and hold the records' positions, so that the
// check can see whether ties kept their order.
struct Case {
  sortium::Problem problem;
  MakeKeys keys;
  double min_seconds = 0.5;
};

struct Measurement {
  std::uint64_t repetitions = 0;         // 0: interrupted before the first one
  double seconds = 0;                    // mean time of a sort
  double median = 0, low = 0, high = 0;  // median and quartiles of one sort's time
  double device_seconds = 0;             // of one sort, by the device's clock; 0: not available
  std::vector<sortium::Plan::Phase>
      phases;  // parts of device_seconds; empty if only the sum is known
  bool correct = false;
  std::string parameters;
  std::uint64_t run_length = 0;  // length of the sorted runs of a partial sort
  std::uint64_t bytes_moved =
      0;  // least number of bytes that the sort reads and writes; 0: unknown
};

// Calls `once` 1, 2, 4, 8 … times until `min_seconds` of sorting have passed. `once` sorts
// once, waits for the end, and returns the time in seconds.
[[nodiscard]] Measurement repeat(double min_seconds, const std::function<double()>& once);

// Throws Error(out_of_memory) naming both sizes, in bytes.
[[noreturn]] void out_of_memory(std::uint64_t need, std::uint64_t have);

// A sort of device memory.
struct DeviceSort {
  std::uint64_t scratch_bytes = 0;
  bool stable = true;
  std::uint64_t run_length = 0;
  // Called before each sort, to restore the input of a sort in place. It must wait for the end of
  // its work. It is not timed.
  std::function<void(const sortium::Operands&)> prepare;
  std::function<void(const sortium::Operands&)>
      sort;  // only enqueues, on the queue that measure() got
  std::function<std::vector<sortium::Plan::Phase>(const sortium::Operands&)>
      profile;  // sorts once; returns times by the device's clock
};

// Sorts repeatedly from the same input to the same output, with records on the device, and
// verifies the result there. Throws Error(out_of_memory) before it allocates if there is not
// enough memory, and whatever `sort` throws.
[[nodiscard]] Measurement measure(sortium::Queue& queue, const DeviceSort& sort, const Case& c);

// Returns the bytes read and written per second by copies of a large buffer on the device.
// Copies for `min_seconds`.
[[nodiscard]] double copy_rate(sortium::Queue& queue, double min_seconds);

}  // namespace app
