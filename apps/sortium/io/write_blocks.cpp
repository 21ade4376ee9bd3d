#include "io/write_blocks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "cli/common.hpp"
#include "io/blocks.hpp"

namespace app {

namespace {

// Most file systems copy one block of a file at a time. A second thread copies while another one
// waits for the disk; more help where the file system lets them.
constexpr std::uint64_t threads = 4;

void write_block(int fd, const std::string& name, std::uint64_t at, const std::byte* from,
                 std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd, from + done, bytes - done, static_cast<off_t>(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = ENOSPC;
    if (n <= 0) fail_to("write", name);
    done += static_cast<std::uint64_t>(n);
  }
}

// Lets the disk begin to write. A hint: an error of the disk shows in fsync().
void flush(int fd, std::uint64_t begin, std::uint64_t end) {
  (void)::sync_file_range(fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                          SYNC_FILE_RANGE_WRITE);
}

}  // namespace

void fail_to(const char* what, const std::string& name) {
  const int error = errno;
  if (error == EPIPE) throw ReaderGone();
  const bool wrong_name = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                          error == EACCES || error == EROFS || error == ENAMETOOLONG ||
                          error == ELOOP;
  throw Failure(wrong_name ? exit_usage : exit_runtime,
                fmt::format("cannot {} {}: {}", what, name, std::strerror(error)));
}

void write_all(int fd, const std::string& name, const void* from, std::uint64_t bytes) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;  // a call writes less than 2 GiB
  const auto* p = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = ::write(fd, p, std::min(bytes, most));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // some parents make a pipe non-blocking
      pollfd one{fd, POLLOUT, 0};
      (void)::poll(&one, 1, -1);
      continue;
    }
    if (n < 0) fail_to("write", name);
    p += n;
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void BlockWriter::write(int fd, const std::string& name, const void* from, std::uint64_t bytes) {
  const auto* const data = static_cast<const std::byte*>(from);
  for_blocks(threads, bytes, block_bytes, [&](std::uint64_t begin, std::uint64_t end) {
    write_block(fd, name, position_ + begin, data + begin, end - begin);
    if (end - begin == block_bytes) flush(fd, position_ + begin, position_ + end);
  });
  position_ += bytes;
  if (position_ - flushed_ < block_bytes) return;
  flush(fd, flushed_, position_);  // what was too little for a block
  flushed_ = position_;
}

}  // namespace app
