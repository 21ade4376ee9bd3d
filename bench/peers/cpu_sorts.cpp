// The C++ library's sorts, and Sortium's sort of pairs, for python_cpu.py, which loads this library
// with ctypes. A type is named as NumPy names it: u1, i2, f4. NaN must not be among the keys.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <execution>
#include <numeric>
#include <sortium/sortium.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace {

// A half float by its bits. C++20 has no type for it.
struct Half {
  std::uint16_t bits;
  [[nodiscard]] int order() const { return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : bits; }
  friend bool operator<(Half a, Half b) { return a.order() < b.order(); }
  friend bool operator==(Half a, Half b) { return a.order() == b.order(); }
};

template <class Body>
void with_type(std::string_view type, const Body& body) {
  if (type == "u1") return body(std::uint8_t{});
  if (type == "i1") return body(std::int8_t{});
  if (type == "u2") return body(std::uint16_t{});
  if (type == "i2") return body(std::int16_t{});
  if (type == "f2") return body(Half{});
  if (type == "u4") return body(std::uint32_t{});
  if (type == "i4") return body(std::int32_t{});
  if (type == "f4") return body(float{});
  if (type == "u8") return body(std::uint64_t{});
  if (type == "i8") return body(std::int64_t{});
  if (type == "f8") return body(double{});
  throw std::invalid_argument(std::string(type));
}

template <class Key>
struct Record {
  Key key;
  std::uint32_t value;
};

// Calls body(i) for each i < count on all cores.
template <class Body>
void each(std::uint64_t count, const Body& body) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  std::for_each(std::execution::par, all.begin(), all.end(), body);
}

// Sorts the positions below n with std::stable_sort, on all cores or on one, and calls
// move(i, the i-th position) for each.
template <class Less, class Move>
void move_sorted(bool all_cores, std::uint64_t n, const Less& less, const Move& move) {
  std::vector<std::uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0u);
  if (all_cores) {
    std::stable_sort(std::execution::par, positions.begin(), positions.end(), less);
    return each(n, [&](std::uint64_t i) { move(i, positions[i]); });
  }
  std::stable_sort(positions.begin(), positions.end(), less);
  for (std::uint64_t i = 0; i < n; ++i) move(i, positions[i]);
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void std_sort(const char* type, void* keys, std::uint64_t n) {
  with_type(type, [&](auto zero) {
    auto* const k = static_cast<decltype(zero)*>(keys);
    std::sort(std::execution::par, k, k + n);
  });
}

// Makes an array of structures of keys and positions; delete_records() frees it.
EXPORTED void* make_records(const char* type, const void* keys, std::uint64_t n) {
  void* made = nullptr;
  with_type(type, [&](auto zero) {
    using Key = decltype(zero);
    const auto* const k = static_cast<const Key*>(keys);
    auto* const records = static_cast<Record<Key>*>(::operator new(n * sizeof(Record<Key>)));
    for (std::uint64_t i = 0; i < n; ++i) records[i] = {k[i], static_cast<std::uint32_t>(i)};
    made = records;
  });
  return made;
}
EXPORTED void delete_records(void* records) { ::operator delete(records); }
EXPORTED void std_sort_records(const char* type, void* records, std::uint64_t n) {
  with_type(type, [&](auto zero) {
    auto* const r = static_cast<Record<decltype(zero)>*>(records);
    std::sort(std::execution::par, r, r + n,
              [](const auto& a, const auto& b) { return a.key < b.key; });
  });
}
EXPORTED void sortium_sort_pairs(const char* type, void* keys, std::uint32_t* values,
                                 std::uint64_t n) {
  with_type(type, [&](auto zero) {
    using Key = decltype(zero);
    if constexpr (std::is_same_v<Key, Half>)
      sortium::sort_host({.key = sortium::KeyType::f16,
                          .count = n,
                          .payload = sortium::Payload::values,
                          .value_bytes = 4},
                         {keys, keys, values, values}, {.device = "cpu:0"});
    else
      sortium::sort(std::span(static_cast<Key*>(keys), n), std::span(values, n),
                    {.device = "cpu:0"});
  });
}

EXPORTED void std_stable_argsort(const char* type, const void* keys, std::uint32_t* positions,
                                 std::uint64_t n) {
  with_type(type, [&](auto zero) {
    const auto* const k = static_cast<const decltype(zero)*>(keys);
    std::iota(positions, positions + n, 0u);
    std::stable_sort(std::execution::par, positions, positions + n,
                     [=](std::uint32_t a, std::uint32_t b) { return k[a] < k[b]; });
  });
}

// Records of `bytes` bytes by their first `key` bytes: sorts positions, then moves the records.
EXPORTED void std_sort_bytes(bool all_cores, const std::uint8_t* records, std::uint8_t* out,
                             std::uint64_t n, std::uint64_t bytes, std::uint64_t key) {
  const auto less = [=](std::uint32_t a, std::uint32_t b) {
    return std::memcmp(records + a * bytes, records + b * bytes, key) < 0;
  };
  move_sorted(all_cores, n, less, [=](std::uint64_t to, std::uint64_t from) {
    std::memcpy(out + to * bytes, records + from * bytes, bytes);
  });
}

// Rows of three columns by mass, descending, then kind, then id: sorts positions, then moves the
// columns.
EXPORTED void std_sort_rows(bool all_cores, const float* mass, const std::uint16_t* kind,
                            const std::uint64_t* id, float* mass_out, std::uint16_t* kind_out,
                            std::uint64_t* id_out, std::uint64_t n) {
  const auto less = [=](std::uint32_t a, std::uint32_t b) {
    if (mass[a] != mass[b]) return mass[a] > mass[b];
    if (kind[a] != kind[b]) return kind[a] < kind[b];
    return id[a] < id[b];
  };
  move_sorted(all_cores, n, less, [=](std::uint64_t to, std::uint64_t from) {
    mass_out[to] = mass[from];
    kind_out[to] = kind[from];
    id_out[to] = id[from];
  });
}

EXPORTED void std_sort_segments(const char* type, void* keys, const std::int64_t* offsets,
                                std::uint64_t segments) {
  with_type(type, [&](auto zero) {
    auto* const k = static_cast<decltype(zero)*>(keys);
    each(segments, [=](std::uint64_t s) { std::sort(k + offsets[s], k + offsets[s + 1]); });
  });
}

// The k largest keys, the largest first.
EXPORTED void std_topk(const char* type, void* keys, std::uint64_t n, std::uint64_t k) {
  with_type(type, [&](auto zero) {
    auto* const all = static_cast<decltype(zero)*>(keys);
    const auto greater = [](auto a, auto b) { return b < a; };
    std::nth_element(std::execution::par, all, all + k, all + n, greater);
    std::sort(std::execution::par, all, all + k, greater);
  });
}

EXPORTED std::uint64_t std_unique(const char* type, void* keys, std::uint64_t n) {
  std::uint64_t count = 0;
  with_type(type, [&](auto zero) {
    auto* const k = static_cast<decltype(zero)*>(keys);
    std::sort(std::execution::par, k, k + n);
    count = static_cast<std::uint64_t>(std::unique(std::execution::par, k, k + n) - k);
  });
  return count;
}

EXPORTED void std_merge(const char* type, const void* a, std::uint64_t a_count, const void* b,
                        std::uint64_t b_count, void* out) {
  with_type(type, [&](auto zero) {
    using Key = decltype(zero);
    const auto *const x = static_cast<const Key*>(a), *const y = static_cast<const Key*>(b);
    std::merge(std::execution::par, x, x + a_count, y, y + b_count, static_cast<Key*>(out));
  });
}

EXPORTED void std_search(const char* type, const void* keys, std::uint64_t n, const void* needles,
                         std::uint64_t count, std::int64_t* places) {
  with_type(type, [&](auto zero) {
    using Key = decltype(zero);
    const auto* const k = static_cast<const Key*>(keys);
    const auto* const wanted = static_cast<const Key*>(needles);
    std::transform(std::execution::par, wanted, wanted + count, places,
                   [=](Key x) { return std::lower_bound(k, k + n, x) - k; });
  });
}
