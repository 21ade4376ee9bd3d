// Shared by tests of sorts of host memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support.hpp"

namespace sortium::test {

inline Options on_device(Options options = {}) {
  options.device = test_device()->info().id;
  return options;
}

template <class T>
std::vector<T> some(std::size_t count, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<T> out(count);
  for (auto& x : out) x = static_cast<T>(static_cast<std::int64_t>(random.next()) % 1000);
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

using AllTypes =
    testing::Types<std::uint32_t, std::int32_t, float, std::uint64_t, std::int64_t, double>;

}  // namespace sortium::test
