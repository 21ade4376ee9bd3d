#include "io/identify.hpp"

#include <fmt/format.h>

#include "io/printable.hpp"

namespace app {

using sortium::KeyType;

namespace {

constexpr unsigned max_record_bytes = 256;  // the largest record or value that the library moves

// Returns the key type that NumPy calls `descr`, in either byte order; nothing if there is none.
std::optional<KeyType> type_of_descr(const std::string& descr) {
  for (const auto type : sortium::all_key_types)
    if (const auto name = descr_of(type); !name.empty() && descr.substr(1) == name.substr(1))
      return type;
  return std::nullopt;
}

std::optional<KeyType> type_of(const NpyHeader& header) {
  if (!header.fields.empty() || header.item_bytes() == 0) return std::nullopt;
  return type_of_descr(header.descr);
}

// Returns "u4, i4, ...": NumPy's names of the key types.
std::string dtype_names() {
  std::string names;
  for (const auto type : sortium::all_key_types)
    if (const auto name = descr_of(type); !name.empty())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name.substr(1));
  return names;
}

// Returns a NumPy type with this many bytes, for raw elements that are only moved.
std::string descr_of_bytes(unsigned bytes) {
  for (const auto type : {KeyType::u8, KeyType::u16, KeyType::u32, KeyType::u64})
    if (sortium::info(type).bytes == bytes) return descr_of(type);
  return fmt::format("|V{}", bytes);
}

// The column of an .npy file, without its records.
Column column_of(const NpyHeader& header) {
  Column column;
  column.kind = Kind::npy;
  column.descr = header.descr;
  column.width = header.item_bytes();
  column.total = column.count = header.count;
  return column;
}

// The column of a raw file, without its records.
Column raw_column(std::string descr, unsigned width) {
  Column column;
  column.descr = std::move(descr);
  column.width = width;
  return column;
}

Keys identify_npy_keys(Input& input, std::optional<KeyType> type) {
  if (type && descr_of(*type).empty())
    refuse(input, fmt::format("it is an .npy file, and NumPy has no name for {}, as --type says",
                              sortium::info(*type).name));
  const NpyHeader header = read_npy_header(input);
  if (!header.fields.empty())
    refuse(input, "its records have several fields: --by says which of them are the key");
  const auto found = type_of(header);
  if (!found)
    refuse(input, fmt::format("its dtype is '{}'; keys may be {}, in either byte order",
                              printable(header.descr), dtype_names()));
  if (type && *type != *found)
    refuse(input, fmt::format("its records are {}, not {} as --type says",
                              sortium::info(*found).name, sortium::info(*type).name));
  Keys keys;
  static_cast<Column&>(keys) = column_of(header);
  keys.type = *found;
  keys.swapped = header.swapped();
  return keys;
}

}  // namespace

Keys identify_keys(Input& input, bool text, std::optional<KeyType> type, Progress& progress) {
  const Kind kind = input.kind(text, progress);
  if (kind == Kind::npy) return identify_npy_keys(input, type);
  if (!type)
    throw Failure(
        exit_usage,
        fmt::format("{} is {}: --type is needed (one of {}), as only an .npy file names "
                    "its own",
                    input.name(), kind == Kind::text ? "text" : "raw binary", key_type_names()));
  Keys keys;
  static_cast<Column&>(keys) = raw_column(descr_of(*type), sortium::info(*type).bytes);
  keys.kind = kind;
  keys.type = *type;
  return keys;
}

Column identify_values(Input& input, std::optional<unsigned> bytes, Progress& progress) {
  if (input.kind(false, progress) == Kind::npy) {
    const NpyHeader header = read_npy_header(input);
    const unsigned width = header.item_bytes();
    if (width < 1 || width > max_record_bytes)
      refuse(input,
             fmt::format("its dtype is '{}'; values may be of any plain type of 1 to {} bytes",
                         printable(header.descr), max_record_bytes));
    if (bytes && *bytes != width)
      refuse(input,
             fmt::format("its records have {} bytes, not {} as --value-bytes says", width, *bytes));
    return column_of(header);
  }
  if (!bytes)
    throw Failure(exit_usage,
                  fmt::format("--values {} is raw binary: --value-bytes is needed (1 to {})",
                              input.name(), max_record_bytes));
  return raw_column(descr_of_bytes(*bytes), *bytes);
}

Column identify_records(Input& input, std::optional<unsigned> bytes, std::vector<NpyField>& fields,
                        Progress& progress) {
  if (input.kind(false, progress) != Kind::npy) {
    if (!bytes)
      refuse(input,
             "it is not an .npy file, so its fields have no names for --by; --record and --key say "
             "what a raw record is");
    return raw_column(fmt::format("|V{}", *bytes), *bytes);
  }
  if (bytes)
    refuse(input,
           fmt::format("it is no raw file, as --record {} says, but an .npy file; --by names "
                       "the fields of its key",
                       *bytes));
  const NpyHeader header = read_npy_header(input);
  fields = header.fields;
  if (fields.empty())
    refuse(input,
           fmt::format("its dtype is '{}', which has no fields; --by is for records that have",
                       printable(header.descr)));
  if (header.item_bytes() > max_record_bytes)
    refuse(input, fmt::format("its records have {} bytes; up to {} can be sorted",
                              header.item_bytes(), max_record_bytes));
  return column_of(header);
}

Column identify_offsets(Input& input, std::optional<unsigned> bytes, Progress& progress) {
  if (input.kind(false, progress) == Kind::npy) {
    const NpyHeader header = read_npy_header(input);
    const auto type = type_of(header);
    if (type != KeyType::u32 && type != KeyType::u64)
      refuse(input,
             fmt::format(
                 "its dtype is '{}'; offsets of segments may be u4 and u8, in either byte order",
                 printable(header.descr)));
    Column offsets = column_of(header);
    offsets.swapped = header.swapped();
    return offsets;
  }
  if (!bytes)
    throw Failure(exit_usage,
                  fmt::format("--segments {} is raw binary: --offset-bytes is needed (4 or 8)",
                              input.name()));
  return raw_column(descr_of_bytes(*bytes), *bytes);
}

void check_length(const Input& input, const Column& column, std::uint64_t promised,
                  std::uint64_t bytes) {
  // Divide, because the header's count times the width may not fit in 64 bits.
  const std::uint64_t have = bytes / column.width;
  const bool is_whole = bytes % column.width == 0;
  if (column.kind != Kind::npy) {
    if (!is_whole)
      refuse(input, fmt::format("it is truncated: its {} bytes are not a multiple of {}", bytes,
                                column.width));
    return;
  }
  if (have < promised)
    refuse(input,
           fmt::format("it is truncated: its header promises {} records of {} bytes, it has {}",
                       promised, column.width, have));
  if (have > promised || !is_whole)
    refuse(input, fmt::format("{} bytes follow its {} records", bytes - promised * column.width,
                              promised));
}

}  // namespace app
