// Files that are sorted in place.
#pragma once

#include <cstdint>
#include <string>

#include "descriptor.hpp"

namespace sortium::files {

// A file that gives up the space of the records that are stored elsewhere, and gets the records
// back if the sort fails. All functions throw std::system_error with the file's name.
class InPlaceFile {
 public:
  // The records begin at byte `begin`. Throws also if the file system cannot free parts of a file.
  InPlaceFile(const std::string& path, std::string name, std::uint64_t begin);

  // Frees the space of the first `bytes` bytes of the records.
  void release(std::uint64_t bytes);
  // Writes the next of the records that have been released.
  void restore(const void* from, std::uint64_t bytes);

 private:
  std::string name_;
  Descriptor file_;
  std::uint64_t begin_;
  std::uint64_t released_ = 0, restored_ = 0;  // bytes of the file
};

}  // namespace sortium::files
