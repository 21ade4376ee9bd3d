// Floor 0 of Sortium: the words that every other part shares: key types, key order, errors.
#pragma once

#include <sortium/detail/key_order.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

// ---------------------------------------------------------------------------------------------
// Key types
// ---------------------------------------------------------------------------------------------

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
  std::uint64_t infinity = 0;  // of a float: its bits
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

// The type called `name`. Throws Error(invalid_argument) that lists the names there are.
[[nodiscard]] KeyType parse_key_type(std::string_view name);

template <class T>
struct key_type_of;  // undefined: T is not a key type
template <>
struct key_type_of<std::uint32_t> {
  static constexpr KeyType value = KeyType::u32;
};
template <>
struct key_type_of<std::int32_t> {
  static constexpr KeyType value = KeyType::i32;
};
template <>
struct key_type_of<float> {
  static constexpr KeyType value = KeyType::f32;
};
template <>
struct key_type_of<std::uint64_t> {
  static constexpr KeyType value = KeyType::u64;
};
template <>
struct key_type_of<std::int64_t> {
  static constexpr KeyType value = KeyType::i64;
};
template <>
struct key_type_of<double> {
  static constexpr KeyType value = KeyType::f64;
};
template <>
struct key_type_of<std::uint8_t> {
  static constexpr KeyType value = KeyType::u8;
};
template <>
struct key_type_of<std::int8_t> {
  static constexpr KeyType value = KeyType::i8;
};
template <>
struct key_type_of<std::uint16_t> {
  static constexpr KeyType value = KeyType::u16;
};
template <>
struct key_type_of<std::int16_t> {
  static constexpr KeyType value = KeyType::i16;
};

// The bits of a 16-bit float, as sort() wants to see what is one: C++20 has no type for it. A
// std::span of these over one's own 2-byte floats will do.
struct f16 {
  std::uint16_t bits;
};
struct bf16 {
  std::uint16_t bits;
};
template <>
struct key_type_of<f16> {
  static constexpr KeyType value = KeyType::f16;
};
template <>
struct key_type_of<bf16> {
  static constexpr KeyType value = KeyType::bf16;
};

// ---------------------------------------------------------------------------------------------
// Key order
// ---------------------------------------------------------------------------------------------

enum class Order : std::uint8_t { ascending, descending };

// Where floats that are no numbers come, and whether −0.0 equals +0.0. Integers have neither.
enum class NanOrder : std::uint8_t {
  last,   // after all numbers, in both orders; all NaN tie
  first,  // before all numbers, in both orders; all NaN tie
  bits,  // by sign and bits, as IEEE 754's total order: those with a sign before −inf, the others
         // after +inf
};
enum class ZeroOrder : std::uint8_t {
  tied,
  distinct,  // −0.0 before +0.0
};

namespace detail {
static_assert(static_cast<u32>(NanOrder::last) == nan_last &&
              static_cast<u32>(NanOrder::first) == nan_first &&
              static_cast<u32>(NanOrder::bits) == nan_by_bits);
static_assert(static_cast<u32>(ZeroOrder::tied) == zeros_tied &&
              static_cast<u32>(ZeroOrder::distinct) == zeros_distinct);
[[nodiscard]] constexpr key_order_t key_order(const KeyTypeInfo& t, Order order, NanOrder nan,
                                              ZeroOrder zeros) {
  return {t.bits(),
          t.is_signed,
          t.infinity,
          static_cast<u32>(nan),
          static_cast<u32>(zeros),
          order == Order::descending};
}
}  // namespace detail

// The order of `key` (its raw bits, zero-extended to 64): an unsigned number, smaller means earlier
// in the sorted output. detail/key_order.h defines it.
[[nodiscard]] constexpr std::uint64_t order_bits(std::uint64_t key, const KeyTypeInfo& t,
                                                 Order order, NanOrder nan = NanOrder::last,
                                                 ZeroOrder zeros = ZeroOrder::tied) {
  return detail::order_of_key(key, detail::key_order(t, order, nan, zeros));
}

// ---------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------

enum class ErrorCode : std::uint8_t {
  invalid_argument,  // an argument is outside of what is allowed; the message names it
  unsupported,       // legal, but this device cannot do it
  not_found,         // no such device or algorithm
  out_of_memory,     // the message says how much was asked for and how much there is
  build_failed,      // a device compiler refused a kernel; `log()` has what it said
  device_failed,     // a driver call failed
};

[[nodiscard]] std::string_view name(ErrorCode code);

// The only exception that Sortium throws on purpose. what() says what was wrong, with which value,
// and what is allowed.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string log = {})
      : std::runtime_error(message), code_(code), log_(std::move(log)) {}
  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& log() const { return log_; }  // of a kernel compiler; else empty

 private:
  ErrorCode code_;
  std::string log_;
};

[[nodiscard]] std::string_view version();  // "0.1.0"

// ---------------------------------------------------------------------------------------------
// What is to be sorted
// ---------------------------------------------------------------------------------------------

enum class Payload : std::uint8_t {
  none,       // keys alone
  values,     // a value moves with every key
  positions,  // argsort: the values are not read but made: value i of the input is i
};

struct Problem {
  KeyType key = KeyType::u32;
  std::uint64_t count = 0;  // records; 0 and 1 are fine
  Payload payload = Payload::none;
  unsigned value_bytes = 4;  // of a value or a position, 4 or 8 (a value may have 1 to 256 where it
                             // is said); 4-byte positions need count ≤ 2^32
  bool keys_out = true;      // false, with positions only: the sorted keys are not wanted
  Order order = Order::ascending;
  unsigned begin_bit =
      0;  // only bits [begin_bit, end_bit) of order_bits decide (ascending ones for the purpose of
  unsigned end_bit = 0;  // counting: the key's own bits for u32 and u64); end_bit 0 means all
  NanOrder nan = NanOrder::last;  // of floats
  ZeroOrder zeros = ZeroOrder::tied;
  // Segments, each sorted by itself: segment s has the records from offsets[s] to offsets[s + 1]
  // (Operands::offsets, which ascend from 0 to count). 0: all records are one sequence, and there
  // are no offsets.
  std::uint64_t segments = 0;
  unsigned offset_bytes = 4;  // of an offset, 4 or 8
  // How many of the sorted records are wanted: the first ones, of all or of each segment. keys_out
  // and values_out have room for so many (for each segment `limit` records apart, and what a
  // shorter segment leaves is not written). 0: all of them.
  std::uint64_t limit = 0;
};

[[nodiscard]] inline std::uint64_t order_bits(std::uint64_t key, const Problem& p) {
  return order_bits(key, info(p.key), p.order, p.nan, p.zeros);
}
// How many bits of the key's order decide.
[[nodiscard]] inline unsigned key_bits(const Problem& p) {
  return (p.end_bit == 0 ? info(p.key).bits() : p.end_bit) - p.begin_bit;
}
// What decides a key's place in a problem: the problem's bit range of order_bits(). Made once, for
// many keys.
class KeyRank {
 public:
  explicit KeyRank(const Problem& p)
      : order_(detail::key_order(info(p.key), p.order, p.nan, p.zeros)),
        begin_bit_(p.begin_bit),
        bits_(key_bits(p)) {}
  [[nodiscard]] std::uint64_t operator()(std::uint64_t key) const {
    return detail::bits_of_order(detail::order_of_key(key, order_), begin_bit_, bits_);
  }

 private:
  detail::key_order_t order_;
  unsigned begin_bit_, bits_;
};
// How many records there are in keys_out and values_out.
[[nodiscard]] constexpr std::uint64_t records_out(const Problem& p) {
  return p.limit == 0      ? p.count
         : p.segments == 0 ? (p.limit < p.count ? p.limit : p.count)
                           : p.segments * p.limit;
}

// ---------------------------------------------------------------------------------------------
// What an algorithm says of itself
// ---------------------------------------------------------------------------------------------

struct Parameter {
  std::string name;
  std::string meaning;
  std::uint64_t minimum = 0, maximum = 0;  // of a number
  std::vector<std::string> choices;        // of a word; then there are no limits
  bool changes_result = false;             // it says what is sorted, or how far: never tuned
};

struct AlgorithmInfo {
  std::string name;
  std::string title;   // a line: what it does
  std::string source;  // the paper or document that it comes from
  bool stable = true;
  bool partial = false;  // leaves sorted runs of `run` records, not one sorted whole
  bool comparison = false;
  bool quadratic = false;       // O(N²) work
  bool host = false;            // made for cpu:0, and for it alone; the others are made of kernels
  bool segments = false;        // sorts segments (Problem::segments), and nothing else
  bool limit = false;           // finds the first records (Problem::limit), and nothing else
  bool needs_clusters = false;  // runs only where work-groups reach each other's local memory
  bool needs_progress = false;  // runs only where a work-group may wait for an earlier one
  std::uint64_t max_count = 0;  // records that it sorts at most, on any device; 0: no limit
  std::string cost;             // passes over the data, launches, bytes moved
  std::vector<Parameter> parameters{};
};

}  // namespace sortium
