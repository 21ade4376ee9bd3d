#include "io/files.hpp"

#include <fmt/format.h>

#include "io/identify.hpp"
#include "io/input.hpp"
#include "io/text.hpp"

namespace app {

using sortium::KeyType;

namespace {

// Reads the share of an .npy or raw file's records that follow what has been read.
void load(Input& input, const Share& share, Column& column, Progress& progress) {
  if (!share.is_all() && !input.is_regular())
    refuse(input, "several processes read their shares only from a regular file");
  const bool is_sized = input.left() != 0;
  if (!is_sized) column.data = input.rest(progress);
  const std::uint64_t bytes = is_sized ? input.left() : column.data.size();
  check_length(input, column, column.total, bytes);
  column.total = bytes / column.width;
  column.count = share.count(column.total);
  if (is_sized)
    column.data =
        input.part(share.begin(column.total) * column.width, column.count * column.width, progress);
}

void load_text(Input& input, Keys& keys, Progress& progress) {
  const Bytes lines = input.rest(progress);
  progress.phase("parsing " + input.name(), lines.size());
  try {
    keys.data = parse_text({reinterpret_cast<const char*>(lines.data()), lines.size()}, keys.type,
                           progress);
  } catch (const Failure& failure) {
    refuse(input, failure.what());
  }
  keys.total = keys.count = keys.data.size() / keys.width;
}

void check_offsets(const Input& input, const Column& offsets, std::uint64_t count) {
  if (offsets.count == 0) refuse(input, "it has no offsets; one more than segments are needed");
  const auto at = [&](std::uint64_t i) { return element(offsets.data.data(), offsets.width, i); };
  if (at(0) != 0) refuse(input, fmt::format("offset 0 is {}; the first must be 0", at(0)));
  for (std::uint64_t i = 1; i < offsets.count; ++i)
    if (at(i) < at(i - 1))
      refuse(input, fmt::format("offset {} is {}, less than the one before, {}; they must ascend",
                                i, at(i), at(i - 1)));
  if (at(offsets.count - 1) != count)
    refuse(input, fmt::format("its last offset is {}; it must be the number of keys, {}",
                              at(offsets.count - 1), count));
}

}  // namespace

Keys read_keys(const std::string& path, bool text, std::optional<KeyType> type, Progress& progress,
               const Share& share) {
  Input input(path);
  Keys keys = identify_keys(input, text, type, progress);
  if (keys.kind == Kind::text) {
    load_text(input, keys, progress);
  } else {
    load(input, share, keys, progress);
    if (keys.swapped) swap_bytes(keys.data.data(), keys.data.data(), keys.width, keys.count);
  }
  return keys;
}

Column read_values(const std::string& path, std::optional<unsigned> bytes, Progress& progress,
                   const Share& share) {
  Input input(path);
  Column values = identify_values(input, bytes, progress);
  load(input, share, values, progress);
  return values;
}

Column read_records(const std::string& path, std::optional<unsigned> bytes,
                    std::vector<NpyField>& fields, Progress& progress, const Share& share) {
  Input input(path);
  Column records = identify_records(input, bytes, fields, progress);
  load(input, share, records, progress);
  return records;
}

Column read_offsets(const std::string& path, std::optional<unsigned> bytes, std::uint64_t count,
                    Progress& progress) {
  Input input(path);
  Column offsets = identify_offsets(input, bytes, progress);
  load(input, {}, offsets, progress);
  if (offsets.swapped)
    swap_bytes(offsets.data.data(), offsets.data.data(), offsets.width, offsets.count);
  if (bytes && *bytes != offsets.width)
    refuse(input, fmt::format("its offsets have {} bytes, not {} as --offset-bytes says",
                              offsets.width, *bytes));
  check_offsets(input, offsets, count);
  return offsets;
}

}  // namespace app
