// Memory for the records that a rank sends and receives.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "columns.hpp"

namespace sortium::distributed {

namespace {

constexpr std::uint64_t huge_page = 1 << 21;
constexpr std::uint64_t least_kept = 8 * huge_page;  // smaller blocks are malloc()'s

std::uint64_t rounded(std::uint64_t size) { return (size + huge_page - 1) / huge_page * huge_page; }

// Large blocks that are free.
class Kept {
 public:
  // Returns a block of `size` bytes, a multiple of huge_page; nullptr if there is none.
  std::byte* take(std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(blocks_, size, &Block::size);
    if (found == blocks_.end()) return nullptr;
    std::byte* const memory = found->memory;
    blocks_.erase(found);
    bytes_ -= size;
    return memory;
  }
  // Keeps the block, and frees the oldest ones above the limit.
  void give_back(std::byte* memory, std::uint64_t size) noexcept try {
    const std::lock_guard lock(mutex_);
    blocks_.push_back({memory, size});
    bytes_ += size;
    while (bytes_ > limit()) {
      std::free(blocks_.front().memory);
      bytes_ -= blocks_.front().size;
      blocks_.erase(blocks_.begin());
    }
  } catch (...) {  // no memory for the list
    std::free(memory);
  }
  // Remembers memory that is never freed, so that tools do not report it as lost.
  void abandon(std::byte* memory) noexcept try {
    const std::lock_guard lock(mutex_);
    abandoned_.push_back(memory);
  } catch (...) {  // no memory for the list
  }
  void free_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& block : blocks_) std::free(block.memory);
    blocks_.clear();
    bytes_ = 0;
  }

 private:
  struct Block {
    std::byte* memory;
    std::uint64_t size;
  };
  static std::uint64_t limit() {
    static const std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 8;
    return bytes;
  }
  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::vector<std::byte*> abandoned_;
  std::uint64_t bytes_ = 0;
};

// Never destroyed: threads may sort until the process ends.
Kept& kept() {
  static Kept& blocks = *new Kept;
  return blocks;
}

std::byte* allocate_pages(std::uint64_t size) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(huge_page, size));
  if (memory == nullptr) {
    kept().free_all();
    memory = static_cast<std::byte*>(std::aligned_alloc(huge_page, size));
  }
  if (memory != nullptr) ::madvise(memory, size, MADV_HUGEPAGE);  // a refusal does no harm
  return memory;
}

}  // namespace

Bytes::Bytes(std::uint64_t size) {
  if (size == 0) return;
  std::byte* memory = nullptr;
  if (size < least_kept) {
    memory = static_cast<std::byte*>(std::malloc(size));
  } else {
    size = rounded(size);
    memory = kept().take(size);
    if (memory == nullptr) memory = allocate_pages(size);
  }
  if (memory == nullptr) throw std::bad_alloc();
  memory_ = std::unique_ptr<std::byte, Free>(memory, Free{size});
}

void Bytes::abandon() noexcept {
  if (memory_) kept().abandon(memory_.release());
}

void Bytes::Free::operator()(std::byte* memory) const {
  if (size < least_kept)
    std::free(memory);
  else
    kept().give_back(memory, size);
}

}  // namespace sortium::distributed
