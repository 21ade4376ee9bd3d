// `sortium sort --lines`: lines of text.
#pragma once

namespace app {

struct SortOptions;

// Returns the program's exit code, or throws Failure or sortium::Error.
int sort_lines(const SortOptions& options);

}  // namespace app
