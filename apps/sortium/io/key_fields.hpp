// The options --by and --key: which fields of a record are its key, and the order of each.
#pragma once

#include <optional>
#include <sortium/records.hpp>
#include <string>
#include <vector>

#include "cli/common.hpp"
#include "io/npy.hpp"

namespace app {

struct KeyField {
  std::string name;  // as the user gave it
  sortium::Field field;
  bool swapped = false;  // the file has the field in the other byte order
};

// Parses the fields of a structured .npy file, such as "energy:desc:nan-first,id", the most
// significant first. Throws Failure, listing the file's fields, if one does not exist, is named
// twice, or has a type that keys cannot have.
[[nodiscard]] std::vector<KeyField> parse_by(const std::string& text,
                                             const std::vector<NpyField>& fields);

// Parses the fields of a raw record, such as "bytes[0:10]:desc,f32@12": each is a type at a byte
// offset. Throws Failure if a field reaches past the record, or two fields overlap.
[[nodiscard]] std::vector<KeyField> parse_key(const std::string& text, unsigned record_bytes);

// Reverses the bytes of every field of the other byte order, in all records. A second call restores
// them.
void swap_fields(const std::vector<KeyField>& key, std::byte* records, unsigned record_bytes,
                 std::uint64_t count);

[[nodiscard]] std::vector<sortium::Field> fields_of(const std::vector<KeyField>& key);

// Returns the key of a record in words: "energy 1.5, id 7".
[[nodiscard]] std::string describe(const std::vector<KeyField>& key, const std::byte* record);

}  // namespace app
