// Tests of key order, against the operator < of each type, and of names of types and errors.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

template <class T>
struct OrderBits : testing::Test {};
using AllTypes =
    testing::Types<std::uint32_t, std::int32_t, float, std::uint64_t, std::int64_t, double,
                   std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, f16, bf16>;
TYPED_TEST_SUITE(OrderBits, AllTypes);

// Returns the number that the bits represent, in a C++ type that has <.
template <class T>
auto value_of(std::uint64_t key) {
  if constexpr (std::is_same_v<T, bf16>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(key) << 16);
  } else if constexpr (std::is_same_v<T, f16>) {
    const auto fraction = static_cast<float>(key & 0x3ff);
    const int exponent = static_cast<int>(key >> 10 & 31);
    const float magnitude =
        exponent == 31  ? (fraction != 0 ? std::nanf("") : std::numeric_limits<float>::infinity())
        : exponent == 0 ? std::ldexp(fraction, -24)
                        : std::ldexp(fraction + 1024, exponent - 25);
    return (key >> 15) != 0 ? -magnitude : magnitude;
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(key));
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(key);
  } else {
    return static_cast<T>(key);
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return x != x;
}

TYPED_TEST(OrderBits, FollowsTheValues) {
  constexpr KeyType type = key_type_of<TypeParam>::value;
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - info(type).bits());
  auto keys = special_keys(type);
  for (Random random(1); keys.size() < 500;) keys.push_back(random.next() & all);

  for (const auto a : keys) {
    const auto x = value_of<TypeParam>(a);
    const auto up = order_bits(a, info(type), Order::ascending),
               down = order_bits(a, info(type), Order::descending);
    ASSERT_EQ(up & ~all, 0u);
    ASSERT_EQ(down & ~all, 0u);
    if (is_nan(x)) {
      ASSERT_EQ(up, all) << std::hex << a;
      ASSERT_EQ(down, all) << std::hex << a;
      continue;
    }
    ASSERT_EQ(down, ~up & all) << std::hex << a;
    for (const auto b : keys) {
      const auto y = value_of<TypeParam>(b);
      const auto up_b = order_bits(b, info(type), Order::ascending),
                 down_b = order_bits(b, info(type), Order::descending);
      ASSERT_EQ(up < up_b, x < y || is_nan(y)) << std::hex << a << ' ' << b;
      ASSERT_EQ(down < down_b, y < x || is_nan(y)) << std::hex << a << ' ' << b;
      ASSERT_EQ(up == up_b, x == y) << std::hex << a << ' ' << b;
    }
  }
}

// Policies for NaN and zeros that are not the default must change the order of NaN and zeros only.
template <class T>
struct FloatPolicies : testing::Test {};
using Floats = testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(FloatPolicies, Floats);

TYPED_TEST(FloatPolicies, PlaceNanAndZeros) {
  const auto& type = info(key_type_of<TypeParam>::value);
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - type.bits());
  auto keys = special_keys(type.type);
  for (Random random(2); keys.size() < 300;) keys.push_back(random.next() & all);
  const auto negative = [&](std::uint64_t key) { return key >> (type.bits() - 1) != 0; };
  for (const auto nan : {NanOrder::last, NanOrder::first, NanOrder::bits})
    for (const auto zeros : {ZeroOrder::tied, ZeroOrder::distinct})
      for (const auto order : {Order::ascending, Order::descending}) {
        // Returns -1, 0 or 1: a comes before b, ties with it, or comes after it.
        const auto expected = [&](std::uint64_t a, std::uint64_t b) {
          const auto x = value_of<TypeParam>(a), y = value_of<TypeParam>(b);
          const int up = order == Order::ascending ? 1 : -1;
          if (is_nan(x) || is_nan(y)) {
            if (nan == NanOrder::bits) {
              if (a == b) return 0;
              if (negative(a) != negative(b)) return negative(a) ? -up : up;
              const bool greater = (a & all >> 1) > (b & all >> 1);
              return greater != negative(a) ? up : -up;
            }
            if (is_nan(x) && is_nan(y)) return 0;
            return is_nan(x) == (nan == NanOrder::first) ? -1 : 1;
          }
          if (x == y) return zeros == ZeroOrder::tied || a == b ? 0 : negative(a) ? -up : up;
          return x < y ? -up : up;
        };
        std::uint64_t most = 0;
        for (const auto a : keys) {
          const auto rank_a = order_bits(a, type, order, nan, zeros);
          most = std::max(most, rank_a);
          ASSERT_EQ(rank_a & ~all, 0u);
          for (const auto b : keys) {
            const auto rank_b = order_bits(b, type, order, nan, zeros);
            ASSERT_EQ((rank_a > rank_b) - (rank_a < rank_b), expected(a, b))
                << std::hex << a << ' ' << b;
          }
        }
        ASSERT_EQ(most,
                  all);  // kernels pad with this key, so it must come last in every bit range
      }
}

TEST(OrderBits, UnsignedKeysAreTheirOwnBits) {
  EXPECT_EQ(order_bits(0x12345678u, info(KeyType::u32), Order::ascending), 0x12345678u);
  EXPECT_EQ(order_bits(0x123456789abcdef0u, info(KeyType::u64), Order::ascending),
            0x123456789abcdef0u);
}

TEST(Names, OfKeyTypes) {
  for (const auto type : all_key_types) {
    EXPECT_EQ(parse_key_type(info(type).name), type);
    EXPECT_EQ(info(type).type, type);
    EXPECT_EQ(info(type).bits(), info(type).bytes * 8);
  }
  try {
    (void)parse_key_type("u24");
    FAIL() << "u24 was taken for a key type";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    const std::string what = e.what();
    EXPECT_NE(what.find("u24"), what.npos);
    for (const auto type : all_key_types) EXPECT_NE(what.find(info(type).name), what.npos) << what;
  }
}

}  // namespace
}  // namespace sortium::test
