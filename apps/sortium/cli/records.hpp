// `sortium sort`, `sortium topk` and `sortium check` for records whose key has several fields: --by
// and --key.
#pragma once

#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/key_fields.hpp"

namespace app {

struct CheckOptions;
struct KeyOptions;
struct SortOptions;

struct RecordFile {
  Column records;
  std::vector<KeyField> key;  // in the machine's byte order, like the records
  [[nodiscard]] const std::byte* record(std::uint64_t i) const {
    return records.data.data() + i * records.width;
  }
  // Reverses the bytes of the key's fields that the file has in the other byte order.
  void swap() { swap_fields(key, records.data.data(), records.width, records.count); }
};
// Reads a file of records. Throws Failure.
[[nodiscard]] RecordFile read_record_file(const std::string& path, const KeyOptions& options,
                                          Progress& progress, const Share& share = {});
// Checks the options of `sortium sort` and `sortium topk` for records. Throws Failure.
void check_record_usage(const SortOptions& options);

// Each returns the program's exit code, or throws Failure or sortium::Error.
int sort_records(const SortOptions& options);
int check_records(const CheckOptions& options, Progress& progress);

}  // namespace app
