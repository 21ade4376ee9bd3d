// Fuzzes the readers of .npy files: keys, values, records, offsets.
#include "io/npy.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "fuzz.hpp"
#include "io/files.hpp"
#include "io/key_fields.hpp"

namespace {

void check(const app::Column& c) {
  fuzz::require(c.width >= 1 && c.width <= 256, "1 to 256 bytes a record");
  fuzz::require(c.data.size() == c.count * c.width, "as many bytes as the records have");
  // The header that is written for these records must read back as the same.
  std::string file = app::format_npy_header({c.descr, c.count});
  fuzz::require(file.size() % 64 == 0, "records begin at a multiple of 64 bytes");
  const fuzz::File written(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
  app::Input input(written.path());
  const app::NpyHeader again = app::read_npy_header(input);
  fuzz::require(again.descr == c.descr && again.count == c.count, "the header reads back");
  fuzz::require(again.item_bytes() == c.width, "so does the size of a record");
}

// Parses all fields that can be part of a key, and describes every record by them.
void describe_all(const app::Column& c, const std::vector<app::NpyField>& fields) {
  for (const auto& field : fields)
    fuzz::may_refuse([&] {
      const auto key = app::parse_by(field.name, fields);
      for (std::uint64_t i = 0; i < c.count; ++i)
        (void)app::describe(key, c.data.data() + i * c.width);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::File file(data, size);
  auto& progress = fuzz::no_progress();
  fuzz::may_refuse([&] { check(app::read_keys(file.path(), false, std::nullopt, progress)); });
  fuzz::may_refuse([&] { check(app::read_values(file.path(), std::nullopt, progress)); });
  fuzz::may_refuse([&] {
    std::vector<app::NpyField> fields;
    const app::Column records = app::read_records(file.path(), std::nullopt, fields, progress);
    check(records);
    describe_all(records, fields);
  });
  fuzz::may_refuse([&] { check(app::read_offsets(file.path(), std::nullopt, 3, progress)); });
  return 0;
}
