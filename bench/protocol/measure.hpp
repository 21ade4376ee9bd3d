// How a sort is measured: the protocol of document 000, device times beside it, and the check of
// the result. Shared with the peers' programs (bench/peers), so that all figures come about in one
// way.
#pragma once

#include <cstdint>
#include <functional>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

namespace app {

// Ctrl-C or SIGTERM has come: what is under way ends early, what is done is kept. The second one
// ends the program.
[[nodiscard]] bool interrupted();
void keep_results_on_signals();

// Writes keys [first, first + count) of the input to `out`.
using MakeKeys = std::function<void(std::uint64_t first, std::uint64_t count, void* out)>;

// What is sorted. Values are 4 bytes wide and the records' positions, so that one can see whether
// ties kept their order.
struct Case {
  sortium::Problem problem;
  MakeKeys keys;
  double min_seconds = 0.5;
};

struct Measurement {
  std::uint64_t repetitions = 0;         // 0: interrupted before there was one
  double seconds = 0;                    // of one sort, on average
  double median = 0, low = 0, high = 0;  // of the single sorts: the middle, and the quartiles
  double device_seconds = 0;             // of one sort, by the device's own clock; 0: not to be had
  std::vector<sortium::Plan::Phase>
      phases;  // what device_seconds is made of; none where only the sum is known
  bool correct = false;
  std::string parameters;
  std::uint64_t run_length = 0;   // of a partial sort
  std::uint64_t bytes_moved = 0;  // the least that the sort reads and writes; 0: not known
};

// Times `once`, which sorts once, waits for the end, and returns the seconds that count: 1, 2, 4, 8
// … times until `min_seconds` of sorting have passed.
[[nodiscard]] Measurement repeat(double min_seconds, const std::function<double()>& once);

// Throws Error(out_of_memory).
[[noreturn]] void out_of_memory(std::uint64_t need, std::uint64_t have);

// A sort of device memory.
struct DeviceSort {
  std::uint64_t scratch_bytes = 0;
  bool stable = true;
  std::uint64_t run_length = 0;
  // Before each sort, waited for and not timed: where the output must be the input first.
  std::function<void(const sortium::Operands&)> prepare;
  std::function<void(const sortium::Operands&)>
      sort;  // only enqueues on the queue that is given to measure()
  std::function<std::vector<sortium::Plan::Phase>(const sortium::Operands&)>
      profile;  // once, by the device's clock
};

// From the same input to the same output again and again, records on the device; verified
// afterwards, on the device. Throws Error(out_of_memory) before any memory is used where there is
// not enough of it, and what `sort` throws.
[[nodiscard]] Measurement measure(sortium::Queue& queue, const DeviceSort& sort, const Case& c);

// Bytes of a large buffer read and written per second by a copy on the device; of copies of
// `min_seconds` in all.
[[nodiscard]] double copy_rate(sortium::Queue& queue, double min_seconds);

}  // namespace app
