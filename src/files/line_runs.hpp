// Sorts of lines that are larger than memory: sorted runs in temporary files, then one merge of all
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sortium/lines.hpp>
#include <vector>

#include "block_io.hpp"
#include "run_store.hpp"

namespace sortium::files {

// What lines cost: their text, and what a sort needs for each.
class LineCosts {
 public:
  // Throws Error if LineOptions::memory_bytes is too small.
  explicit LineCosts(const LineOptions& options);

  // Bytes of host memory that all texts and sorts may use together.
  [[nodiscard]] std::uint64_t memory() const { return memory_; }
  // The most bytes of memory for a text of so many lines while it is sorted.
  [[nodiscard]] std::uint64_t of(std::uint64_t bytes, std::uint64_t lines) const {
    return bytes + lines * line_bytes_;
  }
  // A grain of a run, which is read as a whole, has no more bytes than this unless it is one line.
  [[nodiscard]] std::uint64_t grain() const { return grain_; }
  // LineOptions::memory_bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const { return memory_bytes_; }
  // The value of it for which memory() would be `bytes`.
  [[nodiscard]] std::uint64_t memory_bytes_for(std::uint64_t bytes) const { return used_ + bytes; }

 private:
  std::uint64_t memory_bytes_, used_ = 0, memory_ = 0, line_bytes_ = 0, grain_ = 0;
};

// Sorted runs of lines in a RunStore.
class LineRuns {
 public:
  LineRuns(RunStore& store, const LineCosts& costs);

  // Reserves the disk space of so many bytes.
  void reserve(std::uint64_t bytes) { store_.reserve(bytes); }
  // Adds lines, which end with newlines, to the run that has begun.
  void append(const void* lines, std::uint64_t bytes);
  void end_run();

  struct Run {
    std::uint64_t begin = 0, bytes = 0;   // in the store
    std::vector<std::uint64_t> grains{};  // the byte of the run where each one ends
    std::uint64_t largest = 0;            // bytes of a grain
  };
  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // in the store
  [[nodiscard]] const RunStore& store() const { return store_; }
  [[nodiscard]] const LineCosts& costs() const { return costs_; }

 private:
  void divide(const char* lines, std::uint64_t bytes);
  void end_grain();
  void write();

  RunStore& store_;
  const LineCosts& costs_;
  std::vector<Run> runs_;
  Run run_;                        // the one that has begun
  std::uint64_t grain_begin_ = 0;  // of the grain that has begun
  AlignedMemory buffer_;
  std::uint64_t buffered_ = 0, bytes_ = 0;
};

// Reads lines to the end of the input and adds their sorted runs, with reading, sorting and writing
// at the same time. If all lines fit the memory, writes them instead. Fills in the report.
void make_line_runs(const LineReader& read, const LineWriter& write, const LineOptions& options,
                    LineRuns& runs, LineReport& report);

// Merges the runs and writes the result. Returns the number of lines that it wrote.
std::uint64_t merge_line_runs(const LineRuns& runs, const LineOptions& options,
                              const LineWriter& write);
// Throws Error(invalid_argument), naming the memory_bytes that suffice, if there is not enough
// memory to merge runs whose largest grains have so many bytes.
void check_line_merge_fits(const LineCosts& costs, const std::vector<std::uint64_t>& largest);

}  // namespace sortium::files
