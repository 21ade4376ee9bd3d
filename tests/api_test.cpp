// The C++ interface on host memory: the one-line sorts, errors, threads.
#include "api.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "expect_error.hpp"

namespace sortium::test {
namespace {

template <class T>
struct HostSort : testing::Test {};
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

  Problem wrong = keys;
  wrong.key = static_cast<KeyType>(77);
  expect_error(attempt(wrong, {a.data(), b.data()}), bad, {"key is the number 77"});
  std::vector<std::uint32_t> short_one(99);
  expect_error([&] { sortium::sort(a, short_one, on_device()); }, bad, {"99", "100"});
}

// Vectors that are returned are zero at first, whatever their length.
TEST(Host, ReturnedVectors) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 22,
                                    (std::uint64_t{1} << 22) + 1, std::uint64_t{9'000'001}}) {
    const auto vector = detail::vector_of<std::uint64_t>(count);
    ASSERT_EQ(vector.size(), count);
    EXPECT_TRUE(std::ranges::all_of(vector, [](std::uint64_t x) { return x == 0; }));
  }
  detail::provide_pages(nullptr, 0);
  char few[100] = "unchanged";
  detail::provide_pages(few, sizeof few);
  EXPECT_STREQ(few, "unchanged");
  std::vector<std::uint32_t> used(1 << 24, 7);  // provided again, memory keeps its contents
  detail::provide_pages(used.data(), used.size() * 4);
  EXPECT_EQ(std::ranges::count(used, 7u), 1 << 24);
}

// Argument-dependent look-up of unqualified calls finds std's algorithms, too.
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
  // An argsort of this many keys must allocate as many positions, which fails; the keys are never
  // read.
  const std::span<const std::uint32_t> keys(static_cast<const std::uint32_t*>(nullptr),
                                            std::size_t{1} << 58);
  expect_error([&] { (void)argsort<std::uint64_t>(keys, on_device()); }, ErrorCode::out_of_memory,
               {"out of host memory", std::to_string(keys.size()), "8 bytes"});
}

// The problem claims a TiB of keys. Nothing may be read or written before the allocation fails.
TEST(Host, MoreThanTheDeviceHolds) {
  constexpr std::uint64_t limit = 1000;
  std::vector<std::uint64_t> memory(limit + 3, 7);
  const auto before = memory;
  std::uint64_t* const out = memory.data();
  std::uint64_t* const keys = out + limit;
  Problem p{.key = KeyType::u64, .count = std::uint64_t{1} << 37};
  // A GPU sorts a long list in ranges, but not its first records.
  const bool on_gpu = test_device()->info().claimed.kind == DeviceKind::gpu;
  if (on_gpu) p.limit = limit;
  // cpu:0 uses the caller's arrays in place and allocates only scratch memory.
  const std::string what = on_host() ? "cpu:0: cannot allocate" : std::to_string(p.count * 8);
  expect_error(
      [&] {
        sort_host(p, {keys, on_gpu ? out : keys}, on_device());
      },
      ErrorCode::out_of_memory, {what});
  EXPECT_EQ(memory, before);
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

}  // namespace
}  // namespace sortium::test
