// Segments and rows that the table of conformance.cpp does not have: lengths and keys for which
// segmented and topk-segmented have other kernels.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "conformance_trials.hpp"
#include "support.hpp"
#include "table.hpp"

namespace sortium::test {
namespace {

// Segments that are partitioned several times, and segments whose keys are all equal. Uses the
// variant for GPUs on every device, with only the smallest local sort, so that segments of few
// records already are long segments. Tests one segment with all records, and segments of mixed
// lengths.
TEST(LongSegments, ArePartedUntilTheyAreShort) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  std::vector<Problem> problems{{.key = KeyType::u32, .payload = Payload::values}};
  if (is_set("SORTIUM_TEST_FULL") || !builds_slowly()) {
    problems.push_back({.key = KeyType::f32,
                        .payload = Payload::positions,
                        .keys_out = false,
                        .order = Order::descending});
    problems.push_back({.key = KeyType::u64,
                        .payload = Payload::values,
                        .value_bytes = 8,
                        .begin_bit = 3,
                        .end_bit = 61});
    problems.push_back({.key = KeyType::i16});
  }
  const bool small = is_set("SORTIUM_TEST_SMALL");
  Trial trial(test_device(), small ? Placement::exact : Placement::guarded);
  for (auto problem : problems) {
    std::vector<Case> cases;
    for (const auto d : all_distributions)
      for (const auto lengths : {Lengths::one, Lengths::log_uniform}) {
        problem.count = small ? 1500 : lengths == Lengths::one ? 100'003 : 50'021;
        const bool in_place =
            problem.keys_out && cases.size() / 2 % 2 == (lengths == Lengths::one ? 0u : 1u);
        Case c{problem, in_place, d, problem.count + cases.size()};
        set_segments(c, lengths, {608}, 4);
        cases.push_back(c);
      }
    thin_out(cases);
    for (const auto& c : cases) try {
        EXPECT_EQ(run_stable(trial, c, {"segmented", "variant=gpu,blocks=1,groups=7"}), "")
            << describe(c);
      } catch (const Error& e) {
        if (e.code() != ErrorCode::unsupported) throw;
        GTEST_SKIP() << e.what();  // too little local memory
      }
  }
}

// Floats have so many digits that a segment could have too many buckets. Then buckets may be
// larger, or, if `blocks` allows none that are, digits have fewer bits.
TEST(LongSegments, HaveNoMoreBucketsThanTheyMayHave) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind() || is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << left_to_oclgrind;
  Trial trial(test_device(), Placement::guarded);
  for (const auto& [parameters, count] :
       {std::pair{"variant=gpu", 480'003u}, {"variant=gpu,blocks=1", 200'003u}})
    for (const auto d : all_distributions) {
      Case c{{.key = KeyType::f32, .count = count}, false, d, count + static_cast<unsigned>(d)};
      set_segments(c, Lengths::one, {608}, 4);
      EXPECT_EQ(run_stable(trial, c, {"segmented", parameters}), "") << describe(c);
    }
}

// Neighbouring short segments are sorted at once, by some bits of their keys or, if they are floats
// without values, by all bits: keys that differ in their lowest bits, and floats that tie or not.
TEST(ShortSegments, AreSortedAtOnce) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const std::uint64_t length : {8, 31, 64, 128}) {
    if (small && length < 64) continue;
    const auto add = [&](Problem problem, Distribution d) {
      problem.count = small ? 1'003 : 50'021;
      Case c{problem, cases.size() % 2 == 0, d, length + cases.size()};
      set_segments(c, Lengths::borders, {length - 1}, 4);
      cases.push_back(std::move(c));
    };
    add({.key = KeyType::f32}, Distribution::numbers);
    if (small && length > 64) continue;  // only these are sorted by four lanes
    add({.key = KeyType::u64, .payload = Payload::values, .value_bytes = 8},
        Distribution::clusters);
    add({.key = KeyType::i64, .order = Order::descending}, Distribution::clusters);
    add({.key = KeyType::f32}, Distribution::special);
    add({.key = KeyType::f32, .payload = Payload::values}, Distribution::numbers);
    add({.key = KeyType::f32, .payload = Payload::values}, Distribution::one_nan);
    if (small) continue;
    add({.key = KeyType::f32, .nan = NanOrder::first}, Distribution::one_nan);
    add({.key = KeyType::f64, .order = Order::descending}, Distribution::one_nan);
    add({.key = KeyType::f32}, Distribution::other_nan);
  }
  expect_stable(std::move(cases), {"segmented", "variant=gpu"});
}

// Each lane sorts a segment of up to 8 records by itself: at most 2, 4 or 8, and longer ones
// between them. With `classify_groups`, work-groups take several chunks of segments, the last of
// which are empty.
TEST(ShortSegments, OfAFewRecords) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  const auto cases = [&](const std::vector<std::uint64_t>& lengths) {
    std::vector<Case> out;
    const auto add = [&](Problem problem, Distribution d, Lengths kind) {
      problem.count = small ? 1'303 : 200'021;
      Case c{problem, out.size() % 2 == 0, d, lengths.back() + out.size()};
      set_segments(c, kind, lengths, 4);
      out.push_back(std::move(c));
    };
    add({.key = KeyType::f32}, Distribution::special, Lengths::borders);
    add({.key = KeyType::u64, .payload = Payload::values, .value_bytes = 8},
        Distribution::few_distinct, Lengths::borders);
    if (small) return out;
    add({.key = KeyType::u32, .order = Order::descending}, Distribution::random,
        Lengths::mostly_empty);
    add({.key = KeyType::f64, .payload = Payload::positions, .nan = NanOrder::first},
        Distribution::special, Lengths::borders);
    add({.key = KeyType::i32, .payload = Payload::values, .begin_bit = 3, .end_bit = 17},
        Distribution::few_distinct, Lengths::borders);
    return out;
  };
  expect_stable(cases({1}), {"segmented", "variant=gpu,classify_groups=2"});
  expect_stable(cases({3}), {"segmented", "variant=gpu"});
  expect_stable(cases({4, 7}), {"segmented", "variant=gpu,classify_groups=2"});
  if (!small) expect_stable(cases({8, 1}), {"segmented", "variant=gpu"});
}

// Rows: segments of equal lengths without offsets. Short ones are sorted in the registers of one to
// four lanes, others by work-groups of suitable sizes, in one launch, all or the first records of
// each.
struct RowCases {
  std::vector<Case> sorts, firsts;
};
RowCases row_cases(std::span<const std::uint64_t> lengths) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  RowCases cases;
  std::uint64_t turn = 0;
  for (const std::uint64_t length : lengths) {
    const auto add = [&](Problem problem, Distribution d) {
      ++turn;
      if (small && (turn + length) % 4 != 0) return;
      problem.count = small ? std::max<std::uint64_t>(1'307, length) : 60'013;
      Case c{problem, turn % 2 == 0, d, length + turn};
      set_segments(c, Lengths::rows, {length}, 0);
      cases.sorts.push_back(c);
      if (turn % 3 != 0) return;
      c.in_place = false;
      c.problem.limit = 1 + turn % length;
      cases.firsts.push_back(std::move(c));
    };
    add({.key = KeyType::f32}, Distribution::numbers);
    add({.key = KeyType::f32}, Distribution::special);
    add({.key = KeyType::u32, .payload = Payload::values}, Distribution::clusters);
    add({.key = KeyType::i64, .order = Order::descending}, Distribution::clusters);
    add({.key = KeyType::f32, .payload = Payload::values, .nan = NanOrder::first},
        Distribution::special);
    add({.key = KeyType::f32,
         .payload = Payload::positions,
         .value_bytes = 8,
         .keys_out = false,
         .order = Order::descending},
        Distribution::classes);
    add({.key = KeyType::f64, .payload = Payload::values, .value_bytes = 8}, Distribution::special);
    add({.key = KeyType::u64, .payload = Payload::values}, Distribution::numbers);
    add({.key = KeyType::u16, .order = Order::descending}, Distribution::random);
    add({.key = KeyType::f16, .payload = Payload::values}, Distribution::classes);
    add({.key = KeyType::u32, .begin_bit = 3, .end_bit = 19}, Distribution::random);
    add({.key = KeyType::f32, .nan = NanOrder::bits, .zeros = ZeroOrder::distinct},
        Distribution::classes);
    add({.key = KeyType::f32, .order = Order::descending}, Distribution::one_nan);
    add({.key = KeyType::f32, .payload = Payload::values, .nan = NanOrder::first},
        Distribution::one_nan);
    add({.key = KeyType::f32}, Distribution::other_nan);
  }
  return cases;
}
std::span<const std::uint64_t> short_rows() {
  static constexpr std::array<std::uint64_t, 23> all{
      1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 17, 31, 33, 63, 64, 65, 79, 97, 100, 128, 129, 200, 256};
  static constexpr std::array<std::uint64_t, 8> some{200, 128, 100, 64, 33, 10, 3, 2};
  if (is_set("SORTIUM_TEST_SMALL")) return some;
  return all;
}
std::span<const std::uint64_t> long_rows() {
  static constexpr std::array<std::uint64_t, 14> all{257, 288,  289,  544,  545,  609,  704,
                                                     705, 1088, 1217, 2177, 4096, 9729, 19456};
  static constexpr std::array<std::uint64_t, 3> some{300, 540, 605};
  if (is_set("SORTIUM_TEST_SMALL")) return some;
  return all;
}

TEST(Rows, ShortOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(short_rows()).sorts, {"segmented", "variant=rows"});
}
TEST(Rows, LongOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(long_rows()).sorts, {"segmented", "variant=rows"});
}
TEST(Rows, FirstRecordsOfShortOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(short_rows()).firsts, {"topk-segmented"});
}
TEST(Rows, FirstRecordsOfLongOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  expect_stable(row_cases(long_rows()).firsts, {"topk-segmented"});
}
// Rows that no work-group can sort: the first records of their pieces are sorted again.
TEST(Rows, FirstRecordsOfPieces) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  std::vector<Case> cases;
  std::vector<std::uint64_t> lengths{50'257, 65'536, 19'457, 20'000};
  if (is_set("SORTIUM_TEST_SMALL")) lengths = {20'000};
  for (const std::uint64_t length : lengths)
    for (const std::uint64_t limit : {1, 31, 700}) {
      const auto add = [&](Problem problem, Distribution d) {
        problem.count = length == 20'000 ? length : 3 * length;
        Case c{problem, false, d, length + limit};
        set_segments(c, Lengths::rows, {length}, 0);
        c.problem.limit = limit;
        cases.push_back(std::move(c));
      };
      add({.key = KeyType::u32, .payload = Payload::values}, Distribution::few_distinct);
      add({.key = KeyType::f32}, Distribution::special);
      add({.key = KeyType::f32,
           .payload = Payload::positions,
           .value_bytes = 8,
           .keys_out = false,
           .order = Order::descending},
          Distribution::numbers);
    }
  expect_stable(std::move(cases), {"topk-segmented"});
}

// Only the bins of the first records are sorted; but if a bin is crowded, all records tell whether
// bins have sorted the row: here with a few neighbouring keys, in many rows.
TEST(Rows, FirstRecordsOfCrowdedOnes) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  std::vector<Case> cases;
  for (const std::uint64_t limit : {60, 90, 120, 150}) {
    Case c{{.key = KeyType::f32,
            .count = is_set("SORTIUM_TEST_SMALL") ? 9'000u : 30'000u,
            .nan = NanOrder::bits,
            .zeros = ZeroOrder::distinct},
           false,
           Distribution::classes,
           limit};
    set_segments(c, Lengths::rows, {300}, 0);
    c.problem.limit = limit;
    cases.push_back(std::move(c));
  }
  expect_stable(std::move(cases), {"topk-segmented"});
}

// Segments that a work-group sorts by bins, by cells or by radix passes: keys that crowd the bins,
// and floats without values, of which those that tie get their own bits again.
TEST(MiddleSegments, AreSortedByBins) {
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  for (const std::uint64_t length : {200, 607, 2'001, 4'864}) {
    if (small && length != 607) continue;
    const auto add = [&](Problem problem, Distribution d) {
      problem.count = small ? 2'503 : 60'013;
      Case c{problem, cases.size() % 2 == 0, d, length + cases.size()};
      set_segments(c, Lengths::borders, {length}, 4);
      cases.push_back(std::move(c));
    };
    for (const auto d : {Distribution::numbers, Distribution::classes, Distribution::special,
                         Distribution::clusters, Distribution::few_distinct}) {
      add({.key = KeyType::f32}, d);
      add({.key = KeyType::f64, .order = Order::descending, .nan = NanOrder::first}, d);
      add({.key = KeyType::f32, .payload = Payload::values}, d);
    }
    add({.key = KeyType::f32, .nan = NanOrder::bits, .zeros = ZeroOrder::distinct},
        Distribution::classes);
    add({.key = KeyType::f16}, Distribution::classes);
    add({.key = KeyType::u32}, Distribution::clusters);
    add({.key = KeyType::i64}, Distribution::clusters);
    add({.key = KeyType::u64, .payload = Payload::values}, Distribution::clusters);
  }
  expect_stable(std::move(cases), {"segmented", "variant=gpu"});
}

// Small problems: segments that are sorted by counting, by bins in one piece, or in several pieces
// that a second launch merges; keys that crowd the bins, and floats that tie.
TEST(SmallProblems, SortShortSegmentsAndPieces) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_left_to_oclgrind()) GTEST_SKIP() << left_to_oclgrind;
  const bool small = is_set("SORTIUM_TEST_SMALL");
  std::vector<Case> cases;
  const auto add = [&](Problem problem, Distribution d, Lengths lengths, std::uint64_t length) {
    problem.count = small ? 2'503 : 60'013;
    Case c{problem, problem.keys_out && cases.size() % 2 == 0, d, length + cases.size()};
    set_segments(c, lengths, {length}, cases.size() % 3 == 0 ? 8 : 4);
    cases.push_back(std::move(c));
  };
  const auto add_all = [&](Lengths lengths, std::uint64_t length) {
    for (const auto d : {Distribution::numbers, Distribution::special, Distribution::few_distinct})
      add({.key = KeyType::f32}, d, lengths, length);
    add({.key = KeyType::u32, .payload = Payload::values}, Distribution::clusters, lengths, length);
    add({.key = KeyType::f32, .payload = Payload::values}, Distribution::zipf, lengths, length);
    add({.key = KeyType::i32}, Distribution::few_distinct, lengths, length);
    if (builds_slowly()) return;
    add({.key = KeyType::f64,
         .payload = Payload::values,
         .value_bytes = 8,
         .order = Order::descending,
         .nan = NanOrder::first},
        Distribution::special, lengths, length);
    add({.key = KeyType::u64, .payload = Payload::positions, .keys_out = false},
        Distribution::clusters, lengths, length);
    add({.key = KeyType::u32, .payload = Payload::values, .begin_bit = 3, .end_bit = 19},
        Distribution::few_distinct, lengths, length);
    add({.key = KeyType::i16}, Distribution::special, lengths, length);
  };
  for (const std::uint64_t length : {30, 512, 1'024, 9'216, 20'000})
    if (!small || length == 512) add_all(Lengths::borders, length);
  add_all(Lengths::log_uniform, 0);
  add_all(Lengths::mostly_empty, 700);
  expect_stable(std::move(cases), {"segmented", "variant=small"});
}

// Segments along another axis than the last one: matrices that are narrow, wide, single and many,
// about as large as a tile of the transposition, for each size of an element; and columns that one
// lane, two and four sort where they are.
TEST(Strides, AreSortedAlongAnyAxis) {
  const bool small = is_set("SORTIUM_TEST_SMALL");
  struct Shape {
    std::uint64_t matrices, length, stride;
  };
  // Columns where they are need more than 2^15 records, of which small problems have at most so
  // many.
  std::vector<Shape> shapes{{1, 5'003, 3},  {3, 64, 64},   {1, 65, 127},  {2, 2, 2'049},
                            {3'000, 3, 2},  {1, 300, 33},  {5, 1, 40},    {7, 129, 1},
                            {1, 60, 1'000}, {3, 100, 200}, {1, 200, 300}, {4, 20, 700}};
  if (small) shapes = {{2, 65, 5}, {1, 9, 70}};
  const std::vector<std::pair<Problem, Distribution>> kinds{
      {{.key = KeyType::f32}, Distribution::special},
      {{.key = KeyType::u32, .payload = Payload::values}, Distribution::few_distinct},
      {{.key = KeyType::u8}, Distribution::random},
      {{.key = KeyType::u64, .payload = Payload::positions, .value_bytes = 8},
       Distribution::few_distinct},
      {{.key = KeyType::f32,
        .payload = Payload::positions,
        .keys_out = false,
        .order = Order::descending},
       Distribution::special},
      {{.key = KeyType::i16, .payload = Payload::values, .value_bytes = 8}, Distribution::random}};
  // Where compilers are slow, fewer kinds; on GPUs, two kinds of a shape, in turn.
  const std::size_t used = small ? 2 : builds_slowly() ? 4 : kinds.size();
  std::vector<Case> cases;
  for (std::size_t s = 0; s < shapes.size(); ++s)
    for (std::size_t k = 0; k < used; ++k) {
      if (!small && !builds_slowly() && !on_host() && (s + k) % 3 != 0) continue;
      const auto& [length, stride] = std::pair{shapes[s].length, shapes[s].stride};
      Problem problem = kinds[k].first;
      problem.count = shapes[s].matrices * length * stride;
      Case c{problem, problem.keys_out && s % 2 == 0, kinds[k].second, 10 * s + k};
      set_segments(c, Lengths::rows, {length}, 0);
      set_stride(c, stride);
      cases.push_back(c);
      if ((s + k) % 4 > 1) continue;
      c.in_place = false;
      c.problem.limit = 1 + s % length;
      cases.push_back(std::move(c));
    }
  Trial trial(test_device(), small ? Placement::exact : Placement::guarded);
  for (const auto& c : cases) EXPECT_EQ(run_stable(trial, c, {}), "") << describe(c);
}

}  // namespace
}  // namespace sortium::test
