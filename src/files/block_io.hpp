// Reads and writes files in blocks, in several threads: what the sorts of files and the program
// share. All functions throw std::system_error "cannot read NAME: …" or "cannot write NAME: …".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../sort/all_cores.hpp"
#include "descriptor.hpp"

namespace sortium::files {

// A multiple of the large page, so that no two threads touch the same page of fresh memory first.
inline constexpr std::uint64_t block_bytes = std::uint64_t{4} << 20;

// Positions, memory and lengths of transfers that bypass the page cache are multiples of this.
inline constexpr std::uint64_t alignment = 4096;

[[nodiscard]] constexpr std::uint64_t aligned_up(std::uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

struct FreeMemory {
  void operator()(std::byte* p) const { std::free(p); }
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;

// Calls body(begin, end) for consecutive blocks of `length` of [0, total), in up to `threads`
// threads. If a call throws, rethrows the first exception; some calls may then not be made.
template <class Body>
void for_blocks(std::uint64_t threads, std::uint64_t total, std::uint64_t length,
                const Body& body) {
  on_threads(threads, (total + length - 1) / length,
             [&](std::uint64_t i) { body(i * length, std::min(total, (i + 1) * length)); });
}

// Throws std::system_error "cannot WHAT NAME".
[[noreturn]] void fail_to(const char* what, const std::string& name, int error);

// Each transfers `bytes` bytes from byte `at` of a file on, in the calling thread. read_block()
// returns how many bytes it read: fewer only if the file ends before.
std::uint64_t read_block(int fd, const std::string& name, std::uint64_t at, void* to,
                         std::uint64_t bytes);
void write_block(int fd, const std::string& name, std::uint64_t at, const void* from,
                 std::uint64_t bytes);

// Frees the disk space of some bytes of a file, which then are zeros. Returns false if the file
// system cannot do that.
[[nodiscard]] bool free_space(int fd, const std::string& name, std::uint64_t at,
                              std::uint64_t bytes);

// The same as read_block() in blocks, in one thread for each core, but at least four. Calls
// `advance`, if there is one, with the number of bytes of each block, from several threads.
std::uint64_t read_blocks(int fd, const std::string& name, std::uint64_t at, void* to,
                          std::uint64_t bytes,
                          const std::function<void(std::uint64_t)>& advance = {});

// Buffers for transfers that must be aligned. Thread-safe.
class AlignedBuffers {
 public:
  static constexpr std::uint64_t bytes = std::uint64_t{512} << 10;  // of each
  // Calls body(buffer) with one that no other thread uses. Throws std::bad_alloc.
  template <class Body>
  void use(const Body& body) {
    AlignedMemory buffer = take();
    body(buffer.get());
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  }

 private:
  [[nodiscard]] AlignedMemory take();

  std::mutex mutex_;
  std::vector<AlignedMemory> free_;
};

// Reads parts of a regular file. What the page cache does not have bypasses it: that takes fewer
// copies, and other programs' files stay there. Uses 2 MiB of memory.
class DirectReader {
 public:
  explicit DirectReader(int fd);

  // As read_blocks(), in four threads. At the end of the file, the kernel may overwrite the rest of
  // the `bytes` bytes, too.
  std::uint64_t read(const std::string& name, std::uint64_t at, void* to, std::uint64_t bytes);

 private:
  [[nodiscard]] bool is_cached(std::uint64_t at, std::uint64_t bytes) const;
  std::uint64_t read_part(const std::string& name, std::uint64_t at, std::byte* to,
                          std::uint64_t bytes);

  int fd_;
  Descriptor direct_;  // the same file, opened with O_DIRECT; none: its file system cannot do that
  AlignedBuffers buffers_;
};

// Writes a regular file from one position on, much of it in several threads. The kernel begins to
// write each block to the disk at once, so that a later fsync() takes less time.
class BlockWriter {
 public:
  // The next write() begins at this byte.
  void seek(std::uint64_t byte) { position_ = flushed_ = byte; }
  // Lets what is written from now on bypass the page cache, if the file system can: a copy less,
  // and other programs' files stay there. Uses 2 MiB of memory.
  void bypass_cache(int fd);
  void write(int fd, const std::string& name, const void* from, std::uint64_t bytes);

 private:
  void write_through_cache(int fd, const std::string& name, const std::byte* from,
                           std::uint64_t bytes);
  void write_directly(const std::string& name, std::uint64_t at, const std::byte* from,
                      std::uint64_t bytes);

  std::uint64_t position_ = 0;
  std::uint64_t flushed_ = 0;  // the disk writes what precedes this byte
  Descriptor direct_;          // the same file, opened with O_DIRECT
  AlignedBuffers buffers_;
};

}  // namespace sortium::files
