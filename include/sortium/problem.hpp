// What a sort is asked to do: keys, order, payload, segments, limit.
#pragma once

#include <cstdint>
#include <sortium/order.hpp>
#include <sortium/types.hpp>

namespace sortium {

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

}  // namespace sortium
