#include <fmt/format.h>

#include <sortium/core.hpp>

namespace sortium {

KeyType parse_key_type(std::string_view name) {
  for (const auto& t : key_type_infos)
    if (t.name == name) return t.type;
  std::string names;
  for (const auto& t : key_type_infos)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("key type '{}' is not one of {}", name, names));
}

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::out_of_memory:
      return "out of memory";
    case ErrorCode::build_failed:
      return "kernel build failed";
    case ErrorCode::device_failed:
      return "device failed";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown error";
}

std::string_view version() { return SORTIUM_VERSION; }

}  // namespace sortium
