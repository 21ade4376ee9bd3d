// Writes files: one part after the other, or a regular file in several threads.
#pragma once

#include <cstdint>
#include <string>

namespace app {

// Throws Failure that says what errno says: "cannot WHAT NAME: REASON". Throws ReaderGone if the
// reader of a pipe is gone.
[[noreturn]] void fail_to(const char* what, const std::string& name);

// Writes `bytes` bytes at the file's own position. Throws as fail_to() does.
void write_all(int fd, const std::string& name, const void* from, std::uint64_t bytes);

// Writes a regular file from one position on, much of it in several threads. The kernel begins to
// write each block to the disk at once, so that a later fsync() takes less time.
class BlockWriter {
 public:
  // The next write() begins at this byte.
  void seek(std::uint64_t byte) { position_ = flushed_ = byte; }
  // Throws as fail_to() does.
  void write(int fd, const std::string& name, const void* from, std::uint64_t bytes);

 private:
  std::uint64_t position_ = 0;
  std::uint64_t flushed_ = 0;  // the disk writes what precedes this byte
};

}  // namespace app
