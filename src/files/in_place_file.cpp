#include "in_place_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "block_io.hpp"

namespace sortium::files {

InPlaceFile::InPlaceFile(const std::string& path, std::string name, std::uint64_t begin)
    : name_(std::move(name)),
      file_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)),
      begin_(begin),
      released_(aligned_up(begin)),
      restored_(begin) {
  if (!file_.is_open()) fail_to("write", name_, errno);
  constexpr std::uint64_t behind_all_files = std::uint64_t{1} << 40;
  if (!free_space(file_.get(), name_, behind_all_files, alignment))
    fail_to("free parts of", name_, EOPNOTSUPP);
}

void InPlaceFile::release(std::uint64_t bytes) {
  const std::uint64_t end = (begin_ + bytes) / alignment * alignment;
  if (end <= released_) return;
  (void)free_space(file_.get(), name_, released_, end - released_);
  released_ = end;
}

void InPlaceFile::restore(const void* from, std::uint64_t bytes) {
  write_block(file_.get(), name_, restored_, from, bytes);
  restored_ += bytes;
}

}  // namespace sortium::files
