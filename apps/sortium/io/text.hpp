// Numbers as text, one a line.
#pragma once

#include <sortium/core.hpp>
#include <string>
#include <string_view>

#include "cli/common.hpp"
#include "cli/progress.hpp"

namespace app {

// Throws Failure that names the line which is not a number of this type.
[[nodiscard]] Bytes parse_text(std::string_view text, sortium::KeyType type, Progress& progress);

// Appends a line for each of `count` keys. Every line reads back to the same value (of a NaN: its
// sign).
void format_text(std::string& out, const void* keys, std::uint64_t count, sortium::KeyType type);

// A key in words: as format_text has it, with its bits where they say more (NaN).
[[nodiscard]] std::string format_key(std::uint64_t bits, sortium::KeyType type);

}  // namespace app
