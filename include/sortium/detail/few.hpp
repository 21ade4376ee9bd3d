// Sorts of at most three keys, inline: a call would take longer.
#pragma once

#include <sortium/export.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <sortium/host.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

namespace sortium {

namespace detail {

// Returns false for misaligned keys, such as a span over a member of a packed struct.
template <class K>
bool is_aligned(const K* keys) {
  return reinterpret_cast<std::uintptr_t>(keys) % sizeof(K) == 0;
}
// Names in reports on few records. few_names is null until the first such report.
struct FewNames {
  std::string_view device, algorithm;
};
extern SORTIUM_API std::atomic<const FewNames*> few_names;
inline HostReport few_report(const FewNames& names) {
  HostReport report;  // no initializer: compilers would clear all of it first, which takes 10 ns
  report.device = names.device;
  report.algorithm = names.algorithm;
  return report;
}
// The largest list that is sorted inline.
constexpr std::uint64_t inline_records = 3;
template <std::uint64_t N, class K>
void sort_here(K* keys) {
  using Bits = std::conditional_t<
      sizeof(K) == 1, std::uint8_t,
      std::conditional_t<sizeof(K) == 2, std::uint16_t,
                         std::conditional_t<sizeof(K) == 4, std::uint32_t, std::uint64_t>>>;
  using Code = std::conditional_t<std::is_unsigned_v<K>, Bits, std::make_signed_t<Bits>>;
  Bits key[N];
  Code code[N];
  for (std::uint64_t i = 0; i < N; ++i) {
    key[i] = std::bit_cast<Bits>(keys[i]);
    constexpr auto& type = info(key_type_of<K>::value);
    if constexpr (type.is_float) {
      code[i] = static_cast<Code>(signed_default_order(key[i], type.infinity, type.bits()));
    } else {
      code[i] = static_cast<Code>(key[i]);
    }
  }
  const auto order = [&](std::uint64_t i) {  // compares neighbours only, so ties keep their order
    const bool swap = code[i + 1] < code[i];
    const auto [k, c] = std::pair(key[i], code[i]);
    key[i] = swap ? key[i + 1] : k;
    code[i] = swap ? code[i + 1] : c;
    key[i + 1] = swap ? k : key[i + 1];
    code[i + 1] = swap ? c : code[i + 1];
  };
  order(0);
  if constexpr (N == 3) order(1), order(0);
  for (std::uint64_t i = 0; i < N; ++i) keys[i] = std::bit_cast<K>(key[i]);
}
// Up to this many records, sort_few_by_default() is faster than sort_host(): making and reading a
// Problem and Options takes longer than the sort.
constexpr std::uint64_t network_records = 16;
// Sorts in place with the default options, as sort_host() does. value_bytes is 0 without values.
SORTIUM_API HostReport sort_few_by_default(KeyType key, std::uint64_t count, void* keys,
                                           unsigned value_bytes = 0, void* values = nullptr);

}  // namespace detail

}  // namespace sortium
