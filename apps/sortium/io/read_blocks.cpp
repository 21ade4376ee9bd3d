#include "io/read_blocks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/blocks.hpp"

namespace app {

namespace {

// The least number of threads: a disk works on several blocks at the same time.
constexpr std::uint64_t least_threads = 4;

}  // namespace

std::uint64_t read_block(int fd, const std::string& name, std::uint64_t at, void* to,
                         std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes) {
    const ssize_t n =
        ::pread(fd, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      throw Failure(exit_runtime, fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    if (n == 0) break;
    done += static_cast<std::uint64_t>(n);
  }
  return done;
}

std::uint64_t read_blocks(int fd, const std::string& name, std::uint64_t at, void* to,
                          std::uint64_t bytes, Progress* progress) {
  std::atomic<std::uint64_t> file_end{bytes};
  for_blocks(std::max(least_threads, sortium::all_cores()), bytes, block_bytes,
             [&](std::uint64_t begin, std::uint64_t end) {
               const std::uint64_t n = read_block(fd, name, at + begin,
                                                  static_cast<std::byte*>(to) + begin, end - begin);
               if (progress != nullptr) progress->advance(n);
               if (n == end - begin) return;
               std::uint64_t least = file_end;
               while (begin + n < least && !file_end.compare_exchange_weak(least, begin + n))
                 continue;
             });
  return file_end;
}

}  // namespace app
