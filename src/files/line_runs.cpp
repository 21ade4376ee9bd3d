// The first phase of an external sort of lines.
#include "line_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <sortium/capabilities.hpp>
#include <sortium/records.hpp>
#include <utility>

#include "../sort/all_cores.hpp"
#include "../sort/host.hpp"
#include "../sort/stages.hpp"
#include "line_sort.hpp"
#include "memory_limit.hpp"
#include "page_memory.hpp"

namespace sortium::files {

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t buffer_bytes = 4 * mebibyte;  // of a run, before it is written
constexpr std::uint64_t least_memory = 16 * mebibyte;

// Bytes of host memory that a sort of lines needs besides the text.
struct SortBytes {
  std::uint64_t fixed;  // more with more cores
  std::uint64_t line;   // for each
};

// Returns the scratch memory of a sort: of all lines, or of ties.
SortBytes scratch_bytes(const LineOptions& o, bool of_ties) {
  constexpr std::uint64_t few = mebibyte, many = 4 * mebibyte, tie_lines = 17;
  const auto device = backend::device_near(o.device);
  if (device->info().claimed.kind != DeviceKind::cpu) return {0, 0};
  const Method method{of_ties ? "auto" : o.algorithm, of_ties ? "" : o.parameters, 0};
  const auto bytes = [&](std::uint64_t lines) -> std::uint64_t {
    RecordProblem problem{.count = lines,
                          .columns = {{sizeof(std::uint64_t)}, {sizeof(std::uint64_t)}},
                          .key = {{.type = KeyType::u64, .order = o.order}}};
    problem.segments = of_ties ? lines / tie_lines : 0;
    problem.offset_bytes = 8;
    return RecordPlan::scratch_bytes_for(problem, capabilities(*device), method);
  };
  const std::uint64_t line = (bytes(many) - bytes(few)) / (many - few) + 1;
  return {bytes(few) - std::min(bytes(few), few * line), line};
}

// SortedLines keeps a word and a place of each line. A round has copies of both, and scratch
// memory.
SortBytes sort_bytes(const LineOptions& o) {
  constexpr std::uint64_t kept = 16, copy = 16, ties = 3;
  const SortBytes all = scratch_bytes(o, false), some = scratch_bytes(o, true);
  return {std::max(all.fixed, some.fixed), kept + std::max(all.line, copy + ties + some.line)};
}

// Threads that write sorted lines have a buffer each.
std::uint64_t write_buffers() { return all_cores() * SortedLines::write_buffer_bytes; }

}  // namespace

LineCosts::LineCosts(const LineOptions& options) : memory_bytes_(options.memory_bytes) {
  const SortBytes sort = sort_bytes(options);
  const std::uint64_t buffers = write_buffers() + buffer_bytes + sort.fixed;
  const HostMemory memory = usable_memory(memory_bytes_, least_memory + buffers);
  line_bytes_ = sort.line;
  used_ = memory.used + buffers;
  memory_ = memory.usable - buffers;
  grain_ = std::clamp(memory_ / 4096, std::uint64_t{32} << 10, mebibyte / 2);
}

// ---------------------------------------------------------------------------------------------
// LineRuns
// ---------------------------------------------------------------------------------------------

LineRuns::LineRuns(RunStore& store, const LineCosts& costs) : store_(store), costs_(costs) {}

void LineRuns::append(const void* lines, std::uint64_t bytes) {
  const auto* from = static_cast<const char*>(lines);
  if (!buffer_) buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, buffer_bytes)));
  if (!buffer_) throw std::bad_alloc();
  divide(from, bytes);
  while (bytes > 0) {
    const std::uint64_t n = std::min(bytes, buffer_bytes - buffered_);
    std::memcpy(buffer_.get() + buffered_, from, n);
    from += n;
    bytes -= n;
    buffered_ += n;
    if (buffered_ == buffer_bytes) write();
  }
}

// Divides lines into grains.
void LineRuns::divide(const char* lines, std::uint64_t bytes) {
  for (const char* const end = lines + bytes; lines != end;) {
    const std::uint64_t space =
        costs_.grain() - std::min(costs_.grain(), run_.bytes - grain_begin_);
    const auto left = static_cast<std::uint64_t>(end - lines);
    if (left <= space) {
      run_.bytes += left;
      return;
    }
    const char* next = LineText::line_begin({lines, space}, lines + space);
    if (next == lines && run_.bytes == grain_begin_)  // a line that is longer than a grain
      next = static_cast<const char*>(std::memchr(lines, '\n', left)) + 1;
    run_.bytes += static_cast<std::uint64_t>(next - lines);
    lines = next;
    end_grain();
  }
}

void LineRuns::end_grain() {
  if (run_.bytes == grain_begin_) return;
  run_.grains.push_back(run_.bytes);
  run_.largest = std::max(run_.largest, run_.bytes - grain_begin_);
  grain_begin_ = run_.bytes;
}

void LineRuns::end_run() {
  end_grain();
  std::memset(buffer_.get() + buffered_, 0, aligned_up(buffered_) - buffered_);
  write();
  runs_.push_back(std::exchange(run_, {bytes_}));
  grain_begin_ = 0;
}

void LineRuns::write() {
  const std::uint64_t padded = aligned_up(buffered_);
  store_.write({{bytes_, buffer_.get(), padded}});
  bytes_ += padded;
  buffered_ = 0;
}

// ---------------------------------------------------------------------------------------------
// Chunks of the input
// ---------------------------------------------------------------------------------------------

namespace {

// Lines that are sorted together.
struct Chunk {
  PageMemory memory;
  std::uint64_t bytes = 0, lines = 0;
  std::unique_ptr<SortedLines> sorted;
};

class ChunkReader {
 public:
  ChunkReader(const LineReader& read, const LineOptions& options, const LineCosts& costs)
      : read_(read), o_(options), costs_(costs) {}

  // Reads lines that cost up to a third of the memory. The first chunk may cost all of it, if it
  // seems that this is the whole input. Returns no lines at the end of the input.
  Chunk next();
  [[nodiscard]] bool ended() const { return ended_ && carried_ == 0; }
  [[nodiscard]] std::uint64_t usual_cost() const { return costs_.memory() / Stages::count; }

 private:
  [[nodiscard]] std::uint64_t limit(const Chunk& chunk, std::uint64_t bytes) const;
  void read_more(Chunk& chunk, std::uint64_t& bytes, std::uint64_t limit);
  bool take_lines(Chunk& chunk, std::uint64_t bytes, std::uint64_t limit) const;
  void carry(const Chunk& chunk, std::uint64_t bytes);

  const LineReader& read_;
  const LineOptions& o_;
  const LineCosts& costs_;
  PageMemory next_;            // of the next chunk
  std::uint64_t carried_ = 0;  // bytes of it that have been read
  bool is_first_ = true, ended_ = false;
};

Chunk ChunkReader::next() {
  Chunk chunk;
  const std::uint64_t most = is_first_ ? costs_.memory() : usual_cost();
  chunk.memory = carried_ != 0 ? std::move(next_) : PageMemory(most + SortedLines::extra_bytes);
  next_ = {};
  std::uint64_t bytes = std::exchange(carried_, 0);
  bool fits = take_lines(chunk, bytes, limit(chunk, bytes));
  while (fits && !ended_ && bytes < limit(chunk, bytes)) {
    read_more(chunk, bytes, limit(chunk, bytes));
    fits = take_lines(chunk, bytes, limit(chunk, bytes));
  }
  if (chunk.bytes == 0 && bytes != 0)
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("memory_bytes is {}; a line has more than {} bytes, for which it must "
                    "be more than {}",
                    o_.memory_bytes, bytes, costs_.memory_bytes_for(Stages::count * 2 * bytes)));
  if (chunk.bytes < bytes) carry(chunk, bytes);
  // A large page may have provided memory that is not needed.
  chunk.memory.resize(chunk.bytes + SortedLines::extra_bytes);
  is_first_ = false;
  return chunk;
}

// What the chunk may cost, when `bytes` bytes of it have been read.
std::uint64_t ChunkReader::limit(const Chunk& chunk, std::uint64_t bytes) const {
  if (!is_first_ || bytes == 0 || o_.expected_bytes == 0) return usual_cost();
  const double cost = static_cast<double>(costs_.of(bytes, chunk.lines + 1));
  const double expected =
      cost / static_cast<double>(bytes) * static_cast<double>(o_.expected_bytes);
  return expected * 1.05 < static_cast<double>(costs_.memory()) ? costs_.memory() : usual_cost();
}

void ChunkReader::read_more(Chunk& chunk, std::uint64_t& bytes, std::uint64_t limit) {
  constexpr std::uint64_t most = 16 * mebibyte;  // several threads read it
  check_stop({.stop = o_.stop});
  const std::uint64_t wanted =
      std::min({most, std::max(limit / 8, std::uint64_t{64} << 10), limit - bytes});
  const std::uint64_t n = read_(chunk.memory.data() + bytes, wanted);
  bytes += n;
  ended_ = n < wanted;
  if (ended_ && bytes != 0 && chunk.memory.data()[bytes - 1] != '\n')
    chunk.memory.data()[bytes++] = '\n';
}

// Adds the whole lines of what has been read to the chunk. Returns false if not all of them may be
// added.
bool ChunkReader::take_lines(Chunk& chunk, std::uint64_t bytes, std::uint64_t limit) const {
  const char* const text = chunk.memory.data();
  const char* at = text + chunk.bytes;
  const char* const end =
      LineText::line_begin({at, static_cast<std::size_t>(text + bytes - at)}, text + bytes);
  const auto found = static_cast<std::uint64_t>(std::count(at, end, '\n'));
  if (costs_.of(static_cast<std::uint64_t>(end - text), chunk.lines + found) <= limit) {
    chunk.bytes = static_cast<std::uint64_t>(end - text);
    chunk.lines += found;
    return true;
  }
  while (at != end) {
    const auto left = static_cast<std::size_t>(end - at);
    at = static_cast<const char*>(std::memchr(at, '\n', left)) + 1;
    const auto size = static_cast<std::uint64_t>(at - text);
    if (costs_.of(size, chunk.lines + 1) > limit) break;
    chunk.bytes = size;
    ++chunk.lines;
  }
  return false;
}

// Keeps what the chunk has not taken.
void ChunkReader::carry(const Chunk& chunk, std::uint64_t bytes) {
  next_ = PageMemory(usual_cost() + SortedLines::extra_bytes);
  carried_ = bytes - chunk.bytes;
  std::memcpy(next_.data(), chunk.memory.data() + chunk.bytes, carried_);
}

// ---------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------

class LineRunMaker {
 public:
  LineRunMaker(const LineReader& read, const LineOptions& options, LineRuns& runs,
               LineReport& report)
      : o_(options), reader_(read, options, runs.costs()), runs_(runs), report_(report) {}

  void run(const LineWriter& write_alone) {
    Chunk first = reader_.next();
    if (reader_.ended()) {
      sort(first);
      report_.written_lines = first.sorted->write(write_alone);
      return;
    }
    check_merge(first);
    const bool is_large = runs_.costs().of(first.bytes, first.lines) > reader_.usual_cost();
    if (is_large) {  // there is no memory for another chunk
      sort(first);
      write(first);
    } else {
      chunks_[0] = std::move(first);
    }
    Stages::run(
        [&](std::uint64_t job) {
          auto& chunk = chunks_[job % Stages::count];
          if (job == 0 && !is_large) return true;
          chunk = reader_.next();
          return chunk.lines != 0;
        },
        [&](std::uint64_t job) { sort(chunks_[job % Stages::count]); },
        [&](std::uint64_t job) { write(chunks_[job % Stages::count]); });
  }

 private:
  // Reserves disk space, and sees early that the memory does not suffice.
  void check_merge(const Chunk& first) {
    if (o_.expected_bytes == 0) return;
    check_stop({.stop = o_.stop});
    const std::vector<std::uint64_t> largest(o_.expected_bytes / first.bytes + 1,
                                             runs_.costs().grain());
    check_line_merge_fits(runs_.costs(), largest);
    runs_.reserve(o_.expected_bytes);
  }
  void sort(Chunk& chunk) {
    chunk.sorted =
        std::make_unique<SortedLines>(std::string_view(chunk.memory.data(), chunk.bytes), o_);
    return_free_memory();
    report_.lines += chunk.lines;
    report_.device = chunk.sorted->report().device;
    report_.algorithm = chunk.sorted->report().algorithm;
    report_.parameters = chunk.sorted->report().parameters;
  }
  void write(Chunk& chunk) {
    (void)chunk.sorted->write(
        [this](const void* lines, std::uint64_t bytes) { runs_.append(lines, bytes); });
    runs_.end_run();
    chunk = {};
    return_free_memory();
  }

  const LineOptions& o_;
  ChunkReader reader_;
  LineRuns& runs_;
  LineReport& report_;
  std::array<Chunk, Stages::count> chunks_;
};

}  // namespace

void make_line_runs(const LineReader& read, const LineWriter& write, const LineOptions& options,
                    LineRuns& runs, LineReport& report) {
  LineRunMaker(read, options, runs, report).run(write);
}

}  // namespace sortium::files
