// The C++ interface on host memory: segments.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
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

TEST(Segments, RowsAreSortedEachByItself) {
  const Options options{.order = Order::descending, .device = device_spec()};
  std::vector<std::uint16_t> before(24'000);
  Random random(3);
  for (auto& key : before) key = static_cast<std::uint16_t>(random.below(500));
  for (const std::uint64_t length : {1u, 2u, 30u, 1000u, 24'000u}) {
    SCOPED_TRACE(length);
    std::vector<std::uint64_t> expected(before.size());
    std::iota(expected.begin(), expected.end(), 0u);
    for (std::uint64_t first = 0; first < before.size(); first += length)
      std::ranges::stable_sort(std::span(expected).subspan(first, length), std::greater(),
                               [&](std::uint64_t i) { return before[i]; });
    EXPECT_TRUE(argsort_rows<std::uint64_t>(before, length, options) == expected);
    auto keys = before, alone = before;
    std::vector<std::array<std::uint8_t, 3>> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      values[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), 7};
    const auto values_before = values;
    sort_rows(alone, length, options);
    sort_rows(keys, values, length, options);
    EXPECT_TRUE(keys == alone);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(keys[i], before[expected[i]]) << i;
      ASSERT_EQ(values[i], values_before[expected[i]]) << i;
    }
  }
  // A few records, without a named device, and no records.
  std::vector<float> few{3, 1, 2, 9, 8, 0};
  sort_rows(few, 3);
  EXPECT_EQ(few, (std::vector<float>{1, 2, 3, 0, 8, 9}));
  few.clear();
  sort_rows(few, 3);
  EXPECT_TRUE(argsort_rows(few, 3).empty());
}

// Columns of a matrix: alone, with values of 4 bytes and of 3, and by positions.
TEST(Segments, ColumnsAreSortedEachByItself) {
  const Options options{.order = Order::descending, .device = device_spec()};
  std::vector<std::uint16_t> before(24'000);
  Random random(4);
  for (auto& key : before) key = static_cast<std::uint16_t>(random.below(500));
  for (const std::uint64_t columns : {1u, 3u, 40u, 1000u, 24'000u}) {
    SCOPED_TRACE(columns);
    const std::uint64_t rows = before.size() / columns;
    std::vector<std::uint64_t> expected(before.size()), column(rows);
    for (std::uint64_t c = 0; c < columns; ++c) {
      for (std::uint64_t r = 0; r < rows; ++r) column[r] = r * columns + c;
      std::ranges::stable_sort(column, std::greater(), [&](std::uint64_t i) { return before[i]; });
      for (std::uint64_t r = 0; r < rows; ++r) expected[r * columns + c] = column[r];
    }
    EXPECT_TRUE(argsort_matrix_columns<std::uint64_t>(before, columns, options) == expected);
    auto alone = before, wide = before, keys = before;
    std::vector<std::uint32_t> values(keys.size());
    std::iota(values.begin(), values.end(), 7u);
    std::vector<std::array<std::uint8_t, 3>> wide_values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      wide_values[i] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), 7};
    const auto wide_before = wide_values;
    sort_matrix_columns(alone, columns, options);
    sort_matrix_columns(keys, values, columns, options);
    sort_matrix_columns(wide, wide_values, columns, options);
    EXPECT_TRUE(keys == alone);
    EXPECT_TRUE(wide == alone);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(keys[i], before[expected[i]]) << i;
      ASSERT_EQ(values[i], expected[i] + 7) << i;
      ASSERT_EQ(wide_values[i], wide_before[expected[i]]) << i;
    }
  }
  // A few records, without a named device, and no records.
  std::vector<float> few{3, 9, 2, 8, 1, 0};
  sort_matrix_columns(few, 2);
  EXPECT_EQ(few, (std::vector<float>{1, 0, 2, 8, 3, 9}));
  few.clear();
  sort_matrix_columns(few, 3);
  EXPECT_TRUE(argsort_matrix_columns(few, 3).empty());
}

// The first records along the middle axis of an array of shape (4, 100, 30), into memory apart.
TEST(Segments, FirstRecordsAlongAnAxis) {
  const std::uint64_t matrices = 4, length = 100, stride = 30, limit = 7;
  std::vector<std::int32_t> keys(matrices * length * stride);
  Random random(5);
  for (auto& key : keys) key = static_cast<std::int32_t>(random.below(50));
  const Problem problem{.key = KeyType::i32,
                        .count = keys.size(),
                        .payload = Payload::positions,
                        .segments = matrices * stride,
                        .offset_bytes = 0,
                        .limit = limit,
                        .stride = stride};
  std::vector<std::int32_t> first(matrices * limit * stride);
  std::vector<std::uint32_t> positions(first.size());
  sort_host(problem, {keys.data(), first.data(), nullptr, positions.data()},
            {.device = device_spec()});
  for (std::uint64_t m = 0; m < matrices; ++m)
    for (std::uint64_t c = 0; c < stride; ++c) {
      std::vector<std::uint64_t> order(length);
      for (std::uint64_t j = 0; j < length; ++j) order[j] = (m * length + j) * stride + c;
      std::ranges::stable_sort(order, {}, [&](std::uint64_t i) { return keys[i]; });
      for (std::uint64_t j = 0; j < limit; ++j) {
        const std::uint64_t to = (m * limit + j) * stride + c;
        ASSERT_EQ(positions[to], order[j]) << m << ' ' << c << ' ' << j;
        ASSERT_EQ(first[to], keys[order[j]]) << m << ' ' << c << ' ' << j;
      }
    }
}

TEST(Segments, WrongStridesAreRefused) {
  std::vector<std::uint32_t> keys(24);
  Problem problem{.count = 24, .segments = 6, .offset_bytes = 0, .stride = 4};
  const auto sort = [&] { sort_host(problem, {keys.data(), keys.data()}, {}); };
  const auto refused = [&](std::initializer_list<std::string_view> words) {
    expect_error(sort, ErrorCode::invalid_argument, words);
  };
  refused({"stride is 4", "divide segments, 6"});
  problem.stride = 0;
  refused({"stride is 0", "divide segments, 6"});
  problem.stride = 3;
  problem.limit = 5;
  refused({"limit is 5", "records of a segment, 4"});
  problem.limit = 0;
  problem.offset_bytes = 4;
  refused({"stride is 3", "segments without offsets", "offset_bytes 4"});
  problem.segments = 0;
  refused({"stride is 3", "segments is 0"});
  const auto code = ErrorCode::invalid_argument;
  expect_error([&] { sort_matrix_columns(keys, 5); }, code, {"columns is 5", "24", "multiple"});
  expect_error([&] { sort_matrix_columns(keys, 0); }, code, {"columns is 0"});
  // The copies alone need more scratch memory than is allowed.
  expect_error(
      [&] { sort_matrix_columns(keys, 6, {.device = device_spec(), .max_scratch_bytes = 64}); },
      code, {"max_scratch_bytes is 64", "copies", "512"});
}

// The first records of rows, and of rows with fewer records than the limit.
TEST(Segments, FirstRecordsOfRows) {
  const std::vector<std::int32_t> keys{5, 1, 4, 2, 9, 7, 8, 6};
  for (const std::uint64_t limit : {1, 3, 4, 6}) {
    Problem problem{.key = KeyType::i32,
                    .count = 8,
                    .payload = Payload::positions,
                    .segments = 2,
                    .offset_bytes = 0,
                    .limit = limit};
    std::vector<std::int32_t> first(2 * limit, -1);
    std::vector<std::uint32_t> positions(2 * limit, 99);
    sort_host(problem, {keys.data(), first.data(), nullptr, positions.data()},
              {.device = device_spec()});
    const std::vector<std::uint32_t> order{1, 3, 2, 0, 7, 5, 6, 4};
    for (std::uint64_t i = 0; i < 2 * limit; ++i) {
      const std::uint64_t row = i / limit, place = i % limit;
      if (place >= 4) {
        EXPECT_TRUE(first[i] == -1 && positions[i] == 99) << i;
        continue;
      }
      EXPECT_EQ(positions[i], order[row * 4 + place]) << i;
      EXPECT_EQ(first[i], keys[positions[i]]) << i;
    }
  }
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
      ErrorCode::invalid_argument, {"offset_bytes is 3", "4 and 8", "0"});
}

TEST(Segments, WrongRowsAreRefused) {
  std::vector<std::uint32_t> keys{5, 4, 3, 2, 1};
  const auto before = keys;
  const auto refused = [&](auto&& call, std::initializer_list<std::string_view> words) {
    expect_error(call, ErrorCode::invalid_argument, words);
    EXPECT_EQ(keys, before);
  };
  refused([&] { sort_rows(keys, 0); }, {"row_length is 0", "at least 1"});
  refused([&] { sort_rows(keys, 2); }, {"row_length is 2", "5", "multiple"});
  refused([&] { sort_rows(keys, keys, 6); }, {"row_length is 6"});
  refused([&] { sort_rows(keys, std::vector<int>(4), 1); }, {"4 values for 5 keys"});
  refused([&] { (void)argsort_rows(keys, 3); }, {"row_length is 3"});
  std::vector<std::uint32_t> none;
  refused([&] { sort_rows(none, 0); }, {"row_length is 0"});

  const Problem problem{.count = 5, .segments = 2, .offset_bytes = 0};
  refused(
      [&] {
        sort_host(problem, {keys.data(), keys.data()});
      },
      {"count is 5", "multiple of segments, 2"});
  const std::vector<std::uint32_t> offsets{0, 5};
  refused(
      [&] {
        sort_host({.count = 5, .segments = 1, .offset_bytes = 0},
                  {keys.data(), keys.data(), nullptr, nullptr, offsets.data()});
      },
      {"offsets"});
}

}  // namespace
}  // namespace sortium::test
