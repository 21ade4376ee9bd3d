// The C++ interface on host memory: arrays of any alignment, and keys in place with values out of
// place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "api.hpp"

namespace sortium::test {
namespace {

// A misaligned pointer: into a packed struct, or into the middle of a file's bytes.
template <class T>
class Misaligned {
 public:
  explicit Misaligned(const std::vector<T>& from)
      : bytes_(from.size() * sizeof(T) + 1), count_(from.size()) {
    std::memcpy(bytes_.data() + 1, from.data(), count_ * sizeof(T));
  }
  T* data() { return reinterpret_cast<T*>(bytes_.data() + 1); }
  std::span<T> span() { return {data(), count_}; }
  [[nodiscard]] std::vector<T> copy() const {
    std::vector<T> out(count_);
    std::memcpy(out.data(), bytes_.data() + 1, count_ * sizeof(T));
    return out;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_;
};

std::vector<Options> default_and_tested_device() { return {{}, on_device()}; }

template <class T>
struct HostMisaligned : testing::Test {};
TYPED_TEST_SUITE(HostMisaligned, AllTypes);

TYPED_TEST(HostMisaligned, KeysAndValuesOfEverySize) {
  for (const auto& options : default_and_tested_device())
    for (const std::size_t count : {2, 3, 5, 16, 17, 254, 256, 5000, 16384, 20000}) {
      SCOPED_TRACE(count);
      const auto before = some<TypeParam>(count);
      auto should = before;
      std::ranges::stable_sort(should);
      Misaligned keys(before);
      sortium::sort(keys.span(), options);
      EXPECT_TRUE(keys.copy() == should);
      Misaligned without_options(before);
      sortium::sort(without_options.span());
      EXPECT_TRUE(without_options.copy() == should);

      std::vector<std::uint64_t> numbers(count);
      std::iota(numbers.begin(), numbers.end(), 0);
      Misaligned first(before);
      Misaligned values(numbers);
      sortium::sort(first.span(), values.span(), options);
      EXPECT_TRUE(first.copy() == should);
      auto order = numbers;
      std::ranges::stable_sort(order, [&](auto a, auto b) { return before[a] < before[b]; });
      EXPECT_TRUE(values.copy() == order);
      auto aligned = before;
      Misaligned again(numbers);
      sortium::sort(aligned, again.span());
      EXPECT_TRUE(again.copy() == order) << "values alone are not aligned";
      Misaligned only_read(before);
      EXPECT_TRUE(std::ranges::equal(argsort(only_read.span(), options), order));

      std::vector<std::uint64_t> offsets{0, count / 3, count};
      Misaligned parts(before);
      Misaligned where(offsets);
      sort_segments(parts.span(), where.span(), options);
      auto each = before;
      std::ranges::sort(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(count / 3));
      std::ranges::sort(each.begin() + static_cast<std::ptrdiff_t>(count / 3), each.end());
      EXPECT_TRUE(parts.copy() == each);
    }
}

TYPED_TEST(HostMisaligned, WhatGoesWithASort) {
  for (const auto& options : default_and_tested_device())
    for (const std::size_t count : {3, 1000, 20000}) {
      SCOPED_TRACE(count);
      const auto before = some<TypeParam>(count);
      auto sorted = before;
      std::ranges::sort(sorted);
      Misaligned keys(before), in_order(sorted);
      EXPECT_EQ(is_sorted(keys.span(), options), std::ranges::is_sorted(before));
      EXPECT_TRUE(is_sorted(in_order.span(), options));
      EXPECT_EQ(topk(keys.span(), 3, options), std::vector(sorted.begin(), sorted.begin() + 3));
      const auto both = merge(in_order.span(), in_order.span(), options);
      EXPECT_TRUE(std::ranges::is_sorted(both));
      const auto places = sortium::lower_bound(in_order.span(), keys.span(), options);
      for (std::size_t i = 0; i < count; i += 97)
        EXPECT_EQ(places[i], static_cast<std::size_t>(std::ranges::lower_bound(sorted, before[i]) -
                                                      sorted.begin()));
      Misaligned nth(before);
      sortium::nth_element(nth.span(), count / 2, options);
      EXPECT_EQ(nth.copy()[count / 2], sorted[count / 2]);
      auto distinct = sorted;
      distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
      const auto runs = sortium::unique(in_order.span(), options);
      auto mine = in_order.copy();
      mine.resize(runs);
      EXPECT_TRUE(mine == distinct);
    }
}

// Values of 8 bytes whose alignment is 4 or 1, as C++ allows.
TEST(Host, ValuesOfStructsNeedNoMoreAlignmentThanTheirOwn) {
  struct Pair {
    std::uint32_t a, b;
  };
  struct __attribute__((packed)) Packed {
    std::uint32_t a;
    std::uint32_t b;
  };
  static_assert(sizeof(Packed) == 8 && alignof(Packed) == 1);
  for (const std::size_t count : {3, 100, 3000, 20000}) {
    const auto before = some<std::uint32_t>(count);
    std::vector<Pair> pairs(count + 1);
    std::vector<std::byte> memory(count * 8 + 1);
    auto* const packed = reinterpret_cast<Packed*>(memory.data() + 1);
    for (std::uint32_t i = 0; i < count; ++i) pairs[i] = {before[i], i}, packed[i] = {before[i], i};
    for (const auto& options : default_and_tested_device()) {
      auto keys = before;
      auto moved = pairs;
      sortium::sort(keys, std::span(moved).first(count), options);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(moved[i].a, keys[i]);
      keys = before;
      auto bytes = memory;
      auto* const p = reinterpret_cast<Packed*>(bytes.data() + 1);
      sortium::sort(keys, std::span(p, count), options);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(std::uint32_t{p[i].a}, keys[i]);
    }
  }
}

// Keys in place with values out of place are an error at every size and on every device.
TEST(Host, KeysInPlaceAndValuesOutOfPlace) {
  for (const auto& options : default_and_tested_device())
    for (const std::size_t count : {2, 100, 3000, 20000}) {
      SCOPED_TRACE(count);
      const auto before = some<std::uint32_t>(count);
      const auto values = some<std::uint32_t>(count, 2);
      auto keys = before, first = before, out = values, moved = values;
      const Problem p{.count = count, .payload = Payload::values};
      sortium::sort(first, moved, options);
      sort_host(p, {keys.data(), keys.data(), values.data(), out.data()}, options);
      EXPECT_EQ(keys, first);
      EXPECT_EQ(out, moved);
    }
}

}  // namespace
}  // namespace sortium::test
