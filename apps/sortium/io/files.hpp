// Reading and writing records: .npy, raw binary, text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <sortium/core.hpp>
#include <string>
#include <vector>

#include "../../../src/files/block_io.hpp"
#include "../../../src/files/in_place_file.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/npy.hpp"
#include "io/output.hpp"

namespace app {

// The forms of a file. `npy` includes its header.
enum class Kind : std::uint8_t { npy, raw, text };

// Which records of a file a process reads: all, or the share of one of several processes.
struct Share {
  unsigned rank = 0, ranks = 1;
  [[nodiscard]] bool is_all() const { return ranks == 1; }
  // The first of `total` records, and their number. Shares differ by at most one record.
  [[nodiscard]] std::uint64_t begin(std::uint64_t total) const {
    return rank * (total / ranks) + std::min<std::uint64_t>(rank, total % ranks);
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t total) const {
    return total / ranks + (rank < total % ranks ? 1 : 0);
  }
};

// A file to read, or "-" for standard input.
class Input {
 public:
  // Opens the file. Throws Failure if it cannot be read.
  explicit Input(const std::string& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The file's name in messages, with control characters escaped.
  [[nodiscard]] std::string name() const;
  // The file's form: npy by its name or its first bytes; else text if the user says so; else raw.
  // Call it before the first read().
  [[nodiscard]] Kind kind(bool text, Progress& progress);
  // Reads `bytes` bytes, much of a regular file in several threads. Returns how many it read: fewer
  // only at the end of the file. Throws Failure.
  std::uint64_t read(void* to, std::uint64_t bytes);
  // Lets read() bypass the page cache where that does not have the file already.
  void bypass_cache();
  // Where the next read() of a regular file begins.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // Reads all that is left. Throws Failure, also if a regular file changes its length meanwhile.
  [[nodiscard]] Bytes rest(Progress& progress);
  [[nodiscard]] bool is_regular() const { return is_regular_; }
  // The bytes that are left of a regular file; 0 if it has no size before it is read (/proc).
  [[nodiscard]] std::uint64_t left() const { return size_ > position_ ? size_ - position_ : 0; }
  // Reads `bytes` bytes of a regular file, beginning `skipped` bytes after those that have been
  // read. Throws Failure, also if the file has changed its length.
  [[nodiscard]] Bytes part(std::uint64_t skipped, std::uint64_t bytes, Progress& progress);

 private:
  std::uint64_t fetch(char* to, std::uint64_t bytes);
  std::uint64_t read_regular(void* to, std::uint64_t bytes);
  void check_length() const;

  std::string path_;
  int fd_ = -1;
  bool is_regular_ = false;
  bool ended_ = false;  // a terminal has an end of file more than once; the first one counts
  std::string head_;    // of a pipe: read by kind() and not yet taken by read()
  // Of a regular file: its length when it was opened, and where the next read() begins.
  std::uint64_t size_ = 0, position_ = 0;
  std::unique_ptr<sortium::files::DirectReader> direct_;  // see bypass_cache()
};

// The records of a file.
struct Column {
  // NumPy's name of the type: "<f4", or the list of a record's fields. Empty: it has none (bf16).
  std::string descr;
  unsigned width = 4;  // bytes of a record
  std::uint64_t count = 0;
  // The file has the other byte order than this machine. `data` has this machine's.
  bool swapped = false;
  Bytes data;
  Kind kind = Kind::raw;    // form of the file that the records came from
  std::uint64_t total = 0;  // records of all shares

  // Makes a column with space for `count` records, which are not initialised.
  static Column make(std::string descr, unsigned width, std::uint64_t count);
  // Makes a column with space for records of the same type, which are not initialised.
  [[nodiscard]] Column empty_copy() const { return empty_copy(count); }
  [[nodiscard]] Column empty_copy(std::uint64_t records) const;
};

struct Keys : Column {
  sortium::KeyType type = sortium::KeyType::u32;
};

// The readers throw Failure, naming the file, if it cannot be read or is not what is needed. They
// recognise an .npy file by its name or by its first bytes, standard input too. A share of a file
// is read from a regular file that is not text.

// Reads keys. Raw and text files need `type`; an .npy file names its type, which must agree.
[[nodiscard]] Keys read_keys(const std::string& path, bool text,
                             std::optional<sortium::KeyType> type, Progress& progress,
                             const Share& share = {});
// Reads values, which are only moved: any type of 1 to 256 bytes. Raw files need `bytes`, the size
// of a value.
[[nodiscard]] Column read_values(const std::string& path, std::optional<unsigned> bytes,
                                 Progress& progress, const Share& share = {});
// Reads records of 1 to 256 bytes. Raw files need `bytes`, the size of a record. An .npy file must
// have records with fields, and no `bytes`; its fields are stored in `fields`.
[[nodiscard]] Column read_records(const std::string& path, std::optional<unsigned> bytes,
                                  std::vector<NpyField>& fields, Progress& progress,
                                  const Share& share = {});
// Reads the offsets of segments: numbers of 4 or 8 bytes that ascend from 0 to `count`, one more
// than there are segments. Raw files need `bytes`, the size of an offset. The Failure names the
// first wrong offset.
[[nodiscard]] Column read_offsets(const std::string& path, std::optional<unsigned> bytes,
                                  std::uint64_t count, Progress& progress);

// Reads the records of a file part by part. Recognises and refuses files as the functions above do.
class ColumnReader {
 public:
  [[nodiscard]] static std::unique_ptr<ColumnReader> of_keys(const std::string& path, bool text,
                                                             std::optional<sortium::KeyType> type,
                                                             Progress& progress);
  [[nodiscard]] static std::unique_ptr<ColumnReader> of_values(const std::string& path,
                                                               std::optional<unsigned> bytes,
                                                               Progress& progress);
  [[nodiscard]] static std::unique_ptr<ColumnReader> of_records(const std::string& path,
                                                                std::optional<unsigned> bytes,
                                                                std::vector<NpyField>& fields,
                                                                Progress& progress);
  explicit ColumnReader(const std::string& path);

  // The type of the records; `count` and `total` are the records read so far, and `type` is that of
  // keys. There are no data.
  [[nodiscard]] const Keys& column() const { return column_; }
  // The number of records, if it is known before the end.
  [[nodiscard]] std::optional<std::uint64_t> known_count() const { return known_; }
  // Reads the next records, in the machine's byte order if they are keys. Returns the bytes: fewer
  // than asked only at the end. `bytes` is a multiple of the width. Throws Failure, also if the
  // file has changed its length meanwhile.
  std::uint64_t read(void* to, std::uint64_t bytes);
  // The file, for a sort in place. It must be regular, not text, and nothing of it may have been
  // read. Throws std::system_error.
  [[nodiscard]] sortium::files::InPlaceFile in_place() const;

 private:
  void identified_as(Keys column);
  void check_length(std::uint64_t bytes) const;
  void check_end(std::uint64_t bytes) const;
  void check_nothing_follows();
  std::uint64_t read_text(void* to, std::uint64_t bytes);
  bool parse_more();

  std::string path_;
  Input input_;
  Keys column_;
  std::optional<std::uint64_t> known_;
  std::string lines_;        // of text: read, but not yet parsed
  Bytes numbers_;            // parsed
  std::uint64_t taken_ = 0;  // bytes of numbers_ that read() has returned
  std::uint64_t lines_before_ = 0;
};

// Returns the form in which an output of this name is written: npy by its name; else text if the
// user says so; else raw.
[[nodiscard]] Kind kind_of(const std::string& path, bool text);
// The same for an output whose records came from the file `in`. If the output replaces `in` and
// `in` is an .npy file, the output is one too, whatever its name is.
[[nodiscard]] Kind kind_of(const std::string& path, bool text, const std::string& in,
                           const Column& records);

// Reserves disk space for the column, so that a full disk shows before the sorting and not after
// it.
void reserve_column(Output& output, Kind kind, const Column& column);
// Writes the column; text is written as numbers of `type`.
void write_column(Output& output, Kind kind, const Column& column, sortium::KeyType type,
                  Progress& progress);
// Copies elements of 1, 2, 4 or 8 bytes with their bytes reversed. `to` may be `from`.
void swap_bytes(const std::byte* from, std::byte* to, unsigned width, std::uint64_t count);
// Returns what precedes the records of all shares in a file of this form.
[[nodiscard]] std::string header_of(Kind kind, const Column& column);
// Writes the column's records, without a header.
void write_records(Sink& output, Kind kind, const Column& column, sortium::KeyType type,
                   Progress& progress);

// Returns NumPy's name of a type: "<f4", "|u1". Empty: NumPy has none (bf16).
[[nodiscard]] std::string descr_of(sortium::KeyType type);
// Throws Failure if `path` is called .npy and NumPy has no name for `type`.
void check_npy_can_hold(const std::string& path, sortium::KeyType type);

}  // namespace app
