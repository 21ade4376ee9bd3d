#include "cli/key_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "cli/common.hpp"
#include "io/key_fields.hpp"

namespace app {

using sortium::NanOrder;
using sortium::Problem;
using sortium::ZeroOrder;

namespace {

struct Bits {
  unsigned begin = 0, end = 0;
};

Bits parse_bits(const std::string& text) {
  Bits bits;
  const char* const last = text.data() + text.size();
  const auto first = std::from_chars(text.data(), last, bits.begin);
  const bool colon = first.ec == std::errc{} && first.ptr != last && *first.ptr == ':';
  const auto second = std::from_chars(colon ? first.ptr + 1 : last, last, bits.end);
  if (!colon || second.ec != std::errc{} || second.ptr != last)
    throw Failure(exit_usage,
                  fmt::format("--bits {}: it must have the form B:E, such as 0:16", text));
  return bits;
}

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (const auto type : sortium::all_key_types) out.emplace_back(sortium::info(type).name);
  return out;
}

void need_float(sortium::KeyType type, std::string_view option, std::string_view value) {
  if (!sortium::info(type).is_float)
    throw Failure(exit_usage, fmt::format("{} {}: {} keys are not floats", option, value,
                                          sortium::info(type).name));
}

}  // namespace

std::string_view name(NanOrder nan) {
  using enum NanOrder;
  return nan == last ? "last" : nan == first ? "first" : "bits";
}

std::string_view name(ZeroOrder zeros) { return zeros == ZeroOrder::tied ? "tied" : "distinct"; }

void KeyOptions::check_bits() const {
  if (bits.empty()) return;
  const auto [begin, end] = parse_bits(bits);
  if (begin >= end)
    refuse(fmt::format("--bits {}: the range is empty; B must be less than E", bits));
}

void KeyOptions::check_lists() const {
  if (!segments.empty() && row_length != 0)
    refuse("--segments and --row-length exclude each other: rows need no offsets");
}

std::uint64_t KeyOptions::rows_of(const std::string& file, std::uint64_t count) const {
  if (count % row_length != 0)
    refuse(fmt::format("--row-length {}: {} has {} keys, which is not a multiple of it", row_length,
                       file, count));
  return count / row_length;
}

Problem KeyOptions::problem(sortium::KeyType key_type, std::uint64_t count) const {
  Problem p;
  p.key = key_type;
  p.count = count;
  p.order = descending ? sortium::Order::descending : sortium::Order::ascending;
  if (nan) {
    need_float(key_type, "--nan", name(*nan));
    p.nan = *nan;
  }
  if (zeros) {
    need_float(key_type, "--zeros", name(*zeros));
    p.zeros = *zeros;
  }
  if (bits.empty()) return p;
  check_bits();
  const auto [begin, end] = parse_bits(bits);
  const auto& info = sortium::info(key_type);
  if (end > info.bits())
    refuse(fmt::format("--bits {}: {} keys have the bits 0:{}", bits, info.name, info.bits()));
  p.begin_bit = begin;
  p.end_bit = end;
  return p;
}

void KeyOptions::check_records(std::string_view descends) const {
  if (!by.empty() && (!key.empty() || record))
    refuse("--by is for .npy files, --record and --key are for raw files");
  if (!key.empty() && !record)
    refuse(fmt::format("--key {}: --record is needed, the bytes of a raw record", key));
  const std::string option = !by.empty() ? "--by" : "--record";
  for (const auto& [is_set, what] :
       {std::pair{text, "--text"}, {type.has_value(), "--type"}, {!bits.empty(), "--bits"}})
    if (is_set)
      refuse(
          fmt::format("{} and {} exclude each other: the fields of a key have types of their own",
                      option, what));
  for (const auto& [is_set, what] : {std::pair{descending, descends},
                                     {nan.has_value(), "--nan"},
                                     {zeros.has_value(), "--zeros"}})
    if (is_set)
      refuse(fmt::format(
          "{} and {} exclude each other: each field has its own order, as in FIELD:desc:nan-first",
          option, what));
  if (!segments.empty())
    refuse(fmt::format(
        "{} and --segments exclude each other: segments are for files of single keys", option));
  if (row_length != 0)
    refuse(fmt::format("{} and --row-length exclude each other: rows are for files of single keys",
                       option));
  if (!key.empty()) (void)parse_key(key, *record);
}

PolicyOptions add_policy_options(CLI::App& command, const std::function<void(NanOrder)>& set_nan,
                                 const std::function<void(ZeroOrder)>& set_zeros) {
  using enum NanOrder;
  using enum ZeroOrder;
  PolicyOptions out;
  out.nan = command
                .add_option_function<std::string>(
                    "--nan",
                    [set_nan](const std::string& text) {
                      set_nan(text == "first" ? first : text == "bits" ? bits : last);
                    },
                    "Place of NaN: last or first (in both orders), or bits (by sign and bits)")
                ->check(CLI::IsMember({"last", "first", "bits"}))
                ->type_name("PLACE");
  out.zeros = command
                  .add_option_function<std::string>(
                      "--zeros",
                      [set_zeros](const std::string& text) {
                        set_zeros(text == "distinct" ? distinct : tied);
                      },
                      "Order of -0.0 and +0.0: tied (equal), or distinct (-0.0 is less)")
                  ->check(CLI::IsMember({"tied", "distinct"}))
                  ->type_name("ORDER");
  return out;
}

CLI::Option* add_types_option(CLI::App& command, std::vector<sortium::KeyType>& types) {
  return command
      .add_option_function<std::vector<std::string>>(
          "--type",
          [&types](const std::vector<std::string>& names) {
            types.clear();
            for (const auto& name : names) types.push_back(sortium::parse_key_type(name));
          },
          "Key types (default: u32)")
      ->check(CLI::IsMember(type_names()))
      ->type_name("TYPE")
      ->delimiter(',');
}

void add_key_options(CLI::App& command, KeyOptions& o) {
  command.add_flag("--text", o.text,
                   "Read and write files other than .npy as text, one number a line");
  command
      .add_option_function<std::string>(
          "--type", [&o](const std::string& name) { o.type = sortium::parse_key_type(name); },
          "Key type; required for raw and text files")
      ->check(CLI::IsMember(type_names()))
      ->type_name("TYPE");
  add_policy_options(
      command, [&o](NanOrder nan) { o.nan = nan; }, [&o](ZeroOrder zeros) { o.zeros = zeros; });
  command
      .add_option(
          "--bits", o.bits,
          "Compare only bits B to E-1 of the key (for signed and float keys: of the unsigned "
          "number that has the same order)")
      ->type_name("B:E");
}

void add_record_options(CLI::App& command, KeyOptions& o) {
  command
      .add_option("--by", o.by,
                  "The key: fields of the records of a structured .npy file, the most "
                  "significant first; whole records are sorted")
      ->type_name("FIELD[:desc...],...");
  command.add_option("--record", o.record, "Size of a raw record: 1 to 256 bytes; needs --key")
      ->check(CLI::Range(1u, 256u).description(""))
      ->type_name("BYTES");
  command
      .add_option("--key", o.key,
                  "The key of a raw record: fields of these types at these bytes, such "
                  "as bytes[0:10],f32@12:desc")
      ->type_name("TYPE@BYTE[:desc...],...");
}

void add_segment_options(CLI::App& command, KeyOptions& o) {
  command
      .add_option(
          "--segments", o.segments,
          "Segments, each sorted by itself. The file (.npy or raw) has the offsets at which "
          "segments begin, and the end of the last one")
      ->type_name("FILE");
  command.add_option("--offset-bytes", o.offset_bytes, "Size of a raw offset: 4 or 8 bytes")
      ->check(CLI::IsMember({4, 8}))
      ->type_name("BYTES");
}

void add_row_option(CLI::App& command, KeyOptions& o) {
  command
      .add_option("--row-length", o.row_length,
                  "Treat each row of N keys as a list of its own. The number of keys must be a "
                  "multiple of N")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("N");
}

}  // namespace app
