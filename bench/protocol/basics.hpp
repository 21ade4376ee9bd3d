// Shared by the measuring protocol and the program.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace app {

class Stopwatch {
 public:
  // Returns the seconds since the last lap, or since the watch was made.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> seconds = now - last_;
    last_ = now;
    return seconds.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Calls `f` with an unsigned integer of 1, 2, 4 or 8 bytes.
template <class F>
decltype(auto) with_word(unsigned width, F&& f) {
  switch (width) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

[[nodiscard]] std::string human_bytes(std::uint64_t bytes);  // "1.5 GiB"

}  // namespace app
