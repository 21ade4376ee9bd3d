#include "io/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/npy.hpp"
#include "io/printable.hpp"
#include "io/replacement.hpp"

namespace app {

using sortium::files::read_block;
using sortium::files::read_blocks;

namespace {

constexpr std::uint64_t chunk = std::uint64_t{8}
                                << 20;  // bytes read at a time if the size is unknown

// Waits until a non-blocking descriptor can be read. Some parent processes make a pipe
// non-blocking.
void wait_to_read(int fd) {
  pollfd one{fd, POLLIN, 0};
  (void)::poll(&one, 1, -1);
}

}  // namespace

void refuse(const Input& input, const std::string& why) {
  throw Failure(exit_usage, fmt::format("cannot read {}: {}", input.name(), why));
}

Input::Input(const std::string& path) : path_(path) {
  if (path != "-") {
    std::error_code absent;  // it may appear when an interrupted replacement is finished
    const auto file = std::filesystem::canonical(path, absent);
    finish_replacements(absent ? std::filesystem::absolute(path) : file);
  }
  fd_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd_ < 0 || ::fstat(fd_, &status) != 0) refuse(*this, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse(*this, std::strerror(EISDIR));
  is_regular_ = S_ISREG(status.st_mode);
  if (is_regular_) {
    // A parent may have read from standard input before.
    const off_t at = ::lseek(fd_, 0, SEEK_CUR);
    size_ = static_cast<std::uint64_t>(status.st_size);
    position_ = at < 0 ? 0 : static_cast<std::uint64_t>(at);
  }
}

Input::~Input() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

std::string Input::name() const { return path_ == "-" ? "standard input" : printable(path_); }

Kind Input::kind(bool text, Progress& progress) {
  progress.phase("reading " + name());  // the first bytes of a pipe may arrive late
  if (path_.ends_with(".npy")) return Kind::npy;
  std::string head(npy_magic_bytes, '\0');
  head.resize(is_regular_ ? read_block(fd_, name(), position_, head.data(), head.size())
                          : fetch(head.data(), head.size()));
  if (!is_regular_) head_ = head;
  if (is_npy_magic(head)) return Kind::npy;
  return text ? Kind::text : Kind::raw;
}

std::uint64_t Input::fetch(char* to, std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes && !ended_) {
    const ssize_t n = ::read(fd_, to + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      wait_to_read(fd_);
      continue;
    }
    if (n < 0)
      throw Failure(exit_runtime, fmt::format("cannot read {}: {}", name(), std::strerror(errno)));
    ended_ = n == 0;
    done += static_cast<std::uint64_t>(n);
  }
  return done;
}

// Several threads read what the file had when it was opened, and one what has been appended.
std::uint64_t Input::read_regular(void* to, std::uint64_t bytes) {
  const std::uint64_t known = std::min(bytes, left());
  std::uint64_t done = direct_ ? direct_->read(name(), position_, to, known)
                               : read_blocks(fd_, name(), position_, to, known);
  if (done == known)
    done +=
        read_block(fd_, name(), position_ + done, static_cast<std::byte*>(to) + done, bytes - done);
  position_ += done;
  // A process that inherits standard input goes on behind what was read.
  if (fd_ == STDIN_FILENO) (void)::lseek(fd_, static_cast<off_t>(position_), SEEK_SET);
  return done;
}

std::uint64_t Input::read(void* to, std::uint64_t bytes) {
  if (is_regular_) return read_regular(to, bytes);
  auto* const out = static_cast<char*>(to);
  const std::size_t taken = std::min<std::uint64_t>(head_.size(), bytes);
  std::memcpy(out, head_.data(), taken);
  head_.erase(0, taken);
  return taken + fetch(out + taken, bytes - taken);
}

void Input::bypass_cache() {
  if (is_regular_) direct_ = std::make_unique<sortium::files::DirectReader>(fd_);
}

Bytes Input::rest(Progress& progress) {
  if (left() != 0) return part(0, left(), progress);
  progress.phase("reading " + name());
  Bytes out(chunk);
  std::uint64_t done = 0;
  for (;;) {
    if (done == out.size()) {
      Bytes larger(out.size() * 2);
      std::memcpy(larger.data(), out.data(), done);
      out = std::move(larger);
    }
    const std::uint64_t wanted = std::min(chunk, out.size() - done);
    const std::uint64_t n = read(out.data() + done, wanted);
    done += n;
    if (n < wanted) break;
  }
  out.shrink(done);
  return out;
}

Bytes Input::part(std::uint64_t skipped, std::uint64_t bytes, Progress& progress) {
  progress.phase("reading " + name(), bytes);
  position_ += skipped;
  Bytes out(bytes);
  const std::uint64_t n = read_blocks(fd_, name(), position_, out.data(), bytes,
                                      [&](std::uint64_t read) { progress.advance(read); });
  position_ += n;
  check_length();
  if (n < bytes) refuse(*this, file_became_shorter);
  if (fd_ == STDIN_FILENO) (void)::lseek(fd_, static_cast<off_t>(position_), SEEK_SET);
  return out;
}

void Input::check_length() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) refuse(*this, std::strerror(errno));
  const auto now = static_cast<std::uint64_t>(status.st_size);
  if (now != size_) refuse(*this, now < size_ ? file_became_shorter : file_became_longer);
}

}  // namespace app
