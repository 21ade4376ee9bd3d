// Writes pipes, terminals and devices, and says what went wrong with any file.
#pragma once

#include <cstdint>
#include <string>

namespace app {

// Throws Failure that says what errno says: "cannot WHAT NAME: REASON". Throws ReaderGone if the
// reader of a pipe is gone, and DiskFull if there is no space left.
[[noreturn]] void fail_to(const char* what, const std::string& name);

// Writes `bytes` bytes at the file's own position. Throws as fail_to() does.
void write_all(int fd, const std::string& name, const void* from, std::uint64_t bytes);

}  // namespace app
