// The laws of key order, against the native < of each type; names of types and errors.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "keys.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

template <class T>
struct OrderBits : testing::Test {};
using AllTypes = testing::Types<std::uint32_t, std::int32_t, float, std::uint64_t, std::int64_t, double>;
TYPED_TEST_SUITE(OrderBits, AllTypes);

template <class T>
T value_of(std::uint64_t key) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(key));
  else
    return std::bit_cast<T>(key);
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
    const auto up = order_bits(a, info(type), Order::ascending), down = order_bits(a, info(type), Order::descending);
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
      const auto up_b = order_bits(b, info(type), Order::ascending), down_b = order_bits(b, info(type), Order::descending);
      ASSERT_EQ(up < up_b, x < y || is_nan(y)) << std::hex << a << ' ' << b;
      ASSERT_EQ(down < down_b, y < x || is_nan(y)) << std::hex << a << ' ' << b;
      ASSERT_EQ(up == up_b, x == y) << std::hex << a << ' ' << b;
    }
  }
}

TEST(OrderBits, UnsignedKeysAreTheirOwnBits) {
  EXPECT_EQ(order_bits(0x12345678u, info(KeyType::u32), Order::ascending), 0x12345678u);
  EXPECT_EQ(order_bits(0x123456789abcdef0u, info(KeyType::u64), Order::ascending), 0x123456789abcdef0u);
}

TEST(Names, OfKeyTypes) {
  for (const auto type : all_key_types) {
    EXPECT_EQ(parse_key_type(info(type).name), type);
    EXPECT_EQ(info(type).type, type);
    EXPECT_EQ(info(type).bits(), info(type).bytes * 8);
  }
  try {
    (void)parse_key_type("u16");
    FAIL() << "u16 was taken for a key type";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    const std::string what = e.what();
    EXPECT_NE(what.find("u16"), what.npos);
    for (const auto type : all_key_types) EXPECT_NE(what.find(info(type).name), what.npos) << what;
  }
}

}  // namespace
}  // namespace sortium::test
