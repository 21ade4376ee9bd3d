// Records as strings of bytes, for tests of the program `sortium`. The expected result comes from
// std::stable_sort, over numbers that the tests decode themselves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cli.hpp"

template <class T>
T get(const std::string& record, std::size_t at, bool swapped = false) {
  std::string part = record.substr(at, sizeof(T));
  if (swapped) std::ranges::reverse(part);
  return numbers_of<T>(part).at(0);
}

template <class T>
void put(std::string& record, T number, bool swapped = false) {
  record += bytes_of(std::vector<T>{number}, swapped);
}

inline std::string joined(const std::vector<std::string>& records) {
  std::string out;
  for (const auto& r : records) out += r;
  return out;
}

inline std::string cut(const std::vector<std::string>& records,
                       const std::vector<std::uint32_t>& order) {
  std::string out;
  for (const auto i : order) out += records[i];
  return out;
}

template <class Less>
inline std::vector<std::uint32_t> order_of(const std::vector<std::string>& records,
                                           const Less& less) {
  std::vector<std::uint32_t> out(records.size());
  std::iota(out.begin(), out.end(), 0u);
  std::ranges::stable_sort(out, [&](auto a, auto b) { return less(records[a], records[b]); });
  return out;
}

inline std::vector<std::string> random_records(std::size_t count, std::size_t bytes,
                                               unsigned letters) {
  std::mt19937 random(17);
  std::vector<std::string> out(count);
  for (auto& r : out)
    for (std::size_t i = 0; i < bytes; ++i)
      r += static_cast<char>(letters == 256 ? random() : 'a' + random() % letters);
  return out;
}

// A structured array of .npy.
inline constexpr const char* particle =
    "[('energy', '>f4'), ('id', '<u2'), ('name', '|S6'), ('', '|V3'), ('hit', '|b1'), ('t', "
    "'>i8'), "
    "('at', '<f8', (2,)), ('half', '<f2')]";
inline constexpr std::size_t energy_at = 0, id_at = 4, name_at = 6, hit_at = 15, t_at = 16,
                             half_at = 40, particle_bytes = 42;

// Records with many ties in each field, and all special floats.
inline std::vector<std::string> particles(std::size_t count) {
  std::mt19937 random(5);
  const std::vector<float> energies{
      1.5f, -2, 0.0f, -0.0f, std::numeric_limits<float>::infinity(), std::nanf(""), -std::nanf("")};
  const std::vector<std::string> names{
      "", "a", "ab", "abcdef", "b", "\xff", std::string("a\0b", 3)};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string r;
    put(r, energies[random() % energies.size()], true);
    put(r, static_cast<std::uint16_t>(random() % 5 * 10000));
    r += names[random() % names.size()];
    r.resize(12);
    for (int b = 0; b < 3; ++b) r += static_cast<char>(random());
    r += static_cast<char>(random() % 2);
    put(r, static_cast<std::int64_t>(random() % 3 - 1) * (std::int64_t{1} << 40), true);
    put(r, static_cast<double>(i));
    put(r, 2.0 * static_cast<double>(i));
    put(r, static_cast<std::uint16_t>(random()));
    out.push_back(r);
  }
  return out;
}

// By energy, descending, NaN first, zeros tied; then the name; then t, descending.
inline bool by_energy_name_t(const std::string& a, const std::string& b) {
  const auto x = get<float>(a, energy_at, true), y = get<float>(b, energy_at, true);
  if (std::isnan(x) != std::isnan(y)) return std::isnan(x);
  if (!std::isnan(x) && x != y) return x > y;
  if (const int c = std::memcmp(a.data() + name_at, b.data() + name_at, 6); c != 0) return c < 0;
  return get<std::int64_t>(a, t_at, true) > get<std::int64_t>(b, t_at, true);
}
