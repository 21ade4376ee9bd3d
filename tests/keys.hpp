// Keys to sort, and their expected order. Keys are raw bits, zero-extended to 64.
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
  few_distinct,  // 2 to 400 keys, by the seed
  organ_pipe,
  zipf,
  special,  // NaN of several kinds, ±0, ±inf, denormals; smallest and largest integers
  last,     // keys with the last order, which a sort might use as padding
  digits,   // some bytes random, the others equal in all keys: passes are skipped
  numbers,  // like a program's: floats uniform in a range, integers of all magnitudes
  runs,   // 1 to 9 sorted runs, alternately up and down, or all in one direction; not in the table
  leads,  // some 800 keys for each of consecutive values of the leading 14 bits; not in the table
  classes,  // numbers, and keys of different bits that are equal: NaN, -0, +0; 0.1 %, 10 %, 50 % or
            // all, by the seed; not in the table
  ties,  // floats of four exponents, and 0.1 %, 10 % or 50 % NaN, or NaN, -0 and +0, or one kind of
         // NaN and -0, by the seed; not in the table
  one_nan,    // floats of four exponents, and 0.1 %, 10 %, 50 %, 99.9 % or all of the NaN without
              // payload whose sign puts its bits where NaNs belong; not in the table
  other_nan,  // the same, and one NaN of the other sign; not in the table
  clusters,   // a wide window with outliers, a narrow cluster and a frequent key; not in the table
  peaks,  // floats: peaks of few exponents on one side of zero or on both, by the seed, and some
          // keys between and beyond them; integers: random; not in the table
  range,  // evenly in a range that is an eighth of a percent to all of the numbers; by the seed,
          // one key is beyond it; not in the table
  hill,   // integers: a hill of 2^16 to all numbers, by the seed, with frequent keys at its border
          // and at both ends of the numbers; one key of 64 or of 3000 is anywhere; not in the table
  three_digits,  // the lowest 20 bits are random, the others equal in all keys; not in the table
  groups,  // random, but one of 200 keys is in a group: of 2 to 700 keys, by the seed, which differ
           // in their lowest bits only, three in eight; not in the table
  common,  // numbers of which most are common: 39 of 40 are one of 2 to 700, by the seed; not in
           // the table
  letters,  // integers: 6 letters (of 64 bits: 7) of 5 bits, each with 26 of 32 values: many gaps;
            // not in the table
  fields,  // integers: a field of few values, far apart, above random bits. Some 150 keys have each
           // value, or three in four of them have one of two keys. One key in 100 is random; not in
           // the table
};
inline constexpr std::array all_distributions{
    Distribution::random,   Distribution::sorted,       Distribution::reversed,
    Distribution::constant, Distribution::few_distinct, Distribution::organ_pipe,
    Distribution::zipf,     Distribution::special,      Distribution::last,
    Distribution::digits,   Distribution::numbers};
[[nodiscard]] std::string_view name(Distribution distribution);

// Returns problem.count keys. `sorted` and similar names refer to the problem's order.
[[nodiscard]] std::vector<std::uint64_t> make_keys(Distribution distribution,
                                                   const Problem& problem, std::uint64_t seed);

// Returns the keys of a type that are most likely to be sorted wrong.
[[nodiscard]] std::vector<std::uint64_t> special_keys(KeyType type);

// Returns the bits of the key's order that are in the problem's bit range.
[[nodiscard]] std::uint64_t rank_of(std::uint64_t key, const Problem& problem);

}  // namespace sortium::test
