// Keys to measure with: named distributions, the same on every machine.
#pragma once

#include <cstdint>
#include <sortium/core.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace app {

// A distribution's name is a word, the word's number, and at most one addition:
//   normal   zipf1.5   ids22   distinct1000   normal+nan10   file:/usr/share/dict/words
struct DistributionWord {
  std::string_view word;
  // The word's number is in [least, most], and may be omitted if `usual` is in that range. If least
  // > most, the word takes no number ("uniform").
  double least, most, usual;
  std::string_view meaning;  // the word's number is called K
};

// All words but file, in the order of the documentation.
[[nodiscard]] const std::vector<DistributionWord>& distribution_words();

// A name for each word, with its usual number. For tests.
[[nodiscard]] const std::vector<std::string>& distributions();

// A table for help texts: each word and its meaning on a line.
[[nodiscard]] std::string distribution_help();

// Throws Error(invalid_argument) naming the unknown part of `name`, and what is allowed.
void check_distribution(std::string_view name);

// Writes keys [first, first + count) of a list of `total` keys to `out`, on all cores. The same
// arguments always make the same keys. Throws Error(invalid_argument) for a name that
// check_distribution() refuses, a file that cannot be read or has fewer than `total` keys, and NaN
// or zeros for a type that is not a float.
void make_keys(std::string_view name, sortium::KeyType type, std::uint64_t total,
               std::uint64_t first, std::uint64_t count, void* out);

}  // namespace app
