// `sortium pic`, as a function for the tests.
#pragma once

#include <optional>
#include <string>

namespace app {

struct PicOptions {
  std::string particles = "2^23";
  unsigned grid = 32, steps = 1;
  std::optional<double> dt;  // default: the fastest particle crosses one cell
  std::string device, algorithm = "auto", parameters;
  double min_seconds = 0.1;
  std::string picture, json;
};

// Returns the program's exit code, or throws Failure or sortium::Error.
int pic(const PicOptions& options);

}  // namespace app
