// Argsorts whose positions have 8 bytes: kernels sort positions of 4 bytes, which become wider at
// the end.
#include <gtest/gtest.h>

#include <array>

#include "conformance_trials.hpp"
#include "sort/self_test.hpp"
#include "sort/wide_positions.hpp"
#include "support.hpp"
#include "table.hpp"

namespace sortium::test {
namespace {

// Lists from 2^20 records on are widened; shorter ones are not.
TEST(WidePositions, OfLongLists) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  if (is_set("SORTIUM_TEST_SMALL")) GTEST_SKIP() << "long lists";
  const auto device = test_device();
  const std::array problems{
      Problem{.key = KeyType::f32, .payload = Payload::positions, .keys_out = false},
      Problem{.key = KeyType::u64, .payload = Payload::positions, .order = Order::descending}};
  constexpr std::uint64_t border = 1u << 20;
  Trial trial(device, Placement::guarded);
  for (auto problem : problems) {
    problem.value_bytes = 8;
    for (const std::uint64_t count : {border - 1, border, border + 4'097}) {
      problem.count = count;
      Case c{problem, problem.keys_out, Distribution::few_distinct, count};
      EXPECT_EQ(run_stable(trial, c, {}), "") << describe(c);
      EXPECT_EQ(widens_positions(problem, capabilities(*device)), count >= border);
    }
    problem.segments = 100;
    EXPECT_FALSE(widens_positions(problem, capabilities(*device)));
  }
}

// Scratch memory one byte too small for narrow positions: the plan sorts positions of 8 bytes.
TEST(WidePositions, AreNotMadeIfMemoryIsShort) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  const auto device = test_device();
  const Problem p{.key = KeyType::u32,
                  .count = 1u << 20,
                  .payload = Payload::positions,
                  .value_bytes = 8,
                  .keys_out = false};
  const auto& c = capabilities(*device);
  const std::uint64_t all = Plan::scratch_bytes_for(p, c, {}), most = all - 1;
  EXPECT_GT(all, 4 * p.count);
  EXPECT_LE(Plan::scratch_bytes_for(p, c, {.max_scratch_bytes = most}), most);
  EXPECT_THROW(static_cast<void>(Plan::scratch_bytes_for(p, c, {.max_scratch_bytes = 1})), Error);
}

// Every kind of problem, with few records.
TEST(WidePositions, OfAllKinds) {
  const auto device = test_device();
  const auto& c = capabilities(*device);
  if (c.backend == Backend::host) GTEST_SKIP() << "kernels run on devices";
  Problem list{.key = KeyType::f32,
               .count = 1'009,
               .payload = Payload::positions,
               .value_bytes = 8,
               .keys_out = false};
  Problem first = list;
  first.limit = 300;
  Problem rows = list;
  rows.keys_out = true;
  rows.segments = 7;
  rows.count = rows.segments * 130;
  Capabilities package = c;
  package.compiles = false;
  EXPECT_TRUE(widens_positions(first, package));
  Problem first_of_rows = rows;
  first_of_rows.limit = 200;  // leaves gaps behind rows of 130
  EXPECT_FALSE(widens_positions(first_of_rows, package));
  for (const Problem& p : {list, first, rows}) {
    const auto planned =
        plan_wide_positions(p, [&](const Problem& narrow) { return plan_auto(narrow, c); });
    EXPECT_EQ(planned.sorted.value_bytes, 4);
    planned.sorter->build(*device, c);
    EXPECT_EQ(first_wrong_record(*device, *planned.sorter, p, planned.algorithm->info()), "");
  }
}

}  // namespace
}  // namespace sortium::test
