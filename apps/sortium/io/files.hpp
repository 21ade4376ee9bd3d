// Reads whole files of records: .npy, raw binary, text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sortium/core.hpp>
#include <string>
#include <vector>

#include "cli/progress.hpp"
#include "io/column.hpp"
#include "io/npy.hpp"

namespace app {

// Which records of a file a process reads: all, or the share of one of several processes.
struct Share {
  unsigned rank = 0, ranks = 1;
  [[nodiscard]] bool is_all() const { return ranks == 1; }
  // The first of `total` records, and their number. Shares differ by at most one record.
  [[nodiscard]] std::uint64_t begin(std::uint64_t total) const {
    return rank * (total / ranks) + std::min<std::uint64_t>(rank, total % ranks);
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t total) const {
    return total / ranks + (rank < total % ranks ? 1 : 0);
  }
};

// The readers throw Failure, naming the file, if it cannot be read or is not what is needed. They
// recognise an .npy file by its name or by its first bytes, standard input too. A share of a file
// is read from a regular file that is not text.

// Reads keys. Raw and text files need `type`; an .npy file names its type, which must agree.
[[nodiscard]] Keys read_keys(const std::string& path, bool text,
                             std::optional<sortium::KeyType> type, Progress& progress,
                             const Share& share = {});
// Reads values, which are only moved: any type of 1 to 256 bytes. Raw files need `bytes`, the size
// of a value.
[[nodiscard]] Column read_values(const std::string& path, std::optional<unsigned> bytes,
                                 Progress& progress, const Share& share = {});
// Reads records of 1 to 256 bytes. Raw files need `bytes`, the size of a record. An .npy file must
// have records with fields, and no `bytes`; its fields are stored in `fields`.
[[nodiscard]] Column read_records(const std::string& path, std::optional<unsigned> bytes,
                                  std::vector<NpyField>& fields, Progress& progress,
                                  const Share& share = {});
// Reads the offsets of segments: numbers of 4 or 8 bytes that ascend from 0 to `count`, one more
// than there are segments. Raw files need `bytes`, the size of an offset. The Failure names the
// first wrong offset.
[[nodiscard]] Column read_offsets(const std::string& path, std::optional<unsigned> bytes,
                                  std::uint64_t count, Progress& progress);

}  // namespace app
