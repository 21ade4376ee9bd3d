// Divides a rank's records stably into buckets, and then into the ranks' parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "borders.hpp"
#include "columns.hpp"

namespace sortium::distributed {

// Calls work(T{}) with the unsigned type of 1, 2 or 4 bytes that holds `largest`.
template <class Work>
void with_id_type(std::uint64_t largest, const Work& work) {
  if (largest <= std::numeric_limits<std::uint8_t>::max()) return work(std::uint8_t{});
  if (largest <= std::numeric_limits<std::uint16_t>::max()) return work(std::uint16_t{});
  work(std::uint32_t{});
}

// Copies each element to the next place of its bucket. `next` has each bucket's first place.
template <class Id>
void scatter(const ConstColumn& from, std::byte* to, const Id* ids, std::uint64_t count,
             std::vector<std::uint64_t> next) {
  const auto copy_all = [&](auto size) {
    const unsigned bytes = size == 0 ? from.bytes : size;
    for (std::uint64_t i = 0; i < count; ++i)
      std::memcpy(to + next[ids[i]]++ * bytes, from.data + i * bytes, bytes);
  };
  switch (from.bytes) {
    case 1:
      return copy_all(std::integral_constant<unsigned, 1>{});
    case 2:
      return copy_all(std::integral_constant<unsigned, 2>{});
    case 4:
      return copy_all(std::integral_constant<unsigned, 4>{});
    case 8:
      return copy_all(std::integral_constant<unsigned, 8>{});
    default:
      return copy_all(std::integral_constant<unsigned, 0>{});
  }
}

// Returns the first place of each bucket, and the end of the last one.
inline std::vector<std::uint64_t> begins_of(std::span<const std::uint64_t> counts) {
  std::vector<std::uint64_t> begins(counts.size() + 1);
  std::inclusive_scan(counts.begin(), counts.end(), begins.begin() + 1);
  return begins;
}

// A rank's records, divided into buckets in memory of its own.
template <class Reader>
class Partition {
 public:
  using Key = typename Reader::Key;

  Partition(const Reader& reader, Columns columns, std::uint64_t count)
      : reader_(reader), columns_(std::move(columns)), count_(count) {}

  // Appends this rank's samples of stage 1.
  void sample(std::uint64_t total, std::uint64_t samples, Random& random,
              std::vector<Key>& out) const {
    const std::uint64_t mine = samples_of(count_, total, samples, random);
    for (std::uint64_t s = 0; s < mine; ++s)
      out.push_back(reader_(columns_, mine == count_ ? s : stratum(s, mine, count_, random)));
  }

  // Divides the records by `boundaries`. Allocates memory for them and 1 to 4 bytes a record.
  void divide(const std::vector<Key>& boundaries);
  // For each bucket, this rank's number of records.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }

  // Returns the order keys of all records of these buckets, which ascend.
  [[nodiscard]] std::vector<Key> keys_of(const std::vector<std::uint64_t>& buckets) const;

  // Divides the buckets that have borders inside. `left` has, for each border, how many of its ties
  // on this rank lie left. Returns, for each border, how many of this rank's records lie left.
  std::vector<std::uint64_t> divide_at(const std::vector<Border<Key>>& borders,
                                       const std::vector<std::uint64_t>& left);

  // The divided columns.
  [[nodiscard]] std::vector<Bytes>& divided() { return divided_; }

 private:
  template <class Id>
  void classify(const std::vector<Key>& boundaries, Id* ids);
  template <class Id>
  void number_pieces(std::span<const Border<Key>> borders, std::span<const std::uint64_t> left,
                     std::uint64_t begin, std::span<Id> ids) const;
  std::vector<std::uint64_t> divide_bucket(std::span<const Border<Key>> borders,
                                           std::span<const std::uint64_t> left);
  [[nodiscard]] Columns divided_columns() const {
    Columns columns = columns_;
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].data = divided_[c].data();
    return columns;
  }

  const Reader& reader_;
  Columns columns_;
  std::uint64_t count_;
  std::vector<std::uint64_t> counts_, begins_;
  std::vector<Bytes> divided_;
};

// Writes each record's bucket into `ids`, and counts the buckets.
template <class Reader>
template <class Id>
void Partition<Reader>::classify(const std::vector<Key>& boundaries, Id* ids) {
  // Comparing with all of a few boundaries is faster than a search, whose branches mispredict.
  constexpr std::size_t few_boundaries = 8;
  const std::size_t all = boundaries.size();
  if (all <= few_boundaries) {
    for (std::uint64_t i = 0; i < count_; ++i) {
      const Key key = reader_(columns_, i);
      Id bucket = 0;
      for (std::size_t b = 0; b < all; ++b)
        bucket = static_cast<Id>(bucket + (key < boundaries[b] ? 0 : 1));
      ids[i] = bucket;
    }
  } else {
    for (std::uint64_t i = 0; i < count_; ++i) {
      const Key key = reader_(columns_, i);
      const Key* first = boundaries.data();
      for (std::size_t length = all; length > 0;) {
        const std::size_t half = length / 2;
        const bool right = !(key < first[half]);
        first = right ? first + half + 1 : first;
        length = right ? length - half - 1 : half;
      }
      ids[i] = static_cast<Id>(first - boundaries.data());
    }
  }
  for (std::uint64_t i = 0; i < count_; ++i) ++counts_[ids[i]];
}

template <class Reader>
void Partition<Reader>::divide(const std::vector<Key>& boundaries) {
  for (const auto& column : columns_) divided_.emplace_back(count_ * column.bytes);
  counts_.assign(boundaries.size() + 1, 0);
  with_id_type(boundaries.size(), [&](auto type) {
    using Id = decltype(type);
    const Bytes ids(count_ * sizeof(Id));
    auto* const id = reinterpret_cast<Id*>(ids.data());
    classify(boundaries, id);
    begins_ = begins_of(counts_);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      scatter(columns_[c], divided_[c].data(), id, count_, begins_);
  });
}

template <class Reader>
auto Partition<Reader>::keys_of(const std::vector<std::uint64_t>& buckets) const
    -> std::vector<Key> {
  const Columns columns = divided_columns();
  std::vector<Key> keys;
  for (const auto b : buckets)
    for (std::uint64_t i = begins_[b]; i < begins_[b + 1]; ++i) keys.push_back(reader_(columns, i));
  return keys;
}

// Writes, for each record of a bucket, how many of the bucket's borders lie left of it.
template <class Reader>
template <class Id>
void Partition<Reader>::number_pieces(std::span<const Border<Key>> borders,
                                      std::span<const std::uint64_t> left, std::uint64_t begin,
                                      std::span<Id> ids) const {
  const Columns columns = divided_columns();
  std::vector<std::uint64_t> seen(borders.size());  // ties, counted at the first border of a value
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    const Key key = reader_(columns, begin + i);
    auto piece = static_cast<std::uint64_t>(
        std::partition_point(borders.begin(), borders.end(),
                             [&](const auto& b) { return b.value < key; }) -
        borders.begin());
    if (piece < borders.size() && borders[piece].value == key) {
      const std::uint64_t tie = seen[piece]++;
      while (piece < borders.size() && borders[piece].value == key && tie >= left[piece]) ++piece;
    }
    ids[i] = static_cast<Id>(piece);
  }
}

// Divides one bucket at borders inside. Returns, for each, how many of its records lie left.
template <class Reader>
std::vector<std::uint64_t> Partition<Reader>::divide_bucket(std::span<const Border<Key>> borders,
                                                            std::span<const std::uint64_t> left) {
  const std::uint64_t begin = begins_[borders[0].bucket];
  const std::uint64_t count = begins_[borders[0].bucket + 1] - begin;
  std::vector<std::uint64_t> pieces(borders.size() + 1);
  with_id_type(borders.size(), [&](auto type) {
    using Id = decltype(type);
    std::vector<Id> ids(count);
    number_pieces<Id>(borders, left, begin, ids);
    for (const auto id : ids) ++pieces[id];
    const auto begins = begins_of(pieces);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const unsigned bytes = columns_[c].bytes;
      std::byte* const bucket = divided_[c].data() + begin * bytes;
      const std::vector<std::byte> copy(bucket, bucket + count * bytes);
      scatter({copy.data(), bytes}, bucket, ids.data(), count, begins);
    }
  });
  std::inclusive_scan(pieces.begin(), pieces.end(), pieces.begin());
  pieces.pop_back();
  return pieces;
}

template <class Reader>
std::vector<std::uint64_t> Partition<Reader>::divide_at(const std::vector<Border<Key>>& borders,
                                                        const std::vector<std::uint64_t>& left) {
  using Place = typename Border<Key>::Place;
  std::vector<std::uint64_t> cuts;
  for (std::size_t b = 0; b < borders.size();) {
    const std::uint64_t bucket = borders[b].bucket;
    if (borders[b].place != Place::at_value) {
      cuts.push_back(begins_[bucket + (borders[b].place == Place::after_bucket ? 1 : 0)]);
      ++b;
      continue;
    }
    std::size_t end = b;
    while (end < borders.size() && borders[end].bucket == bucket &&
           borders[end].place == Place::at_value)
      ++end;
    const std::span inside(borders.data() + b, end - b);
    for (const auto cut : divide_bucket(inside, std::span(left).subspan(b, end - b)))
      cuts.push_back(begins_[bucket] + cut);
    b = end;
  }
  return cuts;
}

}  // namespace sortium::distributed
