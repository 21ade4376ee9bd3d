#include "io/write_all.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cli/common.hpp"

namespace app {

void fail_to(const char* what, const std::string& name) {
  const int error = errno;
  if (error == EPIPE) throw ReaderGone();
  const bool wrong_name = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                          error == EACCES || error == EROFS || error == ENAMETOOLONG ||
                          error == ELOOP;
  const auto message = fmt::format("cannot {} {}: {}", what, name, std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) throw DiskFull(message);
  throw Failure(wrong_name ? exit_usage : exit_runtime, message);
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

}  // namespace app
