#include "io/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "../../../src/files/temporary.hpp"
#include "cli/common.hpp"
#include "io/printable.hpp"
#include "io/replacement.hpp"
#include "io/write_all.hpp"

namespace app {

namespace fs = std::filesystem;

namespace {

// A file of this length is not read at once by whoever needs it next, and to copy it to the page
// cache takes longer than to wait for the disk.
constexpr std::uint64_t least_direct_bytes = std::uint64_t{256} << 20;

// ---------------------------------------------------------------------------------------------
// Signals
// ---------------------------------------------------------------------------------------------

// Signal handlers may access only such fixed memory.
struct Slot {
  volatile std::sig_atomic_t used = 0;
  char path[PATH_MAX] = {};
};
std::array<Slot, 4> slots;

extern "C" void remove_temporaries(int signal) {
  for (const auto& s : slots)
    if (s.used != 0) ::unlink(s.path);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// Returns the slot that now has the path; -1 if none is free, or the path is too long.
int claim(const fs::path& path) {
  const std::string text = path.string();
  const auto free = std::ranges::find(slots, 0, [](const Slot& s) { return int{s.used}; });
  if (free == slots.end() || text.size() >= sizeof free->path) return -1;
  std::memcpy(free->path, text.c_str(), text.size() + 1);
  free->used = 1;
  return static_cast<int>(free - slots.begin());
}

void release_slot(int& slot) {
  if (slot >= 0) slots[static_cast<std::size_t>(std::exchange(slot, -1))].used = 0;
}

// ---------------------------------------------------------------------------------------------
// Destinations
// ---------------------------------------------------------------------------------------------

std::optional<int> number_of(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

// Returns the process whose open files a directory lists, such as "/proc/1234/fd".
std::optional<int> process_of(const fs::path& directory) {
  std::vector<std::string> parts;
  for (const auto& part : directory) parts.push_back(part.string());
  const bool of_thread = parts.size() == 6 && parts[3] == "task";
  if ((parts.size() != 4 && !of_thread) || parts[0] != "/" || parts[1] != "proc" ||
      parts.back() != "fd")
    return std::nullopt;
  return number_of(parts[2]);
}

// Where a path leads.
struct Destination {
  fs::path file;                  // links followed
  std::optional<int> descriptor;  // `file` names an open descriptor of this process
  bool is_link = false;           // `file` names an open file of another process
};

// Follows links one by one. The last one may lead to a file that does not exist, or to an open
// descriptor, whose file its owner still uses and which must not be replaced. Returns nothing, with
// the reason in errno, if a directory does not exist or the links form a loop.
std::optional<Destination> resolve(const std::string& path) {
  constexpr int most_links = 40;  // as the kernel
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  for (int i = 0; i <= most_links && !error; ++i) {
    const fs::path name = at.filename();
    if (name.empty() || name == "." || name == "..") {
      at = fs::canonical(at, error);
      if (!error) return Destination{at, {}, false};
      break;
    }
    const fs::path directory = fs::canonical(at.parent_path(), error);
    if (error) break;
    at = directory / name;
    if (const auto process = process_of(directory)) {
      const auto descriptor = number_of(name.string());
      if (descriptor && process == ::getpid()) return Destination{at, descriptor, false};
      return Destination{at, {}, true};
    }
    struct stat status {};
    if (::lstat(at.c_str(), &status) != 0) {
      if (errno != ENOENT) return std::nullopt;
      return Destination{at, {}, false};
    }
    if (!S_ISLNK(status.st_mode)) return Destination{at, {}, false};
    at = directory / fs::read_symlink(at, error);
  }
  errno = error ? error.value() : ELOOP;
  return std::nullopt;
}

// ---------------------------------------------------------------------------------------------
// Attributes
// ---------------------------------------------------------------------------------------------

// Returns true if the kernel says that the file has this attribute (STATX_ATTR_*).
bool has_attribute(const fs::path& path, std::uint64_t attribute) {
  struct statx status {};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &status) == 0 &&
         (status.stx_attributes & status.stx_attributes_mask & attribute) != 0;
}

// Returns the names of a file's extended attributes; none if its file system has no attributes.
std::vector<std::string> attribute_names(const fs::path& path) {
  std::string list;
  for (ssize_t size = 0; (size = ::listxattr(path.c_str(), nullptr, 0)) > 0;) {
    list.resize(static_cast<std::size_t>(size));
    size = ::listxattr(path.c_str(), list.data(), list.size());
    if (size >= 0) {
      list.resize(static_cast<std::size_t>(size));
      break;
    }
    if (errno != ERANGE) return {};  // ERANGE: more attributes were added since
  }
  std::vector<std::string> names;
  for (std::size_t at = 0; at < list.size(); at += names.back().size() + 1)
    names.emplace_back(list.c_str() + at);
  return names;
}

// Copies an extended attribute. Returns false, and errno says why, if that fails.
bool copy_attribute(const fs::path& from, int to, const std::string& name) {
  std::string value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = ::getxattr(from.c_str(), name.c_str(), value.data(), value.size());
  if (size < 0) return errno == ENODATA;  // removed in the meantime
  return ::fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(size), 0) == 0;
}

}  // namespace

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // Signals that nohup ignores must stay ignored.
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    now.sa_handler = remove_temporaries;
    ::sigaction(signal, &now, nullptr);
  }
}

// ---------------------------------------------------------------------------------------------
// Output
// ---------------------------------------------------------------------------------------------

std::string Output::name() const { return name_ == "-" ? "standard output" : printable(name_); }

void Output::fail(const char* what) const { fail_to(what, name()); }

void Output::refuse(const std::string& why) const {
  throw Failure(exit_usage,
                fmt::format("cannot replace {}: {}; write to another file and copy that "
                            "over it",
                            name(), why));
}

Output::Output(const std::string& path) : name_(path) {
  const auto destination = path == "-" ? Destination{{}, STDOUT_FILENO, false} : resolve(path);
  if (!destination) fail("write");
  if (destination->descriptor) {
    write_through(*destination->descriptor);
    return;
  }
  target_ = destination->file;
  if (!destination->is_link) {
    finish_replacements(target_);
    remove_stale_temporaries(target_.parent_path());
  }

  struct stat old {};
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (destination->is_link || (exists && !S_ISREG(old.st_mode))) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | (destination->is_link ? O_TRUNC : 0));
    if (fd_ < 0) fail("open");
    return;
  }
  if (exists) check_replaceable(old);
  before_ = state_of(target_);
  create(exists ? &old : nullptr);
}

// Writes to an open descriptor at its current position; the rest of its file is not changed.
void Output::write_through(int fd) {
  fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd_ < 0) fail("write");
  if ((::fcntl(fd_, F_GETFL) & O_ACCMODE) == O_RDONLY) {
    errno = EBADF;
    fail("write");
  }
}

// Refuses a file that rename() could not replace, so that the error shows before the sorting, and a
// file whose hard links the replacement would separate.
void Output::check_replaceable(const struct stat& old) const {
  // A file without write permission is not replaced, although the directory would allow it.
  if (::access(target_.c_str(), W_OK) != 0) fail("write");
  if (old.st_nlink > 1)
    refuse(fmt::format("it has {} hard links, and the others would keep the old contents",
                       old.st_nlink));
  if (has_attribute(target_, STATX_ATTR_MOUNT_ROOT)) refuse("it is a mount point");
  if (has_attribute(target_, STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
    refuse("it is immutable, or may only be appended to");
  struct stat directory {};
  const auto user = ::geteuid();
  if (::stat(target_.parent_path().c_str(), &directory) == 0 &&
      (directory.st_mode & S_ISVTX) != 0 && user != 0 && user != old.st_uid &&
      user != directory.st_uid)
    refuse("it belongs to another user, in a directory with the sticky bit");
}

void Output::create(const struct stat* old) {
  // Only this user may use it until it has the owner and the mode of the old file.
  // A signal may come as soon as the file exists, so the path is claimed before.
  auto [path, fd] = sortium::files::create_temporary(target_, old != nullptr ? 0600 : 0666,
                                                     [this](const fs::path& next) {
                                                       release_slot(slot_);
                                                       slot_ = claim(next);
                                                     });
  if (fd < 0) {
    const int error = errno;
    release_slot(slot_);
    errno = error;
    fail("create a file beside");
  }
  temporary_ = path;
  fd_ = fd;
  try {
    if (old != nullptr) keep_attributes(*old);
    // Another user becomes the owner at the end. Until then the file is this user's, whose next run
    // removes it if this one dies.
    if (old != nullptr && old->st_uid != ::geteuid() &&
        ::fchown(fd_, ::geteuid(), static_cast<gid_t>(-1)) != 0)
      fail("write");
  } catch (...) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
    release();
    throw;
  }
}

void Output::keep_attributes(const struct stat& old) const {
  struct stat now {};
  if (::fstat(fd_, &now) != 0) fail("write");
  if ((now.st_uid != old.st_uid || now.st_gid != old.st_gid) &&
      ::fchown(fd_, old.st_uid, old.st_gid) != 0)
    refuse(fmt::format("it belongs to user {} and group {}, which a new file cannot ({})",
                       old.st_uid, old.st_gid, std::strerror(errno)));
  if (::fchmod(fd_, old.st_mode & 07777) != 0) fail("set the mode of");

  const auto names = attribute_names(target_);
  for (const auto& attribute : names) {
    // Security modules label files themselves, and a label may be valid for the old content only.
    if (attribute.starts_with("security.")) continue;
    if (!copy_attribute(target_, fd_, attribute))
      refuse(fmt::format("its extended attribute {} cannot be copied ({})", printable(attribute),
                         std::strerror(errno)));
  }
  // The new file has the directory's default ACL, not the old file's.
  constexpr const char* acl = "system.posix_acl_access";
  if (std::ranges::find(names, acl) == names.end()) (void)::fremovexattr(fd_, acl);
}

Output::~Output() {
  if (fd_ >= 0) ::close(fd_);
  if (is_temporary()) ::unlink(temporary_.c_str());
  release();
}

void Output::release() {
  temporary_.clear();
  release_slot(slot_);
}

void Output::reserve(std::uint64_t bytes) {
  if (!is_temporary() || bytes == 0) return;
  // A file system that cannot reserve space reports a full disk when the file is written.
  if (::fallocate(fd_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    fail("write");
  if (bytes >= least_direct_bytes) bypass_cache();
}

void Output::bypass_cache() {
  if (is_temporary()) writer_.bypass_cache(fd_);
}

void Output::write(const void* data, std::uint64_t bytes) {
  if (is_temporary())
    writer_.write(fd_, name(), data, bytes);
  else
    write_all(fd_, name(), data, bytes);
}

void Output::accept_changes() { before_ = state_of(target_); }

void Output::sync() const {
  if (is_temporary() && ::fsync(fd_) != 0) fail("write");
}

void Output::publish() {
  sync();
  if (is_temporary()) replace({temporary_, target_, before_});
  release();
  if (::close(std::exchange(fd_, -1)) != 0) fail("write");
}

void Output::publish(Output& first, Output& second) {
  if (!first.is_temporary() || !second.is_temporary()) {
    first.publish();
    second.publish();
    return;
  }
  first.sync();
  second.sync();
  // From here on a signal handler must not remove the two temporary files: the record of the commit
  // may name them.
  for (auto* output : {&first, &second})
    if (output->slot_ >= 0) slots[static_cast<std::size_t>(output->slot_)].used = 0;
  bool committed = false;
  const auto release_both = [&] {
    first.release();
    second.release();
  };
  try {
    replace_both({first.temporary_, first.target_, first.before_},
                 {second.temporary_, second.target_, second.before_}, committed);
  } catch (...) {
    if (committed) release_both();
    throw;
  }
  release_both();
}

OutputPart::OutputPart(const fs::path& temporary, std::string name) : name_(std::move(name)) {
  slot_ = claim(temporary);
  fd_ = ::open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd_ >= 0) return;
  const int error = errno;
  release_slot(slot_);
  throw Failure(exit_runtime,
                fmt::format("cannot write {}: this process does not see {}, which the first one "
                            "has made ({})",
                            name_, printable(temporary.string()), std::strerror(error)));
}

OutputPart::~OutputPart() {
  ::close(fd_);
  release_slot(slot_);
}

void OutputPart::write(const void* data, std::uint64_t bytes) {
  writer_.write(fd_, name_, data, bytes);
}

void OutputPart::sync() {
  if (::fsync(fd_) != 0) fail_to("write", name_);
}

void Output::spare(const std::string& input, const char* why) const {
  struct stat from {
  }, to{};
  if (is_temporary() && ::stat(target_.c_str(), &to) == 0 &&
      (input == "-" ? ::fstat(STDIN_FILENO, &from) : ::stat(input.c_str(), &from)) == 0 &&
      from.st_dev == to.st_dev && from.st_ino == to.st_ino)
    throw Failure(exit_usage, fmt::format("{} would replace {}, {}; write to another file", name(),
                                          input == "-" ? "standard input" : printable(input), why));
}

bool Output::same_file(const Output& other) const {
  if (name_ == other.name_ || (!target_.empty() && target_ == other.target_)) return true;
  // An open descriptor may lead to the file that the other one replaces.
  const auto identify = [](const Output& output, struct stat& status) {
    return output.is_temporary() ? ::stat(output.target_.c_str(), &status) == 0
                                 : ::fstat(output.fd_, &status) == 0;
  };
  struct stat a {
  }, b{};
  return identify(*this, a) && identify(other, b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace app
