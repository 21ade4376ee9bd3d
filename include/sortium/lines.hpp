// Sorts of lines of text by the whole line or one field, as bytes or as numbers: the orders of
// LC_ALL=C sort -s, with -n, -k N,N, -t, -u and -r. docs/files.md says what is promised on errors
// and signals.
//
//   // The lines of standard input by the number in their second field:
//   sortium::sort_lines([](void* to, std::uint64_t n) { return std::fread(to, 1, n, stdin); },
//                       [](const void* from, std::uint64_t n) { std::fwrite(from, 1, n, stdout); },
//                       {.field = 2, .numeric = true});
#pragma once

#include <sortium/export.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <sortium/order.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

// How to sort lines.
struct LineOptions {
  // The key: this field, counted from 1, or the whole line if it is 0. The field of a line that has
  // fewer is empty.
  std::uint64_t field = 0;
  // The byte between two fields; it belongs to neither. Without it, a field begins with the blanks
  // (spaces and tabs) before it, and ends before the next blank.
  std::optional<char> separator{};
  // False: keys are compared byte by byte; a key precedes longer keys that begin with it. True:
  // keys are compared by the number with which they begin: blanks, a minus sign, digits, a point
  // and digits, each of which may be missing. Numbers may have any length; without digits, it is 0.
  bool numeric = false;
  Order order = Order::ascending;
  bool unique = false;  // of lines with equal keys, write only the first

  // The most host memory that the process may use, as in FileOptions; 0: as much as it needs. A
  // text that needs more is sorted in runs, which are written to temporary files and merged.
  std::uint64_t memory_bytes = 0;
  // Directories for the runs, as in FileOptions. Empty: TMPDIR, else /tmp.
  std::vector<std::string> temporary_directories{};
  std::string device{}, algorithm = "auto", parameters{};  // as in Options; one device
  std::uint64_t expected_bytes = 0;         // of the input, if they are known; a hint
  const std::atomic<bool>* stop = nullptr;  // as in Options
};

struct LineReport {
  std::uint64_t lines = 0;             // read
  std::uint64_t written_lines = 0;     // fewer than `lines` only if `unique`
  std::uint64_t runs = 1;              // 1: no temporary files were needed
  std::uint64_t temporary_bytes = 0;   // written to temporary files
  std::string_view device, algorithm;  // of the sort of all lines; valid until the process ends
  std::string parameters;
  // If no runs were written.
  double read_seconds = 0, sort_seconds = 0, write_seconds = 0;
  // With memory_bytes: making runs (reading, sorting, writing); merging them, writing the result.
  double run_seconds = 0, merge_seconds = 0;
};

// Stores the next bytes of the input, and returns how many: fewer than asked only at the end.
using LineReader = std::function<std::uint64_t(void* to, std::uint64_t bytes)>;
// Receives the next bytes of the output.
using LineWriter = std::function<void(const void* from, std::uint64_t bytes)>;

// Sorts lines, which end with a newline; stable. A line may hold any other bytes, also NUL. The
// last line is written with a newline even if it was read without one. `write` is called from
// threads of the sort, never two at once, after everything has been read.
//
// Throws what `read` and `write` throw, and Error as sort_records_host() does. Throws
// Error(invalid_argument) if memory_bytes is too small: a line must fit a sixth of it. Throws
// std::system_error naming the directory if a temporary file cannot be written or read.
//
// Cost: the device sorts the first bytes of all keys as 64-bit numbers; keys that tie are then
// sorted by their next bytes, and so on. Needs memory for the text and some 50 bytes for each line.
// A text that needs more than memory_bytes is read and written twice.
SORTIUM_API LineReport sort_lines(const LineReader& read, const LineWriter& write,
                                  const LineOptions& options = {});

}  // namespace sortium
