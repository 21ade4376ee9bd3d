// Lists of a few sorted runs, which cpu:0 merges, and of floats with NaN.
#include <gtest/gtest.h>

#include "conformance_trials.hpp"
#include "support.hpp"
#include "table.hpp"

namespace sortium::test {
namespace {

// Lists of a few sorted runs, with ties in and between runs: cpu:0 merges them.
TEST(Runs, AreMerged) {
  if (!on_host()) GTEST_SKIP() << "sample is cpu:0's";
  Trial trial(test_device(), Placement::guarded);
  unsigned turn = 0;
  for (const auto key : {KeyType::u32, KeyType::f64, KeyType::i16})
    for (const auto payload : {Payload::values, Payload::positions, Payload::none})
      for (const std::uint64_t runs : {1, 2, 3, 7, 8, 9})
        for (const std::uint64_t count : {40'000, 100'003}) {
          Case c;
          c.problem = {.key = key,
                       .count = count,
                       .payload = payload,
                       .value_bytes = turn % 2 == 0 ? 4u : 8u,
                       .order = turn % 4 < 2 ? Order::ascending : Order::descending,
                       .nan = NanOrder::first};
          c.in_place = turn % 3 == 0;
          c.distribution = Distribution::runs;
          c.seed = 9 * ++turn + runs - 1;
          EXPECT_EQ(run_stable(trial, c, {"sample"}), "") << describe(c) << ", " << runs << " runs";
        }
}

// Runs of keys without values, which are merged by their codes. Zeros and NaN have several codes.
TEST(Runs, OfKeysAloneAreMerged) {
  if (!on_host()) GTEST_SKIP() << "sample is cpu:0's";
  Trial trial(test_device(), Placement::guarded);
  unsigned turn = 0;
  for (const auto key :
       {KeyType::u32, KeyType::i32, KeyType::f32, KeyType::u64, KeyType::i64, KeyType::f64})
    for (const auto order : {Order::ascending, Order::descending})
      for (const bool in_place : {false, true})
        for (const std::uint64_t runs : {1, 2, 3, 7, 8, 9})
          for (const std::uint64_t count : {32'769, 100'003}) {
            if (!is_drawn(turn / 2 + turn)) {
              ++turn;
              continue;
            }
            const Case c{{.key = key, .count = count, .order = order},
                         in_place,
                         Distribution::runs,
                         9 * ++turn + runs - 1};
            EXPECT_EQ(run_stable(trial, c, {"sample"}), "")
                << describe(c) << ", " << runs << " runs";
          }
}

// NaNs of the same bits are moved behind the other floats, which are sorted without codes. Lists of
// one thread, of few threads, and of more; NaNs that differ; few numbers beside many NaNs.
TEST(FloatsOfTheHost, AreSortedBesideNans) {
  if (!on_host()) GTEST_SKIP() << "sample is cpu:0's";
  Trial trial(test_device(), Placement::guarded);
  const std::vector<std::uint64_t> counts =
      is_set("SORTIUM_TEST_SMALL")
          ? std::vector<std::uint64_t>{1, 40, 1'003}
          : std::vector<std::uint64_t>{1, 2, 15, 40, 601, 1'003, 40'007, 300'007, 3'000'017};
  std::uint64_t seed = 0;
  for (const auto count : counts)
    for (const auto key : {KeyType::f32, KeyType::f64, KeyType::f16})
      for (const auto d : {Distribution::one_nan, Distribution::other_nan, Distribution::ties})
        for (const auto order : {Order::ascending, Order::descending})
          for (const bool in_place : {false, true}) {
            seed += 7;  // each case gets every share of NaN
            if (count > 1'000'000 && (key != KeyType::f32 || in_place)) continue;
            const Case c{{.key = key, .count = count, .order = order}, in_place, d, seed};
            EXPECT_EQ(run_stable(trial, c, {"sample"}), "") << describe(c);
          }
}

}  // namespace
}  // namespace sortium::test
