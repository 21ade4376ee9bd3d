// `sortium draw`, as a function for the tests.
#pragma once

#include <string>

namespace app {

struct DrawOptions {
  std::string what;  // "bitonic", "odd-even", "merge"
  unsigned n = 16;
  std::string out;
};

// Returns the program's exit code, or throws Failure.
int draw(const DrawOptions& options);

}  // namespace app
