// What a benchmark sorts: how many records, and how their keys are distributed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sortium/core.hpp>

namespace app {

// "2^8:2^28" (every power of two between), "1000,2^20", or a list of both; ascending and without repetitions.
// Throws Failure.
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text);

// One number of records: "1000" or "2^20", up to 2^32. Throws Failure, which begins with `argument`.
[[nodiscard]] std::uint64_t parse_size(std::string_view text, const std::string& argument);

[[nodiscard]] const std::vector<std::string>& distributions();
// Throws Failure, with the names there are, where `name` is neither one of distributions() nor distinctK.
void check_distribution(const std::string& name);

// Writes keys [first, first + count) of a file of `total` keys to `out`. The same arguments make the same keys.
void make_keys(const std::string& distribution, sortium::KeyType type, std::uint64_t total, std::uint64_t first,
               std::uint64_t count, void* out);

}  // namespace app
