// `sortium bench --paper`: repeats the experiments of documents 000 and 003, and prints the
// published figures beside the measured ones.
#pragma once

#include <string>
#include <vector>

#include "bench/options.hpp"

namespace app {

// Returns the names of the documents: "000", "003".
[[nodiscard]] const std::vector<std::string>& papers();

// Returns the program's exit code, or throws Failure or sortium::Error.
int bench_paper(const BenchOptions& options);

}  // namespace app
