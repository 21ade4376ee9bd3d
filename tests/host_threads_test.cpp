// cpu:0 in the environments that a caller may have: inside oneTBB's tasks and arenas, with a single
// thread, with many callers at once.
#include "device/host_threads.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <sortium/search.hpp>
#include <stdexcept>
#include <thread>

#include "support.hpp"

namespace sortium::test {
namespace {

// Sorts keys, keys with values, segments, and below a ceiling, at random (`seed`). Returns true if
// every result equals that of std::stable_sort.
bool sorts_right(std::uint64_t seed) {
  const std::uint64_t n = 50'000;
  Random random(seed);
  std::vector<std::uint32_t> keys(n);
  for (auto& k : keys) k = static_cast<std::uint32_t>(random.below(1000));
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::uint32_t> sorted = keys, sorted_order = order, segmented = keys;
  std::ranges::sort(sorted);
  std::ranges::stable_sort(sorted_order, {}, [&](auto i) { return keys[i]; });
  const std::vector<std::uint32_t> offsets{0, 40'000, 40'010, static_cast<std::uint32_t>(n)};
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    std::sort(segmented.begin() + offsets[s], segmented.begin() + offsets[s + 1]);

  const Options host{.device = "cpu:0"};
  auto alone = keys, with_values = keys, in_segments = keys, bounded = keys;
  sortium::sort(alone, host);
  sortium::sort(with_values, order, host);
  sort_segments(in_segments, offsets, host);
  sortium::sort(bounded, {.device = "cpu:0", .max_scratch_bytes = 120'000});
  return alone == sorted && with_values == sorted && order == sorted_order &&
         in_segments == segmented && bounded == sorted;
}

TEST(HostThreads, InTasks) {
  std::atomic<int> right{0};
  tbb::parallel_for(0, 16, [&](int i) { right += sorts_right(static_cast<std::uint64_t>(i)); });
  EXPECT_EQ(right, 16);
  tbb::task_group group;
  for (int i = 0; i < 4; ++i) group.run([&] { right += sorts_right(7); });
  group.wait();
  EXPECT_EQ(right, 20);
}

TEST(HostThreads, InSmallArenas) {
  for (const int threads : {1, 2, 3})
    tbb::task_arena(threads).execute([&] {
      EXPECT_TRUE(sorts_right(1));
      tbb::parallel_for(0, 4,
                        [&](int i) { EXPECT_TRUE(sorts_right(static_cast<std::uint64_t>(i))); });
    });
  tbb::task_arena no_reserved_slot(2, 0);
  no_reserved_slot.execute([] { EXPECT_TRUE(sorts_right(2)); });
}

TEST(HostThreads, LimitedToOne) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  EXPECT_TRUE(sorts_right(3));
  tbb::parallel_for(0, 3, [](int i) { EXPECT_TRUE(sorts_right(static_cast<std::uint64_t>(i))); });
}

TEST(HostThreads, MoreThanThereAre) {
  std::vector<std::uint32_t> keys(300'000), values(keys.size());
  Random random(11);
  for (auto& k : keys) k = static_cast<std::uint32_t>(random.next());
  std::iota(values.begin(), values.end(), 0);
  const auto before = keys;
  sortium::sort(keys, values,
                {.device = "cpu:0", .algorithm = "sample", .parameters = "threads=64"});
  EXPECT_TRUE(std::ranges::is_sorted(keys));
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(before[values[i]], keys[i]);
}

TEST(HostThreads, AsManyAsAreUseful) {
  EXPECT_EQ(host::threads_for(0, 100, 16), 1u);
  EXPECT_EQ(host::threads_for(199, 100, 16), 1u);
  EXPECT_EQ(host::threads_for(200, 100, 16), 2u);
  EXPECT_EQ(host::threads_for(799, 100, 16), 4u);
  EXPECT_EQ(host::threads_for(799, 100, 3), 3u);
  EXPECT_EQ(host::threads_for(std::uint64_t{1} << 40, 100, 24), 24u);
}

TEST(HostThreads, ManyCallers) {
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 24; ++i)
    callers.emplace_back([&, i] { right += sorts_right(static_cast<std::uint64_t>(i)); });
  for (auto& c : callers) c.join();
  EXPECT_EQ(right, 24);
}

// Threads that run one Plan share its arena, which has fewer slots than there are threads.
TEST(HostThreads, OnePlanForAll) {
  const auto device = find_device("cpu:0");
  const std::uint64_t n = 100'000;
  const Plan plan(device, {.count = n, .payload = Payload::values});
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 12; ++i)
    callers.emplace_back([&, i] {
      std::vector<std::uint32_t> keys(n), values(n);
      Random random(static_cast<std::uint64_t>(i));
      for (auto& k : keys) k = static_cast<std::uint32_t>(random.below(500));
      std::iota(values.begin(), values.end(), 0);
      const auto before = keys;
      auto expected = values;
      std::ranges::stable_sort(expected, {}, [&](auto v) { return before[v]; });
      const auto queue = device->make_queue();
      const auto scratch = device->allocate(plan.scratch_bytes());
      const Memory k{keys.data(), 0, 0}, v{values.data(), 0, 0};
      plan.run(*queue, {k, k, v, v, scratch->memory()});
      right += values == expected;
    });
  for (auto& c : callers) c.join();
  EXPECT_EQ(right, 12);
}

TEST(HostThreads, LoopsThrowWhatBodiesThrow) {
  const tbb::blocked_range<std::uint64_t> range(0, 1000);
  const auto body = [](const auto& part) {
    if (part.end() == 1000) throw std::runtime_error("the body's own");
  };
  EXPECT_THROW(host::repeatable_for(range, body), std::runtime_error);
  EXPECT_THROW(host::repeatable_for_all(range, body), std::runtime_error);
}

TEST(HostThreads, LoopsCoverEachIndexOnce) {
  constexpr std::uint64_t n = 5000;
  std::vector<std::uint8_t> done(n, 7);
  for (const bool one_by_one : {false, true}) {
    std::vector<std::atomic<int>> visits(n);
    host::once_for(n, done.data(), one_by_one, [&](std::uint64_t begin, std::uint64_t end) {
      EXPECT_TRUE(!one_by_one || end == begin + 1);
      for (auto i = begin; i < end; ++i) ++visits[i];
    });
    EXPECT_TRUE(std::ranges::all_of(visits, [](const auto& v) { return v == 1; }));
  }
}

}  // namespace
}  // namespace sortium::test
