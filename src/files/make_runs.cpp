// The first phase of an external sort.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

#include "../core/refuse.hpp"
#include "../sort/host.hpp"
#include "../sort/stages.hpp"
#include "../sort/validate.hpp"
#include "stream.hpp"

namespace sortium::files {

namespace {

class RunMaker {
 public:
  RunMaker(const Stream& stream, Runs& runs, FileReport& report)
      : stream_(stream), runs_(runs), report_(report) {
    first_ = static_cast<std::size_t>(
        std::ranges::find_if(stream.columns(), [](const auto& c) { return bool(c.read); }) -
        stream.columns().begin());
    const std::uint64_t expected = stream.options().expected_count;
    const std::uint64_t alone = largest_chunk(1), one_of_several = largest_chunk(Stages::count);
    // One more than is expected, so that the end of the stream shows in the same chunk.
    capacity_ = expected != 0 && expected < alone ? expected + 1 : whole_grains(one_of_several);
    if (expected < alone) return;
    check_merge_fits(stream, expected / capacity_ + 1, expected);
    stream.check_stop();
    if (!stream.releases()) runs.store().reserve(expected * stream.record_bytes());
  }

  void run() {
    try {
      Stages::run([this](std::uint64_t job) { return read(job); },
                  [this](std::uint64_t job) { sort(job); },
                  [this](std::uint64_t job) { write(job); });
    } catch (...) {
      if (stream_.releases()) restore();
      throw;
    }
    report_.count = read_;
    report_.runs = std::max<std::uint64_t>(runs_.count(), 1);
    report_.temporary_bytes = runs_.bytes();
  }

 private:
  // The most records of which so many chunks, and the sort of one of them, fit the memory.
  [[nodiscard]] std::uint64_t largest_chunk(std::uint64_t chunks) const {
    const auto fits = [&](std::uint64_t n) {
      return chunks * Records::bytes_for(stream_.widths(), n) + stream_.scratch_bytes(n, false) <=
             stream_.memory();
    };
    std::uint64_t least = 1,
                  most = std::min(stream_.memory() / stream_.record_bytes(), max_records) + 1;
    while (most - least > 1) {
      const std::uint64_t middle = least + (most - least) / 2;
      (fits(middle) ? least : most) = middle;
    }
    return least;
  }

  // So chunks of a file without a header begin where a direct transfer may.
  [[nodiscard]] std::uint64_t whole_grains(std::uint64_t records) const {
    const std::uint64_t grain = Runs::grain(stream_.widths());
    return std::max(grain, records / grain * grain);
  }

  // Reads the next chunk. Returns false after the last one.
  bool read(std::uint64_t job) {
    if (ended_) return false;
    stream_.check_stop();
    auto& chunk = chunks_[job % Stages::count];
    if (!chunk) chunk = Records(stream_.widths(), capacity_);
    std::uint64_t count = capacity_;
    for (std::size_t c = 0; c < stream_.columns().size(); ++c) {
      const auto& column = stream_.columns()[c];
      if (!column.read) continue;
      const std::uint64_t bytes =
          column.read(chunk.columns()[c], capacity_ * std::uint64_t{column.bytes});
      if (bytes % column.bytes != 0)
        refuse(fmt::format("columns[{}] ends within an element: {} bytes follow its {} elements", c,
                           bytes % column.bytes, read_ + bytes / column.bytes));
      const std::uint64_t elements = bytes / column.bytes;
      if (first_ != c && elements != count)
        refuse(fmt::format("columns[{}] and columns[{}] have different numbers of elements", first_,
                           c));
      count = elements;
    }
    number(chunk, count);
    chunk.count = count;
    read_ += count;
    ended_ = count < capacity_;
    check_count();
    return count != 0 || job == 0;
  }

  // Writes the positions of the chunk's records.
  void number(Records& chunk, std::uint64_t count) const {
    for (std::size_t c = 0; c < stream_.columns().size(); ++c) {
      if (stream_.columns()[c].read) continue;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t position = read_ + i;
        std::memcpy(chunk.at(c, i), &position, stream_.widths()[c]);
      }
      if (stream_.widths()[c] == 4 && read_ + count > std::uint64_t{1} << 32)
        refuse(
            fmt::format("columns[{}].bytes is 4; positions of more than 2^32 records need 8", c));
    }
  }

  void check_count() const {
    const std::uint64_t expected = stream_.options().expected_count;
    if (expected != 0 && (read_ > expected || (ended_ && read_ < expected)))
      refuse(fmt::format("expected_count is {}, but the stream has {} {} records", expected,
                         ended_ ? "only" : "at least", read_));
  }

  void sort(std::uint64_t job) {
    auto& chunk = chunks_[job % Stages::count];
    if (chunk.count == 0) return;
    const auto report = stream_.sort(chunk, is_alone(job, chunk));
    report_.device = report.device;
    report_.algorithm = report.algorithm;
    report_.parameters = report.parameters;
  }

  void write(std::uint64_t job) {
    auto& chunk = chunks_[job % Stages::count];
    written_ += chunk.count;
    if (is_alone(job, chunk)) {
      write_alone(chunk);
    } else {
      runs_.add(chunk);
      stream_.release(written_);
    }
    stream_.report_progress(FileProgress::Phase::runs, written_);
  }

  void write_alone(const Records& chunk) {
    if (!stream_.releases()) return stream_.write(chunk);
    try {
      stream_.release(chunk.count);
      stream_.write(chunk);
    } catch (...) {
      stream_.restore(chunk);
      throw;
    }
  }

  // Moves all runs back to where their records were read.
  void restore() try {
    constexpr std::uint64_t grains = 16;  // at a time: 1 MiB
    for (auto& chunk : chunks_) chunk = {};
    Records some(stream_.widths(), grains * runs_.grain());
    for (std::size_t run = 0; run < runs_.count(); ++run)
      for (std::uint64_t first = 0; first < runs_.records(run); first += grains * runs_.grain()) {
        some.count = std::min(grains * runs_.grain(), runs_.records(run) - first);
        std::vector<RunStore::Transfer> transfers;
        runs_.append_reads(run, first, some.count, some, transfers);
        runs_.store().read(transfers);
        runs_.store().discard(transfers);  // first: the disk may be full
        stream_.restore(some);
      }
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(),
                            "a sort in place has failed, and its records could not be put back");
  }

  [[nodiscard]] bool is_alone(std::uint64_t job, const Records& chunk) const {
    return job == 0 && chunk.count < capacity_;
  }

  const Stream& stream_;
  Runs& runs_;
  FileReport& report_;
  std::uint64_t capacity_ = 0;  // records of a chunk
  std::array<Records, Stages::count> chunks_;
  std::size_t first_ = 0;  // the first column that is read
  std::uint64_t read_ = 0, written_ = 0;
  bool ended_ = false;
};

}  // namespace

void make_runs(const Stream& stream, Runs& runs, FileReport& report) {
  RunMaker(stream, runs, report).run();
}

}  // namespace sortium::files
