// Key types and errors.
#pragma once

#include <sortium/export.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sortium {

enum class KeyType : std::uint8_t { u32, i32, f32, u64, i64, f64, u8, i8, u16, i16, f16, bf16 };

inline constexpr std::array<KeyType, 12> all_key_types{
    KeyType::u32, KeyType::i32, KeyType::f32, KeyType::u64, KeyType::i64, KeyType::f64,
    KeyType::u8,  KeyType::i8,  KeyType::u16, KeyType::i16, KeyType::f16, KeyType::bf16};

struct KeyTypeInfo {
  KeyType type;
  std::string_view name;  // "u32", "i32", …
  unsigned bytes;
  bool is_signed;              // two's complement
  bool is_float;               // IEEE 754, and bf16: the upper half of an f32
  std::uint64_t infinity = 0;  // for floats: the bits of +infinity
  [[nodiscard]] constexpr unsigned bits() const { return bytes * 8; }
};

inline constexpr std::array<KeyTypeInfo, all_key_types.size()> key_type_infos{{
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
[[nodiscard]] constexpr const KeyTypeInfo& info(KeyType type) {
  return key_type_infos.at(static_cast<std::size_t>(type));
}

// Returns the type called `name`. Throws Error(invalid_argument) listing the names.
[[nodiscard]] SORTIUM_API KeyType parse_key_type(std::string_view name);

template <class T>
struct key_type_of;  // undefined: T is not a key type
template <>
struct key_type_of<std::uint32_t> : std::integral_constant<KeyType, KeyType::u32> {};
template <>
struct key_type_of<std::int32_t> : std::integral_constant<KeyType, KeyType::i32> {};
template <>
struct key_type_of<float> : std::integral_constant<KeyType, KeyType::f32> {};
template <>
struct key_type_of<std::uint64_t> : std::integral_constant<KeyType, KeyType::u64> {};
template <>
struct key_type_of<std::int64_t> : std::integral_constant<KeyType, KeyType::i64> {};
template <>
struct key_type_of<double> : std::integral_constant<KeyType, KeyType::f64> {};
template <>
struct key_type_of<std::uint8_t> : std::integral_constant<KeyType, KeyType::u8> {};
template <>
struct key_type_of<std::int8_t> : std::integral_constant<KeyType, KeyType::i8> {};
template <>
struct key_type_of<std::uint16_t> : std::integral_constant<KeyType, KeyType::u16> {};
template <>
struct key_type_of<std::int16_t> : std::integral_constant<KeyType, KeyType::i16> {};

// A 16-bit float, held as its bits, because C++20 has no such type. To sort other 16-bit float
// types, make a std::span of these over them.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};
template <>
struct key_type_of<f16> : std::integral_constant<KeyType, KeyType::f16> {};
template <>
struct key_type_of<bf16> : std::integral_constant<KeyType, KeyType::bf16> {};

// ---------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------

enum class ErrorCode : std::uint8_t {
  invalid_argument,  // an argument is outside its allowed range; the message names it
  unsupported,       // a valid request that this device does not support
  not_found,         // no such device or algorithm
  out_of_memory,     // the message names the requested and the available bytes
  build_failed,      // a device's compiler refused a kernel; `log()` has its messages
  device_failed,     // a driver call failed
  cancelled,         // the caller set Options::stop
};

[[nodiscard]] SORTIUM_API std::string_view name(ErrorCode code);

// The only exception that Sortium throws on purpose. what() names what was wrong, its value, and
// what is allowed.
class SORTIUM_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string log = {})
      : std::runtime_error(message), code_(code), log_(std::move(log)) {}
  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& log() const { return log_; }  // of a kernel compiler; else empty

 private:
  ErrorCode code_;
  std::string log_;
};

// Returns every warning of this process so far, once each, in the order of their first occurrence.
// A warning reports a problem that made no call fail, such as an unsafe kernel cache. The library
// never prints.
[[nodiscard]] SORTIUM_API std::vector<std::string> warnings();

[[nodiscard]] SORTIUM_API std::string_view version();  // "0.1.0"

}  // namespace sortium
