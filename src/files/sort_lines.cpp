#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "../distributed/devices.hpp"
#include "../sort/host.hpp"
#include "../sort/out_of_memory.hpp"
#include "../sort/pages.hpp"
#include "line_runs.hpp"
#include "line_sort.hpp"
#include "memory_limit.hpp"
#include "page_memory.hpp"

namespace sortium {

namespace {

// Returns the hint, but no more than a text may have: nothing is allocated for what cannot be.
std::uint64_t expected_bytes(const LineOptions& options) {
  return std::min(options.expected_bytes, files::LineText::max_bytes);
}

// Reads the whole text into `memory`. Returns its length, with the newline of the last line.
std::uint64_t read_text(const LineReader& read, std::uint64_t expected_bytes, const LineOptions& o,
                        files::PageMemory& memory) {
  constexpr std::uint64_t step = std::uint64_t{64} << 20;  // several threads read it
  OutputPages pages;
  if (expected_bytes != 0) pages.add(memory.data(), expected_bytes);
  pages.start();
  std::uint64_t size = 0;
  for (bool ended = false; !ended;) {
    check_stop({.stop = o.stop});
    if (memory.size() < size + files::SortedLines::extra_bytes + 1) {
      pages.wait();
      memory.resize(memory.size() * 2);
    }
    const std::uint64_t wanted =
        std::min(step, memory.size() - files::SortedLines::extra_bytes - size);
    const std::uint64_t n = read(memory.data() + size, wanted);
    size += n;
    ended = n < wanted;
  }
  if (size > files::LineText::max_bytes)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the text has {} bytes; up to {} can be sorted in memory", size,
                            files::LineText::max_bytes));
  if (size != 0 && memory.data()[size - 1] != '\n') memory.data()[size++] = '\n';
  return size;
}

void fill_in(LineReport& report, const HostReport& sort) {
  report.device = sort.device;
  report.algorithm = sort.algorithm;
  report.parameters = sort.parameters;
}

LineReport sort_in_memory(const LineReader& read, const LineWriter& write,
                          const LineOptions& options) {
  std::uint64_t size = expected_bytes(options);
  LineReport report;
  Stopwatch watch;
  try {
    // One byte more than is expected, so that the end shows in the same step.
    files::PageMemory memory(std::max<std::uint64_t>(size + 1, 1 << 16) +
                             files::SortedLines::extra_bytes);
    size = read_text(read, size, options, memory);
    report.read_seconds = watch.lap();

    const files::SortedLines lines({memory.data(), size}, options);
    report.lines = lines.count();
    fill_in(report, lines.report());
    report.sort_seconds = watch.lap();

    report.written_lines = lines.write(write);
    report.write_seconds = watch.lap();
    return report;
  } catch (const std::bad_alloc&) {
    throw_out_of_memory("sort_lines", size);
  }
}

LineReport sort_in_runs(const LineReader& read, const LineWriter& write, LineOptions options) try {
  LineReport report;
  Stopwatch watch;
  options.expected_bytes = expected_bytes(options);
  constexpr unsigned sorted_bytes = 16;  // of a line: a word and a place
  options.device =
      files::device_within(options.memory_bytes, options.device, options.algorithm, sorted_bytes);
  const files::LineCosts costs(options);
  files::RunStore store(files::directories_or_default(options.temporary_directories));
  files::LineRuns runs(store, costs);
  files::make_line_runs(read, write, options, runs, report);
  report.run_seconds = watch.lap();
  if (runs.runs().empty()) return report;
  report.runs = runs.runs().size();
  report.temporary_bytes = runs.bytes();
  report.written_lines = files::merge_line_runs(runs, options, write);
  report.merge_seconds = watch.lap();
  return report;
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_lines", options.memory_bytes);
}

}  // namespace

LineReport sort_lines(const LineReader& read, const LineWriter& write, const LineOptions& options) {
  if (distributed::is_device_list(options.device))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("device {}: lines are sorted on one device", options.device));
  return options.memory_bytes == 0 ? sort_in_memory(read, write, options)
                                   : sort_in_runs(read, write, options);
}

}  // namespace sortium
