#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sortium/file.hpp>
#include <system_error>

#include "../sort/host.hpp"
#include "../sort/out_of_memory.hpp"
#include "stream.hpp"

namespace sortium {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const char* what, const std::string& file, int error = errno) {
  throw std::system_error(error, std::generic_category(), fmt::format("cannot {} {}", what, file));
}

std::string directory_of(const std::string& file) {
  const auto parent = fs::path(file).parent_path();
  return parent.empty() ? "." : parent.string();
}

class InputFile {
 public:
  explicit InputFile(const std::string& name)
      : name_(name), fd_(::open(name.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) fail("read", name);
    if (S_ISDIR(status.st_mode)) fail("read", name, EISDIR);
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
    mode_ = status.st_mode & 0777;
  }
  ~InputFile() { ::close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }  // 0: not known
  [[nodiscard]] mode_t mode() const { return mode_; }
  std::uint64_t read(void* to, std::uint64_t bytes) const {
    std::uint64_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::read(fd_, static_cast<char*>(to) + done, bytes - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("read", name_);
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    return done;
  }

 private:
  std::string name_;
  int fd_;
  std::uint64_t size_ = 0;
  mode_t mode_ = 0;
};

[[noreturn]] void refuse(const std::string& out, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("out is {}: {}", out, why));
}

// Throws Error(invalid_argument) if `out` is a name of an open file, such as /dev/stdout: rename()
// would replace a file that its owner still writes.
void check_is_name(const std::string& out) {
  std::error_code error;
  for (fs::path at = fs::absolute(out, error); !error;
       at = at.parent_path() / fs::read_symlink(at, error))  // fails for what is no link
    if (fs::weakly_canonical(at.parent_path(), error).string().starts_with("/proc/"))
      refuse(out, "it is an open file; sort_stream() can write to it");
}

// Throws Error(invalid_argument) if rename() would destroy more than the content of the file.
void check_replaceable(const std::string& out, const struct stat& old) {
  if (S_ISLNK(old.st_mode)) refuse(out, "it is a link to a file that does not exist");
  if (!S_ISREG(old.st_mode)) refuse(out, "it is not a regular file; sort_stream() can write to it");
  if (old.st_nlink > 1)
    refuse(out, fmt::format("it has {} hard links, and the others would keep the old content",
                            old.st_nlink));
}

// Checks that the file may be replaced. Returns the mode for it: its own, or `mode` if there is
// none.
mode_t mode_of(const std::string& out, mode_t mode) {
  check_is_name(out);
  const auto name = fs::weakly_canonical(out);  // follows links
  struct stat old {};
  if (::lstat(name.c_str(), &old) != 0) return mode;
  check_replaceable(out, old);
  if (::access(name.c_str(), W_OK) != 0) fail("write", out);
  return old.st_mode & 07777;
}

// A file that appears under its name when it is complete.
class OutputFile {
 public:
  OutputFile(const std::string& name, mode_t mode)
      : name_(fs::weakly_canonical(name).string()), temporary_(name_ + ".sortium-XXXXXX") {
    fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
    if (fd_ < 0) fail("write", name);
    (void)::fchmod(fd_, mode);
  }
  ~OutputFile() {
    ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::uint64_t bytes) const {
    const auto* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::write(fd_, from, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail("write", name_, n == 0 ? ENOSPC : errno);
      from += n;
      bytes -= static_cast<std::uint64_t>(n);
    }
  }
  void publish() {
    if (::fsync(fd_) != 0 || ::rename(temporary_.c_str(), name_.c_str()) != 0) fail("write", name_);
    temporary_.clear();
    const int directory = ::open(directory_of(name_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return;
    (void)::fsync(directory);
    ::close(directory);
  }

 private:
  std::string name_, temporary_;
  int fd_ = -1;
};

std::vector<std::string> temporary_directories(const FileOptions& options) {
  if (!options.temporary_directories.empty()) return options.temporary_directories;
  return {fs::temp_directory_path().string()};
}

}  // namespace

FileReport sort_stream(const std::vector<StreamColumn>& columns, const std::vector<Field>& key,
                       const FileOptions& options) try {
  const files::Stream stream(columns, key, options);
  files::RunStore store(temporary_directories(options));
  files::Runs runs(stream, store);
  FileReport report;
  Stopwatch watch;
  files::make_runs(stream, runs, report);
  report.run_seconds = watch.lap();
  if (runs.count() == 0) return report;
  files::merge_runs(stream, runs);
  report.merge_seconds = watch.lap();
  return report;
} catch (const std::bad_alloc&) {
  throw_out_of_memory("sort_stream", options.memory_bytes);
}

FileReport sort_file(const std::string& in, const std::string& out, unsigned record_bytes,
                     const std::vector<Field>& key, const FileOptions& options) {
  const InputFile input(in);
  if (record_bytes == 0 || input.size() % std::max(1u, record_bytes) != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record_bytes is {}; the {} bytes of {} are not a multiple of it",
                            record_bytes, input.size(), in));
  OutputFile output(out, mode_of(out, input.mode()));
  FileOptions all = options;
  if (all.expected_count == 0) all.expected_count = input.size() / record_bytes;
  if (all.temporary_directories.empty()) all.temporary_directories = {directory_of(out)};
  const StreamColumn column{
      record_bytes, [&](void* to, std::uint64_t bytes) { return input.read(to, bytes); },
      [&](const void* from, std::uint64_t bytes) { output.write(from, bytes); }};
  auto report = sort_stream({column}, key, all);
  output.publish();
  return report;
}

}  // namespace sortium
