#include "temporary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "descriptor.hpp"

namespace sortium::files {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = ".sortium-";

bool same_inode(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

std::string unique_name(std::string_view suffix) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return fmt::format("{}{}-{:x}{}", prefix, ::getpid(), now, suffix);
}

bool is_own_name(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size())
    return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  const auto dash = name.find('-');
  if (dash == 0 || dash == std::string_view::npos || dash + 1 == name.size()) return false;
  const auto is_decimal = [](char c) { return c >= '0' && c <= '9'; };
  return std::ranges::all_of(name.substr(0, dash), is_decimal) &&
         std::ranges::all_of(name.substr(dash + 1),
                             [&](char c) { return is_decimal(c) || (c >= 'a' && c <= 'f'); });
}

std::vector<fs::path> own_files(const fs::path& directory, std::string_view suffix) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error))
    if (is_own_name(i->path().filename().string(), suffix)) out.push_back(i->path());
  return out;
}

bool is_private(const struct stat& file) {
  return S_ISREG(file.st_mode) && file.st_uid == ::geteuid() && file.st_nlink == 1;
}

bool is_there(const fs::path& path, int fd) {
  struct stat named {
  }, open{};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && same_inode(named, open);
}

void sync_directory(const fs::path& directory) {
  const Descriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.is_open()) ::fsync(file.get());
}

TemporaryFile create_temporary(const fs::path& target, mode_t mode,
                               const std::function<void(const fs::path&)>& announce) {
  for (;;) {
    const fs::path path = target.parent_path() / unique_name(temporary_suffix);
    announce(path);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST) continue;  // two files within one tick of the clock
    if (fd < 0) return {};
    // A file system without locks keeps the temporary files of processes that died.
    (void)::flock(fd, LOCK_EX | LOCK_NB);
    if (is_there(path, fd)) return {path, fd};
    ::close(fd);  // before it was locked, another run removed it as stale
  }
}

void remove_stale_temporaries(const fs::path& directory, const std::set<std::string>& needed) {
  for (const auto& path : own_files(directory, temporary_suffix)) {
    if (needed.contains(path.filename().string())) continue;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !is_private(status)) continue;
    // The lock is free: the process that wrote the file has died.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && is_there(path, file.get()))
      ::unlink(path.c_str());
  }
}

}  // namespace sortium::files
