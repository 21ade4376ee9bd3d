// `sortium bench --paper`: the experiments of documents 000 and 003, with what they published
// beside what is measured here.
#pragma once

#include "cli/commands.hpp"

namespace app {

// The documents there are: "000", "003".
[[nodiscard]] const std::vector<std::string>& papers();

// Returns the program's exit code, or throws Failure or sortium::Error.
int bench_paper(const BenchOptions& options);

}  // namespace app
