#include <fmt/format.h>

#include <sortium/core.hpp>

namespace sortium {

namespace {
constexpr std::array<KeyTypeInfo, all_key_types.size()> key_types{{
    {KeyType::u32, "u32", 4, false, false},
    {KeyType::i32, "i32", 4, true, false},
    {KeyType::f32, "f32", 4, false, true, 0x7f800000u},
    {KeyType::u64, "u64", 8, false, false},
    {KeyType::i64, "i64", 8, true, false},
    {KeyType::f64, "f64", 8, false, true, 0x7ff0000000000000u},
    {KeyType::u8, "u8", 1, false, false},
    {KeyType::i8, "i8", 1, true, false},
    {KeyType::u16, "u16", 2, false, false},
    {KeyType::i16, "i16", 2, true, false},
    {KeyType::f16, "f16", 2, false, true, 0x7c00u},
    {KeyType::bf16, "bf16", 2, false, true, 0x7f80u},
}};
}  // namespace

const KeyTypeInfo& info(KeyType type) { return key_types.at(static_cast<std::size_t>(type)); }

KeyType parse_key_type(std::string_view name) {
  for (const auto& t : key_types)
    if (t.name == name) return t.type;
  std::string names;
  for (const auto& t : key_types) names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
  throw Error(ErrorCode::invalid_argument, fmt::format("key type '{}' is not one of {}", name, names));
}

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::not_found: return "not found";
    case ErrorCode::out_of_memory: return "out of memory";
    case ErrorCode::build_failed: return "kernel build failed";
    case ErrorCode::device_failed: return "device failed";
  }
  return "unknown error";
}

std::string_view version() { return SORTIUM_VERSION; }

}  // namespace sortium
