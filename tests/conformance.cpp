// Compares every algorithm, with several sets of parameters, with std::stable_sort. All use one
// table of cases: table.hpp describes its design, and trial.hpp what a single case checks. An
// algorithm that is new in the registry is tested without further work, with its default
// parameters. Each run draws new random inputs.
//
//   SORTIUM_TEST_SEED=n   the inputs of the run that printed n
//   SORTIUM_TEST_FULL=1   many more shapes and sizes: for GPUs, whose kernels compile fast
//   SORTIUM_TEST_SMALL=1  a few small cases, each operand in its own allocation: for Oclgrind
//   SORTIUM_TEST_CASES=n  at most n cases of each method
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "algorithms/algorithm.hpp"
#include "conformance_trials.hpp"
#include "method_cases.hpp"
#include "methods.hpp"
#include "support.hpp"
#include "switch_points.hpp"
#include "table.hpp"
#include "trial.hpp"

namespace sortium::test {
namespace {

// True if the device is allowed to refuse the method: its algorithm needs special hardware or a
// limited count, or its parameters may be too large for this device.
bool is_unsupported(const Error& e, const MethodUnderTest& m) {
  return e.code() == ErrorCode::unsupported && (!m.parameters.empty() || is_limited(m.algorithm));
}

class Conformance : public testing::TestWithParam<MethodUnderTest> {};

TEST_P(Conformance, SortsAsTheReferenceDoes) {
  const auto& m = GetParam();
  if (m.heavy && is_simulated())
    GTEST_SKIP() << "minutes a case in a simulator: tens of thousands of work-items";
  if (m.algorithm.needs_clusters && is_simulated())
    GTEST_SKIP() << "OpenCL's work-groups cannot reach each other's local memory";
  if (m.algorithm.host != on_host())
    GTEST_SKIP() << "kernels run on devices, and cpu:0's algorithm on cpu:0";
  if (has_many_kernels(m) && !m.parameters.empty() && is_left_to_oclgrind())
    GTEST_SKIP() << left_to_oclgrind;
  MethodCases table;
  try {
    table = cases_of(m);
  } catch (const Error& e) {
    if (is_unsupported(e, m) && !is_simulated()) GTEST_SKIP() << e.what();
    throw;
  }
  EXPECT_EQ(table.missing, 0u) << "of " << table.pairs << " pairs never occur";

  const Method method{m.algorithm.name, m.parameters};
  Trial trial(test_device(), is_set("SORTIUM_TEST_SMALL") ? Placement::exact : Placement::guarded);
  unsigned wrong = 0, unsupported = 0;
  for (const auto& c : table.cases) {
    std::string what;
    std::string in_force;
    try {
      const Plan plan(test_device(), c.problem, method);
      in_force = plan.parameters();
      what = trial.run(c, {plan.scratch_bytes(), plan.run_length(), plan.algorithm().stable,
                           [&](Queue& q, const Operands& o) { plan.run(q, o); }});
    } catch (const Error& e) {
      if (is_unsupported(e, m)) {
        ++unsupported;
        continue;
      }
      what = fmt::format("threw {}: {}\n{}", name(e.code()), e.what(), e.log());
    }
    if (what.empty()) continue;
    ADD_FAILURE() << m.algorithm.name << " '" << m.parameters << "' (" << in_force << "), "
                  << describe(c) << ":\n  " << what;
    if (++wrong == 5) break;  // enough to see what is wrong
  }
  if (!is_set("SORTIUM_TEST_CASES") &&
      !table.is_part) {  // the device may refuse all of so few cases
    EXPECT_LT(unsupported, table.cases.size());
  }
  fmt::print("{} cases, {} pairs of factors, {} cases beyond this device\n", table.cases.size(),
             table.pairs, unsupported);
}

// Checks that Oclgrind runs every algorithm with at least one set of parameters, and leaves out
// only the four heavy sets. With the options in tests/CMakeLists.txt, Oclgrind supports every
// algorithm but the one that needs clusters.
TEST(Simulator, RunsEveryAlgorithm) {
  std::map<std::string, unsigned> run;
  unsigned heavy = 0;
  for (const auto& m : methods()) {
    run[m.algorithm.name] += m.heavy ? 0 : 1;
    heavy += m.heavy;
  }
  EXPECT_EQ(heavy, 4u);
  for (const auto& [algorithm, times] : run) EXPECT_GT(times, 0u) << algorithm;
}

// Sorts with "auto" just below, at, and just above each count from which "auto" selects another
// algorithm.
TEST(Auto, SortsAroundItsSwitchPoints) {
  Trial trial(test_device(), Placement::guarded);
  const auto& device = capabilities(*test_device());
  unsigned turn = 0;
  for (const auto key : {KeyType::u32, KeyType::f64, KeyType::u16})
    for (const auto payload : {Payload::none, Payload::values}) {
      Problem problem{.key = key, .payload = payload};
      const auto algorithm = [&](std::uint64_t count) {
        problem.count = count;
        return plan_auto(problem, device).algorithm->info().name;
      };
      for (const auto& [first, choice] : runs_of(algorithm, std::uint64_t{1} << 22)) {
        if (first == 1) continue;  // no switch
        for (const auto count : {first - 1, first, first + 1}) {
          problem.count = count;
          const Case c{problem, turn % 2 == 0, all_distributions[turn % all_distributions.size()],
                       ++turn};
          EXPECT_EQ(run_stable(trial, c, {}), "") << describe(c);
        }
      }
    }
  if (turn == 0) GTEST_SKIP() << "auto takes one algorithm for any number of records here";
}

INSTANTIATE_TEST_SUITE_P(Table, Conformance, testing::ValuesIn(methods()),
                         [](const auto& instance) { return test_name(instance.param); });

// Properties of other devices that the test imitates on this one: emulated sub-groups of other
// sizes, or no ordered atomics. (Half of a sub-group of 64 lanes is one sub-group of the dialect.)
struct Gifts {
  std::string name;
  unsigned emulated_lanes = 0;  // 0: the device's own sub-groups
};
void PrintTo(const Gifts& g, std::ostream* out) { *out << g.name; }

class OtherDevices : public testing::TestWithParam<Gifts> {};

TEST_P(OtherDevices, SortAlike) {
  Capabilities caps = capabilities(*test_device());
  caps.ordered_local_atomics = false;
  if (GetParam().emulated_lanes != 0) {
    if (caps.backend == Backend::cuda)
      GTEST_SKIP() << "CUDA always has the sub-group words: nothing is emulated";
    caps.sub_group_words = SubGroupWords::emulated;
    caps.sub_group_size = GetParam().emulated_lanes;
  }
  const auto& lsd = find_algorithm("lsd");
  const Parameters parameters("variant=gpu,work_group=64,items=2", lsd.info());
  Trial trial(test_device(), is_set("SORTIUM_TEST_SMALL") ? Placement::exact : Placement::guarded);
  std::vector<Case> cases;
  for (const auto d : {Distribution::random, Distribution::few_distinct, Distribution::special})
    for (const std::uint64_t count : {1, 63, 64, 65, 127, 129, 1009})
      cases.push_back(
          {{.key = KeyType::f32, .count = count, .payload = Payload::values}, false, d, count});
  thin_out(cases);
  for (const auto& c : cases) {
    const auto sorter = lsd.plan(c.problem, caps, parameters);
    sorter->build(*test_device(), caps);
    const auto what = trial.run(c, {sorter->scratch_bytes(), sorter->run(), true,
                                    [&](Queue& q, const Operands& o) { sorter->enqueue(q, o); }});
    ASSERT_EQ(what, "") << describe(c);
  }
}

INSTANTIATE_TEST_SUITE_P(With, OtherDevices,
                         testing::Values(Gifts{"unordered_atomics"}, Gifts{"8_lanes", 8},
                                         Gifts{"16_lanes", 16}, Gifts{"32_lanes", 32},
                                         Gifts{"64_lanes", 64}),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace sortium::test
