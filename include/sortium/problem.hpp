// A problem: what a sort has to do. Keys, order, payload, segments, limit.
#pragma once

#include <cstdint>
#include <sortium/order.hpp>
#include <sortium/types.hpp>

namespace sortium {

enum class Payload : std::uint8_t {
  none,       // keys alone
  values,     // a value moves with every key
  positions,  // argsort: value i of the input is i; no values are read
};

struct Problem {
  KeyType key = KeyType::u32;
  std::uint64_t count = 0;  // records; 0 and 1 are allowed
  Payload payload = Payload::none;
  // Bytes of a value or a position, 4 or 8. Calls on host memory and UniquePlan take values of 1 to
  // 256. Positions of 4 bytes need count ≤ 2^32.
  unsigned value_bytes = 4;
  bool keys_out = true;  // false: write only positions, not the sorted keys
  Order order = Order::ascending;
  // Keys are compared by bits [begin_bit, end_bit) of order_bits() only; end_bit 0: up to the
  // highest bit. For u32 and u64 these are the key's own bits, in either direction.
  unsigned begin_bit = 0;
  unsigned end_bit = 0;
  NanOrder nan = NanOrder::last;  // for floats
  ZeroOrder zeros = ZeroOrder::tied;
  // The number of segments, each sorted by itself: segment s has the records from offsets[s] to
  // offsets[s + 1]. Operands::offsets ascend from 0 to `count`. 0: no segments and no offsets; all
  // records are one list.
  std::uint64_t segments = 0;
  // Bytes of an offset, 4 or 8. 0: there are no offsets; `count` is a multiple of `segments`, and
  // every segment has count / segments records, like the rows of a matrix. Usually faster.
  unsigned offset_bytes = 4;
  // The number of sorted records to return: the first ones of the list, or of each segment; 0: all.
  // With segments, keys_out and values_out hold `limit` records for each segment; a shorter segment
  // leaves the rest of its records unwritten.
  std::uint64_t limit = 0;
  // The distance, in records, from one record of a segment to the next. 1: the segment's records
  // lie side by side. Other numbers need offset_bytes 0 and must divide `segments`: the records are
  // an array of shape (segments / stride, count / segments, stride), and its middle axis is sorted.
  // The columns of a row-major matrix are segments; segments and stride are their number. Positions
  // are those in the input. A limit is at most count / segments, and replaces it in the output's
  // shape.
  std::uint64_t stride = 1;
};

[[nodiscard]] inline std::uint64_t order_bits(std::uint64_t key, const Problem& p) {
  return order_bits(key, info(p.key), p.order, p.nan, p.zeros);
}
// The number of bits of order_bits() by which keys are compared.
[[nodiscard]] inline unsigned key_bits(const Problem& p) {
  return (p.end_bit == 0 ? info(p.key).bits() : p.end_bit) - p.begin_bit;
}
// Computes the number by which a problem compares a key: the problem's bit range of order_bits().
// Make one object for many keys.
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
// Returns the size of Operands::offsets in bytes; 0 without offsets.
[[nodiscard]] constexpr std::uint64_t offsets_bytes(std::uint64_t segments, unsigned offset_bytes) {
  return segments == 0 ? 0 : (segments + 1) * offset_bytes;
}
// The number of records in keys_out and values_out.
[[nodiscard]] constexpr std::uint64_t records_out(const Problem& p) {
  return p.limit == 0      ? p.count
         : p.segments == 0 ? (p.limit < p.count ? p.limit : p.count)
                           : p.segments * p.limit;
}

}  // namespace sortium
