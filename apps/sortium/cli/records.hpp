// `sortium sort`, `sortium topk` and `sortium check` for records whose key has several fields: --by
// and --key.
#pragma once

namespace app {

class Progress;
struct CheckOptions;
struct SortOptions;

// Each returns the program's exit code, or throws Failure or sortium::Error.
int sort_records(const SortOptions& options);
int check_records(const CheckOptions& options, Progress& progress);

}  // namespace app
