// The order of keys. C++ and the compilers of kernels (OpenCL C, CUDA) read this one definition:
// sorts, records, verification and the host's small sorts all call it. Some of them use a faster
// encoding instead; the encodings that kernels share are at the end of this file.
// tests/key_order_test.cpp compares every encoding with this definition.
//
// A key is its raw bits in the low bits of a u64. order_of_key() maps it to its order
// bits, here its *order* for short: an unsigned number with as many bits. A key with a smaller
// order sorts first; keys with equal orders tie.
//
//   unsigned     the order is the key itself;
//   signed       the sign bit is inverted (two's complement);
//   float        all bits of a negative key are inverted; any other key gets the sign bit (IEEE 754
//                totalOrder);
//   zeros tied   -0 has the order of +0;
//   descending   all bits are inverted;
//   NaN last     the order of every NaN is all ones, in both directions;
//   NaN first    the order of every NaN is 0, in both directions. The orders of all numbers are
//                raised by one constant, so that the order of the last number is all ones;
//   NaN by bits  a NaN is ordered like a number: by its sign and its bits.
//
// So for every type and policy some key has the order "all ones". Kernels use it as padding.
//
// A bit range [begin, end) selects bits of the order, never of the raw key. NaN first and NaN last
// therefore hold within every bit range: no NaN sorts after a number with NaN first, or before one
// with NaN last. A number may tie with them there, as it may with other numbers.
#ifndef SORTIUM_DETAIL_KEY_ORDER_H
#define SORTIUM_DETAIL_KEY_ORDER_H

#if defined(__OPENCL_VERSION__) || defined(__CUDACC_RTC__)  // u32, u64: from the dialect
#define KEY_ORDER_FUNCTION INLINE
#else
#include <cstdint>
#define KEY_ORDER_FUNCTION constexpr
namespace sortium::detail {
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#endif

// The values of NanOrder and ZeroOrder.
enum { nan_last, nan_first, nan_by_bits };
enum { zeros_tied, zeros_distinct };

typedef struct {
  u32 bits;        // bits of a key, at most 64
  u32 is_signed;   // 1: an integer in two's complement
  u64 infinity;    // the bits of a float's +infinity; 0 for integers
  u32 nan, zeros;  // for floats: NanOrder and ZeroOrder
  u32 descending;
} key_order_t;

KEY_ORDER_FUNCTION u64 key_sign(key_order_t o) { return (u64)1 << (o.bits - 1); }
KEY_ORDER_FUNCTION u64 key_mask(key_order_t o) { return key_sign(o) | (key_sign(o) - 1); }
// The constant by which "NaN first" raises the orders of numbers; 0 for every other policy.
KEY_ORDER_FUNCTION u64 order_moved_by(key_order_t o) {
  return o.infinity != 0 && o.nan == nan_first ? key_sign(o) - 1 - o.infinity : 0;
}

// Returns 1 if other keys may have the same order: for a NaN that is not ordered by bits, and for
// -0 if zeros tie.
KEY_ORDER_FUNCTION u32 key_may_tie(u64 key, key_order_t o) {
  const u64 magnitude = key & (key_sign(o) - 1);
  const u32 nan_ties = o.nan != nan_by_bits && magnitude > o.infinity ? 1 : 0;
  const u32 zero_ties = o.zeros == zeros_tied && key == key_sign(o) ? 1 : 0;
  return o.infinity != 0 ? nan_ties | zero_ties : 0;
}

// The order of a key for which key_may_tie() is 0. Faster than order_of_key(). Loses nothing:
// key_with_order() is the inverse.
KEY_ORDER_FUNCTION u64 order_of_untied_key(u64 key, key_order_t o) {
  if (o.is_signed) key ^= key_sign(o);
  if (o.infinity != 0) key ^= (key & key_sign(o)) != 0 ? key_mask(o) : key_sign(o);
  if (o.descending) key ^= key_mask(o);
  return (key + order_moved_by(o)) & key_mask(o);
}

KEY_ORDER_FUNCTION u64 order_of_key(u64 key, key_order_t o) {
  if (o.infinity == 0) return order_of_untied_key(key, o);
  const u64 magnitude = key & (key_sign(o) - 1);
  const u64 number = o.zeros == zeros_tied && magnitude == 0 ? 0 : key;
  const u64 order = order_of_untied_key(number, o);
  if (o.nan == nan_by_bits || magnitude <= o.infinity) return order;
  return o.nan == nan_last ? key_mask(o) : 0;
}

// Returns a key that has this order; one of them if several keys have it.
KEY_ORDER_FUNCTION u64 key_with_order(u64 order, key_order_t o) {
  u64 key = (order - order_moved_by(o)) & key_mask(o);
  if (o.descending) key ^= key_mask(o);
  if (o.is_signed) key ^= key_sign(o);
  if (o.infinity != 0) key ^= (key & key_sign(o)) != 0 ? key_sign(o) : key_mask(o);
  return key;
}

// A key with the order "all ones": no key sorts after it, in any bit range.
KEY_ORDER_FUNCTION u64 last_key(key_order_t o) {
  return o.infinity != 0 && o.nan == nan_last ? key_mask(o) : key_with_order(key_mask(o), o);
}

// Returns the bits of an order by which keys are compared: `bits` bits from `begin_bit` on.
KEY_ORDER_FUNCTION u64 bits_of_order(u64 order, u32 begin_bit, u32 bits) {
  return order >> begin_bit & ~(u64)0 >> (64 - bits);
}

// -------------------------------------------------------------------------------------------------
// Faster encoding: float codes, for radix sorts of floats that do not tie
// -------------------------------------------------------------------------------------------------
// The code is the float as a number in two's complement. One shift and two logical operations
// compute it; the same operations restore the key. A radix sort puts the digit `d` of the code that
// begins at bit `shift` into bucket d ^ float_code_flip().

// `mask` is float_code_mask(), or 0 to leave the key unchanged.
KEY_ORDER_FUNCTION u64 float_code(u64 key, u64 mask, u32 key_bits) {
  return key ^ ((0 - (key >> (key_bits - 1))) & mask);
}
KEY_ORDER_FUNCTION u64 float_code_mask(u32 key_bits) { return ((u64)1 << (key_bits - 1)) - 1; }
KEY_ORDER_FUNCTION u32 float_code_flip(u32 shift, u32 digit_mask, u32 key_bits, u32 descending) {
  const u32 has_sign = (u64)digit_mask << shift >> (key_bits - 1) != 0;
  return (descending ? digit_mask : 0) ^ (has_sign ? (digit_mask + 1) / 2 : 0);
}

// -------------------------------------------------------------------------------------------------
// Faster encoding: the default order of floats without a data-dependent branch
// -------------------------------------------------------------------------------------------------

// The default order (ascending, NaN last, zeros tied) of a float with its highest bit inverted: a
// signed number that sorts as the float does.
KEY_ORDER_FUNCTION u64 signed_default_order(u64 key, u64 infinity, u32 key_bits) {
  const u64 rest = ((u64)1 << (key_bits - 1)) - 1;
  const u64 magnitude = key & rest;
  const u64 number = key & (0 - (u64)(magnitude != 0));
  return magnitude > infinity ? rest : float_code(number, rest, key_bits);
}

#undef KEY_ORDER_FUNCTION
#if !defined(__OPENCL_VERSION__) && !defined(__CUDACC_RTC__)
}  // namespace sortium::detail
#endif

#endif
