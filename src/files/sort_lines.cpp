#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "../distributed/devices.hpp"
#include "../sort/host.hpp"
#include "../sort/out_of_memory.hpp"
#include "../sort/pages.hpp"
#include "line_sort.hpp"

namespace sortium {

namespace {

// Memory for a text, which grows without a copy.
class TextMemory {
 public:
  // Throws Error(out_of_memory).
  explicit TextMemory(std::uint64_t bytes) {
    set(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
  }
  ~TextMemory() { ::munmap(data_, size_); }
  TextMemory(const TextMemory&) = delete;
  TextMemory& operator=(const TextMemory&) = delete;

  void grow(std::uint64_t bytes) { set(::mremap(data_, size_, bytes, MREMAP_MAYMOVE), bytes); }
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  void set(void* at, std::uint64_t bytes) {
    if (at == MAP_FAILED)
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("the host has no memory left for a text of {} bytes", bytes));
    data_ = static_cast<char*>(at);
    size_ = bytes;
    (void)::madvise(at, bytes, MADV_HUGEPAGE);  // a refusal does no harm
  }

  char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

// What follows the text: a newline that the last line may lack, and what words read.
constexpr std::uint64_t extra_bytes = 1 + files::ByteKeys::readable;

// Reads the whole text into `memory`. Returns its length, with the newline of the last line.
std::uint64_t read_text(const LineReader& read, std::uint64_t expected_bytes, const LineOptions& o,
                        TextMemory& memory) {
  constexpr std::uint64_t step = std::uint64_t{64} << 20;  // several threads read it
  OutputPages pages;
  if (expected_bytes != 0) pages.add(memory.data(), expected_bytes);
  pages.start();
  std::uint64_t size = 0;
  for (bool ended = false; !ended;) {
    check_stop({.stop = o.stop});
    if (memory.size() < size + extra_bytes + 1) {
      pages.wait();
      memory.grow(memory.size() * 2);
    }
    const std::uint64_t wanted = std::min(step, memory.size() - extra_bytes - size);
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

}  // namespace

LineReport sort_lines(const LineReader& read, const LineWriter& write, const LineOptions& options) {
  if (distributed::is_device_list(options.device))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("device {}: lines are sorted on one device", options.device));
  std::uint64_t size = std::min(options.expected_bytes, files::LineText::max_bytes);
  LineReport report;
  Stopwatch watch;
  try {
    // One byte more than is expected, so that the end shows in the same step.
    TextMemory memory(std::max<std::uint64_t>(size + 1, 1 << 16) + extra_bytes);
    size = read_text(read, size, options, memory);
    report.read_seconds = watch.lap();

    const files::SortedLines lines({memory.data(), size}, options);
    report.lines = lines.count();
    report.device = lines.report().device;
    report.algorithm = lines.report().algorithm;
    report.parameters = lines.report().parameters;
    report.sort_seconds = watch.lap();

    report.written_lines = lines.write(write);
    report.write_seconds = watch.lap();
    return report;
  } catch (const std::bad_alloc&) {
    throw_out_of_memory("sort_lines", size);
  }
}

}  // namespace sortium
