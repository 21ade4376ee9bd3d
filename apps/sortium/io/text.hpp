// Numbers as text, one a line.
#pragma once

#include <sortium/core.hpp>
#include <string>
#include <string_view>

#include "cli/common.hpp"
#include "cli/progress.hpp"

namespace app {

// Returns the numbers of a text, one a line; empty lines may follow the last one. Throws Failure,
// naming the line, if one is not a number of this type. `lines_before` lines precede the text.
[[nodiscard]] Bytes parse_text(std::string_view text, sortium::KeyType type, Progress& progress,
                               std::uint64_t lines_before = 0);

// Appends a line for each of `count` keys. Every line reads back to the same value; a NaN keeps
// only its sign.
void format_text(std::string& out, const void* keys, std::uint64_t count, sortium::KeyType type);

// Returns a key as format_text() writes it, and the bits of a NaN.
[[nodiscard]] std::string format_key(std::uint64_t bits, sortium::KeyType type);

}  // namespace app
