// `sortium check --records` and `--summaries`: validates files of the sort benchmark.
#pragma once

#include "cli/check.hpp"
#include "cli/progress.hpp"

namespace app {

// Checks a file of records, or joins the summaries of its parts. Returns exit_wrong if a record is
// out of order. Throws Failure.
int check_benchmark(const CheckOptions& options, Progress& progress);

}  // namespace app
