// Files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace app {

// Written beside its destination under a temporary name, and renamed at the end. The temporary file
// goes away with the object, or when SIGINT, SIGTERM or SIGHUP ends the program (see
// remove_temporaries_on_signals). What is not a regular file (a terminal, a pipe, /dev/null), and
// "-" for standard output, is written directly.
class Output {
 public:
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Sets the space aside, where the file system can.
  void reserve(std::uint64_t bytes);
  void write(const void* data, std::uint64_t bytes);
  // Everything is on the disk when this returns.
  void close();
  // Gives the closed file its name.
  void publish();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_stdout() const { return name_ == "-"; }
  // Whether both would write the same file.
  [[nodiscard]] bool same_file(const Output& other) const;

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string name_;              // as the user gave it
  std::filesystem::path target_;  // symbolic links followed
  int fd_ = -1;
  int slot_ = -1;  // of the temporary file's path; -1: written directly
};

// SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the program.
void remove_temporaries_on_signals();

}  // namespace app
