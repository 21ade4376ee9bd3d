// The order of keys: direction, NaN, zeros. detail/key_order.h defines it.
#pragma once

#include <sortium/detail/key_order.h>

#include <cstdint>
#include <sortium/types.hpp>

namespace sortium {

enum class Order : std::uint8_t { ascending, descending };

// Where NaN sort, and whether −0.0 equals +0.0. Applies to floats only.
enum class NanOrder : std::uint8_t {
  last,   // after all numbers, in both orders; all NaN tie
  first,  // before all numbers, in both orders; all NaN tie
  bits,   // by sign and bits, as in IEEE 754's total order: negative NaN before −inf, others last
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

}  // namespace sortium
