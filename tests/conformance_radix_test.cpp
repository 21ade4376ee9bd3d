// Lists that the table of conformance.cpp does not have, for the radix sorts: those that msd
// partitions in another way, and those for which onesweep counts or skips in another way.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "conformance_trials.hpp"
#include "device_array.hpp"
#include "sort/self_test.hpp"
#include "support.hpp"
#include "table.hpp"
#include "trial.hpp"

namespace sortium::test {
namespace {

// On short lists, msd counts the digits of each tile separately. The lists here have more tiles
// than the device has compute units.
TEST(CountedTiles, AreAddedUp) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const auto d : {Distribution::random, Distribution::few_distinct, Distribution::sorted})
    for (const std::uint64_t count : {small ? 3'001 : 1'300'007, small ? 12'007 : (1 << 21) - 5}) {
      cases.push_back({{.key = KeyType::u64, .count = count}, true, d, count});
      cases.push_back({{.key = KeyType::i32,
                        .count = count,
                        .payload = Payload::values,
                        .value_bytes = 8,
                        .order = Order::descending},
                       false,
                       d,
                       count});
    }
  expect_stable(std::move(cases), {"msd", ""});
}

// msd samples the keys of long lists to estimate whether keys repeat and whether there are few
// distinct digits. A parameter makes it sample these short lists.
TEST(SampledKeys, TellTheWay) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 5'003 : 1'300'007;
  std::vector<Case> cases;
  for (const auto d : {Distribution::few_distinct, Distribution::random, Distribution::zipf,
                       Distribution::sorted}) {
    if (small && cases.size() == 6) break;
    cases.push_back(
        {{.key = KeyType::u32, .count = count, .payload = Payload::values}, true, d, count});
    cases.push_back({{.key = KeyType::u64, .count = count}, false, d, count});
    cases.push_back(
        {{.key = KeyType::f64, .count = count, .payload = Payload::positions}, false, d, count});
  }
  expect_stable(std::move(cases), {"msd", "bits=9,sample=1"});
}

// The problem of case `turn` of a test: orders and sizes of values take turns.
Problem nth_problem(std::size_t turn, KeyType key, std::uint64_t count, Payload payload) {
  Problem p{.key = key, .count = count, .payload = payload};
  p.order = turn % 3 == 0 ? Order::descending : Order::ascending;
  if (payload == Payload::values) p.value_bytes = turn % 4 < 2 ? 4 : 8;
  return p;
}

// If the leading bits of keys crowd few buckets, msd builds a map from samples of the keys. A
// parameter makes it do so for these short lists. Some are smooth. Some have outliers, equal keys
// that fill a bucket, and a cluster that overfills other buckets, which msd then sorts separately.
// On some the map fails, and msd falls back.
TEST(SampledKeys, AreMapped) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 9'001 : 1'300'007;
  std::vector<Case> cases;
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    for (const auto key : {KeyType::u64, KeyType::i64, KeyType::f64})
      for (const auto d : {Distribution::clusters, Distribution::numbers, Distribution::leads,
                           Distribution::few_distinct, Distribution::zipf, Distribution::sorted,
                           Distribution::peaks}) {
        const auto turn = cases.size();
        // Few lists: one for each type and, of u64 keys, for each payload.
        if (small &&
            (turn % 7 != turn / 7 % 7 || (payload != Payload::none && key != KeyType::u64))) {
          cases.emplace_back();
          continue;
        }
        const Problem p = nth_problem(turn, key, count, payload);
        cases.push_back({p, turn % 4 < 2, d, small ? 2 * turn : turn});
      }
  std::erase_if(cases, [](const Case& c) { return c.problem.count == 0; });
  expect_stable(std::move(cases), {"msd", "bits=10,sample=1"});
}

// Records of the same value of a leading field crowd a bin of the local sort. So bins are refined,
// unless keys repeat.
TEST(SampledKeys, CrowdBins) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 9'001 : 1'300'007;
  std::vector<Case> cases;
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    for (const auto key : {KeyType::u64, KeyType::i64}) {
      const auto turn = cases.size();
      const Problem p = nth_problem(turn, key, count, payload);
      cases.push_back({p, turn % 4 < 2, Distribution::fields, turn});
    }
  if (small) cases = {cases[0], cases[2]};
  expect_stable(std::move(cases), {"msd", "bits=10,sample=1"});
}

// Mapped integers of 32 bits are equalized. Lists as above, and with frequent keys at the ends of
// cells and of all numbers.
TEST(SampledKeys, AreEqualized) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 9'001 : 1'300'007;
  std::vector<Case> cases;
  for (const auto d : {Distribution::hill, Distribution::clusters, Distribution::hill,
                       Distribution::range, Distribution::leads, Distribution::few_distinct,
                       Distribution::zipf, Distribution::constant, Distribution::sorted})
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const auto key : {KeyType::u32, KeyType::i32}) {
        const auto turn = cases.size();
        Problem p = nth_problem(turn, key, count, payload);
        if (payload == Payload::positions) p.keys_out = turn % 4 < 2;
        cases.push_back({p, p.keys_out && turn % 4 < 2, d, turn});
      }
  if (small) cases.resize(8);
  expect_stable(std::move(cases), {"msd", "bits=12,sample=1"});
}

// Integers in a range that leaves most buckets empty are stretched.
TEST(SampledKeys, AreStretched) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const std::uint64_t count = small ? 9'001 : 1'300'007;
  for (const unsigned bits : {9, 8}) {
    std::vector<Case> cases;
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const auto key : {KeyType::u32, KeyType::i32, KeyType::u64, KeyType::i64})
        for (std::uint64_t i = 0; i < (small ? 1 : 5); ++i) {
          const auto turn = cases.size();
          const Problem p = nth_problem(turn, key, count, payload);
          cases.push_back({p, turn % 4 < 2, Distribution::range, turn});
        }
    if (small) cases = {cases[bits == 9 ? 2 : 0]};  // u64, u32
    expect_stable(std::move(cases), {"msd", fmt::format("bits={},sample=1", bits)});
  }
}

// Letters leave gaps between keys. These keys would be stretched, but pairs of samples in the same
// bucket show that some buckets would be too full.
TEST(SampledKeys, HaveGaps) {
  if (is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << "shorter lists have too few buckets";
  std::vector<Case> cases;
  for (const auto payload : {Payload::none, Payload::values, Payload::positions})
    for (const auto key : {KeyType::u64, KeyType::i64})
      cases.push_back({{.key = key, .count = 4'200'007, .payload = payload},
                       cases.size() % 2 == 0,
                       Distribution::letters,
                       cases.size()});
  expect_stable(std::move(cases), {"msd", "bits=11,sample=1"});
}

// Keys alone that do not spread: msd counts the frequent keys, sorts the others, and inserts the
// frequent ones. A parameter makes it do so for short lists. In some lists all keys are frequent,
// in others few; some have keys that tie, which must not be counted.
TEST(FrequentKeys, AreCounted) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const auto key : {KeyType::u32, KeyType::i64, KeyType::f32, KeyType::f64, KeyType::i32})
    for (const auto d : {Distribution::zipf, Distribution::few_distinct, Distribution::classes,
                         Distribution::clusters, Distribution::constant})
      for (const std::uint64_t count : {small ? 2'003 : 1'300'007, small ? 1'501 : 70'001}) {
        const auto turn = cases.size();
        Problem p = nth_problem(turn, key, count, Payload::none);
        if (turn % 5 == 4) p.nan = NanOrder::bits, p.zeros = ZeroOrder::distinct;
        cases.push_back({p, turn % 4 < 2, d, turn});
      }
  if (small) cases = {cases[0], cases[12], cases[22]};
  expect_stable(std::move(cases), {"msd", "bits=9,sample=1"});
}

// The same with values or positions: msd sorts them by codes of the frequent keys. Keys that differ
// in few bytes, keys in place, and lists with many other keys are sorted by passes over all.
TEST(FrequentKeys, AreEncoded) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const auto key : {KeyType::u32, KeyType::f64, KeyType::f32, KeyType::i64})
    for (const auto d : {Distribution::common, Distribution::few_distinct, Distribution::constant,
                         Distribution::common, Distribution::zipf, Distribution::classes})
      for (const std::uint64_t count : {small ? 20'003 : 1'300'007, small ? 9'001 : 70'001})
        for (const auto payload : {Payload::values, Payload::positions}) {
          const auto turn = cases.size();
          Problem p{.key = key, .count = count, .payload = payload};
          p.order = turn % 3 == 0 ? Order::descending : Order::ascending;
          p.value_bytes = turn % 4 < 2 ? 4 : 8;
          if (turn % 5 == 4) p.nan = NanOrder::bits, p.zeros = ZeroOrder::distinct;
          p.keys_out = payload == Payload::values || turn % 8 < 4;
          cases.push_back({p, p.keys_out && turn % 16 == 12, d, turn});
        }
  if (small) cases = {cases[0], cases[4], cases[15], cases[37], cases[62]};
  expect_stable(std::move(cases), {"msd", "bits=9,sample=1"});
}

// Passes leave out low digits if samples show that higher ones tell keys apart. The few groups of
// keys that differ in low digits only are settled afterwards; if one is too large, passes over all
// digits follow.
TEST(LowDigits, AreLeftOut) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Problem> problems;
  for (const auto key : {KeyType::u64, KeyType::i64, KeyType::f64})
    for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
      const auto turn = problems.size();
      Problem p{.key = key, .count = small ? 4'099u : 100'003u << turn % 4, .payload = payload};
      p.order = turn % 2 == 0 ? Order::descending : Order::ascending;
      p.nan = turn == 6 ? NanOrder::bits : turn == 7 ? NanOrder::last : NanOrder::first;
      p.zeros = turn == 6 ? ZeroOrder::distinct : ZeroOrder::tied;
      if (payload == Payload::values) p.value_bytes = turn % 2 == 0 ? 4 : 8;
      p.keys_out = turn != 2;
      if (turn % 4 == 3) p.begin_bit = 4, p.end_bit = turn == 3 ? 44 : 60;  // 5 or 7 digits
      problems.push_back(p);
    }
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < 6; ++seed)
    for (const auto d : {Distribution::groups, Distribution::random, Distribution::few_distinct,
                         Distribution::numbers, Distribution::zipf, Distribution::hill})
      for (const auto& p : problems)
        if (d == Distribution::groups || seed == 0)
          cases.push_back({p, p.keys_out && cases.size() % 2 == 0, d, seed});
  if (small) {  // few of them
    for (std::size_t i = 0; i < 6; ++i) cases[i] = cases[i * 10];
    cases.resize(6);
  }
  expect_stable(std::move(cases), {"onesweep", ""});
}

// A sort by bins exchanges neighbours in as many rounds as its largest bin has items. Here each bin
// has `alike` items, or none, and they come in reverse order.
template <class Key>
std::vector<Key> reversed_bins(std::size_t count, std::size_t alike) {
  const std::size_t bins = count / alike + 1;
  const Key distance = std::numeric_limits<Key>::max() / static_cast<Key>(bins);
  std::vector<Key> keys(count);
  for (std::size_t i = 0; i < count; ++i)
    keys[i] = static_cast<Key>((bins - 1 - i / alike) * distance + alike - 1 - i % alike);
  return keys;
}

TEST(Bins, WithReversedItemsAreSorted) {
  if (on_host()) GTEST_SKIP() << "cpu:0 has no such bins";
  const Options options{.device = test_device()->info().id, .algorithm = "one-group"};
  for (const std::size_t count : {1000u, 4500u})  // 9 and 19 records of a work-item
    for (std::size_t alike = 3; alike <= 8; ++alike) try {
        auto keys = reversed_bins<std::uint64_t>(count, alike), expected = keys;
        sort(std::span(keys), options);
        std::ranges::reverse(expected);
        EXPECT_TRUE(keys == expected) << count << " keys, " << alike << " in a bin";
        std::vector<std::uint32_t> backwards(count);
        std::iota(backwards.rbegin(), backwards.rend(), 0u);
        const auto few_bits = reversed_bins<std::uint32_t>(count, alike);
        EXPECT_TRUE(argsort(std::span(few_bits), options) == backwards)
            << count << " positions, " << alike << " in a bin";
      } catch (const Error& e) {
        if (e.code() != ErrorCode::unsupported) throw;
        GTEST_SKIP() << e.what();
      }
}

// Short lists: 32-bit integers are partitioned or sorted by passes without look-back, 64-bit keys
// whose leading bits do not spread are sorted by cells or by passes.
TEST(ShortLists, OfMsd) {
  if (is_simulated())
    GTEST_SKIP() << "a simulator takes minutes for the shortest list of this kind";
  std::vector<Case> cases;
  for (const auto key :
       {KeyType::u32, KeyType::f64, KeyType::i64, KeyType::f32, KeyType::u64, KeyType::i32})
    for (const auto d : {Distribution::hill, Distribution::range, Distribution::clusters,
                         Distribution::numbers, Distribution::leads, Distribution::few_distinct,
                         Distribution::zipf, Distribution::constant, Distribution::sorted,
                         Distribution::peaks, Distribution::random, Distribution::classes})
      for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
        // Items hold a whole key and a position.
        if (info(key).bytes == 8 && payload != Payload::none) continue;
        const auto turn = cases.size();
        const std::uint64_t count = 131'073 << turn % 5;
        Problem p = nth_problem(turn, key, count, payload);
        p.nan = turn % 5 < 2 ? NanOrder::bits : turn % 5 < 4 ? NanOrder::last : NanOrder::first;
        p.zeros = turn % 2 == 0 ? ZeroOrder::distinct : ZeroOrder::tied;
        if (payload == Payload::positions) p.keys_out = turn % 4 < 2;
        cases.push_back({p, p.keys_out && turn % 4 < 2, d, turn});
      }
  // Cells leave NaNs out if they come last.
  for (const auto d : {Distribution::one_nan, Distribution::other_nan})
    for (std::uint64_t turn = 0; turn < 8; ++turn) {
      Problem p{.key = KeyType::f64, .count = 131'073ull << turn % 4};
      p.order = turn % 2 == 0 ? Order::ascending : Order::descending;
      cases.push_back({p, turn % 3 == 0, d, turn});
    }
  expect_stable(std::move(cases), {"msd", ""});
}

// Passes without look-back, for all kinds of keys that have them.
TEST(ShortLists, OfOnesweep) {
  std::vector<Case> cases;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  for (const auto key : {KeyType::f32, KeyType::u32, KeyType::i16, KeyType::f16, KeyType::u64})
    for (const auto d : {Distribution::random, Distribution::zipf, Distribution::constant,
                         Distribution::sorted, Distribution::digits, Distribution::classes,
                         Distribution::one_nan, Distribution::other_nan})
      for (const auto payload : {Payload::none, Payload::values, Payload::positions}) {
        const auto turn = cases.size();
        Problem p{
            .key = key, .count = small ? 700 + turn : 65'537ull << turn % 5, .payload = payload};
        p.order = turn % 3 == 0 ? Order::descending : Order::ascending;
        p.nan = turn % 5 < 2 ? NanOrder::bits : turn % 5 < 4 ? NanOrder::last : NanOrder::first;
        p.zeros = turn % 2 == 0 ? ZeroOrder::distinct : ZeroOrder::tied;
        if (key == KeyType::u64) p.begin_bit = 20, p.end_bit = 45;
        if (payload == Payload::values) p.value_bytes = turn % 4 < 2 ? 4 : 8;
        if (payload == Payload::positions) p.keys_out = turn % 4 < 2;
        cases.push_back({p, p.keys_out && turn % 4 < 2, d, turn});
      }
  if (is_simulated()) cases.resize(26);
  // Of a range of bits, those of this NaN need not lie where NaNs belong.
  for (const unsigned end : {16u, 31u}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      cases.push_back({{.key = KeyType::f32, .count = small ? 701u : 90'001u, .end_bit = end},
                       false,
                       Distribution::one_nan,
                       end + seed});
    cases.push_back({{.key = KeyType::f16,
                      .count = small ? 703u : 90'003u,
                      .payload = Payload::values,
                      .order = Order::descending},
                     false,
                     Distribution::one_nan,
                     end});
  }
  auto of_more_tiles = cases;
  expect_stable(std::move(cases), {"onesweep", "look_back=0"});
  // More tiles than work-groups: those that run take the others' tiles.
  expect_stable(std::move(of_more_tiles), {"onesweep", "look_back=0,items=1,work_group=256"});
}

// Zeros between narrow ranges of floats on both sides of zero, with -0.0 before +0.0: their bins
// must not mix. Values are positions in the list.
TEST(ShortLists, KeepTheOrderOfZeros) {
  if (on_host() || is_simulated()) GTEST_SKIP() << "as above";
  const std::uint32_t count = 200'003;
  std::vector<float> keys(count);
  std::vector<std::uint32_t> positions(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto draw = i * 2654435761u;
    const float near_one = 1.0f + static_cast<float>(draw >> 8 & 0xfff) * 1e-6f;
    keys[i] = draw >> 20 < 12 ? 0.0f : near_one;
    if (draw & 1u << 7) keys[i] = -keys[i];
    positions[i] = i;
  }
  auto expected = positions;
  std::stable_sort(expected.begin(), expected.end(), [&](auto a, auto b) {
    return std::pair(keys[a], !std::signbit(keys[a])) < std::pair(keys[b], !std::signbit(keys[b]));
  });
  Problem p{.key = KeyType::f32, .count = count, .payload = Payload::values, .value_bytes = 4};
  p.zeros = ZeroOrder::distinct;
  try {
    const Plan plan(test_device(), p, {"msd", ""});
    const auto queue = test_device()->make_queue();
    const DeviceArray<float> in(*queue, keys), out(*queue, std::vector<float>(count));
    const DeviceArray<std::uint32_t> values_in(*queue, positions),
        values_out(*queue, std::vector<std::uint32_t>(count));
    const auto scratch = test_device()->allocate(plan.scratch_bytes());
    plan.run(*queue, {.keys_in = in,
                      .keys_out = out,
                      .values_in = values_in,
                      .values_out = values_out,
                      .scratch = scratch->memory()});
    EXPECT_EQ(values_out.read(), expected);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::unsupported) throw;
    GTEST_SKIP() << e.what();
  }
}

// Lists with more records than a count in onesweep's look-back table can hold; the parameter
// count_bits makes these counts small.
TEST(LongCounts, AreTold) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const auto d : {Distribution::random, Distribution::constant, Distribution::few_distinct,
                       Distribution::sorted})
    for (const std::uint64_t count : {small ? 2'101 : 1'300'007, small ? 2'561 : 100'003}) {
      if (small && cases.size() == 6) break;
      cases.push_back(
          {{.key = KeyType::u32, .count = count, .payload = Payload::values}, true, d, count});
      cases.push_back({{.key = KeyType::f64, .count = count}, false, d, count});
    }
  expect_stable(std::move(cases), {"onesweep", "items=1,work_group=256,count_bits=11"});
}

// onesweep skips passes over digits that are equal in all keys. Tests even and odd numbers of
// skipped passes.
TEST(SkippedPasses, OfAnyNumber) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto payload = seed % 2 == 0 ? Payload::none : Payload::values;
    cases.push_back({{.key = KeyType::u32, .count = 2'101, .payload = payload},
                     seed % 3 == 0,
                     Distribution::digits,
                     seed});
  }
  auto again = cases;
  expect_stable(std::move(cases), {"onesweep", "items=1,work_group=256,look_back=1"});
  expect_stable(std::move(again), {"onesweep", "items=1,work_group=256,look_back=0"});
}

// Lists that leave some rows of the work-group partly empty. The table has only a few such sizes.
TEST(OneGroup, RowsInPart) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  Trial trial(test_device(), Placement::guarded);
  std::vector<Case> cases;
  for (const auto key : {KeyType::u16, KeyType::u32})
    for (const auto distribution : {Distribution::random, Distribution::few_distinct})
      for (const std::uint64_t count : {257, 600, 2'500})
        cases.push_back({{.key = key,
                          .count = count,
                          .payload = key == KeyType::u16 ? Payload::none : Payload::values},
                         true,
                         distribution,
                         count});
  thin_out(cases);
  for (const auto& c : cases) {
    EXPECT_EQ(run_stable(trial, c, {"one-group", ""}), "") << describe(c);
  }
}

// The local sort of buckets that fill a work-group of 128, whose work-items have 25 or 31 keys.
TEST(LocalSorts, WithManyRecordsOfAWorkItem) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << "long lists";
  std::vector<Case> cases;
  for (const std::uint64_t count : {1'400'000, 1'740'000})
    for (const auto d : {Distribution::random, Distribution::clusters})
      cases.push_back({{.key = KeyType::u32, .count = count}, true, d, count});
  expect_stable(std::move(cases), {"msd", "bits=9"});
}

// A sort that writes the first records alone. Oclgrind sees writes behind them.
TEST(OneGroup, WritesTheFirstRecords) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  const auto device = test_device();
  const auto& c = capabilities(*device);
  const auto& algorithm = find_algorithm("one-group");
  for (const auto key : {KeyType::u32, KeyType::f32})
    for (const auto payload : {Payload::none, Payload::positions}) {
      Problem p{.key = key, .count = 1'009, .payload = payload};
      const auto sorter = algorithm.plan(p, c, {});
      p.limit = 300;
      ASSERT_TRUE(sorter->write_first(p.limit));
      sorter->build(*device, c);
      EXPECT_EQ(first_wrong_record(*device, *sorter, p, algorithm.info()), "");
    }
}

// msd uses counts of 4 or 8 bits if local memory is too small for wider counts of all buckets. Here
// such counts overflow.
TEST(NarrowCounts, Overflow) {
  const std::uint64_t count = is_set("SORTIUM_TEST_SMALL") ? 9'001 : 500'009;
  for (const char* const parameters : {"bits=15", "bits=16"})
    expect_stable(
        {{{.key = KeyType::u32, .count = count}, true, Distribution::leads, count},
         {{.key = KeyType::u64, .count = count, .payload = Payload::values, .value_bytes = 8},
          false,
          Distribution::leads,
          count}},
        {"msd", parameters});
}

}  // namespace
}  // namespace sortium::test
