// The host memory of a sort in ranges: the caller's arrays, divided into blocks of records, and an
// eighth as many spare blocks. Sorted records are written to free blocks wherever they are, and the
// blocks are moved to their final places at the end. So a sort in place needs no second array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pages.hpp"

namespace sortium {

class RecordBlocks {
 public:
  // One of the arrays that are sorted together.
  struct Array {
    unsigned bytes;         // of an element
    const std::byte* from;  // the input; null: none
    std::byte* to;          // receives the result; may be `from`
  };
  using Block = std::uint64_t;
  // Records [first, first + count) of a block.
  struct Extent {
    Block block;
    std::uint64_t first, count;
  };

  // Allocates `spare` blocks in addition to the arrays, and starts a thread that provides the pages
  // of all memory that will be written. Throws std::bad_alloc.
  RecordBlocks(std::vector<Array> arrays, std::uint64_t count, std::uint64_t block_records,
               std::uint64_t spare);

  [[nodiscard]] const std::vector<Array>& arrays() const { return arrays_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t block_records() const { return block_records_; }
  [[nodiscard]] std::byte* at(std::size_t array, Block block, std::uint64_t record) const;
  [[nodiscard]] const std::byte* input(std::size_t array, std::uint64_t record) const {
    return arrays_[array].from + record * arrays_[array].bytes;
  }

  // Returns a free block: `preferred` if it is free, else the first free one.
  [[nodiscard]] Block take(Block preferred);
  void release(Block block) noexcept {
    is_free_[block] = true;
    first_free_ = std::min(first_free_, block);
  }
  // Call it when the first `end` records of the input have been sorted and written elsewhere:
  // arrays sorted in place may then reuse their memory. `end` is a multiple of block_records(), or
  // count().
  void release_input(std::uint64_t end) noexcept;

  // Moves the blocks of the result to their final places, on all cores. `result` lists them in the
  // order of the sorted list. Throws std::bad_alloc only before the first move.
  void finish(const std::vector<Block>& result) const;
  // For use after a failure, if an array is sorted in place. Moves the records of `live` and those
  // of the input that are not released back into the arrays, in arbitrary order. Also changes the
  // order of `live`. Allocates nothing.
  void restore(std::span<Extent> live) const noexcept;

 private:
  struct Move {
    Block from, to;
  };
  [[nodiscard]] std::vector<Move> moves(const std::vector<Block>& result) const;
  void copy(Block from, std::uint64_t from_record, Block to, std::uint64_t to_record,
            std::uint64_t records) const;

  std::vector<Array> arrays_;
  std::uint64_t count_, block_records_;
  // The number of whole blocks in the arrays, which is also the index of the shorter last block.
  std::uint64_t whole_;
  bool in_place_ = false;
  std::uint64_t
      input_released_;  // records at the beginning of the input that are not needed any more
  std::vector<std::unique_ptr<std::byte[]>> spare_;
  OutputPages pages_;  // destroyed before the spare blocks, so the thread has ended by then
  std::vector<bool> is_free_;
  Block first_free_ = 0;  // all blocks with lower numbers are in use
};

}  // namespace sortium
