// The host memory of a sort in ranges: the caller's arrays, divided into blocks of records, and an
// eighth as many spare blocks. Sorted records are written to free blocks wherever they are, and the
// blocks are moved to their final places at the end. So a sort in place needs no second array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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

  // `spare` blocks are allocated beside the arrays. Throws std::bad_alloc.
  RecordBlocks(std::vector<Array> arrays, std::uint64_t count, std::uint64_t block_records,
               std::uint64_t spare);

  [[nodiscard]] const std::vector<Array>& arrays() const { return arrays_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t block_records() const { return block_records_; }
  [[nodiscard]] std::byte* at(std::size_t array, Block block, std::uint64_t record) const;
  [[nodiscard]] const std::byte* input(std::size_t array, std::uint64_t record) const {
    return arrays_[array].from + record * arrays_[array].bytes;
  }

  // Returns a free block: `preferred` if it is free, else the first.
  [[nodiscard]] Block take(Block preferred);
  void release(Block block) noexcept {
    is_free_[block] = true;
    first_free_ = std::min(first_free_, block);
  }
  // The input's first `end` records have been sorted and written elsewhere, so arrays in place may
  // reuse their memory. `end` is a multiple of block_records(), or count().
  void release_input(std::uint64_t end) noexcept;

  // Moves the blocks that hold the result, in its order, to their places, on all cores.
  void finish(const std::vector<Block>& result) const;
  // After a failure: moves the records of `live` and of the input that is not released into the
  // arrays, if one of them is sorted in place. Their order is arbitrary.
  void restore(const std::vector<Extent>& live) const;

 private:
  struct Move {
    Block from, to;
  };
  [[nodiscard]] std::vector<Move> moves(const std::vector<Block>& result) const;
  void copy(Block from, std::uint64_t from_record, Block to, std::uint64_t to_record,
            std::uint64_t records) const;

  std::vector<Array> arrays_;
  std::uint64_t count_, block_records_;
  std::uint64_t whole_;  // blocks in the arrays; the next number stands for the shorter rest
  bool in_place_ = false;
  std::uint64_t input_released_;  // the input's first records, which are not needed any more
  std::vector<std::unique_ptr<std::byte[]>> spare_;
  std::vector<bool> is_free_;
  Block first_free_ = 0;  // no free block is before it
};

}  // namespace sortium
