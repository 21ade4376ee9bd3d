// Reads a file of records that is larger than memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <sortium/core.hpp>
#include <string>
#include <vector>

#include "../../../src/files/in_place_file.hpp"
#include "cli/progress.hpp"
#include "io/column.hpp"
#include "io/input.hpp"
#include "io/npy.hpp"

namespace app {

// Reads the records of a file part by part. Recognises and refuses files as those of files.hpp do.
class ColumnReader {
 public:
  [[nodiscard]] static std::unique_ptr<ColumnReader> of_keys(const std::string& path, bool text,
                                                             std::optional<sortium::KeyType> type,
                                                             Progress& progress);
  [[nodiscard]] static std::unique_ptr<ColumnReader> of_values(const std::string& path,
                                                               std::optional<unsigned> bytes,
                                                               Progress& progress);
  [[nodiscard]] static std::unique_ptr<ColumnReader> of_records(const std::string& path,
                                                                std::optional<unsigned> bytes,
                                                                std::vector<NpyField>& fields,
                                                                Progress& progress);
  explicit ColumnReader(const std::string& path);

  // Describes the records, without data: `type` is the type of a key; `count` and `total` are the
  // number of records read so far.
  [[nodiscard]] const Keys& column() const { return column_; }
  // The number of records, if it is known before the end.
  [[nodiscard]] std::optional<std::uint64_t> known_count() const { return known_; }
  // Reads the next records, in the machine's byte order if they are keys. Returns the bytes: fewer
  // than asked only at the end. `bytes` is a multiple of the width. Throws Failure, also if the
  // file has changed its length meanwhile.
  std::uint64_t read(void* to, std::uint64_t bytes);
  // The file, for a sort in place. It must be regular, not text, and nothing of it may have been
  // read. Throws std::system_error.
  [[nodiscard]] sortium::files::InPlaceFile in_place() const;

 private:
  void identified_as(Keys column);
  void check_length(std::uint64_t bytes) const;
  void check_end(std::uint64_t bytes) const;
  void check_nothing_follows();
  std::uint64_t read_text(void* to, std::uint64_t bytes);
  bool parse_more();

  std::string path_;
  Input input_;
  Keys column_;
  std::optional<std::uint64_t> known_;
  std::string lines_;        // of text: read, but not yet parsed
  Bytes numbers_;            // parsed
  std::uint64_t taken_ = 0;  // bytes of numbers_ that read() has returned
  std::uint64_t lines_before_ = 0;
};

}  // namespace app
