#include "protocol/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <set>
#include <sortium/types.hpp>
#include <string_view>

namespace app {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw sortium::Error(sortium::ErrorCode::invalid_argument, message);
}

}  // namespace

std::uint64_t parse_size(std::string_view text, const std::string& argument, unsigned most) {
  const auto number = [](std::string_view s, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), out);
    return error == std::errc{} && end == s.data() + s.size();
  };
  std::uint64_t n = 0;
  const bool power = text.starts_with("2^");
  const bool good =
      number(power ? text.substr(2) : text, n) && n <= (power ? most : std::uint64_t{1} << most);
  if (!good)
    refuse(
        fmt::format("{}: '{}' is not a number of records, such as 1000 or 2^20; up to 2^{} are "
                    "allowed",
                    argument, text, most));
  return power ? std::uint64_t{1} << n : n;
}

std::vector<std::uint64_t> parse_sizes(const std::string& all, unsigned most) {
  std::set<std::uint64_t> out;
  const std::string argument = "--n " + all;
  for (std::string_view rest = all; !rest.empty();) {
    const auto item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const auto colon = item.find(':');
    const std::uint64_t from = parse_size(item.substr(0, colon), argument, most);
    if (colon == std::string_view::npos) {
      out.insert(from);
      continue;
    }
    const std::uint64_t to = parse_size(item.substr(colon + 1), argument, most);
    if (!std::has_single_bit(from) || from > to)
      refuse(fmt::format("--n {}: '{}' does not go from a power of two to one as large or larger",
                         all, item));
    for (std::uint64_t n = from; n <= to; n *= 2) out.insert(n);
  }
  if (out.empty()) refuse(fmt::format("--n '{}': it has no sizes", all));
  return {out.begin(), out.end()};
}

}  // namespace app
