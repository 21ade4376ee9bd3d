#include "cli/memory.hpp"

#include <fmt/format.h>

#include <charconv>

namespace app {

std::uint64_t parse_memory(const std::string& text) {
  constexpr std::string_view units = "KMGT";
  std::string_view digits = text;
  const bool is_power = digits.starts_with("2^");
  if (is_power) digits.remove_prefix(2);
  unsigned shift = 0;
  if (const auto unit = units.find(digits.empty() ? ' ' : digits.back());
      unit != units.npos && !is_power) {
    shift = 10 * static_cast<unsigned>(unit + 1);
    digits.remove_suffix(1);
  }
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  const std::uint64_t most = is_power ? 62 : ~std::uint64_t{0} >> 1 >> shift;
  if (error != std::errc{} || end != digits.data() + digits.size() || n == 0 || n > most)
    throw Failure(
        exit_usage,
        fmt::format("--memory '{}' is not a number of bytes, such as 500M, 8G or 2^33", text));
  return is_power ? std::uint64_t{1} << n : n << shift;
}

std::vector<std::string> temporary_directories(const SortOptions& options, const Output& output) {
  if (!options.temporary_directories.empty()) return options.temporary_directories;
  const auto& temporary = output.temporary();
  if (temporary.empty()) return {};  // a pipe
  return {temporary.parent_path().empty() ? "." : temporary.parent_path().string()};
}

void name_memory_option(const SortOptions& options, std::string_view message) {
  if (!message.starts_with("memory_bytes is ")) return;
  throw Failure(exit_usage, fmt::format("--memory {}: {}", options.memory,
                                        message.substr(message.find(';') + 2)));
}

}  // namespace app
