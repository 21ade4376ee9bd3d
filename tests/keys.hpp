// Keys to sort, and the order that they must end up in. Keys are raw bits, zero-extended to 64.
#pragma once

#include <array>
#include <cstdint>
#include <sortium/core.hpp>
#include <string_view>
#include <vector>

namespace sortium::test {

enum class Distribution : std::uint8_t {
  random,
  sorted,
  reversed,
  constant,
  few_distinct,
  organ_pipe,
  zipf,
  special,  // NaN of several kinds, ±0, ±inf, denormals; smallest and largest integers
  last,     // keys that come last: what a sort might pad with
  digits,   // some of the bytes random, the others the same in all keys: passes that are left out
  numbers,  // as programs have them: floats uniform in a range, all sizes of integers
  runs,     // 1 to 9 of them, up and down by turns or all one way; not in the table
  leads,    // some 800 each of values in a row of the leading 14 bits; not in the table
};
inline constexpr std::array all_distributions{
    Distribution::random,   Distribution::sorted,       Distribution::reversed,
    Distribution::constant, Distribution::few_distinct, Distribution::organ_pipe,
    Distribution::zipf,     Distribution::special,      Distribution::last,
    Distribution::digits,   Distribution::numbers};
[[nodiscard]] std::string_view name(Distribution distribution);

// problem.count keys; "sorted" and the like are meant in the problem's own order.
[[nodiscard]] std::vector<std::uint64_t> make_keys(Distribution distribution,
                                                   const Problem& problem, std::uint64_t seed);

// The keys of a type that are most likely to be got wrong.
[[nodiscard]] std::vector<std::uint64_t> special_keys(KeyType type);

// What decides a key's place, with all but the problem's bits masked off.
[[nodiscard]] std::uint64_t rank_of(std::uint64_t key, const Problem& problem);

}  // namespace sortium::test
