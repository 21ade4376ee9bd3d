#include "io/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/printable.hpp"
#include "io/replacement.hpp"
#include "io/text.hpp"

namespace app {

using sortium::KeyType;
using sortium::files::block_bytes;
using sortium::files::read_block;
using sortium::files::read_blocks;

namespace {

constexpr unsigned max_record_bytes = 256;  // the largest record or value that the library moves
constexpr std::uint64_t chunk = std::uint64_t{8} << 20;  // bytes between steps of the progress bar

constexpr const char* shorter = "it has become shorter while it was read";
constexpr const char* longer = "it has become longer while it was read";

constexpr char native_order = std::endian::native == std::endian::little ? '<' : '>';

[[noreturn]] void refuse(const Input& input, const std::string& why) {
  throw Failure(exit_usage, fmt::format("cannot read {}: {}", input.name(), why));
}

// Waits until a non-blocking descriptor can be read. Some parent processes make a pipe
// non-blocking.
void wait_to_read(int fd) {
  pollfd one{fd, POLLIN, 0};
  (void)::poll(&one, 1, -1);
}

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

// Compares the bytes behind the header with the header's number of records, `count`.
void check_npy_length(const Input& input, const Column& column, std::uint64_t count,
                      std::uint64_t bytes) {
  // Divide, because the header's count times the width may not fit in 64 bits.
  const std::uint64_t have = bytes / column.width;
  if (have < count)
    refuse(input,
           fmt::format("it is truncated: its header promises {} records of {} bytes, it has {}",
                       count, column.width, have));
  if (have > count || bytes % column.width != 0)
    refuse(input,
           fmt::format("{} bytes follow its {} records", bytes - count * column.width, count));
}

void check_raw_length(const Input& input, const Column& column, std::uint64_t bytes) {
  if (bytes % column.width != 0)
    refuse(input, fmt::format("it is truncated: its {} bytes are not a multiple of {}", bytes,
                              column.width));
}

// Reads the share of an .npy or raw file's records that follow what has been read.
void load(Input& input, const Share& share, Column& column, Progress& progress) {
  if (!share.is_all() && !input.is_regular())
    refuse(input, "several processes read their shares only from a regular file");
  const bool is_sized = input.left() != 0;
  if (!is_sized) column.data = input.rest(progress);
  const std::uint64_t bytes = is_sized ? input.left() : column.data.size();
  if (column.kind == Kind::npy)
    check_npy_length(input, column, column.total, bytes);
  else
    check_raw_length(input, column, bytes);
  column.total = bytes / column.width;
  column.count = share.count(column.total);
  if (is_sized)
    column.data =
        input.part(share.begin(column.total) * column.width, column.count * column.width, progress);
}

// Each returns the column of a file, without its records, and reads an .npy file's header.
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

// ---------------------------------------------------------------------------------------------
// Input
// ---------------------------------------------------------------------------------------------

Input::Input(const std::string& path) : path_(path) {
  if (path != "-") {
    std::error_code absent;  // it may appear when an interrupted replacement is finished
    const auto file = std::filesystem::canonical(path, absent);
    finish_replacements(absent ? std::filesystem::absolute(path) : file);
  }
  fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) refuse(*this, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse(*this, std::strerror(EISDIR));
  is_regular_ = S_ISREG(status.st_mode);
  if (is_regular_) {
    // A parent may have read from standard input before.
    const off_t at = ::lseek(fd_, 0, SEEK_CUR);
    size_ = static_cast<std::uint64_t>(status.st_size);
    position_ = at < 0 ? 0 : static_cast<std::uint64_t>(at);
  }
}

Input::~Input() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

std::string Input::name() const { return path_ == "-" ? "standard input" : printable(path_); }

Kind Input::kind(bool text, Progress& progress) {
  progress.phase("reading " + name());  // the first bytes of a pipe may arrive late
  if (path_.ends_with(".npy")) return Kind::npy;
  std::string head(npy_magic_bytes, '\0');
  head.resize(is_regular_ ? read_block(fd_, name(), position_, head.data(), head.size())
                          : fetch(head.data(), head.size()));
  if (!is_regular_) head_ = head;
  if (is_npy_magic(head)) return Kind::npy;
  return text ? Kind::text : Kind::raw;
}

std::uint64_t Input::fetch(char* to, std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes && !ended_) {
    const ssize_t n = ::read(fd_, to + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      wait_to_read(fd_);
      continue;
    }
    if (n < 0)
      throw Failure(exit_runtime, fmt::format("cannot read {}: {}", name(), std::strerror(errno)));
    ended_ = n == 0;
    done += static_cast<std::uint64_t>(n);
  }
  return done;
}

// Several threads read what the file had when it was opened, and one what has been appended.
std::uint64_t Input::read_regular(void* to, std::uint64_t bytes) {
  const std::uint64_t known = std::min(bytes, left());
  std::uint64_t done = direct_ ? direct_->read(name(), position_, to, known)
                               : read_blocks(fd_, name(), position_, to, known);
  if (done == known)
    done +=
        read_block(fd_, name(), position_ + done, static_cast<std::byte*>(to) + done, bytes - done);
  position_ += done;
  // A process that inherits standard input goes on behind what was read.
  if (fd_ == STDIN_FILENO) (void)::lseek(fd_, static_cast<off_t>(position_), SEEK_SET);
  return done;
}

std::uint64_t Input::read(void* to, std::uint64_t bytes) {
  if (is_regular_) return read_regular(to, bytes);
  auto* const out = static_cast<char*>(to);
  const std::size_t taken = std::min<std::uint64_t>(head_.size(), bytes);
  std::memcpy(out, head_.data(), taken);
  head_.erase(0, taken);
  return taken + fetch(out + taken, bytes - taken);
}

void Input::bypass_cache() {
  if (is_regular_) direct_ = std::make_unique<sortium::files::DirectReader>(fd_);
}

Bytes Input::rest(Progress& progress) {
  if (left() != 0) return part(0, left(), progress);
  progress.phase("reading " + name());
  Bytes out(chunk);
  std::uint64_t done = 0;
  for (;;) {
    if (done == out.size()) {
      Bytes larger(out.size() * 2);
      std::memcpy(larger.data(), out.data(), done);
      out = std::move(larger);
    }
    const std::uint64_t wanted = std::min(chunk, out.size() - done);
    const std::uint64_t n = read(out.data() + done, wanted);
    done += n;
    if (n < wanted) break;
  }
  out.shrink(done);
  return out;
}

Bytes Input::part(std::uint64_t skipped, std::uint64_t bytes, Progress& progress) {
  progress.phase("reading " + name(), bytes);
  position_ += skipped;
  Bytes out(bytes);
  const std::uint64_t n = read_blocks(fd_, name(), position_, out.data(), bytes,
                                      [&](std::uint64_t read) { progress.advance(read); });
  position_ += n;
  check_length();
  if (n < bytes) refuse(*this, shorter);
  if (fd_ == STDIN_FILENO) (void)::lseek(fd_, static_cast<off_t>(position_), SEEK_SET);
  return out;
}

void Input::check_length() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) refuse(*this, std::strerror(errno));
  const auto now = static_cast<std::uint64_t>(status.st_size);
  if (now != size_) refuse(*this, now < size_ ? shorter : longer);
}

// ---------------------------------------------------------------------------------------------
// Columns
// ---------------------------------------------------------------------------------------------

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

// ---------------------------------------------------------------------------------------------
// Readers
// ---------------------------------------------------------------------------------------------

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
  Column offsets;
  if (input.kind(false, progress) == Kind::npy) {
    const NpyHeader header = read_npy_header(input);
    const auto type = type_of(header);
    if (type != KeyType::u32 && type != KeyType::u64)
      refuse(input,
             fmt::format(
                 "its dtype is '{}'; offsets of segments may be u4 and u8, in either byte order",
                 printable(header.descr)));
    offsets = column_of(header);
    load(input, {}, offsets, progress);
    if (header.swapped())
      swap_bytes(offsets.data.data(), offsets.data.data(), offsets.width, offsets.count);
  } else if (!bytes) {
    throw Failure(exit_usage,
                  fmt::format("--segments {} is raw binary: --offset-bytes is needed (4 or 8)",
                              input.name()));
  } else {
    offsets = raw_column(descr_of_bytes(*bytes), *bytes);
    load(input, {}, offsets, progress);
  }
  if (bytes && *bytes != offsets.width)
    refuse(input, fmt::format("its offsets have {} bytes, not {} as --offset-bytes says",
                              offsets.width, *bytes));
  check_offsets(input, offsets, count);
  return offsets;
}

// ---------------------------------------------------------------------------------------------
// Readers of parts
// ---------------------------------------------------------------------------------------------

ColumnReader::ColumnReader(const std::string& path) : path_(path), input_(path) {
  input_.bypass_cache();
}

sortium::files::InPlaceFile ColumnReader::in_place() const {
  return {path_, input_.name(), input_.position()};
}

void ColumnReader::identified_as(Keys column) {
  column_ = std::move(column);
  if (column_.kind == Kind::npy) known_ = column_.total;
  if (column_.kind != Kind::text && input_.is_regular()) {
    check_length(input_.left());
    known_ = input_.left() / column_.width;
  }
  column_.count = column_.total = 0;
}

void ColumnReader::check_length(std::uint64_t bytes) const {
  if (column_.kind == Kind::npy) check_npy_length(input_, column_, known_.value(), bytes);
  if (column_.kind == Kind::raw) check_raw_length(input_, column_, bytes);
}

std::unique_ptr<ColumnReader> ColumnReader::of_keys(const std::string& path, bool text,
                                                    std::optional<KeyType> type,
                                                    Progress& progress) {
  auto reader = std::make_unique<ColumnReader>(path);
  reader->identified_as(identify_keys(reader->input_, text, type, progress));
  return reader;
}

std::unique_ptr<ColumnReader> ColumnReader::of_values(const std::string& path,
                                                      std::optional<unsigned> bytes,
                                                      Progress& progress) {
  auto reader = std::make_unique<ColumnReader>(path);
  reader->identified_as({identify_values(reader->input_, bytes, progress)});
  return reader;
}

std::unique_ptr<ColumnReader> ColumnReader::of_records(const std::string& path,
                                                       std::optional<unsigned> bytes,
                                                       std::vector<NpyField>& fields,
                                                       Progress& progress) {
  auto reader = std::make_unique<ColumnReader>(path);
  reader->identified_as({identify_records(reader->input_, bytes, fields, progress)});
  return reader;
}

std::uint64_t ColumnReader::read(void* to, std::uint64_t bytes) {
  const std::uint64_t wanted =
      known_ ? std::min(bytes, (*known_ - column_.count) * column_.width) : bytes;
  const std::uint64_t done =
      column_.kind == Kind::text ? read_text(to, wanted) : input_.read(to, wanted);
  if (done < wanted) check_end(done);
  column_.count += done / column_.width;
  column_.total = column_.count;
  if (known_ && column_.count == *known_ && bytes != 0) check_nothing_follows();
  auto* const records = static_cast<std::byte*>(to);
  if (column_.swapped) swap_bytes(records, records, column_.width, done / column_.width);
  return done;
}

// The input has ended after `bytes` more bytes.
void ColumnReader::check_end(std::uint64_t bytes) const {
  if (input_.is_regular() && known_) refuse(input_, shorter);
  check_length(column_.count * column_.width + bytes);
}

void ColumnReader::check_nothing_follows() {
  std::byte next;
  if (input_.read(&next, 1) == 0) return;
  refuse(input_,
         input_.is_regular() ? longer : fmt::format("more bytes follow its {} records", *known_));
}

// Parses whole lines. Lines without numbers may only be the last ones, so they wait for what
// follows.
std::uint64_t ColumnReader::read_text(void* to, std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes) {
    if (taken_ == numbers_.size() && !parse_more()) break;
    const std::uint64_t n = std::min(bytes - done, numbers_.size() - taken_);
    std::memcpy(static_cast<std::byte*>(to) + done, numbers_.data() + taken_, n);
    taken_ += n;
    done += n;
  }
  return done;
}

bool ColumnReader::parse_more() {
  Progress silent(false);
  taken_ = 0;
  numbers_ = Bytes();
  while (numbers_.size() == 0) {
    const std::size_t before = lines_.size();
    lines_.resize(before + chunk);
    lines_.resize(before + input_.read(lines_.data() + before, chunk));
    const bool ended = lines_.size() < before + chunk;
    if (ended && lines_.empty()) return false;
    const std::size_t last = lines_.find_last_not_of(" \t\r\n");
    const std::size_t newline = last == lines_.npos ? lines_.npos : lines_.rfind('\n', last);
    const std::size_t end = ended ? lines_.size() : newline == lines_.npos ? 0 : newline + 1;
    try {
      numbers_ =
          parse_text(std::string_view(lines_).substr(0, end), column_.type, silent, lines_before_);
    } catch (const Failure& failure) {
      refuse(input_, failure.what());
    }
    lines_before_ += numbers_.size() / column_.width;
    lines_.erase(0, end);
    if (ended && numbers_.size() == 0) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Writers
// ---------------------------------------------------------------------------------------------

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
  const std::uint64_t step = (kind == Kind::text ? chunk : 8 * block_bytes) / column.width;
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
