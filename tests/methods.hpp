// Algorithms with sets of parameters, as the tests try them.
#pragma once

#include <ostream>
#include <sortium/sortium.hpp>
#include <string>
#include <vector>

namespace sortium::test {

struct MethodUnderTest {
  AlgorithmInfo algorithm;
  std::string parameters;
  bool wide = false;  // with every key type and size of value
  unsigned turn = 0;  // differs from method to method
  bool heavy =
      false;  // so many work-items, even for few records, that a simulator takes minutes a case
};

// Every algorithm of the registry with its defaults, some with more.
[[nodiscard]] std::vector<MethodUnderTest> methods();

// Rooms that say what they cannot do and leave it to another: too many records, or a device without
// what they need. All others take every problem on every device.
bool is_limited(const AlgorithmInfo& algorithm);
// "lsd_variant_gpu": names of tests have letters and digits only.
[[nodiscard]] std::string test_name(const MethodUnderTest& m);
void PrintTo(const MethodUnderTest& m, std::ostream* out);

}  // namespace sortium::test
