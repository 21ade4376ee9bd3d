// Freed device memory that is kept for the next buffer. New memory costs a GPU some 2 ms a GiB:
// until it can be used, and until it is free again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace sortium {

// Every function may be called from several threads. `free` is called with a block's address.
class SpareBlocks {
 public:
  struct Block {
    std::uint64_t address = 0, bytes = 0;
  };
  // Keeps at most `most` bytes.
  explicit SpareBlocks(std::uint64_t most) : most_(most) { kept_.reserve(most_blocks + 1); }

  // Returns the smallest block of `bytes` to 5/4 of them, if there is one.
  std::optional<Block> take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto best = kept_.end();
    for (auto block = kept_.begin(); block != kept_.end(); ++block)
      if (block->bytes >= bytes && block->bytes - bytes <= bytes / 4 &&
          (best == kept_.end() || block->bytes < best->bytes))
        best = block;
    if (best == kept_.end()) return {};
    const Block block = *best;
    kept_.erase(best);
    return block;
  }

  // Keeps the block, of which no work is left. Frees the oldest blocks that are too many then.
  template <class Free>
  void give(Block block, const Free& free) noexcept {
    const std::lock_guard lock(mutex_);
    if (block.bytes > most_) return free(block.address);
    kept_.push_back(block);  // within the capacity, so it cannot fail
    while (kept_.size() > most_blocks || sum() > most_) free_oldest(free);
  }

  // Frees all blocks. Returns true if there was one.
  template <class Free>
  bool release(const Free& free) noexcept {
    const std::lock_guard lock(mutex_);
    const bool any = !kept_.empty();
    while (!kept_.empty()) free_oldest(free);
    return any;
  }

  [[nodiscard]] std::uint64_t bytes() const {
    const std::lock_guard lock(mutex_);
    return sum();
  }

 private:
  static constexpr std::size_t most_blocks = 32;

  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t bytes = 0;
    for (const auto& block : kept_) bytes += block.bytes;
    return bytes;
  }
  template <class Free>
  void free_oldest(const Free& free) {
    free(kept_.front().address);
    kept_.erase(kept_.begin());
  }

  std::uint64_t most_;
  mutable std::mutex mutex_;
  std::vector<Block> kept_;  // the oldest first
};

}  // namespace sortium
