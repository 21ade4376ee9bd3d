#include "conformance_trials.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "support.hpp"

namespace sortium::test {

bool is_simulated() { return test_device()->info().platform == "Oclgrind"; }

bool builds_slowly() {
  return capabilities(*test_device()).sub_group_words == SubGroupWords::emulated;
}

bool is_left_to_oclgrind() {
  return builds_slowly() && !is_simulated() && !is_set("SORTIUM_TEST_FULL");
}

void thin_out(std::vector<Case>& cases) {
  const char* text = std::getenv("SORTIUM_TEST_CASES");
  const std::size_t most = text == nullptr ? 0 : std::strtoul(text, nullptr, 10),
                    all = cases.size();
  if (most == 0 || most >= all) return;
  for (std::size_t i = 0; i < most; ++i) cases[i] = cases[(i + 1) * all / most - 1];
  cases.resize(most);
}

std::string run_stable(Trial& trial, const Case& c, const Method& method) {
  const Plan plan(test_device(), c.problem, method);
  return trial.run(c, {plan.scratch_bytes(), plan.run_length(), true,
                       [&](Queue& q, const Operands& o) { plan.run(q, o); }});
}

void expect_stable(std::vector<Case> cases, const Method& method) {
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  Trial trial(test_device(), Placement::guarded);
  thin_out(cases);
  std::size_t unsupported = 0;
  std::string why;
  for (const auto& c : cases) {
    try {
      EXPECT_EQ(run_stable(trial, c, method), "") << describe(c) << ", " << method.parameters;
    } catch (const Error& e) {
      if (e.code() != ErrorCode::unsupported) throw;
      ++unsupported;
      why = e.what();
    }
  }
  if (unsupported == cases.size()) GTEST_SKIP() << why;
}

}  // namespace sortium::test
