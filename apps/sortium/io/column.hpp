// The records of a file in memory, their types, and how they are written.
#pragma once

#include <cstdint>
#include <sortium/core.hpp>
#include <string>

#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/input.hpp"
#include "io/output.hpp"

namespace app {

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

// Returns the kind of file to write: npy if the name ends so, else text if `text` is true, else
// raw.
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
