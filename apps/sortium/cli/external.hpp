// `sortium sort --memory`: files that are larger than memory.
#pragma once

namespace app {

struct SortOptions;

// Returns the program's exit code, or throws Failure, sortium::Error or std::system_error.
int sort_external(const SortOptions& options);

}  // namespace app
