// What a benchmark sorts: how many records, and how their keys are distributed.
#pragma once

#include <cstdint>
#include <sortium/core.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace app {

// Numbers of records are at most two to the power of these. A benchmark's values are 4-byte
// positions.
inline constexpr unsigned most_records = 32, most_keys = 40;

// "2^8:2^28" (every power of two between), "1000,2^20", or a list of both, up to 2^most; ascending
// and without repetitions. Throws Error(invalid_argument).
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text,
                                                     unsigned most = most_records);

// One number of records: "1000" or "2^20", up to 2^most. Throws
// Error(invalid_argument), which begins with `argument`.
[[nodiscard]] std::uint64_t parse_size(std::string_view text, const std::string& argument,
                                       unsigned most = most_records);

[[nodiscard]] const std::vector<std::string>& distributions();
// Throws Error(invalid_argument), with the names there are, where `name` is neither one of
// distributions() nor distinctK.
void check_distribution(const std::string& name);

// Writes keys [first, first + count) of a file of `total` keys to `out`. The same arguments make
// the same keys.
void make_keys(const std::string& distribution, sortium::KeyType type, std::uint64_t total,
               std::uint64_t first, std::uint64_t count, void* out);

}  // namespace app
