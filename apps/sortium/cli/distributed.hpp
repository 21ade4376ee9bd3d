// `sortium sort --distributed`: several processes, which mpirun starts, sort one file.
#pragma once

namespace app {

struct SortOptions;

// Returns the program's exit code.
int sort_distributed(const SortOptions& options);

}  // namespace app
