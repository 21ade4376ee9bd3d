// Numbers of records to measure with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace app {

// Largest number of records with values, and of keys without values, as exponents of two. The limit
// for values is 2^32 because a benchmark's values are 4-byte positions.
inline constexpr unsigned most_records = 32, most_keys = 40;

// Parses "2^8:2^28" (all powers of two in between), "1000,2^20", or a list of both, up to
// 2^most. Returns the sizes in ascending order, each once. Throws Error(invalid_argument).
[[nodiscard]] std::vector<std::uint64_t> parse_sizes(const std::string& text,
                                                     unsigned most = most_records);

// Parses one number of records: "1000" or "2^20", up to 2^most. Throws
// Error(invalid_argument); the message begins with `argument`.
[[nodiscard]] std::uint64_t parse_size(std::string_view text, const std::string& argument,
                                       unsigned most = most_records);

}  // namespace app
