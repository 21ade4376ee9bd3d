// What both phases of an external sort share: the stream, its sorts, and buffers for its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sortium/file.hpp>
#include <string>
#include <vector>

#include "memory_limit.hpp"
#include "page_memory.hpp"
#include "run_store.hpp"

namespace sortium::files {

// Memory for records: an array for each column. Every array begins at a multiple of `alignment` and
// its size is one too. The memory is not set to zero.
class Records {
 public:
  Records() = default;
  // Throws Error(out_of_memory) or std::bad_alloc.
  Records(const std::vector<unsigned>& widths, std::uint64_t capacity);

  [[nodiscard]] explicit operator bool() const { return !columns_.empty(); }
  [[nodiscard]] const std::vector<std::byte*>& columns() const { return columns_; }
  [[nodiscard]] std::byte* at(std::size_t column, std::uint64_t record) const {
    return columns_[column] + record * widths_[column];
  }
  [[nodiscard]] static std::uint64_t bytes_for(const std::vector<unsigned>& widths,
                                               std::uint64_t capacity);

  std::uint64_t count = 0;  // records that it holds

 private:
  PageMemory memory_;
  std::vector<unsigned> widths_;
  std::vector<std::byte*> columns_;
};

// The caller's stream.
class Stream {
 public:
  // Throws Error if the columns, the key or the method are not possible.
  Stream(const std::vector<StreamColumn>& columns, const std::vector<Field>& key,
         const FileOptions& options);

  [[nodiscard]] const std::vector<StreamColumn>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<unsigned>& widths() const { return widths_; }
  [[nodiscard]] const std::vector<Field>& key() const { return key_; }
  [[nodiscard]] const FileOptions& options() const { return options_; }
  [[nodiscard]] unsigned record_bytes() const { return record_bytes_; }
  // Bytes of host memory that the buffers and sorts may use together.
  [[nodiscard]] std::uint64_t memory() const { return memory_.usable; }
  // The value of memory_bytes for which memory() would be `bytes`.
  [[nodiscard]] std::uint64_t memory_bytes_for(std::uint64_t bytes) const {
    return memory_.used + bytes;
  }

  // Sorts records.count records. If `last`, for the merge: columns that are not written need not be
  // sorted, and a sort in place does not stop.
  HostReport sort(Records& records, bool last) const;
  // Bytes of host memory that such a sort allocates.
  [[nodiscard]] std::uint64_t scratch_bytes(std::uint64_t count, bool last) const;
  void write(const Records& records) const;
  // True if columns give up the space of what has been read.
  [[nodiscard]] bool releases() const;
  // The first records of all columns have been stored elsewhere.
  void release(std::uint64_t count) const;
  // Passes the next records to the columns that have released them.
  void restore(const Records& records) const;
  void report_progress(FileProgress::Phase phase, std::uint64_t done) const;
  void check_stop() const;

 private:
  [[nodiscard]] RecordProblem problem(std::uint64_t count, bool last) const;

  const std::vector<StreamColumn>& columns_;
  const std::vector<Field>& key_;
  const FileOptions& options_;
  std::vector<unsigned> widths_;
  std::string device_;  // of all sorts
  unsigned record_bytes_ = 0;
  HostMemory memory_;
};

// The sorted runs in a RunStore. The arrays of a run's columns lie one after the other.
class Runs {
 public:
  Runs(const Stream& stream, RunStore& store);

  [[nodiscard]] std::size_t count() const { return runs_.size(); }
  [[nodiscard]] std::uint64_t records(std::size_t run) const { return runs_[run].records; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // in the store
  // Writes a sorted run, and keeps the key of the first record of each of its grains.
  void add(Records& sorted);
  // The transfers that read records [first, first + count) of a run; `first` is a multiple of
  // grain().
  void append_reads(std::size_t run, std::uint64_t first, std::uint64_t count, const Records& to,
                    std::vector<RunStore::Transfer>& transfers) const;
  // Records are read in multiples of this number, about 64 KiB.
  [[nodiscard]] std::uint64_t grain() const { return grain_; }
  [[nodiscard]] static std::uint64_t grain(const std::vector<unsigned>& widths);
  // The key of record grain * grain() of a run, as KeyBytes encodes it.
  [[nodiscard]] const std::byte* first_key(std::size_t run, std::uint64_t grain) const;
  [[nodiscard]] RunStore& store() const { return store_; }
  [[nodiscard]] const class KeyBytes& key() const { return *key_; }

 private:
  struct Run {
    std::uint64_t begin = 0, records = 0;  // where it begins in the store
    std::vector<std::byte> keys{};
  };
  const Stream& stream_;
  RunStore& store_;
  std::shared_ptr<const class KeyBytes> key_;
  std::uint64_t grain_;
  std::vector<Run> runs_;
  std::uint64_t records_ = 0, bytes_ = 0;
};

// Reads the stream to its end and writes its sorted runs, with reading, sorting and writing at the
// same time. If one run holds all records, writes it to the stream instead. Fills in the report.
void make_runs(const Stream& stream, Runs& runs, FileReport& report);

// Merges the runs and writes the result to the stream.
void merge_runs(const Stream& stream, const Runs& runs);
// Throws Error(invalid_argument), naming the least memory_bytes that suffices, if there is not
// enough memory to merge so many runs of `records` records together.
void check_merge_fits(const Stream& stream, std::uint64_t runs, std::uint64_t records);

}  // namespace sortium::files
