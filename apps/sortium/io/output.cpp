#include "io/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/common.hpp"

namespace app {

namespace fs = std::filesystem;

namespace {

// A signal handler may touch nothing but such fixed memory.
struct Temporary {
  volatile std::sig_atomic_t used = 0;
  char path[PATH_MAX] = {};
};
std::array<Temporary, 4> temporaries;

extern "C" void remove_temporaries(int signal) {
  for (const auto& t : temporaries)
    if (t.used != 0) ::unlink(t.path);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int claim(const fs::path& path) {
  const std::string text = path.string();
  for (std::size_t i = 0; i < temporaries.size(); ++i) {
    auto& t = temporaries[i];
    if (t.used != 0 || text.size() >= sizeof t.path) continue;
    std::memcpy(t.path, text.c_str(), text.size() + 1);
    t.used = 1;
    return static_cast<int>(i);
  }
  throw Failure(exit_usage, fmt::format("the path {} is too long", text));
}

}  // namespace

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
      continue;  // as nohup wants it
    now.sa_handler = remove_temporaries;
    ::sigaction(signal, &now, nullptr);
  }
}

void Output::fail(const char* what) const {
  const int error = errno;
  const bool wrong_name = error == ENOENT || error == ENOTDIR || error == EISDIR ||
                          error == EACCES || error == EROFS || error == ENAMETOOLONG ||
                          error == ELOOP;
  throw Failure(wrong_name ? exit_usage : exit_runtime,
                fmt::format("cannot {} {}: {}", what, is_stdout() ? "standard output" : name_,
                            std::strerror(error)));
}

Output::Output(const std::string& path) : name_(path) {
  if (is_stdout()) {
    fd_ = STDOUT_FILENO;
    return;
  }
  std::error_code ignored;
  target_ = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  if (target_.empty()) target_ = path;

  struct stat there {};
  const bool exists = ::stat(target_.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (exists && !S_ISREG(there.st_mode)) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail("open");
    return;
  }
  // A file that may not be written is not replaced either, though the directory would allow it.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail("write");

  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const fs::path temporary =
      target_.parent_path() / fmt::format(".sortium-{}-{:x}.tmp", ::getpid(), now);
  slot_ = claim(temporary);
  fd_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    temporaries[static_cast<std::size_t>(slot_)].used = 0;
    fail("create");
  }
  if (exists && ::fchmod(fd_, there.st_mode & 07777) != 0) {
    // Somebody else's file: its permissions cannot be kept, its contents are replaced all the same.
  }
}

Output::~Output() {
  if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
  if (slot_ < 0) return;
  auto& t = temporaries[static_cast<std::size_t>(slot_)];
  ::unlink(t.path);
  t.used = 0;
}

void Output::reserve(std::uint64_t bytes) {
  if (slot_ < 0 || bytes == 0) return;
  // Not every file system can; then the writing will tell.
  if (::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    fail("write");
}

void Output::write(const void* data, std::uint64_t bytes) {
  const auto* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd_, p, std::min<std::uint64_t>(bytes, std::uint64_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    p += n;
    bytes -= static_cast<std::uint64_t>(n);
  }
}

void Output::close() {
  if (fd_ == STDOUT_FILENO) return;
  if (slot_ >= 0 && ::fsync(fd_) != 0) fail("write");
  if (::close(std::exchange(fd_, -1)) != 0) fail("write");
}

void Output::publish() {
  if (slot_ < 0) return;
  auto& t = temporaries[static_cast<std::size_t>(slot_)];
  if (::rename(t.path, target_.c_str()) != 0) fail("write");
  t.used = 0;
  slot_ = -1;
  // The new name, too, should survive a power cut; where the directory cannot be synced the file is
  // there anyway.
  const auto directory = target_.parent_path();
  const int fd =
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

bool Output::same_file(const Output& other) const {
  return name_ == other.name_ || (!target_.empty() && target_ == other.target_);
}

}  // namespace app
