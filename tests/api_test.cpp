// The C++ interface on host memory: the one-line sorts, devices by name, errors, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <tuple>

#include "expect_error.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

Options on_device(Options options = {}) {
  options.device = test_device()->info().id;
  return options;
}

template <class T>
std::vector<T> some(std::size_t count, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<T> out(count);
  for (auto& x : out) x = static_cast<T>(static_cast<std::int64_t>(random.next()) % 1000);
  return out;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

template <class T>
struct HostSort : testing::Test {};
using AllTypes =
    testing::Types<std::uint32_t, std::int32_t, float, std::uint64_t, std::int64_t, double>;
TYPED_TEST_SUITE(HostSort, AllTypes);

TYPED_TEST(HostSort, VectorsSpansAndArrays) {
  for (const std::size_t count : {0, 1, 2, 1009}) {
    auto keys = some<TypeParam>(count);
    auto should = keys;
    std::ranges::sort(should);
    const auto before = keys;
    const auto report = sortium::sort(keys, on_device());
    EXPECT_EQ(keys, should);
    EXPECT_EQ(report.device, test_device()->info().name);
    EXPECT_FALSE(report.algorithm.empty());

    keys = before;
    sortium::sort(std::span(keys), on_device());
    EXPECT_EQ(keys, should);

    const auto order = argsort(before, on_device());
    std::vector<std::uint32_t> positions(count);
    std::iota(positions.begin(), positions.end(), 0u);
    std::ranges::stable_sort(positions, {}, [&](auto i) { return before[i]; });
    EXPECT_EQ(order, positions);
  }
  std::array<TypeParam, 5> array{5, 1, 4, 2, 3};
  sortium::sort(array, on_device());
  EXPECT_EQ(array, (std::array<TypeParam, 5>{1, 2, 3, 4, 5}));
}

TEST(Host, ValuesMoveWithTheirKeys) {
  struct Particle {
    float x, y;
  };
  const auto before = some<std::int32_t>(1009);
  auto keys = before;
  std::vector<Particle> particles;
  std::vector<float> floats;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    particles.push_back({static_cast<float>(i), -static_cast<float>(i)});
    floats.push_back(static_cast<float>(i));
    numbers.push_back(i << 40 | i);
  }
  std::vector<std::size_t> order(before.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](auto i) { return before[i]; });

  sortium::sort(keys, particles, on_device());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(keys[i], before[order[i]]);
    ASSERT_EQ(particles[i].x, static_cast<float>(order[i]));
    ASSERT_EQ(particles[i].y, -static_cast<float>(order[i]));
  }
  keys = before;
  sortium::sort(keys, std::span(floats), on_device());
  keys = before;
  sortium::sort(keys, numbers, on_device());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(floats[i], static_cast<float>(order[i]));
    ASSERT_EQ(numbers[i], order[i] << 40 | order[i]);
  }
}

TEST(Host, DescendingAndBits) {
  auto keys = some<std::uint32_t>(1009);
  auto should = keys;
  std::ranges::stable_sort(should, std::greater{});
  sortium::sort(keys, on_device({.order = Order::descending}));
  EXPECT_EQ(keys, should);
  std::ranges::stable_sort(should, {}, [](auto k) { return k >> 2 & 7; });
  sortium::sort(keys, on_device({.begin_bit = 2, .end_bit = 5}));
  EXPECT_EQ(keys, should);
}

TEST(Host, ArgsortOfEitherIndex) {
  const auto keys = some<double>(1009);
  const auto narrow = argsort(keys, on_device());
  const auto wide = argsort<std::uint64_t>(keys, on_device());
  EXPECT_TRUE(std::ranges::equal(narrow, wide));
  EXPECT_TRUE(std::ranges::is_sorted(wide, {}, [&](auto i) { return keys[i]; }));
}

// NaN comes last in both orders, zeros tie, and every key keeps its bits.
TEST(Host, FloatsHaveATotalOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const float payload = std::bit_cast<float>(0xffc12345u);
  const std::vector<float> before{1,       nan, -0.0f,     infinity, 0.0f,
                                  payload, -1,  -infinity, -0.0f,    1e-45f};
  const auto bits = [](const std::vector<float>& v) {
    std::vector<std::uint32_t> out;
    for (const auto x : v) out.push_back(std::bit_cast<std::uint32_t>(x));
    return out;
  };
  auto keys = before;
  sortium::sort(keys, on_device());
  EXPECT_EQ(bits(keys),
            bits({-infinity, -1, -0.0f, 0.0f, -0.0f, 1e-45f, 1, infinity, nan, payload}));
  keys = before;
  sortium::sort(keys, on_device({.order = Order::descending}));
  EXPECT_EQ(bits(keys),
            bits({infinity, 1, 1e-45f, -0.0f, 0.0f, -0.0f, -1, -infinity, nan, payload}));
}

TEST(Host, OutOfPlaceLeavesTheInput) {
  const auto keys = some<float>(1009);
  const auto values = some<std::uint32_t>(1009, 2);
  std::vector<float> keys_out(keys.size());
  std::vector<std::uint32_t> values_out(keys.size());
  const auto keys_before = keys;
  const auto values_before = values;
  const Problem p{.key = KeyType::f32, .count = keys.size(), .payload = Payload::values};
  sort_host(p, {keys.data(), keys_out.data(), values.data(), values_out.data()}, on_device());
  EXPECT_EQ(keys, keys_before);
  EXPECT_EQ(values, values_before);
  EXPECT_TRUE(std::ranges::is_sorted(keys_out));
}

TEST(Host, BadOperandsAreNamed) {
  std::vector<std::uint32_t> a(100), b(100), c(100), d(100);
  const auto attempt = [](Problem p, HostOperands o) {
    return [=] { sort_host(p, o, on_device()); };
  };
  const Problem keys{.count = 100}, pairs{.count = 100, .payload = Payload::values};
  const Problem positions{.count = 100, .payload = Payload::positions};
  const auto bad = ErrorCode::invalid_argument;
  expect_error(attempt(keys, {nullptr, b.data()}), bad, {"keys_in"});
  expect_error(attempt(keys, {a.data(), nullptr}), bad, {"keys_out"});
  expect_error(attempt(pairs, {a.data(), b.data(), nullptr, d.data()}), bad, {"values_in"});
  expect_error(attempt(pairs, {a.data(), b.data(), c.data(), nullptr}), bad, {"values_out"});
  expect_error(attempt(positions, {a.data(), b.data(), nullptr, nullptr}), bad, {"values_out"});

  std::vector<std::uint32_t> big(1000);
  auto* const p = big.data();
  expect_error(attempt(keys, {p, p + 99}), bad, {"keys_in", "keys_out"});
  expect_error(attempt(keys, {p + 99, p}), bad, {"keys_in", "keys_out"});
  expect_error(attempt(pairs, {p, p + 200, p + 400, p + 499}), bad, {"values_in", "values_out"});
  expect_error(attempt(pairs, {p, p + 200, p + 99, p + 600}), bad, {"keys_in", "values_in"});
  expect_error(attempt(pairs, {p, p + 200, p + 299, p + 600}), bad, {"keys_out", "values_in"});
  expect_error(attempt(pairs, {p, p + 200, p + 400, p + 99}), bad, {"keys_in", "values_out"});
  expect_error(attempt(pairs, {p, p + 200, p + 400, p + 101}), bad, {"keys_out", "values_out"});
  EXPECT_EQ(big, std::vector<std::uint32_t>(1000)) << "nothing was written";

  std::vector<std::uint32_t> short_one(99);
  expect_error([&] { sortium::sort(a, short_one, on_device()); }, bad, {"99", "100"});
}

// A pointer from a packed struct, or into the middle of a file's bytes.
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
      Misaligned first(before), values(numbers);
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
      Misaligned parts(before), where(offsets);
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
      distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
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

// At every size and on every device alike.
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

// Unqualified calls find std's algorithms, too, by the arguments' types.
TEST(Host, UnqualifiedCallsAreNotAmbiguous) {
  using namespace sortium;
  const Options options = on_device();
  std::vector<std::uint32_t> k{3, 1, 2}, v{30, 10, 20};
  sort(k, v, options);
  EXPECT_EQ(k, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(v, (std::vector<std::uint32_t>{10, 20, 30}));
  k = {3, 1, 2}, v = {30, 10, 20};
  sort(std::span(k), std::span(v), options);
  EXPECT_EQ(v, (std::vector<std::uint32_t>{10, 20, 30}));
  EXPECT_EQ(lower_bound(k, k, options), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(upper_bound(k, k, options), (std::vector<std::uint32_t>{1, 2, 3}));
  k = {1, 1, 2};
  EXPECT_EQ(unique(k, v, options), 2u);
}

TEST(Host, ResultsThatTheHostHasNoMemoryFor) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program if an allocation is too large";
#endif
  // An argsort of so many keys needs as many positions; the keys are never read.
  const std::span<const std::uint32_t> keys(static_cast<const std::uint32_t*>(nullptr),
                                            std::size_t{1} << 58);
  expect_error([&] { (void)argsort<std::uint64_t>(keys, on_device()); }, ErrorCode::out_of_memory,
               {"out of host memory", std::to_string(keys.size()), "8 bytes"});
}

TEST(Host, MoreThanTheDeviceHolds) {
  std::vector<std::uint64_t> keys{3, 1, 2};
  const auto before = keys;
  // A TiB of keys is said to be there; nothing may be read or written before the device has refused
  // it.
  const Problem p{.key = KeyType::u64, .count = std::uint64_t{1} << 37};
  // cpu:0 uses the caller's arrays in place and allocates only scratch memory.
  const std::string what = on_host() ? "cpu:0: cannot allocate" : std::to_string(p.count * 8);
  expect_error(
      [&] {
        sort_host(p, {keys.data(), keys.data()}, on_device());
      },
      ErrorCode::out_of_memory, {what});
  EXPECT_EQ(keys, before);
}

// With no device named, few records never leave the host; they are sorted as any device would sort
// them.
template <class Key>
void few_are_sorted_alike() {
  const char* const before = std::getenv("SORTIUM_DEVICE");
  const std::string kept = before ? before : "";
  unsetenv("SORTIUM_DEVICE");
  const bool has_host = std::ranges::any_of(
      devices(), [](const auto& d) { return d->info().claimed.backend == Backend::host; });
  for (const std::size_t n : {0, 1, 2, 3, 5, 8, 9, 16, 17, 23, 24, 25, 100, 16384, 16385})
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
      // If the library has cpu:0, few records never leave the host.
      if (has_host && n <= 16384) {
        EXPECT_EQ(report.algorithm, sizeof(Key) <= 2 && n >= 256 ? "counting" : "sample");
      }
      EXPECT_EQ(argsort<std::uint64_t>(keys, anywhere), argsort<std::uint64_t>(keys, here)) << n;
      k = k2 = keys;
      sortium::sort(k, anywhere);
      sortium::sort(k2, here);
      EXPECT_TRUE(same_bits(k, k2)) << n;
    }
  if (before) setenv("SORTIUM_DEVICE", kept.c_str(), 1);
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

// By networks, which have a size and more than one way to make words of records.
template <class Key>
void fewest_are_sorted() {
  for (std::size_t n = 0; n <= 17; ++n)
    for (unsigned round = 0; round < 20; ++round)
      for (const auto order : {Order::ascending, Order::descending}) {
        auto keys = some<Key>(n, 20 * n + round);
        if (round % 2 == 0)
          for (auto& k : keys) k = static_cast<Key>(static_cast<int>(k) % 3);  // alike
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

// sort() without options takes a short cut; a Plan, which a named algorithm gets, does not.
template <class Key>
void fewest_are_sorted_as_by_a_plan() {
  const auto& type = info(key_type_of<Key>::value);
  const std::uint64_t sign = std::uint64_t{1} << (type.bits() - 1);
  // Of floats: both zeros, the least and the greatest of either sign, infinities, and NaN of
  // several kinds.
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
  std::array<std::array<char, 3>, 3> odd{{{'a'}, {'b'}, {'c'}}};  // of a size that no sort moves
  sortium::sort(keys = before, odd);
  EXPECT_EQ(odd, (std::array<std::array<char, 3>, 3>{{{'b'}, {'c'}, {'a'}}}));

  // What is wrong is said, and nothing is written.
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

TEST(Host, ThreadsSortAtOnce) {
  std::vector<std::thread> threads;
  std::array<bool, 6> right{};
  for (std::size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([t, &right] {
      right[t] = true;
      for (unsigned round = 0; round < 5; ++round) {
        auto keys = some<float>(5000 + 100 * t, 10 * t + round);
        auto should = keys;
        std::ranges::stable_sort(should);
        sortium::sort(keys, on_device());
        right[t] = right[t] && keys == should;
      }
    });
  for (auto& t : threads) t.join();
  for (std::size_t t = 0; t < right.size(); ++t) EXPECT_TRUE(right[t]) << "thread " << t;
}

TEST(Devices, AreFoundByName) {
  const auto& d = *test_device();
  EXPECT_EQ(find_device(d.info().id).get(), &d);
  std::string upper = d.info().id;
  std::ranges::transform(upper, upper.begin(), [](unsigned char ch) { return std::toupper(ch); });
  EXPECT_EQ(find_device(upper).get(), &d);
  const auto& name = d.info().name;
  EXPECT_EQ(find_device(name)->info().name, name);
  const auto part = name.substr(1, 6);
  EXPECT_NE(find_device(part)->info().name.find(part), std::string::npos);
  EXPECT_NE(find_device("auto"), nullptr);
  ASSERT_FALSE(devices().empty());
  for (const auto& one : devices()) EXPECT_EQ(find_device(one->info().id), one);
  unsigned nth = 0;
  for (const auto& one : devices())
    if (one->info().claimed.backend == Backend::opencl) {
      EXPECT_EQ(find_device("opencl:" + std::to_string(nth)), one);
      ++nth;
    }
}

TEST(Devices, UnknownOnesAreRefusedWithAList) {
  const std::string known = devices().front()->info().id;
  for (const auto* spec : {"no such device", "opencl:99", "opencl:0:99", "cuda:99",
                           "opencl:", "cuda:x", "autos", " ", "-", "  \t"})
    expect_error([&] { (void)find_device(spec); }, ErrorCode::not_found, {spec, known});
  std::vector<float> keys(3);
  expect_error([&] { sortium::sort(keys, {.device = "no such device"}); }, ErrorCode::not_found,
               {"no such device"});
}

TEST(Devices, TheEnvironmentSetsTheDefault) {
  const char* before = std::getenv("SORTIUM_DEVICE");
  const std::string kept = before ? before : "";
  setenv("SORTIUM_DEVICE", test_device()->info().id.c_str(), 1);
  EXPECT_EQ(find_device(), test_device());
  setenv("SORTIUM_DEVICE", "nonsense", 1);
  expect_error([] { (void)find_device(); }, ErrorCode::not_found, {"nonsense"});
  EXPECT_NE(find_device("auto"), nullptr) << "a spec goes before the environment";
  setenv("SORTIUM_DEVICE", "", 1);
  EXPECT_EQ(find_device(), find_device("auto"));
  before ? setenv("SORTIUM_DEVICE", kept.c_str(), 1) : unsetenv("SORTIUM_DEVICE");
}

TEST(Devices, BackendsSayWhyTheyAreAbsent) {
  std::size_t all = 0;
  for (const auto& b : backends()) {
    EXPECT_EQ(b.devices == 0, !b.why.empty()) << name(b.backend);
    all += b.devices;
  }
  EXPECT_EQ(all, devices().size());
}

TEST(Devices, RefuseTooMuchMemory) {
  auto& d = *test_device();
  const auto there = d.info().claimed.global_memory;
  expect_error([&] { (void)d.allocate(2 * there); }, ErrorCode::out_of_memory,
               {std::to_string(2 * there), std::to_string(there)});
  EXPECT_GT(d.free_memory(), 0u);
  EXPECT_EQ(d.allocate(1000)->memory().bytes, 1000u);
}

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

  // Without records, or without segments.
  std::vector<std::uint32_t> none;
  sort_segments(none, std::vector<std::uint32_t>{0, 0, 0}, options);
  sort_segments(none, std::vector<std::uint32_t>{0}, options);
  // A handful, where no device is named.
  std::vector<float> few{3, 1, 2, 9, 8};
  sort_segments(few, std::vector<std::uint32_t>{0, 3, 5}, {.order = Order::descending});
  EXPECT_EQ(few, (std::vector<float>{3, 2, 1, 9, 8}));
}

// 8-byte keys with values: more bits than a GPU's local sort compares at once, and pairs that
// differ in the lowest alone.
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

TEST(Algorithms, DescribeThemselves) {
  EXPECT_GE(algorithms().size(), 2u);
  for (const auto& a : algorithms()) {
    for (const auto* text : {&a.name, &a.title, &a.source, &a.cost})
      EXPECT_FALSE(text->empty()) << a.name;
    for (const auto& p : a.parameters) {
      EXPECT_FALSE(p.meaning.empty()) << a.name << ' ' << p.name;
      EXPECT_NE(p.choices.empty(), p.maximum == 0) << a.name << ' ' << p.name;
    }
  }
}

}  // namespace
}  // namespace sortium::test
