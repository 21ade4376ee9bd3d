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

// Writes `bytes` bytes at byte `at` of a regular file, in blocks, in several threads. The kernel
// begins to write each block to the disk at once, so that a later fsync() takes less time. Throws
// as fail_to() does.
void write_blocks(int fd, const std::string& name, std::uint64_t at, const void* from,
                  std::uint64_t bytes);

}  // namespace app
