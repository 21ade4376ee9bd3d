#include "io/column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include "../../../src/files/block_io.hpp"
#include "io/npy.hpp"
#include "io/printable.hpp"
#include "io/text.hpp"

namespace app {

using sortium::KeyType;
using sortium::files::block_bytes;

namespace {

constexpr std::uint64_t text_step = std::uint64_t{8} << 20;  // bytes of keys formatted at a time

constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';

}  // namespace

Kind kind_of(const std::string& path, bool text) {
  if (path.ends_with(".npy")) return Kind::npy;
  return text ? Kind::text : Kind::raw;
}

Kind kind_of(const std::string& path, bool text, const std::string& in, const Column& records) {
  std::error_code absent;
  const bool in_place = path != "-" && in != "-" && std::filesystem::equivalent(path, in, absent);
  if (in_place && records.kind == Kind::npy) return Kind::npy;
  return kind_of(path, text);
}

void swap_bytes(const std::byte* from, std::byte* to, unsigned width, std::uint64_t count) {
  sortium::files::for_blocks(sortium::all_cores(), count * width, block_bytes,
                             [&](std::uint64_t begin, std::uint64_t end) {
                               with_word(width, [&](auto word) {
                                 for (std::uint64_t at = begin; at != end; at += sizeof word) {
                                   std::memcpy(&word, from + at, sizeof word);
                                   if constexpr (sizeof word == 2) word = __builtin_bswap16(word);
                                   if constexpr (sizeof word == 4) word = __builtin_bswap32(word);
                                   if constexpr (sizeof word == 8) word = __builtin_bswap64(word);
                                   std::memcpy(to + at, &word, sizeof word);
                                 }
                               });
                             });
}

Column Column::make(std::string descr, unsigned width, std::uint64_t count) {
  return {std::move(descr), width, count, false, Bytes(count * width), Kind::raw, count};
}

Column Column::empty_copy(std::uint64_t records) const {
  return {descr, width, records, swapped, Bytes(records * width), kind, records};
}

std::string descr_of(KeyType type) {
  if (type == KeyType::bf16) return {};
  const auto& t = sortium::info(type);
  const char order = t.bytes == 1 ? '|' : native_order;
  const char letter = t.is_float ? 'f' : t.is_signed ? 'i' : 'u';
  return fmt::format("{}{}{}", order, letter, t.bytes);
}

void check_npy_can_hold(const std::string& path, KeyType type) {
  if (kind_of(path, false) == Kind::npy && descr_of(type).empty())
    throw Failure(
        exit_usage,
        fmt::format(
            "{}: NumPy has no name for {}, so no .npy file can hold such keys; raw binary can",
            printable(path), sortium::info(type).name));
}

void reserve_column(Output& output, Kind kind, const Column& column) {
  if (kind == Kind::text) return;  // its length is known only when it is written
  output.reserve(header_of(kind, column).size() + column.total * column.width);
}

std::string header_of(Kind kind, const Column& column) {
  return kind == Kind::npy ? format_npy_header({column.descr, column.total}) : std::string();
}

void write_column(Output& output, Kind kind, const Column& column, KeyType type,
                  Progress& progress) {
  const std::string header = header_of(kind, column);
  output.write(header.data(), header.size());
  write_records(output, kind, column, type, progress);
}

void write_records(Sink& output, Kind kind, const Column& column, KeyType type,
                   Progress& progress) {
  progress.phase("writing " + output.name(), column.count);
  const bool swaps = column.swapped && kind == Kind::npy;  // raw files have the machine's order
  const std::uint64_t step = (kind == Kind::text ? text_step : 8 * block_bytes) / column.width;
  std::string text;
  Bytes swapped(swaps ? std::min(step, column.count) * column.width : 0);
  for (std::uint64_t i = 0; i < column.count; i += step) {
    const std::uint64_t n = std::min(step, column.count - i);
    const std::byte* const from = column.data.data() + i * column.width;
    if (kind == Kind::text) {
      text.clear();
      format_text(text, from, n, type);
      output.write(text.data(), text.size());
    } else if (swaps) {
      swap_bytes(from, swapped.data(), column.width, n);
      output.write(swapped.data(), n * column.width);
    } else {
      output.write(from, n * column.width);
    }
    progress.advance(n);
  }
}

}  // namespace app
