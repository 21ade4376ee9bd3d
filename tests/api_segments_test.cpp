// The C++ interface on host memory: segments.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "api.hpp"
#include "expect_error.hpp"

namespace sortium::test {
namespace {

TEST(Segments, AreSortedEachByItself) {
  const Options options{.device = device_spec()};
  const std::vector<std::uint64_t> offsets{0, 0, 3, 4, 4, 1000, 20'000, 20'000};
  std::vector<std::uint32_t> keys(20'000), values(keys.size());
  Random random(1);
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = static_cast<std::uint32_t>(random.below(500)),
    values[i] = static_cast<std::uint32_t>(i);
  const auto before = keys;
  const auto order = argsort_segments(keys, offsets, options);
  EXPECT_EQ(keys, before);
  auto alone = keys;
  sort_segments(alone, std::vector<std::uint32_t>(offsets.begin(), offsets.end()), options);
  EXPECT_EQ(sort_segments(keys, values, offsets, options).stable, true);
  EXPECT_EQ(keys, alone);
  EXPECT_EQ(order, values);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    for (auto i = offsets[s]; i < offsets[s + 1]; ++i) {
      ASSERT_TRUE(values[i] >= offsets[s] && values[i] < offsets[s + 1]) << i;
      ASSERT_EQ(keys[i], before[values[i]]) << i;
      if (i != offsets[s]) {
        ASSERT_TRUE(keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && values[i - 1] < values[i]))
            << i;
      }
    }

  // No records, or no segments.
  std::vector<std::uint32_t> none;
  sort_segments(none, std::vector<std::uint32_t>{0, 0, 0}, options);
  sort_segments(none, std::vector<std::uint32_t>{0}, options);
  // A few records, without a named device.
  std::vector<float> few{3, 1, 2, 9, 8};
  sort_segments(few, std::vector<std::uint32_t>{0, 3, 5}, {.order = Order::descending});
  EXPECT_EQ(few, (std::vector<float>{3, 2, 1, 9, 8}));
}

// 8-byte keys with values have more bits than a GPU's local sort compares at once. Some pairs
// differ only in the lowest bits.
TEST(Segments, KeysThatDifferInTheirLastBits) {
  const std::vector<std::uint32_t> offsets{0, 700, 2500, 2600};
  std::vector<std::uint64_t> keys(2600), values(keys.size());
  Random random(2);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = i % 2 == 0 ? random.next() | 1 : keys[i - 1] - 1;
    values[i] = i;
  }
  const auto before = keys;
  sort_segments(keys, values, offsets, {.device = test_device()->info().id});
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    ASSERT_TRUE(std::is_sorted(keys.begin() + offsets[s], keys.begin() + offsets[s + 1])) << s;
    for (auto i = offsets[s]; i < offsets[s + 1]; ++i) ASSERT_EQ(keys[i], before[values[i]]) << i;
  }
}

TEST(Segments, WrongOffsetsAreRefused) {
  const std::vector<std::uint32_t> before{5, 4, 3, 2, 1};
  const auto refused = [&](std::vector<std::uint32_t> offsets,
                           std::initializer_list<std::string_view> words) {
    auto keys = before;
    expect_error([&] { sort_segments(keys, offsets, {.device = device_spec()}); },
                 ErrorCode::invalid_argument, words);
    EXPECT_EQ(keys, before);
  };
  refused({}, {"offsets", "empty"});
  refused({0}, {"offsets", "5 keys"});
  refused({1, 5}, {"offsets[0] is 1", "0"});
  refused({0, 3, 2, 5}, {"offsets[2] is 2", "3", "ascend"});
  refused({0, 3, 4}, {"offsets[2] is 4", "5"});
  refused({0, 3, 6}, {"offsets[2] is 6", "5"});
  std::uint32_t key = 1;
  expect_error(
      [&] {
        sort_host({.count = 1, .segments = 1}, {&key, &key}, {});
      },
      ErrorCode::invalid_argument, {"offsets is null"});
  expect_error(
      [&] {
        sort_host({.count = 1, .segments = 1, .offset_bytes = 3}, {&key, &key}, {});
      },
      ErrorCode::invalid_argument, {"offset_bytes is 3"});
}

}  // namespace
}  // namespace sortium::test
