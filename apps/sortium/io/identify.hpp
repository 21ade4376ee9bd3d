// Recognises what a file has: its form, and the type of its records.
#pragma once

#include <cstdint>
#include <optional>
#include <sortium/core.hpp>
#include <vector>

#include "cli/progress.hpp"
#include "io/column.hpp"
#include "io/input.hpp"
#include "io/npy.hpp"

namespace app {

// Each returns the column of a file without its records: form, type, width and, of an .npy file,
// `total`, the records that its header promises. Reads an .npy file up to its first record, and
// nothing of other files. The other arguments are the user's options, as in files.hpp. Throws
// Failure if the file and the options disagree, or if an option is missing.
[[nodiscard]] Keys identify_keys(Input& input, bool text, std::optional<sortium::KeyType> type,
                                 Progress& progress);
[[nodiscard]] Column identify_values(Input& input, std::optional<unsigned> bytes,
                                     Progress& progress);
[[nodiscard]] Column identify_records(Input& input, std::optional<unsigned> bytes,
                                      std::vector<NpyField>& fields, Progress& progress);
[[nodiscard]] Column identify_offsets(Input& input, std::optional<unsigned> bytes,
                                      Progress& progress);

// Throws Failure unless `bytes`, the bytes of all records, are whole records of the column and, in
// an .npy file, `promised` records.
void check_length(const Input& input, const Column& column, std::uint64_t promised,
                  std::uint64_t bytes);

}  // namespace app
