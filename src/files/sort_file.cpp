#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sortium/file.hpp>
#include <system_error>

#include "../sort/host.hpp"
#include "../sort/out_of_memory.hpp"
#include "descriptor.hpp"
#include "in_place_file.hpp"
#include "stream.hpp"
#include "temporary.hpp"

namespace sortium {

namespace fs = std::filesystem;

namespace {

fs::path directory_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

class InputFile {
 public:
  explicit InputFile(const std::string& name)
      : name_(name), file_(::open(name.c_str(), O_RDONLY | O_CLOEXEC)), reader_(file_.get()) {
    struct stat status {};
    if (!file_.is_open() || ::fstat(file_.get(), &status) != 0) files::fail_to("read", name, errno);
    if (S_ISDIR(status.st_mode)) files::fail_to("read", name, EISDIR);
    is_regular_ = S_ISREG(status.st_mode);
    if (is_regular_) size_ = static_cast<std::uint64_t>(status.st_size);
    mode_ = status.st_mode & 0777;
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }  // 0: not known
  [[nodiscard]] mode_t mode() const { return mode_; }
  std::uint64_t read(void* to, std::uint64_t bytes) {
    if (!is_regular_) return read_pipe(to, bytes);
    const std::uint64_t done = reader_.read(name_, position_, to, bytes);
    position_ += done;
    if (done < bytes && position_ != size_)
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} has become {} while it was read", name_,
                              position_ < size_ ? "shorter" : "longer"));
    return done;
  }

 private:
  std::uint64_t read_pipe(void* to, std::uint64_t bytes) const {
    std::uint64_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::read(file_.get(), static_cast<char*>(to) + done, bytes - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) files::fail_to("read", name_, errno);
      if (n == 0) break;
      done += static_cast<std::uint64_t>(n);
    }
    return done;
  }

  std::string name_;
  files::Descriptor file_;
  files::DirectReader reader_;
  bool is_regular_ = false;
  std::uint64_t size_ = 0, position_ = 0;
  mode_t mode_ = 0;
};

[[noreturn]] void refuse_output(const std::string& out, const std::string& why) {
  throw Error(ErrorCode::invalid_argument, fmt::format("out is {}: {}", out, why));
}

// Throws Error(invalid_argument) if `out` is a name of an open file, such as /dev/stdout: rename()
// would replace a file that its owner still writes.
void check_is_name(const std::string& out) {
  std::error_code error;
  for (fs::path at = fs::absolute(out, error); !error;
       at = at.parent_path() / fs::read_symlink(at, error))  // fails for what is no link
    if (fs::weakly_canonical(at.parent_path(), error).string().starts_with("/proc/"))
      refuse_output(out, "it is an open file; sort_stream() can write to it");
}

// Throws Error(invalid_argument) if rename() would destroy more than the content of the file.
void check_replaceable(const std::string& out, const struct stat& old) {
  if (S_ISLNK(old.st_mode)) refuse_output(out, "it is a link to a file that does not exist");
  if (!S_ISREG(old.st_mode))
    refuse_output(out, "it is not a regular file; sort_stream() can write to it");
  if (old.st_nlink > 1)
    refuse_output(out,
                  fmt::format("it has {} hard links, and the others would keep the old content",
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
  if (::access(name.c_str(), W_OK) != 0) files::fail_to("write", out, errno);
  return old.st_mode & 07777;
}

// A file that appears under its name when it is complete.
class OutputFile {
 public:
  OutputFile(const std::string& name, mode_t mode)
      : name_(name), target_(fs::weakly_canonical(name)) {
    // While a record of two replacements exists, temporary files may be needed.
    if (files::own_files(directory(), files::record_suffix).empty())
      files::remove_stale_temporaries(directory(), {});
    const auto made = files::create_temporary(target_, 0600, [](const auto&) {});
    if (made.fd < 0) files::fail_to("write", name, errno);
    file_ = files::Descriptor(made.fd);
    temporary_ = made.path;
    (void)::fchmod(made.fd, mode);
    writer_.bypass_cache(made.fd);
  }
  ~OutputFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] fs::path directory() const { return directory_of(target_); }
  void write(const void* data, std::uint64_t bytes) {
    writer_.write(file_.get(), name_, data, bytes);
  }
  void publish() {
    if (::fsync(file_.get()) != 0 || ::rename(temporary_.c_str(), target_.c_str()) != 0)
      files::fail_to("write", name_, errno);
    temporary_.clear();
    files::sync_directory(directory());
  }

 private:
  std::string name_;
  fs::path target_, temporary_;
  files::Descriptor file_;
  files::BlockWriter writer_;
};

}  // namespace

FileReport sort_stream(const std::vector<StreamColumn>& columns, const std::vector<Field>& key,
                       const FileOptions& options) try {
  const files::Stream stream(columns, key, options);
  files::RunStore store(files::directories_or_default(options.temporary_directories));
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
  InputFile input(in);
  if (record_bytes == 0 || input.size() % std::max(1u, record_bytes) != 0)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("record_bytes is {}; the {} bytes of {} are not a multiple of it",
                            record_bytes, input.size(), in));
  std::error_code absent;
  if (options.in_place && !fs::equivalent(in, out, absent))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("in_place is true, but the output {} is not the input {}", out, in));
  OutputFile output(out, mode_of(out, input.mode()));
  FileOptions all = options;
  if (all.expected_count == 0) all.expected_count = input.size() / record_bytes;
  if (all.temporary_directories.empty()) all.temporary_directories = {output.directory().string()};
  StreamColumn column{record_bytes,
                      [&](void* to, std::uint64_t bytes) { return input.read(to, bytes); },
                      [&](const void* from, std::uint64_t bytes) { output.write(from, bytes); }};
  std::optional<files::InPlaceFile> in_place;
  if (options.in_place) {
    in_place.emplace(in, in, 0);
    column.release = [&](std::uint64_t bytes) { in_place->release(bytes); };
    column.restore = [&](const void* from, std::uint64_t bytes) { in_place->restore(from, bytes); };
  }
  auto report = sort_stream({column}, key, all);
  output.publish();
  return report;
}

}  // namespace sortium
