// Memory for texts and records.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdint>
#include <sortium/types.hpp>
#include <utility>

namespace sortium::files {

// Pages of memory that begin as zeros, change their number without a copy, and go back to the
// system at once: an allocator may keep what is freed, and then a limit of memory is not kept.
class PageMemory {
 public:
  PageMemory() = default;
  // Throws Error(out_of_memory).
  explicit PageMemory(std::uint64_t bytes) {
    if (bytes == 0) return;
    set(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
  }
  ~PageMemory() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  PageMemory(PageMemory&& other) noexcept { *this = std::move(other); }
  PageMemory& operator=(PageMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // Throws as the constructor does.
  void resize(std::uint64_t bytes) { set(::mremap(data_, size_, bytes, MREMAP_MAYMOVE), bytes); }
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  void set(void* at, std::uint64_t bytes) {
    if (at == MAP_FAILED)
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("the host has no memory left for a buffer of {} bytes", bytes));
    data_ = static_cast<char*>(at);
    size_ = bytes;
    (void)::madvise(at, bytes, MADV_HUGEPAGE);  // a refusal does no harm
  }

  char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace sortium::files
