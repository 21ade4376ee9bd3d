// Reading and writing records: .npy, raw binary, text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <sortium/core.hpp>
#include <string>
#include <vector>

#include "cli/common.hpp"
#include "cli/progress.hpp"
#include "io/npy.hpp"
#include "io/output.hpp"

namespace app {

// A file to read, or "-" for standard input.
class Input {
 public:
  explicit Input(const std::string& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  [[nodiscard]] std::string name() const { return path_ == "-" ? "standard input" : path_; }
  // Fewer than `bytes` only at the end of the file.
  std::uint64_t read(void* to, std::uint64_t bytes);
  // All that is left.
  [[nodiscard]] Bytes rest(Progress& progress);

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;  // 0: not known before the end
  std::uint64_t position_ = 0;
};

enum class Kind : std::uint8_t { npy, raw, text };

// Which kind of file `path` is: .npy by its name; else text where the user said so; else raw.
[[nodiscard]] Kind kind_of(const std::string& path, bool text);

// The records of a file.
struct Column {
  std::string descr;   // as NumPy calls the type: "<f4", or the list of its fields; empty where it
                       // has no name
  unsigned width = 4;  // bytes of a record
  std::uint64_t count = 0;
  bool swapped = false;  // `data` has the machine's byte order, the file has the other one
  Bytes data;

  static Column make(std::string descr, unsigned width, std::uint64_t count);
  // One like this, with contents still to be written.
  [[nodiscard]] Column empty_copy() const { return empty_copy(count); }
  [[nodiscard]] Column empty_copy(std::uint64_t records) const;
};

struct Keys : Column {
  sortium::KeyType type = sortium::KeyType::u32;
};

// `type` is needed for raw and text files; with .npy, which says it itself, it must agree.
[[nodiscard]] Keys read_keys(const std::string& path, bool text,
                             std::optional<sortium::KeyType> type, Progress& progress);
// Values are only moved: any type of 1 to 256 bytes. `bytes` is needed for raw files.
[[nodiscard]] Column read_values(const std::string& path, std::optional<unsigned> bytes,
                                 Progress& progress);
// Records of 1 to 256 bytes. `bytes` is needed for raw files; with .npy, `fields` become those of
// its header (none where it has plain numbers).
[[nodiscard]] Column read_records(const std::string& path, std::optional<unsigned> bytes,
                                  std::vector<NpyField>& fields, Progress& progress);
// Where `count` records are divided into segments: numbers of 4 or 8 bytes that ascend from 0 to
// `count`, one more than there are segments. `bytes` is needed for raw files. Throws Failure that
// names the first wrong one.
[[nodiscard]] Column read_offsets(const std::string& path, std::optional<unsigned> bytes,
                                  std::uint64_t count, Progress& progress);

// Sets the space for it aside, so that a full disk shows before the sorting and not after it.
void reserve_column(Output& output, Kind kind, const Column& column);
// `type` is how text is to be written.
void write_column(Output& output, Kind kind, const Column& column, sortium::KeyType type,
                  Progress& progress);

// "<f4", "|u1"; empty: NumPy has no name for it (bf16).
[[nodiscard]] std::string descr_of(sortium::KeyType type);
// Throws Failure where `path` is an .npy file and cannot hold keys of this type.
void check_npy_can_hold(const std::string& path, sortium::KeyType type);

}  // namespace app
