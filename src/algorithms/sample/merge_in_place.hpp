// Stable merging of neighbouring runs in place: Kim, Kutzner, "Stable Minimum Storage Merging by
// Symmetric Comparisons" (2004).
#pragma once

#include <algorithm>
#include <cstdint>

namespace sortium::sample {

// Arrays of keys and of values; either may be nullptr.
template <class Key, class Value>
struct Arrays {
  Key* keys;
  Value* values;

  void rotate(std::uint64_t from, std::uint64_t middle, std::uint64_t to) const {
    if (keys != nullptr) std::rotate(keys + from, keys + middle, keys + to);
    if (values != nullptr) std::rotate(values + from, values + middle, values + to);
  }
  void move(std::uint64_t to, const Arrays& source, std::uint64_t from) const {
    if (keys != nullptr) keys[to] = source.keys[from];
    if (values != nullptr) values[to] = source.values[from];
  }
};

// Merges runs of `records`.
//   rank(arrays, i)    returns the rank of record i of `arrays`;
//   buffer()           returns Arrays for `buffered` records that no concurrent merge uses;
//   both(left, right)  calls both functions, perhaps in parallel.
template <class Records, class Rank, class Buffer, class Both>
class InPlaceMerge {
 public:
  InPlaceMerge(const Records& records, const Rank& rank, std::uint64_t buffered,
               const Buffer& buffer, const Both& both)
      : records_(records), rank_(rank), buffered_(buffered), buffer_(buffer), both_(both) {}

  // Merges the sorted runs [begin, bound) and [bound, end). Returns at once if they are already in
  // order.
  void merge(std::uint64_t begin, std::uint64_t bound, std::uint64_t end) const {
    if (begin == bound || bound == end) return;
    const auto rank = [&](std::uint64_t i) { return rank_(records_, i); };
    if (rank(bound - 1) <= rank(bound)) return;
    if (bound - begin <= buffered_) return merge_buffered(begin, bound, end);

    // Binary search for the number of records of the first run that belong in the first half of the
    // merged list.
    const std::uint64_t middle = begin + (end - begin) / 2, wanted = middle - begin;
    std::uint64_t low = wanted > end - bound ? wanted - (end - bound) : 0,
                  high = std::min(wanted, bound - begin);
    while (low < high) {
      const std::uint64_t left = (low + high) / 2;
      if (rank(begin + left) <= rank(bound + (wanted - 1 - left)))
        low = left + 1;
      else
        high = left;
    }
    const std::uint64_t from = begin + low, to = bound + (wanted - low);
    records_.rotate(from, bound, to);
    both_([&] { merge(begin, from, middle); }, [&] { merge(middle, to, end); });
  }

 private:
  // Copies the first run to a buffer, then merges the buffer and the second run into [begin, end).
  void merge_buffered(std::uint64_t begin, std::uint64_t bound, std::uint64_t end) const {
    const Records waiting = buffer_();
    const std::uint64_t count = bound - begin;
    for (std::uint64_t i = 0; i < count; ++i) waiting.move(i, records_, begin + i);
    std::uint64_t left = 0, right = bound, to = begin;
    while (left < count && right < end) {
      if (rank_(waiting, left) <= rank_(records_, right))
        records_.move(to++, waiting, left++);
      else
        records_.move(to++, records_, right++);
    }
    while (left < count) records_.move(to++, waiting, left++);
  }

  Records records_;
  const Rank& rank_;
  std::uint64_t buffered_;
  const Buffer& buffer_;
  const Both& both_;
};

}  // namespace sortium::sample
