#include "cli/common.hpp"

#include <fmt/format.h>

namespace app {

std::string key_type_names() {
  std::string names;
  for (const auto type : sortium::all_key_types)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", sortium::info(type).name);
  return names;
}

}  // namespace app
