#include "run_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "temporary.hpp"

namespace sortium::files {

namespace {

constexpr std::uint64_t stripe_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t transfers_at_once = 4;  // for each directory; a disk works on several

std::string name_of_data(const std::string& directory) { return "temporary data in " + directory; }

// Opens a file that has no name. Where the file system needs a name, the file has one for a moment.
int open_nameless(const std::string& directory, int flags) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  const auto name = directory + "/" + unique_name(temporary_suffix);
  const int named =
      ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

int open_temporary(const std::string& directory) {
  int fd = open_nameless(directory, O_DIRECT);
  if (fd < 0 && errno == EINVAL) fd = open_nameless(directory, 0);  // tmpfs before Linux 6.6
  if (fd < 0) fail_to("create", name_of_data(directory), errno);
  return fd;
}

}  // namespace

std::vector<std::string> directories_or_default(const std::vector<std::string>& directories) {
  if (!directories.empty()) return directories;
  return {std::filesystem::temp_directory_path().string()};
}

RunStore::RunStore(std::vector<std::string> directories) : directories_(std::move(directories)) {
  for (const auto& directory : directories_) files_.emplace_back(open_temporary(directory));
}

// Calls call(file, position in the file, memory, bytes) for each stripe, in several threads.
template <class Call>
void RunStore::for_each_stripe(const std::vector<Transfer>& transfers, const Call& call) const {
  struct Stripe {
    std::size_t file;
    std::uint64_t at;
    std::byte* memory;
    std::uint64_t bytes;
  };
  std::vector<Stripe> stripes;
  for (const auto& t : transfers)
    for (std::uint64_t begin = t.at, end = 0; begin < t.at + t.bytes; begin = end) {
      const std::uint64_t stripe = begin / stripe_bytes;
      end = std::min(t.at + t.bytes, (stripe + 1) * stripe_bytes);
      stripes.push_back({stripe % files_.size(),
                         stripe / files_.size() * stripe_bytes + begin % stripe_bytes,
                         t.memory + (begin - t.at), end - begin});
    }
  on_threads(transfers_at_once * files_.size(), stripes.size(), [&](std::uint64_t i) {
    const auto& s = stripes[i];
    call(s.file, s.at, s.memory, s.bytes);
  });
}

void RunStore::reserve(std::uint64_t bytes) {
  const std::uint64_t of_each = aligned_up(bytes / files_.size()) + stripe_bytes;
  for (std::size_t f = 0; f < files_.size(); ++f)
    if (::fallocate(files_[f].get(), 0, 0, static_cast<off_t>(of_each)) != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
      fail_to("write", name_of_data(directories_[f]), errno);
}

void RunStore::write(const std::vector<Transfer>& transfers) {
  for_each_stripe(transfers, [&](std::size_t file, std::uint64_t at, const std::byte* data,
                                 std::uint64_t bytes) {
    write_block(files_[file].get(), name_of_data(directories_[file]), at, data, bytes);
  });
}

void RunStore::read(const std::vector<Transfer>& transfers) const {
  for_each_stripe(transfers,
                  [&](std::size_t file, std::uint64_t at, std::byte* to, std::uint64_t bytes) {
                    const auto name = name_of_data(directories_[file]);
                    if (read_block(files_[file].get(), name, at, to, bytes) < bytes)
                      fail_to("read", name, EIO);
                  });
}

void RunStore::discard(const std::vector<Transfer>& transfers) {
  for_each_stripe(
      transfers, [&](std::size_t file, std::uint64_t at, const std::byte*, std::uint64_t bytes) {
        (void)free_space(files_[file].get(), name_of_data(directories_[file]), at, bytes);
      });
}

}  // namespace sortium::files
