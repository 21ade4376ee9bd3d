// 16-bit floats, for which C++20 has no type: conversion to and from double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sortium/core.hpp>

namespace app {

namespace detail {
// Number of fraction bits, and exponent of the least normal number.
struct NarrowFormat {
  int fraction, least;
};
[[nodiscard]] inline NarrowFormat narrow_format(sortium::KeyType type) {
  return type == sortium::KeyType::f16 ? NarrowFormat{10, -14} : NarrowFormat{7, -126};
}
}  // namespace detail

// Returns the exact value of an f16 or bf16.
[[nodiscard]] inline double from_narrow(std::uint16_t bits, sortium::KeyType type) {
  const auto [fraction, least] = detail::narrow_format(type);
  const int magnitude = bits & 0x7fff, infinity = static_cast<int>(sortium::info(type).infinity);
  const int exponent = magnitude >> fraction, rest = magnitude & ((1 << fraction) - 1);
  double number = exponent == 0
                      ? std::ldexp(rest, least - fraction)
                      : std::ldexp((1 << fraction) + rest, least - fraction + exponent - 1);
  if (magnitude == infinity) number = HUGE_VAL;
  if (magnitude > infinity) number = std::nan("");
  return std::copysign(number, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

// Returns the bits of the nearest f16 or bf16; of two equally near ones, the even one. Numbers that
// are too large become infinity. A NaN becomes a quiet NaN of the same sign.
[[nodiscard]] inline std::uint16_t to_narrow(double number, sortium::KeyType type) {
  const auto [fraction, least] = detail::narrow_format(type);
  const auto infinity = static_cast<std::uint16_t>(sortium::info(type).infinity);
  const std::uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  if (std::isnan(number)) return sign | infinity | static_cast<std::uint16_t>(1 << (fraction - 1));
  number = std::fabs(number);
  if (number >= std::ldexp(1.0, 128)) return sign | infinity;
  if (number == 0) return sign;
  const int exponent = std::max(std::ilogb(number), least);
  const double scaled = std::ldexp(number, fraction - exponent);  // exact, as are the steps below
  double whole = std::floor(scaled);
  if (const double rest = scaled - whole; rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) != 0))
    ++whole;
  // The leading bit of a normal number is not masked off: it adds 1 to the exponent field, as does
  // a carry from rounding.
  const int bits = ((exponent - least) << fraction) + static_cast<int>(whole);
  return sign | static_cast<std::uint16_t>(std::min(bits, int{infinity}));
}

}  // namespace app
