// The cases with which conformance.cpp tests one method.
#pragma once

#include <cstdint>
#include <vector>

#include "methods.hpp"
#include "table.hpp"

namespace sortium::test {

struct MethodCases {
  std::vector<Case> cases;
  std::uint64_t pairs = 0;    // of values of two factors that the cases should contain
  std::uint64_t missing = 0;  // of these; 0 if the method is tested with few shapes only
  bool is_part = false;       // SORTIUM_TEST_PART selects some of the cases
};

// Returns the cases for a method, in the order of their sizes. How many they are depends on how
// fast the device's compiler is, and on the variables SORTIUM_TEST_FULL, _SMALL, _CASES and _PART.
// Throws Error(unsupported) if the device does not support the method.
[[nodiscard]] MethodCases cases_of(const MethodUnderTest& m);

// True if the method compiles different kernels for nearby sizes, or many kernels for each type.
[[nodiscard]] bool has_many_kernels(const MethodUnderTest& m);

}  // namespace sortium::test
