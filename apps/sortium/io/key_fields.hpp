// What --by and --key say: which fields of a record are its key, and how each is ordered.
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
  bool swapped = false;  // the file has it in the other byte order
};

// "energy:desc:nan-first,id": fields of an .npy file of several fields, the most significant first.
// Throws Failure, with the fields there are, where one is not there, is there twice, or is of a
// type that has no order here.
[[nodiscard]] std::vector<KeyField> parse_by(const std::string& text,
                                             const std::vector<NpyField>& fields);

// "bytes[0:10]:desc,f32@12": fields of a raw record of so many bytes, each a type at a byte offset.
// Throws Failure where one lies outside of the record, or two overlap.
[[nodiscard]] std::vector<KeyField> parse_key(const std::string& text, unsigned record_bytes);

// Turns every field that the file has in the other byte order, in all records; a second time undoes
// the first.
void swap_fields(const std::vector<KeyField>& key, std::byte* records, unsigned record_bytes,
                 std::uint64_t count);

[[nodiscard]] std::vector<sortium::Field> fields_of(const std::vector<KeyField>& key);

// The key of a record: "energy 1.5, id 7".
[[nodiscard]] std::string describe(const std::vector<KeyField>& key, const std::byte* record);

}  // namespace app
