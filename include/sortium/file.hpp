// Sorts of files and streams that are larger than memory: sorted runs in temporary files, then one
// merge of all runs. docs/files.md says what is promised on errors and signals.
//
//   // Records of 100 bytes by their first 10, with at most 8 GiB of memory:
//   sortium::sort_file("in.bin", "out.bin", 100, {{.type = sortium::FieldType::bytes(10)}},
//                      {.memory_bytes = std::uint64_t{8} << 30});
#pragma once

#include <sortium/export.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <sortium/records.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

struct FileProgress {
  enum class Phase : std::uint8_t { runs, merge };
  Phase phase = Phase::runs;
  std::uint64_t done = 0;   // records that this phase has written
  std::uint64_t total = 0;  // records of the input; 0: not known yet
};

// How to sort files and streams.
struct FileOptions {
  // The most host memory that the process may use: all that it has when the call begins, and the
  // buffers of the sort. The page cache and the memory of a GPU's driver are not counted.
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  // Directories for the runs, which need as much disk space as the records. The runs are striped
  // over all of them. Empty: the directory of the output file; for streams TMPDIR, else /tmp.
  std::vector<std::string> temporary_directories{};
  // For sort_file() with `out` equal to `in`, if the disk has no space for the file twice: the file
  // gives up its space while it is sorted, so the disk needs space for little more than one copy.
  // Records are lost if the process is killed, if the machine stops, or if the disk fails while
  // runs are merged. All other errors, and `stop`, leave all records in the file, in another order.
  // Needs a file system that can free parts of a file (ext4, XFS, Btrfs, tmpfs).
  bool in_place = false;
  std::string device{}, algorithm = "auto", parameters{};  // as in Options; one device
  // The number of records, if it is known; 0: unknown. Then a small input needs no temporary files,
  // and progress has a total. A stream with more records is an error.
  std::uint64_t expected_count = 0;
  std::function<void(const FileProgress&)> progress{};  // called by one thread at a time
  const std::atomic<bool>* stop = nullptr;              // as in Options
};

struct FileReport {
  std::uint64_t count = 0;             // records
  std::uint64_t runs = 0;              // 1: no temporary files were needed
  std::uint64_t temporary_bytes = 0;   // written to temporary files
  std::string_view device, algorithm;  // of the last sort of a run; valid until the process ends
  std::string parameters;
  double run_seconds = 0;    // reading, sorting, writing runs
  double merge_seconds = 0;  // merging the runs and writing the result
};

// A column of a stream of records: element i of every column belongs to record i.
struct StreamColumn {
  unsigned bytes = 4;  // bytes of an element: 1 to 256
  // Stores the next bytes of the column, and returns how many: fewer than asked only at the end.
  // Null: the elements are the records' positions, numbers of 4 or 8 bytes.
  std::function<std::uint64_t(void* to, std::uint64_t bytes)> read{};
  // Receives the next bytes of the sorted column. Null: the column is not written.
  std::function<void(const void* from, std::uint64_t bytes)> write{};
  // For a sort in place: both or none. The sort calls release(bytes) when it has stored the first
  // `bytes` bytes of the column elsewhere; the caller may then free their space. If the sort fails
  // or is stopped before it merges, `restore` receives the released records, from the column's
  // beginning on, in another order. While it merges, the sort ignores `stop`.
  std::function<void(std::uint64_t bytes)> release{};
  std::function<void(const void* from, std::uint64_t bytes)> restore{};
};

// Sorts a stream of records by a key of fields; stable. `read` and `write` are called from threads
// of the sort, never two of the same kind at once. All records are read before any is written.
//
// Temporary files have no names, so the system frees their space when the process ends in any way.
// Throws what `read`, `write` and `progress` throw, and Error as sort_records_host() does. Throws
// Error(invalid_argument) if columns have different lengths, if the input ends within an element,
// or if memory_bytes is too small (the message names the least that suffices). Throws
// std::system_error naming the directory if a temporary file cannot be written or read.
//
// Cost: reads and writes every record twice, and sorts it twice; once if one run holds all records.
// If expected_count is known, the disk space of the runs is reserved first. There are at most about
// memory / 768 KiB runs, each of a quarter of the memory.
SORTIUM_API FileReport sort_stream(const std::vector<StreamColumn>& columns,
                                   const std::vector<Field>& key, const FileOptions& options = {});

// Sorts a file of records of 1 to 256 bytes. `out` may be `in`. The output appears whole or not at
// all: it is written under a temporary name beside `out`, and renamed when it is complete and on
// the disk. A file that is replaced keeps its mode. A later sort_file() into the same directory
// removes the temporary file of a process that was killed. Throws as sort_stream() does, and
// std::system_error naming the file. Throws Error(invalid_argument) if `out` is not a regular file,
// has several hard links, or is a link to nothing.
SORTIUM_API FileReport sort_file(const std::string& in, const std::string& out,
                                 unsigned record_bytes, const std::vector<Field>& key,
                                 const FileOptions& options = {});

}  // namespace sortium
