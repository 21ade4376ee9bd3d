// The options --memory and --temp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/common.hpp"
#include "cli/sort.hpp"
#include "io/output.hpp"

namespace app {

// Parses "500M", "8G", "2^33", "123456789": a number of bytes; K, M, G and T are powers of 1024.
// Throws Failure.
[[nodiscard]] std::uint64_t parse_memory(const std::string& text);

// Returns the directories for temporary files: those of --temp, else that of the output, else none.
[[nodiscard]] std::vector<std::string> temporary_directories(const SortOptions& options,
                                                             const Output& output);

// Throws a Failure that names the option --memory, if the message of an error names the library's
// field `memory_bytes`.
void name_memory_option(const SortOptions& options, std::string_view message);

// Returns sort(), a function of the library. Its errors name the option.
template <class Sort>
auto with_memory_option(const SortOptions& options, const Sort& sort) try {
  return sort();
} catch (const sortium::Error& error) {
  name_memory_option(options, error.what());
  throw;
}

}  // namespace app
