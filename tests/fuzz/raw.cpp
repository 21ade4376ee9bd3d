// Fuzzes the readers of raw files. The first byte selects the options of the reader.
#include "fuzz.hpp"
#include "io/files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned how = data[0];
  const fuzz::File file(data + 1, size - 1);
  auto& progress = fuzz::no_progress();
  const auto check = [](const app::Column& c) {
    fuzz::require(c.data.size() == c.count * c.width, "as many bytes as the records have");
  };
  const auto type = sortium::all_key_types[how % sortium::all_key_types.size()];
  fuzz::may_refuse([&] { check(app::read_keys(file.path(), false, type, progress)); });
  fuzz::may_refuse([&] { check(app::read_values(file.path(), how + 1, progress)); });
  fuzz::may_refuse([&] {
    std::vector<app::NpyField> fields;
    check(app::read_records(file.path(), how + 1, fields, progress));
  });
  fuzz::may_refuse([&] {
    const unsigned width = how % 2 == 0 ? 4 : 8;
    const app::Column offsets = app::read_offsets(file.path(), width, how, progress);
    check(offsets);
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < offsets.count; ++i) {
      const std::uint64_t now = app::element(offsets.data.data(), width, i);
      fuzz::require(now >= before && now <= how, "offsets ascend to the number of keys");
      before = now;
    }
  });
  return 0;
}
