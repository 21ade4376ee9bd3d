// Options of `sortium check`.
#pragma once

#include "cli/key_options.hpp"

namespace app {

struct CheckOptions : KeyOptions {
  std::vector<std::string> files;  // one or two
  bool quiet = false;
};

}  // namespace app
