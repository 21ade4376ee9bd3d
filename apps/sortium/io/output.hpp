// Files that appear whole or not at all.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "../../../src/files/block_io.hpp"

namespace app {

// Something that records are written to, one after the other.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const void* data, std::uint64_t bytes) = 0;
  // The file's name in messages, with control characters escaped.
  [[nodiscard]] virtual std::string name() const = 0;
};

// A file to write, or "-" for standard output.
//
// A regular file is written beside its destination under a temporary name and renamed at the end.
// The new file keeps the mode, the owner, the ACL and the extended attributes of the file that it
// replaces. Links are followed, dangling ones too. The constructor refuses a file that cannot be
// replaced in this way: one with several hard links, a mount point, or one whose owner cannot be
// kept.
//
// The temporary file is removed with the object, or when SIGINT, SIGTERM or SIGHUP ends the program
// (see remove_temporaries_on_signals()). The next Output in the directory removes the files that a
// dead process left.
//
// A terminal, a pipe, a device, and an open descriptor (/dev/stdout, /dev/fd/N) are written
// directly.
class Output final : public Sink {
 public:
  // Throws Failure if the file cannot be written.
  explicit Output(const std::string& path);
  ~Output() override;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Reserves disk space, if the file system can. A file of 256 MiB or more bypasses the page cache.
  void reserve(std::uint64_t bytes);
  // Lets what is written from now on bypass the page cache.
  void bypass_cache();
  void write(const void* data, std::uint64_t bytes) override;
  // Writes the rest to the disk and renames the file to its final name.
  void publish();
  // Accepts that the file to be replaced has changed. A sort in place changes it itself, which
  // publish() would take for the work of another process.
  void accept_changes();
  // Publishes both files: after a crash in between, the next run that reads or writes one of them
  // finishes the replacement.
  static void publish(Output& first, Output& second);

  [[nodiscard]] std::string name() const override;
  // The temporary file; empty if the file is written directly.
  [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
  // Returns true if both write the same file.
  [[nodiscard]] bool same_file(const Output& other) const;
  // Throws Failure with `why` if this output replaces the file `input` (or "-"), which must stay.
  void spare(const std::string& input, const char* why) const;

 private:
  [[noreturn]] void fail(const char* what) const;
  [[noreturn]] void refuse(const std::string& why) const;
  void write_through(int fd);
  void check_replaceable(const struct stat& old) const;
  void create(const struct stat* old);
  void keep_attributes(const struct stat& old) const;
  void sync() const;
  // Forgets the temporary file: it has been renamed, or a commit record has it.
  void release();
  [[nodiscard]] bool is_temporary() const { return !temporary_.empty(); }

  std::string name_;              // as the user gave it
  std::filesystem::path target_;  // links followed; empty: an open descriptor
  std::filesystem::path temporary_;
  std::string before_;  // the state of the file that is replaced
  int fd_ = -1;
  int slot_ = -1;                       // of the temporary file in the list of the signal handler
  sortium::files::BlockWriter writer_;  // of the temporary file
};

// The temporary file of an Output, perhaps of another process: this object writes a part of it. The
// file remains when the object is destroyed, but a signal that ends the program removes it.
class OutputPart final : public Sink {
 public:
  // `name` is the output's, for messages. Throws Failure.
  OutputPart(const std::filesystem::path& temporary, std::string name);
  ~OutputPart() override;
  OutputPart(const OutputPart&) = delete;
  OutputPart& operator=(const OutputPart&) = delete;

  // The next write() begins at this byte.
  void seek(std::uint64_t byte) { writer_.seek(byte); }
  void write(const void* data, std::uint64_t bytes) override;
  // Waits until all that was written is on the disk.
  void sync();
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::string name_;
  int fd_ = -1;
  int slot_ = -1;
  sortium::files::BlockWriter writer_;
};

// Lets SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the program.
void remove_temporaries_on_signals();

}  // namespace app
