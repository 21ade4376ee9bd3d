// The C++ interface on host memory: few records, which are sorted on the calling thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "api.hpp"
#include "expect_error.hpp"

namespace sortium::test {
namespace {

bool has_host() {
  return std::ranges::any_of(
      devices(), [](const auto& d) { return d->info().claimed.backend == Backend::host; });
}

// Without a named device, few records are sorted on the calling thread. The result must be that of
// any device.
template <class Key>
void few_are_sorted_alike() {
  const char* const before = std::getenv("SORTIUM_DEVICE");
  const std::string kept = before ? before : "";
  unsetenv("SORTIUM_DEVICE");
  for (const std::size_t n : {0, 1, 2, 3, 5, 8, 9, 16, 17, 23, 24, 25, 100, 32768, 32769})
    for (const auto& [order, end_bit] :
         {std::pair{Order::ascending, 0u}, std::pair{Order::descending, 9u}}) {
      auto keys = some<Key>(n, n);
      for (std::size_t i = 0; i < n; i += 3)
        keys[i] = static_cast<Key>(static_cast<int>(i % 2) - 1);
      if constexpr (std::is_floating_point_v<Key>)
        for (std::size_t i = 1; i < n; i += 4)
          keys[i] = i % 8 == 1 ? -Key{0} : std::numeric_limits<Key>::quiet_NaN();
      Options here = on_device(), anywhere;
      here.order = anywhere.order = order;
      here.end_bit = anywhere.end_bit = end_bit;
      std::vector<std::uint32_t> values(n);
      std::iota(values.begin(), values.end(), 0u);
      auto k = keys, k2 = keys;
      auto v = values, v2 = values;
      const auto report = sortium::sort(k, v, anywhere);
      sortium::sort(k2, v2, here);
      EXPECT_EQ(v, v2) << n;
      EXPECT_TRUE(same_bits(k, k2)) << n;
      // If the library has cpu:0, the host sorts few records.
      if (has_host() && n <= 32768) {
        EXPECT_EQ(report.algorithm, end_bit != 0 && n >= 256 ? "counting" : "sample") << n;
      }
      EXPECT_EQ(argsort<std::uint64_t>(keys, anywhere), argsort<std::uint64_t>(keys, here)) << n;
      k = k2 = keys;
      sortium::sort(k, anywhere);
      sortium::sort(k2, here);
      EXPECT_TRUE(same_bits(k, k2)) << n;
    }
  if (before) setenv("SORTIUM_DEVICE", kept.c_str(), 1);
}

#ifdef __SSE2__
// Numbers that the processor is told to treat as zero have an order nevertheless.
template <class Key>
void denormal_numbers_are_sorted() {
  for (const std::size_t n : {20, 300, 5000, 200'000}) {
    std::vector<Key> keys(n);
    for (std::size_t i = 0; i < n; ++i)
      keys[i] = static_cast<Key>(i * 7919 % n + 1) * std::numeric_limits<Key>::denorm_min();
    for (const auto order : {Order::ascending, Order::descending}) {
      auto sorted = keys;
      const unsigned control = _mm_getcsr();
      _mm_setcsr(control | 0x8040);  // results and operands that are denormal count as zero
      sortium::sort(sorted, {.order = order, .device = "cpu:0"});
      EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u);
      _mm_setcsr(control);
      if (order == Order::descending) std::ranges::reverse(sorted);
      EXPECT_TRUE(std::ranges::is_sorted(sorted)) << n;
      EXPECT_EQ(sorted.front(), std::numeric_limits<Key>::denorm_min()) << n;
    }
  }
}
TEST(Host, DenormalNumbersAreSorted) {
  if (!has_host()) GTEST_SKIP() << "no cpu:0";
  denormal_numbers_are_sorted<float>();
  denormal_numbers_are_sorted<double>();
}
#endif

// All NaN of a list are the same, or differ and keep their order; at lengths of every path.
TEST(Host, FloatsWithNaNAreSorted) {
  if (!has_host()) GTEST_SKIP() << "no cpu:0";
  for (const std::size_t n : {20, 300, 5000, 40'000, 70'000, 200'000})
    for (const bool differ : {false, true})
      for (const auto order : {Order::ascending, Order::descending}) {
        auto bits = some<std::uint64_t>(n, n);
        for (std::size_t i = 0; i < n; i += 5) bits[i] = 0x7ff8000000000000u + (differ ? i : 0);
        std::vector<double> keys(n);
        std::memcpy(keys.data(), bits.data(), n * sizeof(double));
        for (auto& key : keys)
          if (std::isnan(key) && !differ) key = std::numeric_limits<double>::quiet_NaN();
        auto expected = keys;
        std::ranges::stable_sort(expected, [&](double a, double b) {
          if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
          return order == Order::ascending ? a < b : a > b;
        });
        sortium::sort(keys, {.order = order, .device = "cpu:0"});
        EXPECT_TRUE(same_bits(keys, expected)) << n << differ;
      }
}

TEST(Host, FewRecordsAreSortedAlike) {
  few_are_sorted_alike<std::uint32_t>();
  few_are_sorted_alike<std::int32_t>();
  few_are_sorted_alike<float>();
  few_are_sorted_alike<std::uint64_t>();
  few_are_sorted_alike<std::int64_t>();
  few_are_sorted_alike<double>();
  std::vector<std::uint32_t> keys{3, 1, 2};
  expect_error([&] { sortium::sort(keys, {.begin_bit = 5, .end_bit = 5}); },
               ErrorCode::invalid_argument, {"5:5"});
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{3, 1, 2}));
  expect_error([] { sort_host({.count = 3}, {}); }, ErrorCode::invalid_argument, {"keys_in"});
  EXPECT_EQ(sortium::sort(keys, {.algorithm = "merge"}).algorithm, "merge")
      << "a named algorithm is what one gets";
}

// Sorting networks: every size, and every way in which records become words.
template <class Key>
void fewest_are_sorted() {
  for (std::size_t n = 0; n <= 17; ++n)
    for (unsigned round = 0; round < 20; ++round)
      for (const auto order : {Order::ascending, Order::descending}) {
        auto keys = some<Key>(n, 20 * n + round);
        if (round % 2 == 0)
          for (auto& k : keys) k = static_cast<Key>(static_cast<int>(k) % 3);  // many ties
        std::vector<std::uint64_t> expected(n);
        std::iota(expected.begin(), expected.end(), 0u);
        std::ranges::stable_sort(expected, [&](auto a, auto b) {
          return order == Order::ascending ? keys[a] < keys[b] : keys[b] < keys[a];
        });
        const Options options{.order = order};
        EXPECT_EQ(argsort<std::uint64_t>(keys, options), expected) << n;
        auto sorted = keys, with_values = keys;
        std::vector<std::uint32_t> values(n);
        std::iota(values.begin(), values.end(), 7u);
        sortium::sort(sorted, options);
        sortium::sort(with_values, values, options);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_EQ(sorted[i], keys[expected[i]]) << i << " of " << n;
          EXPECT_EQ(with_values[i], keys[expected[i]]) << i << " of " << n;
          EXPECT_EQ(values[i], expected[i] + 7) << i << " of " << n;
        }
      }
}

TEST(Host, FewestRecordsAreSorted) {
  if (!std::ranges::any_of(
          devices(), [](const auto& d) { return d->info().claimed.backend == Backend::host; }))
    GTEST_SKIP() << "built without cpu:0, which sorts them";
  fewest_are_sorted<std::uint8_t>();
  fewest_are_sorted<std::int8_t>();
  fewest_are_sorted<std::uint16_t>();
  fewest_are_sorted<std::int16_t>();
  fewest_are_sorted<std::uint32_t>();
  fewest_are_sorted<std::int32_t>();
  fewest_are_sorted<std::uint64_t>();
  fewest_are_sorted<std::int64_t>();
}

// sort() without options sorts few keys without a Plan. With a named algorithm it uses a Plan. Both
// results must be equal.
template <class Key>
void fewest_are_sorted_as_by_a_plan() {
  const auto& type = info(key_type_of<Key>::value);
  const std::uint64_t sign = std::uint64_t{1} << (type.bits() - 1);
  // Special floats: both zeros, the least and the greatest of either sign, infinities, and several
  // NaN.
  const std::uint64_t special[] = {0,
                                   sign,
                                   1,
                                   sign + 1,
                                   type.infinity,
                                   type.infinity + sign,
                                   type.infinity - 1,
                                   type.infinity + 1,
                                   type.infinity + sign + 1,
                                   sign - 1,
                                   2 * sign - 1};
  Random random(type.bits());
  const auto check = [&]<class... Values>(const std::vector<Key>& keys, const Values&... values) {
    const auto sorted = [&](const auto&... options) {
      std::tuple<HostReport, std::vector<Key>, Values...> out{HostReport{}, keys, values...};
      std::get<0>(out) = std::apply(
          [&](HostReport&, auto&... columns) { return sortium::sort(columns..., options...); },
          out);
      return out;
    };
    const auto same = [&](const auto& a, const auto& b) {
      const bool same_columns = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return (... && same_bits(std::get<I + 1>(a), std::get<I + 1>(b)));
      }
      (std::make_index_sequence<1 + sizeof...(Values)>{});
      EXPECT_TRUE(same_columns) << keys.size() << ' ' << type.name << " keys and "
                                << sizeof...(Values) << " columns of values";
    };
    const auto plain = sorted(), with_options = sorted(Options{});
    same(plain, with_options);
    same(plain, sorted(Options{.device = "cpu:0", .algorithm = "sample"}));
    const HostReport &report = std::get<0>(plain), &expected = std::get<0>(with_options);
    EXPECT_EQ(report.device, expected.device);
    EXPECT_EQ(report.algorithm, expected.algorithm);
    EXPECT_EQ(report.parameters, expected.parameters);
    EXPECT_EQ(report.stable, expected.stable);
    EXPECT_EQ(report.run_length, expected.run_length);
  };
  for (std::size_t n = 0; n <= 17; ++n)
    for (unsigned round = 0; round < 12; ++round) {
      std::vector<Key> keys(n);
      for (auto& k : keys) {
        const std::uint64_t bits =
            random.below(3) < round % 4 ? special[random.below(std::size(special))] : random.next();
        std::memcpy(&k, &bits, sizeof k);
      }
      std::vector<float> narrow(n);
      std::vector<std::uint64_t> wide(n);
      std::iota(narrow.begin(), narrow.end(), 1.0f);
      std::iota(wide.begin(), wide.end(), std::uint64_t{1} << 40);
      check(keys);
      check(keys, narrow);
      check(keys, wide);
    }
}

TEST(Host, FewestRecordsAreSortedAsByAPlan) {
  if (!std::ranges::any_of(
          devices(), [](const auto& d) { return d->info().claimed.backend == Backend::host; }))
    GTEST_SKIP() << "built without cpu:0, which sorts them";
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    using Keys =
        std::tuple<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, f16, bf16, std::uint32_t,
                   std::int32_t, float, std::uint64_t, std::int64_t, double>;
    static_assert(std::tuple_size_v<Keys> == all_key_types.size());
    (fewest_are_sorted_as_by_a_plan<std::tuple_element_t<I, Keys>>(), ...);
  }
  (std::make_index_sequence<all_key_types.size()>{});
}

TEST(Host, FewRecordsWithoutOptions) {
  const std::array<std::uint32_t, 3> before{3, 1, 2}, after{1, 2, 3}, down{3, 2, 1};
  const Options options{.order = Order::descending};
  auto keys = before;
  auto values = before;
  sortium::sort(keys);
  EXPECT_EQ(keys, after);
  sortium::sort(keys = before, {});
  EXPECT_EQ(keys, after);
  sortium::sort(keys, options);
  EXPECT_EQ(keys, down);
  sortium::sort(std::span(keys));
  EXPECT_EQ(keys, after);
  sortium::sort(std::span(keys), std::span(values));
  EXPECT_EQ(values, before);
  sortium::sort(keys, values, {.order = Order::descending});
  EXPECT_EQ(values, (std::array<std::uint32_t, 3>{2, 1, 3}));
  sortium::sort(keys, values, {});
  sortium::sort(keys, values, options);
  EXPECT_EQ(keys, down);
  std::uint32_t plain[] = {3, 1, 2};
  sortium::sort(plain);
  EXPECT_TRUE(std::ranges::equal(plain, after));
  std::array<std::array<char, 3>, 3> odd{{{'a'}, {'b'}, {'c'}}};  // a size that no algorithm moves
  sortium::sort(keys = before, odd);
  EXPECT_EQ(odd, (std::array<std::array<char, 3>, 3>{{{'b'}, {'c'}, {'a'}}}));

  // The error names what is wrong, and nothing is written.
  const auto bad = ErrorCode::invalid_argument;
  std::vector<std::uint32_t> all{9, 8, 7, 6, 5, 4};
  const std::span first = std::span(all).first(3);
  const std::span<std::uint32_t> null(static_cast<std::uint32_t*>(nullptr), 3);
  expect_error([&] { sortium::sort(null); }, bad, {"keys_in is null"});
  expect_error([&] { sortium::sort(null, first); }, bad, {"keys_in is null"});
  expect_error([&] { sortium::sort(first, null); }, bad, {"values_in is null"});
  expect_error([&] { sortium::sort(first, first); }, bad, {"keys_in and values_in overlap"});
  expect_error([&] { sortium::sort(first, std::span(all).subspan(2, 3)); }, bad,
               {"keys_in and values_in overlap"});
  expect_error([&] { sortium::sort(std::span(all).subspan(2, 3), first); }, bad,
               {"keys_in and values_in overlap"});
  expect_error([&] { sortium::sort(std::span(all).first(1), std::span(all).first(1)); }, bad,
               {"overlap"});
  expect_error([&] { sortium::sort(first, std::span(all).last(2)); }, bad, {"2 values for 3 keys"});
  EXPECT_EQ(all, (std::vector<std::uint32_t>{9, 8, 7, 6, 5, 4}));
  sortium::sort(null.first(0), null.first(0));
}

}  // namespace
}  // namespace sortium::test
