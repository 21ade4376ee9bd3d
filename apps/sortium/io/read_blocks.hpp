// Reads regular files at any position, in several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace app {

class Progress;

// Reads `bytes` bytes from byte `at` of a file to `to`, in blocks, in one thread for each core.
// Advances the progress, unless it is null, by the bytes read. Returns how many bytes there are
// from `at` on, up to `bytes`: fewer only if the file ends before. Throws Failure with `name` if
// the file cannot be read.
std::uint64_t read_blocks(int fd, const std::string& name, std::uint64_t at, void* to,
                          std::uint64_t bytes, Progress* progress = nullptr);

// The same in the calling thread.
std::uint64_t read_block(int fd, const std::string& name, std::uint64_t at, void* to,
                         std::uint64_t bytes);

}  // namespace app
