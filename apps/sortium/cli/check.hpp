// Options of `sortium check`.
#pragma once

#include "cli/key_options.hpp"

namespace app {

struct CheckOptions : KeyOptions {
  std::vector<std::string> files;  // one or two; any number with `summaries`
  bool records = false;            // the file has records of the sort benchmark
  bool summaries = false;          // the files have summaries of such records
  std::string summary;             // the file for a summary; empty: none
  bool quiet = false;
};

}  // namespace app
