// Sorts and argsorts of host memory.
//
//   sortium::sort(keys);                         // in place
//   sortium::sort(keys, values);                 // moves the values with their keys; stable
//   auto order = sortium::argsort(keys);         // keys[order[0]] comes first
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <ranges>
#include <sortium/detail/few.hpp>
#include <sortium/host.hpp>
#include <vector>

namespace sortium {

// Sorts `keys` in place. Needs about as much scratch memory on the device as the keys have. Cost
// and errors are those of sort_host().
template <KeyRange Keys>
HostReport sort(Keys&& keys, const Options& options) {
  using K = std::ranges::range_value_t<Keys>;
  K* const k = std::ranges::data(keys);
  return sort_host(detail::problem_of<K>(std::ranges::size(keys), options), {k, k}, options);
}
template <KeyRange Keys>
HostReport sort(Keys&& keys) {
  using K = std::ranges::range_value_t<Keys>;
  K* const k = std::ranges::data(keys);
  const std::uint64_t count = std::ranges::size(keys);
  if (const auto* names = detail::few_names.load(std::memory_order_acquire);
      count <= detail::inline_records && k != nullptr && names != nullptr &&
      detail::is_aligned(k)) {
    if (count == 2) detail::sort_here<2>(k);
    if (count == 3) detail::sort_here<3>(k);
    return detail::few_report(*names);
  }
  if (count <= detail::network_records)
    return detail::sort_few_by_default(key_type_of<K>::value, count, k);
  return sort_host({.key = key_type_of<K>::value, .count = count}, {k, k});
}

// Sorts `keys` in place and moves `values`, of 1 to 256 bytes each, with them; stable. Throws
// Error(invalid_argument) if the lengths differ, else as sort_host() does.
template <KeyRange Keys, ValueRange Values>
HostReport sort(Keys&& keys, Values&& values, const Options& options) {
  using K = std::ranges::range_value_t<Keys>;
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  K* const k = std::ranges::data(keys);
  V* const v = std::ranges::data(values);
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::values;
  problem.value_bytes = sizeof(V);
  return sort_host(problem, {k, k, v, v}, options);
}
// The same for two ranges of one type. With `using namespace sortium`, the overload above alone
// would be ambiguous with std::sort(first, last, compare), which argument-dependent look-up finds.
// (Without options, write sortium::sort(keys, values).)
template <KeyRange Keys>
requires ValueRange<Keys> HostReport sort(Keys&& keys, Keys&& values, const Options& options) {
  return sort<Keys&, Keys&>(keys, values, options);
}
template <KeyRange Keys, ValueRange Values>
HostReport sort(Keys&& keys, Values&& values) {
  using K = std::ranges::range_value_t<Keys>;
  using V = std::ranges::range_value_t<Values>;
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  K* const k = std::ranges::data(keys);
  V* const v = std::ranges::data(values);
  const std::uint64_t count = std::ranges::size(keys);
  if (count <= detail::network_records)
    return detail::sort_few_by_default(key_type_of<K>::value, count, k, sizeof(V), v);
  return sort_host({.key = key_type_of<K>::value,
                    .count = count,
                    .payload = Payload::values,
                    .value_bytes = sizeof(V)},
                   {k, k, v, v});
}

// Returns the positions of the keys in sorted order: keys[out[0]] comes first. `keys` is only read.
// Index is std::uint32_t (up to 2^32 records) or std::uint64_t.
template <class Index = std::uint32_t, KeyRange Keys>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argsort(const Keys& keys, const Options& options = {}) {
  using K = std::ranges::range_value_t<Keys>;
  Problem problem = detail::problem_of<K>(std::ranges::size(keys), options);
  problem.payload = Payload::positions;
  problem.value_bytes = sizeof(Index);
  problem.keys_out = false;
  auto out = detail::vector_of<Index>(std::ranges::size(keys));
  sort_host(problem, {std::ranges::data(keys), nullptr, nullptr, out.data()}, options);
  return out;
}

}  // namespace sortium
