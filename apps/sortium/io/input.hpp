// A file that the program reads: a regular file, a pipe, or standard input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../../../src/files/block_io.hpp"
#include "cli/common.hpp"
#include "cli/progress.hpp"

namespace app {

// The forms of a file. `npy` includes its header.
enum class Kind : std::uint8_t { npy, raw, text };

// A file to read, or "-" for standard input.
class Input {
 public:
  // Opens the file. Throws Failure if it cannot be read.
  explicit Input(const std::string& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The file's name in messages, with control characters escaped.
  [[nodiscard]] std::string name() const;
  // The file's form: npy by its name or its first bytes; else text if the user says so; else raw.
  // Call it before the first read().
  [[nodiscard]] Kind kind(bool text, Progress& progress);
  // Reads `bytes` bytes, much of a regular file in several threads. Returns how many it read: fewer
  // only at the end of the file. Throws Failure.
  std::uint64_t read(void* to, std::uint64_t bytes);
  // Lets read() bypass the page cache where that does not have the file already.
  void bypass_cache();
  // Where the next read() of a regular file begins.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // Reads all that is left. Throws Failure, also if a regular file changes its length meanwhile.
  [[nodiscard]] Bytes rest(Progress& progress);
  [[nodiscard]] bool is_regular() const { return is_regular_; }
  // The bytes that are left of a regular file; 0 if it has no size before it is read (/proc).
  [[nodiscard]] std::uint64_t left() const { return size_ > position_ ? size_ - position_ : 0; }
  // Reads `bytes` bytes of a regular file, beginning `skipped` bytes after those that have been
  // read. Throws Failure, also if the file has changed its length.
  [[nodiscard]] Bytes part(std::uint64_t skipped, std::uint64_t bytes, Progress& progress);

 private:
  std::uint64_t fetch(char* to, std::uint64_t bytes);
  std::uint64_t read_regular(void* to, std::uint64_t bytes);
  void check_length() const;

  std::string path_;
  int fd_ = -1;
  bool is_regular_ = false;
  bool ended_ = false;  // a terminal has an end of file more than once; the first one counts
  std::string head_;    // of a pipe: read by kind() and not yet taken by read()
  // Of a regular file: its length when it was opened, and where the next read() begins.
  std::uint64_t size_ = 0, position_ = 0;
  std::unique_ptr<sortium::files::DirectReader> direct_;  // see bypass_cache()
};

// Throws Failure: "cannot read NAME: `why`".
[[noreturn]] void refuse(const Input& input, const std::string& why);

inline constexpr const char* file_became_shorter = "it has become shorter while it was read";
inline constexpr const char* file_became_longer = "it has become longer while it was read";

}  // namespace app
