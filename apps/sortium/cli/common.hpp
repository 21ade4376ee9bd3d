// What all commands share: errors, messages, host memory, keys as words.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sortium/core.hpp>
#include <stdexcept>
#include <string>

#include "protocol/basics.hpp"

namespace app {

enum Exit : int {
  exit_success = 0,
  exit_wrong = 1,    // a check failed, or a result is wrong
  exit_usage = 2,    // the command line or an input file
  exit_runtime = 3,  // the device, the disk, memory
};

// An error of the program itself. The library throws sortium::Error.
class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] Exit code() const { return code_; }

 private:
  Exit code_;
};

// Throws a Failure of the command line, or of a file that it names.
[[noreturn]] inline void refuse(const std::string& message) { throw Failure(exit_usage, message); }

// The reader of standard output, or of another pipe, has closed it. The program then ends without a
// message.
class ReaderGone : public Failure {
 public:
  ReaderGone() : Failure(exit_runtime, "the reader of the output is gone") {}
};

// There is no space left on a disk.
class DiskFull : public Failure {
 public:
  explicit DiskFull(const std::string& message) : Failure(exit_runtime, message) {}
};

// Each prints a line to standard error; print_message() puts "sortium: " before it. An error of
// writing is ignored, and an empty text is not printed.
void print_message(const std::string& text);
void print_error(const std::string& text);

// Writes what is buffered for standard output. Throws ReaderGone, or Failure naming the cause.
void flush_output();

// Host memory for records. It begins on a page boundary, so that a CPU device can use it in place;
// much memory asks for large pages, which the system provides in a third of the time. It is not set
// to zero first: that would cost as much as reading the file.
class Bytes {
 public:
  Bytes() = default;
  // Throws Failure naming the size if there is not enough memory.
  explicit Bytes(std::uint64_t size) : size_(size) {
    constexpr std::uint64_t small_page = 4096, large_page = std::uint64_t{2} << 20;
    const std::uint64_t page = size < 4 * large_page ? small_page : large_page;
    const std::uint64_t bytes = (size / page + 1) * page;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes)));
    if (!data_)
      throw Failure(exit_runtime,
                    fmt::format("out of host memory: {} are needed", human_bytes(size)));
    if (page == large_page)
      (void)::madvise(data_.get(), bytes, MADV_HUGEPAGE);  // a refusal does no harm
  }
  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  void shrink(std::uint64_t size) { size_ = size; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::uint64_t size_ = 0;
};

// The raw bits of element `i` of 1, 2, 4 or 8 bytes.
[[nodiscard]] inline std::uint64_t element(const void* data, unsigned width, std::uint64_t i) {
  return with_word(width, [&](auto word) -> std::uint64_t {
    return static_cast<const decltype(word)*>(data)[i];
  });
}

// Returns the number by which the problem's order compares a key: its order bits in the bit range.
[[nodiscard]] inline std::uint64_t rank(const sortium::Problem& p, std::uint64_t key) {
  return sortium::KeyRank(p)(key);
}

[[nodiscard]] std::string key_type_names();  // "u32, i32, ..."

}  // namespace app
