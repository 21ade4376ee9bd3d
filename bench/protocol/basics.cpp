#include "protocol/basics.hpp"

#include <fmt/format.h>

#include <iterator>

namespace app {

std::string human_bytes(std::uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  return fmt::format("{:.4g} {}", amount, units[unit]);
}

}  // namespace app
