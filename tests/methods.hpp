// Algorithms with sets of parameters that the tests run.
#pragma once

#include <ostream>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

namespace sortium::test {

struct MethodUnderTest {
  AlgorithmInfo algorithm;
  std::string parameters;
  bool wide = false;   // run with every key type and size of value
  unsigned turn = 0;   // differs from method to method
  bool heavy = false;  // a simulator takes minutes for a case, because it needs many work-items
};

// Returns every algorithm of the registry with its default parameters, and some with others.
[[nodiscard]] std::vector<MethodUnderTest> methods();

// True if the algorithm refuses some problems or devices: it has a maximum number of records, or
// needs special hardware. All others sort every problem on every device.
bool is_limited(const AlgorithmInfo& algorithm);
// Returns the method's name for GoogleTest, which allows letters, digits and _: "lsd_variant_gpu".
[[nodiscard]] std::string test_name(const MethodUnderTest& m);
void PrintTo(const MethodUnderTest& m, std::ostream* out);

}  // namespace sortium::test
