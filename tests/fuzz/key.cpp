// Fuzzes the parser of --key and --by. The first byte is the size of a record. The text ends with a
// NUL; the rest is the header of an .npy file for --by.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "io/input.hpp"
#include "io/key_fields.hpp"

namespace {

void check(const std::vector<app::KeyField>& key, unsigned record_bytes) {
  std::vector<std::byte> records(std::size_t{2} * record_bytes);
  for (std::size_t i = 0; i < records.size(); ++i) records[i] = static_cast<std::byte>(i * 37);
  std::vector<bool> taken(record_bytes);
  for (const auto& f : key)
    for (unsigned i = 0; i < f.field.type.size(); ++i) {
      fuzz::require(f.field.offset + i < record_bytes, "fields lie within the record");
      fuzz::require(!taken[f.field.offset + i], "fields do not overlap");
      taken[f.field.offset + i] = true;
    }
  const auto before = records;
  app::swap_fields(key, records.data(), record_bytes, 2);
  (void)app::describe(key, records.data() + record_bytes);
  app::swap_fields(key, records.data(), record_bytes, 2);
  fuzz::require(records == before, "swapping twice restores the records");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned record_bytes = data[0] + 1u;
  const std::string all(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string words = all.substr(0, all.find('\0'));
  fuzz::may_refuse([&] { check(app::parse_key(words, record_bytes), record_bytes); });
  if (words.size() == all.size()) return 0;
  const fuzz::File file(data + 2 + words.size(), size - 2 - words.size());
  fuzz::may_refuse([&] {
    app::Input input(file.path());
    const app::NpyHeader header = app::read_npy_header(input);
    if (!header.fields.empty()) check(app::parse_by(words, header.fields), header.item_bytes());
  });
  return 0;
}
