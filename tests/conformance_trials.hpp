// Trials of chosen cases, for the tests of single algorithms beside the table of conformance.cpp.
#pragma once

#include <sortium/plan.hpp>
#include <string>
#include <vector>

#include "trial.hpp"

namespace sortium::test {

[[nodiscard]] bool is_simulated();
// True if the device's compiler takes seconds for a kernel, as those of CPUs do.
[[nodiscard]] bool builds_slowly();

// True if this test should be skipped here, because Oclgrind's tests run it: Oclgrind compiles
// these kernels in seconds; a CPU's compiler would take a minute in every run.
[[nodiscard]] bool is_left_to_oclgrind();
// The reason for the user.
inline constexpr auto left_to_oclgrind =
    "kernels for GPUs, of which there are many: Oclgrind's tests run them; SORTIUM_TEST_FULL=1 "
    "does it here";

// Keeps at most SORTIUM_TEST_CASES cases: divides the list into that many parts and keeps the last
// case of each, because sizes grow from case to case.
void thin_out(std::vector<Case>& cases);

// Sorts by a stable method. Returns a description of the first error in the result, or nothing.
[[nodiscard]] std::string run_stable(Trial& trial, const Case& c, const Method& method);

// Runs some of the cases with one stable method. Skips the test on cpu:0, and if the device
// supports none of the cases.
void expect_stable(std::vector<Case> cases, const Method& method);

}  // namespace sortium::test
