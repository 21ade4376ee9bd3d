// The positions of samples: pseudo-random, because equally spaced ones may match a pattern of the
// input.
#pragma once

#include <cstdint>

namespace sortium::sample {

class Positions {
 public:
  explicit Positions(std::uint64_t seed) : state_(seed) {}
  // Returns a position below `count`, by a linear congruential generator.
  std::uint64_t next(std::uint64_t count) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    if (count >> 32 == 0) return (state_ >> 32) * count >> 32;  // faster than a division
    return (state_ >> 20) % count;
  }

  static constexpr std::uint64_t splitters_seed = 0x9e3779b97f4a7c15u;

 private:
  std::uint64_t state_;
};

}  // namespace sortium::sample
