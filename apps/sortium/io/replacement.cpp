#include "io/replacement.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../../../src/files/descriptor.hpp"
#include "../../../src/files/temporary.hpp"
#include "cli/common.hpp"
#include "io/printable.hpp"

namespace app {

namespace fs = std::filesystem;

using sortium::files::create_temporary;
using sortium::files::Descriptor;
using sortium::files::is_own_name;
using sortium::files::is_private;
using sortium::files::is_there;
using sortium::files::own_files;
using sortium::files::record_suffix;
using sortium::files::sync_directory;
using sortium::files::temporary_suffix;
using sortium::files::TemporaryFile;
using sortium::files::unique_name;

namespace {

constexpr std::string_view record_title = "sortium commit record 1";
constexpr std::size_t max_record_size = 1 << 16;  // bytes: more than six paths can have

[[noreturn]] void fail(const char* what, const fs::path& path) {
  const int error = errno;
  throw Failure(exit_runtime, fmt::format("cannot {} {}: {}", what, printable(path.string()),
                                          std::strerror(error)));
}

// Returns true if a file has the owner of `target`, as after give_owner().
bool is_owned_alike(const struct stat& file, const fs::path& target) {
  struct stat old {};
  return S_ISREG(file.st_mode) && file.st_nlink == 1 && ::lstat(target.c_str(), &old) == 0 &&
         old.st_uid == file.st_uid;
}

// Gives a temporary file the owner of its target, and the mode again, of which the system removes
// bits then. Returns false, and errno says why, if that fails.
bool give_owner(const fs::path& temporary, const fs::path& target) {
  struct stat old {
  }, now{};
  if (::lstat(target.c_str(), &old) != 0 || old.st_uid == ::geteuid()) return true;
  const Descriptor file(::open(temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() || ::fstat(file.get(), &now) != 0) return false;
  if (now.st_uid == old.st_uid) return true;
  errno = EPERM;  // somebody has put another file in its place
  return is_private(now) && ::fchown(file.get(), old.st_uid, static_cast<gid_t>(-1)) == 0 &&
         ::fchmod(file.get(), old.st_mode & 07777) == 0;
}

// Renames a temporary file to its target. Returns false, and errno says why, if that fails.
bool rename_to_target(const fs::path& temporary, const fs::path& target) {
  return give_owner(temporary, target) && ::rename(temporary.c_str(), target.c_str()) == 0;
}

// ---------------------------------------------------------------------------------------------
// Commit records
// ---------------------------------------------------------------------------------------------

// One rename of a commit record.
struct Step {
  fs::path directory;           // absolute, or "." for the record's own directory
  std::string temporary, name;  // in that directory
  std::string before;           // the target's state when the record was written
};

struct Record {
  std::string device;  // of the directory of the first step
  std::array<Step, 2> steps;
};

std::string device_of(const fs::path& directory) {
  struct stat s {};
  return ::stat(directory.c_str(), &s) == 0 ? std::to_string(s.st_dev) : "none";
}

// Returns a record as text: its title and its parts, each followed by a NUL, which no path
// contains.
std::string text_of(const Record& record) {
  std::string out;
  const auto add = [&](std::string_view part) { (out += part) += '\0'; };
  add(record_title);
  add(record.device);
  for (const auto& s : record.steps)
    for (const auto& part : {s.directory.string(), s.temporary, s.name, s.before}) add(part);
  return out;
}

// Returns nothing if the text is not a record.
std::optional<Record> parse_record(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  if (parts.size() != 10 || parts[0] != record_title) return std::nullopt;
  Record record;
  record.device = parts[1];
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string* const p = &parts[2 + i * 4];
    record.steps[i] = {p[0], p[1], p[2], p[3]};
    const bool is_name = !p[2].empty() && p[2].find('/') == std::string::npos;
    const bool is_directory = p[0] == "." || p[0].starts_with('/');
    if (!is_own_name(p[1], temporary_suffix) || !is_name || !is_directory) return std::nullopt;
  }
  return record;
}

// Reads a record. Returns nothing unless this user wrote it and no other user could change it.
std::optional<Record> read_record(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !is_private(status) || (status.st_mode & 077) != 0)
    return std::nullopt;
  std::string text(max_record_size, '\0');
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  if (n < 0) return std::nullopt;
  return parse_record(std::string_view(text).substr(0, static_cast<std::size_t>(n)));
}

// Writes a record whole, and returns it locked. Throws Failure.
Descriptor write_record(const Record& record, const fs::path& path) {
  const TemporaryFile temporary = create_temporary(path, 0600, [](const fs::path&) {});
  if (temporary.fd < 0) fail("create a file beside", path);
  Descriptor file(temporary.fd);
  const std::string text = text_of(record);
  const bool written =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.get()) == 0 && ::rename(temporary.path.c_str(), path.c_str()) == 0;
  if (!written) {
    const int error = errno;
    ::unlink(temporary.path.c_str());
    errno = error;
    fail("write", path);
  }
  sync_directory(path.parent_path());
  return file;
}

// ---------------------------------------------------------------------------------------------
// Recovery
// ---------------------------------------------------------------------------------------------

fs::path directory_of(const Step& step, const fs::path& record) {
  return step.directory == "." ? record.parent_path() : step.directory;
}

// The reason why a replacement cannot be completed; empty: there is none.
using Obstacle = std::string;

// Makes one rename unless it has been made.
Obstacle finish(const Step& step, const fs::path& record) {
  const fs::path directory = directory_of(step, record);
  const fs::path temporary = directory / step.temporary, target = directory / step.name;
  struct stat status {};
  if (::lstat(temporary.c_str(), &status) != 0) return {};
  if (!is_private(status) && !is_owned_alike(status, target))
    return fmt::format("{} is not this user's own", temporary.string());
  if (state_of(target) != step.before)
    return fmt::format("{} has been changed since; rename {} to it, or remove {} and {}",
                       target.string(), temporary.string(), temporary.string(), record.string());
  if (!rename_to_target(temporary, target))
    return fmt::format("cannot rename {} to {}: {}", temporary.string(), target.string(),
                       std::strerror(errno));
  sync_directory(directory);
  return {};
}

// Opens and locks a record, after the process that uses it has released it. Returns a closed
// descriptor if the record is gone.
Descriptor lock_record(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return file;
  while (::flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) return Descriptor(-1);
  return is_there(path, file.get()) ? std::move(file) : Descriptor(-1);
}

// Completes the replacements of a record that lies in the directory of its first step.
Obstacle finish_first(const Record& record, const fs::path& path) {
  for (const auto& step : record.steps)
    if (auto obstacle = finish(step, path); !obstacle.empty()) return obstacle;
  if (record.steps[1].directory != ".")
    ::unlink((record.steps[1].directory / path.filename()).c_str());
  ::unlink(path.c_str());
  return {};
}

// Completes the replacements of a record's copy, which lies beside the second target. Does so only
// if the record beside the first target exists.
Obstacle finish_copy(const Record& record, const fs::path& path) {
  const fs::path& first = record.steps[0].directory;
  const fs::path deciding = first / path.filename();
  if (device_of(first) != record.device)
    return fmt::format("{} cannot be reached, or is on another device", first.string());
  if (const Descriptor file = lock_record(deciding); file.is_open()) {
    const auto decided = read_record(file.get());
    if (!decided) return fmt::format("{} is no commit record", deciding.string());
    return finish_first(*decided, deciding);
  }
  // The record does not exist: the process died before it began to replace, or after both renames.
  ::unlink((path.parent_path() / record.steps[1].temporary).c_str());
  ::unlink(path.c_str());
  return {};
}

bool concerns(const Record& record, const fs::path& path, const fs::path& file) {
  return std::ranges::any_of(
      record.steps, [&](const Step& step) { return directory_of(step, path) / step.name == file; });
}

// Keeps other runs from replacing two files in the same directories while it exists.
class DirectoryLocks {
 public:
  explicit DirectoryLocks(const std::set<fs::path>& directories) {
    for (int attempt = 0; attempt < most_attempts && !lock(directories); ++attempt)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

 private:
  // Others hold such a lock for milliseconds. One that is held for longer is that of a parent, as
  // in `flock . sortium sort ...`, which would never end.
  static constexpr int most_attempts = 100;

  bool lock(const std::set<fs::path>& directories) {
    locked_.clear();
    for (const auto& directory : directories) {
      Descriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        locked_.clear();
        return false;
      }
      locked_.push_back(std::move(file));
    }
    return true;
  }

  std::list<Descriptor> locked_;
};

// Throws Failure if another process has changed a target since the run began.
void check_unchanged(const Replacement& first, const Replacement& second) {
  for (const auto& [one, other] : {std::pair(&first, &second), std::pair(&second, &first)})
    if (state_of(one->target) != one->before)
      throw Failure(
          exit_runtime,
          fmt::format("another process has changed {} since this run began; neither it "
                      "nor {} is replaced",
                      printable(one->target.string()), printable(other->target.string())));
}

}  // namespace

std::string state_of(const fs::path& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return "absent";
  return fmt::format("{} {} {}.{:09}", s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

void replace(const Replacement& one) {
  if (!rename_to_target(one.temporary, one.target)) fail("write", one.target);
  sync_directory(one.target.parent_path());
}

void replace_both(const Replacement& first, const Replacement& second, bool& committed) {
  committed = false;
  const auto step = [](const Replacement& r, const fs::path& directory) {
    return Step{directory, r.temporary.filename().string(), r.target.filename().string(), r.before};
  };
  const fs::path here = first.target.parent_path(), there = second.target.parent_path();
  const bool apart = here != there;
  const std::string name = unique_name(record_suffix), device = device_of(here);
  std::optional<Descriptor> copy, record;  // locked as long as they are needed
  const auto remove_copy = [&] {
    if (apart) ::unlink((there / name).c_str());
  };
  if (apart)
    copy.emplace(write_record({device, {step(first, here), step(second, ".")}}, there / name));
  try {
    record.emplace(
        write_record({device, {step(first, "."), step(second, apart ? there : ".")}}, here / name));
  } catch (const Failure&) {
    remove_copy();
    throw;
  }

  try {
    const DirectoryLocks locks({here, there});
    check_unchanged(first, second);
    if (!rename_to_target(first.temporary, first.target)) fail("write", first.target);
  } catch (const Failure&) {
    ::unlink((here / name).c_str());
    remove_copy();
    throw;
  }
  committed = true;
  if (!rename_to_target(second.temporary, second.target))
    throw Failure(
        exit_runtime,
        fmt::format("cannot write {}: {}. {} has been replaced; the next run that reads or "
                    "writes either of them finishes this. Until then {} is in {}",
                    printable(second.target.string()), std::strerror(errno),
                    printable(first.target.string()), printable(second.target.filename().string()),
                    printable(second.temporary.string())));
  sync_directory(here);
  if (apart) sync_directory(there);
  remove_copy();
  ::unlink((here / name).c_str());
}

void finish_replacements(const fs::path& file) {
  std::error_code error;
  const fs::path directory = fs::canonical(file.parent_path(), error);
  if (error) return;
  for (const auto& path : own_files(directory, record_suffix)) {
    const Descriptor locked = lock_record(path);
    const auto record = locked.is_open() ? read_record(locked.get()) : std::nullopt;
    if (!record) continue;
    const Obstacle obstacle = record->steps[0].directory == "." ? finish_first(*record, path)
                                                                : finish_copy(*record, path);
    if (!obstacle.empty() && concerns(*record, path, directory / file.filename()))
      throw Failure(exit_runtime,
                    fmt::format("an earlier run died while it replaced {} and {}, and this run "
                                "cannot finish it: {}",
                                printable(record->steps[0].name), printable(record->steps[1].name),
                                printable(obstacle)));
  }
}

void remove_stale_temporaries(const fs::path& directory) {
  std::set<std::string> needed;  // names that unfinished replacements need
  for (const auto& path : own_files(directory, record_suffix)) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (const auto record = read_record(file.get()))
      for (const auto& step : record->steps) needed.insert(step.temporary);
  }
  sortium::files::remove_stale_temporaries(directory, needed);
}

}  // namespace app
