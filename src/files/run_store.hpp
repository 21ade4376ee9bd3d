// Temporary files without names, as one range of bytes. They bypass the page cache: it would copy
// every byte and crowd out other programs' files. So all transfers are aligned (block_io.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "block_io.hpp"

namespace sortium::files {

// Returns the directories, or if there are none, TMPDIR or /tmp.
[[nodiscard]] std::vector<std::string> directories_or_default(
    const std::vector<std::string>& directories);

// Stripes its range over one file in each directory. Thread-safe. All functions throw
// std::system_error naming the directory.
class RunStore {
 public:
  explicit RunStore(std::vector<std::string> directories);

  // Reserves the disk space of the first `bytes` bytes, where the file systems can.
  void reserve(std::uint64_t bytes);
  // One transfer of contiguous bytes.
  struct Transfer {
    std::uint64_t at;  // position in the range
    std::byte* memory;
    std::uint64_t bytes;
  };
  // Both do all transfers, several at once, and return when all have ended.
  void write(const std::vector<Transfer>& transfers);
  void read(const std::vector<Transfer>& transfers) const;
  // Frees the disk space of the transfers' bytes, where the file systems can.
  void discard(const std::vector<Transfer>& transfers);

 private:
  template <class Call>
  void for_each_stripe(const std::vector<Transfer>& transfers, const Call& call) const;

  std::vector<std::string> directories_;
  std::vector<Descriptor> files_;
};

}  // namespace sortium::files
