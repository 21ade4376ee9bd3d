#include "block_io.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace sortium::files {

namespace {

// The least number of threads: a disk works on several blocks at the same time.
constexpr std::uint64_t least_readers = 4;
// Most file systems copy one block of a file at a time. A second thread copies while another one
// waits for the disk; more help where the file system lets them.
constexpr std::uint64_t writers = 4;
constexpr std::uint64_t direct_readers = 4;
// Less than this is not worth a direct transfer.
constexpr std::uint64_t least_direct_bytes = std::uint64_t{256} << 10;

// Gives up direct transfers on a file whose file system refuses one. Returns true if that helps.
bool use_page_cache(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return (flags & O_DIRECT) != 0 && ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

// True if a transfer that failed is to be tried again.
bool try_again(int fd) { return errno == EINTR || (errno == EINVAL && use_page_cache(fd)); }

// Lets the disk begin to write. A hint: an error of the disk shows in fsync().
void flush(int fd, std::uint64_t begin, std::uint64_t end) {
  (void)::sync_file_range(fd, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                          SYNC_FILE_RANGE_WRITE);
}

// Opens a file once more: through the first descriptor, all transfers would have to be aligned.
// Returns none if that is not possible.
Descriptor reopen(int fd, int flags) {
  return Descriptor(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags | O_CLOEXEC));
}

// Calls body(begin, end) for the parts of `length` of [0, total), in several threads. A call
// returns how many bytes of its part there are. Returns how many there are of all, to the first
// that is missing.
template <class Body>
std::uint64_t for_parts(std::uint64_t threads, std::uint64_t total, std::uint64_t length,
                        const Body& body) {
  std::atomic<std::uint64_t> file_end{total};
  for_blocks(threads, total, length, [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t n = body(begin, end);
    if (n == end - begin) return;
    std::uint64_t least = file_end;
    while (begin + n < least && !file_end.compare_exchange_weak(least, begin + n)) continue;
  });
  return file_end;
}

}  // namespace

void fail_to(const char* what, const std::string& name, int error) {
  throw std::system_error(error, std::generic_category(), fmt::format("cannot {} {}", what, name));
}

std::uint64_t read_block(int fd, const std::string& name, std::uint64_t at, void* to,
                         std::uint64_t bytes) {
  std::uint64_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd, static_cast<std::byte*>(to) + done, bytes - done,
                              static_cast<off_t>(at + done));
    if (n < 0 && try_again(fd)) continue;
    if (n < 0) fail_to("read", name, errno);
    if (n == 0) break;
    done += static_cast<std::uint64_t>(n);
  }
  return done;
}

void write_block(int fd, const std::string& name, std::uint64_t at, const void* from,
                 std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pwrite(fd, static_cast<const std::byte*>(from) + done, bytes - done,
                               static_cast<off_t>(at + done));
    if (n < 0 && try_again(fd)) continue;
    if (n <= 0) fail_to("write", name, n == 0 ? ENOSPC : errno);
    done += static_cast<std::uint64_t>(n);
  }
}

bool free_space(int fd, const std::string& name, std::uint64_t at, std::uint64_t bytes) {
  while (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                     static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return false;
    if (errno != EINTR) fail_to("free parts of", name, errno);
  }
  return true;
}

std::uint64_t read_blocks(int fd, const std::string& name, std::uint64_t at, void* to,
                          std::uint64_t bytes, const std::function<void(std::uint64_t)>& advance) {
  return for_parts(std::max(least_readers, all_cores()), bytes, block_bytes,
                   [&](std::uint64_t begin, std::uint64_t end) {
                     const std::uint64_t n = read_block(
                         fd, name, at + begin, static_cast<std::byte*>(to) + begin, end - begin);
                     if (advance) advance(n);
                     return n;
                   });
}

AlignedMemory AlignedBuffers::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    AlignedMemory buffer(static_cast<std::byte*>(std::aligned_alloc(alignment, bytes)));
    if (!buffer) throw std::bad_alloc();
    return buffer;
  }
  AlignedMemory buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

// ---------------------------------------------------------------------------------------------
// DirectReader
// ---------------------------------------------------------------------------------------------

DirectReader::DirectReader(int fd) : fd_(fd), direct_(reopen(fd, O_RDONLY | O_DIRECT)) {}

std::uint64_t DirectReader::read(const std::string& name, std::uint64_t at, void* to,
                                 std::uint64_t bytes) {
  // Parts end at multiples of their length in the file, so that only the outer ones are not
  // aligned.
  constexpr std::uint64_t part = AlignedBuffers::bytes;
  const std::uint64_t before = at % part;
  const std::uint64_t found =
      for_parts(direct_readers, before + bytes, part, [&](std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t skipped = begin == 0 ? before : 0;
        return skipped + read_part(name, at - before + begin + skipped,
                                   static_cast<std::byte*>(to) + begin + skipped - before,
                                   end - begin - skipped);
      });
  return found - before;
}

// The part lies in one piece of AlignedBuffers::bytes.
std::uint64_t DirectReader::read_part(const std::string& name, std::uint64_t at, std::byte* to,
                                      std::uint64_t bytes) {
  if (!direct_.is_open() || bytes < least_direct_bytes || is_cached(at, bytes))
    return read_block(fd_, name, at, to, bytes);
  const std::uint64_t first = at / alignment * alignment, skipped = at - first;
  if (skipped == 0 && (reinterpret_cast<std::uintptr_t>(to) | bytes) % alignment == 0)
    return read_block(direct_.get(), name, at, to, bytes);
  std::uint64_t n = 0;
  buffers_.use([&](std::byte* buffer) {
    const std::uint64_t found =
        read_block(direct_.get(), name, first, buffer, aligned_up(skipped + bytes));
    n = std::min(bytes, found - std::min(found, skipped));
    std::memcpy(to, buffer + skipped, n);
  });
  return n;
}

// Returns true if half of the bytes or more are in the page cache, or if that is not known.
bool DirectReader::is_cached(std::uint64_t at, std::uint64_t bytes) const {
  const std::uint64_t first = at / alignment * alignment, length = aligned_up(at + bytes) - first;
  void* const map = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_, static_cast<off_t>(first));
  if (map == MAP_FAILED) return true;
  std::array<unsigned char, AlignedBuffers::bytes / alignment + 1> pages{};
  const bool known = ::mincore(map, length, pages.data()) == 0;
  ::munmap(map, length);
  const auto present = std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; });
  return !known || static_cast<std::uint64_t>(present) * 2 * alignment >= length;
}

// ---------------------------------------------------------------------------------------------
// BlockWriter
// ---------------------------------------------------------------------------------------------

void BlockWriter::bypass_cache(int fd) {
  if (!direct_.is_open()) direct_ = reopen(fd, O_WRONLY | O_DIRECT);
}

void BlockWriter::write(int fd, const std::string& name, const void* from, std::uint64_t bytes) {
  const auto* const data = static_cast<const std::byte*>(from);
  const std::uint64_t end = position_ + bytes;
  const std::uint64_t first = aligned_up(position_), last = end / alignment * alignment;
  if (direct_.is_open() && last >= first + least_direct_bytes) {
    const std::uint64_t head = first - position_, middle = last - first;
    write_block(fd, name, position_, data, head);
    write_directly(name, first, data + head, middle);
    write_block(fd, name, last, data + head + middle, end - last);
  } else {
    write_through_cache(fd, name, data, bytes);
  }
  position_ = end;
}

void BlockWriter::write_through_cache(int fd, const std::string& name, const std::byte* from,
                                      std::uint64_t bytes) {
  for_blocks(writers, bytes, block_bytes, [&](std::uint64_t begin, std::uint64_t end) {
    write_block(fd, name, position_ + begin, from + begin, end - begin);
    if (end - begin == block_bytes) flush(fd, position_ + begin, position_ + end);
  });
  const std::uint64_t end = position_ + bytes;
  if (end - flushed_ < block_bytes) return;
  flush(fd, flushed_, end);  // what was too little for a block
  flushed_ = end;
}

void BlockWriter::write_directly(const std::string& name, std::uint64_t at, const std::byte* from,
                                 std::uint64_t bytes) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(from) % alignment == 0;
  for_blocks(writers, bytes, is_aligned ? block_bytes : AlignedBuffers::bytes,
             [&](std::uint64_t begin, std::uint64_t end) {
               if (is_aligned) {
                 write_block(direct_.get(), name, at + begin, from + begin, end - begin);
                 return;
               }
               buffers_.use([&](std::byte* buffer) {
                 std::memcpy(buffer, from + begin, end - begin);
                 write_block(direct_.get(), name, at + begin, buffer, end - begin);
               });
             });
}

}  // namespace sortium::files
