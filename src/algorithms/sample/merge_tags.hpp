// Merges up to 8 runs of records. It merges words: a window of the key's code, and below it the
// run's number, the tag. A tag has 2 or 3 bits, fewer than a record's place. So words of 4 bytes
// suffice more often, and more windows hold the whole code. A run's records keep their order, so
// the merged tags determine the order of the records.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "codes.hpp"
#include "merge_pieces.hpp"
#include "place_order.hpp"
#include "positions.hpp"
#include "runs.hpp"

namespace sortium::sample {

template <class Key>
class TagMerge {
 public:
  static constexpr std::size_t most = RunFinder::most;  // runs

  // The runs are not empty. In runs that fall, no records tie. Record numbers have 32 bits.
  TagMerge(const Key* keys, Coding<Key> coding, const Run* runs, std::size_t count)
      : keys_(keys),
        coding_(coding),
        runs_(runs),
        run_count_(count),
        tag_bits_(count <= 4 ? 2 : 3) {
    for (std::size_t r = 0; r < count; ++r) records_ += runs[r].end - runs[r].begin;
    // Codes of negative floats are inverted. So a bit that is 1 in all floats differs between the
    // codes of both signs. A comparison with 0 finds such bits, too.
    const Key other = coding.is_float ? Key{0} : keys[runs[0].begin];
    for (std::size_t r = 0; r < count && (differing_ & 1) == 0; ++r)
      differing_ |= differing_bits(keys + runs[r].begin, runs[r].end - runs[r].begin, other);
    range_ = range();
    if (coding.is_float && range_.highest >= Ties<Key>::first_nan) differing_ = ~Key{0};
  }

  // Returns the numbers of the records in their order. They lie in `memory` or in `spare`, which
  // have space for a word of 8 bytes for each record.
  const std::uint32_t* merge(std::uint64_t* memory, std::uint64_t* spare) const {
    const auto [lowest, highest] = range_;
    const Window window = window_of(lowest, highest, 32 - tag_bits_);
    // Words of 8 bytes always hold codes of 4 bytes.
    if (holds_codes(window) || (sizeof(Key) == 8 && separates(window)))
      return merge(window, reinterpret_cast<std::uint32_t*>(memory),
                   reinterpret_cast<std::uint32_t*>(spare));
    return merge(window_of(lowest, highest, 64 - tag_bits_), memory, spare);
  }

 private:
  [[nodiscard]] Key code(std::uint64_t record) const {
    return tied_code_of(keys_[record], coding_);
  }

  [[nodiscard]] CodeRange range() const {
    CodeRange all{~std::uint64_t{0}, 0};
    for (std::size_t r = 0; r < run_count_; ++r)
      for (const std::uint64_t end : {runs_[r].begin, runs_[r].end - 1}) {
        all.lowest = std::min<std::uint64_t>(all.lowest, code(end));
        all.highest = std::max<std::uint64_t>(all.highest, code(end));
      }
    return all;
  }
  // True if codes with equal windows are the same: in the bits below the window, no keys differ.
  [[nodiscard]] bool holds_codes(const Window& window) const {
    return (differing_ & ((Key{1} << window.shift) - 1)) == 0;
  }
  // True if samples let expect that few records share a window. Few records are not sampled.
  [[nodiscard]] bool separates(const Window& window) const {
    constexpr std::uint64_t few = 2048;  // samples would take too much of the time
    if (records_ < few) return true;
    Key sample[separating_samples];
    Positions positions(Positions::splitters_seed);
    for (Key& to : sample) {
      std::uint64_t i = positions.next(records_);
      std::size_t r = 0;
      for (; i >= runs_[r].end - runs_[r].begin; ++r) i -= runs_[r].end - runs_[r].begin;
      to = code(runs_[r].begin + i);
    }
    return windows_separate(sample, records_, window);
  }

  template <class Word>
  const std::uint32_t* merge(const Window& window, Word* words, Word* spare) const {
    std::size_t ends[most + 1] = {0};
    RunRecords next[most];
    for (std::size_t r = 0; r < run_count_; ++r) {
      const auto [begin, end, falls] = runs_[r];
      next[r] = falls ? RunRecords{static_cast<std::uint32_t>(end - 1), ~std::uint32_t{0}}
                      : RunRecords{static_cast<std::uint32_t>(begin), 1};
      ends[r + 1] = ends[r] + (end - begin);
      make_tagged(keys_ + begin, words + ends[r], end - begin, coding_, window,
                  {tag_bits_, static_cast<unsigned>(r)}, falls);
    }
    const Word* const merged = merge_pieces<most>(words, spare, ends, run_count_);
    auto* const records = reinterpret_cast<std::uint32_t*>(merged == words ? spare : words);
    follow_tags(merged, records_, tag_bits_, next, run_count_, records);
    if (!holds_codes(window)) order_equal_windows(merged, records);
    return records;
  }

  // Sorts the records of equal windows by their codes.
  template <class Word>
  void order_equal_windows(const Word* words, std::uint32_t* records) const {
    constexpr std::uint64_t block = 64;
    const auto equal = [&](std::uint64_t i) { return has_window_of_next(words + i); };
    for (std::uint64_t i = 0; i + 1 < records_;) {
      const std::uint64_t end = std::min(i + block, records_ - 1);
      if (are_ordered(words, records, i, end)) {
        i = end;
        continue;
      }
      while (i > 0 && equal(i - 1)) --i;  // a block may end in a group
      while (i < end) {
        std::uint64_t last = i + 1;
        while (last < records_ && equal(last - 1)) ++last;
        sort_by_code(records + i, last - i);
        i = last;
      }
    }
  }
  void sort_by_code(std::uint32_t* records, std::uint64_t count) const {
    constexpr std::uint64_t inserted = 16;
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return code(a) < code(b); };
    if (count > inserted) return std::stable_sort(records, records + count, before);
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint32_t record = records[i];
      std::uint64_t to = i;
      for (; to > 0 && before(record, records[to - 1]); --to) records[to] = records[to - 1];
      records[to] = record;
    }
  }
  template <class Word>
  [[nodiscard]] bool has_window_of_next(const Word* word) const {
    return (word[0] ^ word[1]) >> tag_bits_ == 0;
  }
  // True only if the records from `begin` to `end`, that one among them, need no sort. May be false
  // for floats that are in order, which then costs only time.
  template <class Word>
  [[nodiscard]] bool are_ordered(const Word* words, const std::uint32_t* records,
                                 std::uint64_t begin, std::uint64_t end) const {
    if (count_equal(words + begin, end - begin, tag_bits_) == 0) return true;
    return coding_.is_float ? ties_are_same(words, records, begin, end)
                            : ascend(records, begin, end);
  }
  [[nodiscard]] bool ascend(const std::uint32_t* records, std::uint64_t begin,
                            std::uint64_t end) const {
    bool broken = false;
    Key before = keys_[records[begin]] ^ coding_.flip;
    for (std::uint64_t i = begin + 1; i <= end; ++i) {
      const Key here = keys_[records[i]] ^ coding_.flip;
      broken |= here < before;
      before = here;
    }
    return !broken;
  }
  // True if records with equal windows have the same key. Codes of floats would take longer.
  template <class Word>
  [[nodiscard]] bool ties_are_same(const Word* words, const std::uint32_t* records,
                                   std::uint64_t begin, std::uint64_t end) const {
    bool differ = false;
    for (std::uint64_t i = begin; i < end; ++i)
      differ |= has_window_of_next(words + i) & (keys_[records[i]] != keys_[records[i + 1]]);
    return !differ;
  }

  const Key* keys_;
  Coding<Key> coding_;
  const Run* runs_;
  std::size_t run_count_;
  unsigned tag_bits_;
  std::uint64_t records_ = 0;
  CodeRange range_{};
  Key differing_ = 0;  // bits in which keys may differ; incomplete if bit 0 is 1
};

}  // namespace sortium::sample
