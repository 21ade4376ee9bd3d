#include "record_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "all_cores.hpp"

namespace sortium {

RecordBlocks::RecordBlocks(std::vector<Array> arrays, std::uint64_t count,
                           std::uint64_t block_records, std::uint64_t spare)
    : arrays_(std::move(arrays)),
      count_(count),
      block_records_(block_records),
      whole_(count / block_records) {
  for (const auto& a : arrays_) {
    in_place_ = in_place_ || a.from == a.to;
    const std::uint64_t bytes = spare * block_records * a.bytes;
    spare_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
    pages_.add(spare_.back().get(), bytes);
  }
  for (const auto& a : arrays_)
    if (a.from != a.to) pages_.add(a.to, count * a.bytes);
  pages_.start();
  is_free_.assign(whole_ + 1 + spare, false);
  input_released_ = in_place_ ? 0 : count;
  for (Block b = 0; !in_place_ && b < whole_; ++b) release(b);
  for (Block b = 0; b < spare; ++b) release(whole_ + 1 + b);
}

std::byte* RecordBlocks::at(std::size_t array, Block block, std::uint64_t record) const {
  const auto& a = arrays_[array];
  if (block <= whole_) return a.to + (block * block_records_ + record) * a.bytes;
  return spare_[array].get() + ((block - whole_ - 1) * block_records_ + record) * a.bytes;
}

RecordBlocks::Block RecordBlocks::take(Block preferred) {
  while (!is_free_[first_free_]) ++first_free_;
  const Block block = is_free_[preferred] ? preferred : first_free_;
  is_free_[block] = false;
  return block;
}

void RecordBlocks::release_input(std::uint64_t end) noexcept {
  if (!in_place_) return;
  for (; input_released_ + block_records_ <= end; input_released_ += block_records_)
    release(input_released_ / block_records_);
  if (end == count_) input_released_ = count_;
}

// Returns the moves in an order in which none overwrites what a later one reads.
std::vector<RecordBlocks::Move> RecordBlocks::moves(const std::vector<Block>& result) const {
  std::vector<bool> is_needed(whole_ + 1, false), is_done(result.size(), false);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] <= whole_) is_needed[result[i]] = true;
    is_done[i] = result[i] == i;
  }
  std::vector<Move> all;
  const auto fill = [&](Block to, Block end) {  // until block `end`, or a spare one, is moved
    for (; !is_done[to]; to = result[to]) {
      is_done[to] = true;
      if (result[to] == end) return to;
      all.push_back({result[to], to});
      if (result[to] > whole_) break;
    }
    return to;
  };
  for (Block i = 0; i < result.size(); ++i)
    if (!is_needed[i]) fill(i, ~Block{0});
  // What is left are cycles, and all spare blocks are free by now.
  for (Block i = 0; i < result.size(); ++i) {
    if (is_done[i]) continue;
    all.push_back({i, whole_ + 1});
    all.push_back({whole_ + 1, fill(i, i)});
  }
  return all;
}

void RecordBlocks::copy(Block from, std::uint64_t from_record, Block to, std::uint64_t to_record,
                        std::uint64_t records) const {
  for (std::size_t a = 0; a < arrays_.size(); ++a)
    std::memcpy(at(a, to, to_record), at(a, from, from_record), records * arrays_[a].bytes);
}

void RecordBlocks::finish(const std::vector<Block>& result) const {
  const auto all = moves(result);
  // Each thread moves the same part of every block, so the threads need not wait for each other.
  const std::uint64_t parts = std::min(all_cores(), block_records_);
  on_all_cores(parts, [&](std::uint64_t part) {
    const std::uint64_t first = block_records_ * part / parts;
    const std::uint64_t end = block_records_ * (part + 1) / parts;
    for (const auto& m : all) {
      const std::uint64_t records = m.to == whole_ ? count_ % block_records_ : block_records_;
      if (first < records) copy(m.from, first, m.to, first, std::min(end, records) - first);
    }
  });
}

void RecordBlocks::restore(std::span<Extent> live) const noexcept {
  if (!in_place_) return;
  const auto begin_of = [&](const Extent& e) { return e.block * block_records_ + e.first; };
  const auto kept_end =
      std::partition(live.begin(), live.end(), [&](const Extent& e) { return e.block < whole_; });
  auto kept = live.begin();
  std::ranges::sort(kept, kept_end, {}, begin_of);
  std::uint64_t free = 0;  // the first record that may be overwritten
  for (auto e : std::span(kept_end, live.end()))
    while (e.count != 0) {
      for (; kept != kept_end && begin_of(*kept) == free; ++kept) free += kept->count;
      const std::uint64_t end = kept == kept_end ? input_released_ : begin_of(*kept);
      const std::uint64_t records = std::min(e.count, end - free);
      copy(e.block, e.first, 0, free, records);
      free += records, e.first += records, e.count -= records;
    }
}

}  // namespace sortium
