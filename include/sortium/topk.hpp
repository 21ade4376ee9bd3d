// Top-k: returns the first k records of the sorted order, sorted, from host memory, without a full
// sort.
//
//   auto best = sortium::topk(scores, 10, {.order = sortium::Order::descending});
#pragma once

#include <concepts>
#include <cstdint>
#include <ranges>
#include <sortium/host.hpp>
#include <utility>
#include <vector>

namespace sortium {

// Returns the first k keys of the sorted order, sorted. Does not sort the other keys. Throws
// Error(invalid_argument) unless 1 <= k <= the number of keys, else as sort_host() does.
template <KeyRange Keys>
[[nodiscard]] std::vector<detail::element<Keys>> topk(const Keys& keys, std::uint64_t k,
                                                      const Options& options = {}) {
  auto p = detail::problem_of_range(keys, options);
  detail::check_k(k, p.count);
  p.limit = k;
  auto out = detail::vector_of<detail::element<Keys>>(k);
  sort_host(p, {std::ranges::data(keys), out.data()}, options);
  return out;
}

// Returns the first k records: keys, and their values of 1 to 256 bytes. Of equal keys, those that
// come first in the input are selected.
template <KeyRange Keys, ValueRange Values>
[[nodiscard]] std::pair<std::vector<detail::element<Keys>>, std::vector<detail::element<Values>>>
topk(const Keys& keys, const Values& values, std::uint64_t k, const Options& options = {}) {
  detail::check_lengths(std::ranges::size(keys), std::ranges::size(values));
  auto p = detail::problem_with_values(keys, sizeof(detail::element<Values>), options);
  detail::check_k(k, p.count);
  p.limit = k;
  auto out = std::pair(detail::vector_of<detail::element<Keys>>(k),
                       detail::vector_of<detail::element<Values>>(k));
  sort_host(
      p, {std::ranges::data(keys), out.first.data(), std::ranges::data(values), out.second.data()},
      options);
  return out;
}

// Returns the positions of the first k records in sorted order. Index as for argsort.
template <class Index = std::uint32_t, KeyRange Keys>
requires std::same_as<Index, std::uint32_t> || std::same_as<Index, std::uint64_t>
[[nodiscard]] std::vector<Index> argtopk(const Keys& keys, std::uint64_t k,
                                         const Options& options = {}) {
  auto p = detail::problem_of_range(keys, options);
  detail::check_k(k, p.count);
  p.payload = Payload::positions;
  p.value_bytes = sizeof(Index);
  p.keys_out = false;
  p.limit = k;
  auto out = detail::vector_of<Index>(k);
  sort_host(p, {std::ranges::data(keys), nullptr, nullptr, out.data()}, options);
  return out;
}

}  // namespace sortium
