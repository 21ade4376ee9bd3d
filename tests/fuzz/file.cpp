#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.hpp"

namespace fuzz {

File::File(const std::uint8_t* data, std::size_t size)
    : fd_(::memfd_create("input", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {
  require(fd_ >= 0 && ::write(fd_, data, size) == static_cast<ssize_t>(size),
          "the input is written");
}

File::~File() { ::close(fd_); }

}  // namespace fuzz
