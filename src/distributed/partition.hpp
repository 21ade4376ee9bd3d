// Divides a rank's records stably into buckets, and then into the ranks' parts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "borders.hpp"
#include "columns.hpp"
#include "parallel.hpp"

namespace sortium::distributed {

// Calls work(T{}), where T is the smallest unsigned type of 1, 2 or 4 bytes that can hold
// `largest`.
template <class Work>
void with_id_type(std::uint64_t largest, const Work& work) {
  if (largest <= std::numeric_limits<std::uint8_t>::max()) return work(std::uint8_t{});
  if (largest <= std::numeric_limits<std::uint16_t>::max()) return work(std::uint16_t{});
  work(std::uint32_t{});
}

// Records that are processed together, so that their ids and copies stay in the cache.
inline constexpr std::uint64_t block_records = 2048;

// Returns element i of the column.
template <class T>
[[nodiscard]] T element_at(const std::byte* data, std::uint64_t i) {
  T element;
  std::memcpy(&element, data + i * sizeof(T), sizeof(T));
  return element;
}

// The number of a block's records in each of a few buckets, packed into one word. For a small array
// of counters compilers generate branches, which random buckets mispredict.
class PackedCounts {
 public:
  static constexpr std::size_t max_buckets = 5;

  // Counts one more record of the bucket, and returns how many it had before.
  std::uint64_t add(unsigned bucket) {
    const std::uint64_t before = (*this)[bucket];
    word_ += std::uint64_t{1} << (bucket * bits);
    return before;
  }
  std::uint64_t operator[](unsigned bucket) const { return word_ >> (bucket * bits) & mask; }

 private:
  static constexpr unsigned bits = 12;
  static constexpr std::uint64_t mask = (1 << bits) - 1;
  static_assert(block_records <= mask && max_buckets * bits <= 64);
  std::uint64_t word_ = 0;
};

// Copies each element to the next free place of its bucket, for up to PackedCounts::max_buckets
// buckets. Elements are collected in a buffer for each bucket first.
template <class T, class Id>
void scatter_to_few(const std::byte* from, std::byte* to, const Id* ids, std::uint64_t count,
                    std::vector<std::uint64_t>& next) {
  std::array<T, PackedCounts::max_buckets * block_records> buffers;
  for (std::uint64_t begin = 0; begin < count; begin += block_records) {
    const std::uint64_t end = std::min(begin + block_records, count);
    PackedCounts counts;
    for (std::uint64_t i = begin; i < end; ++i)
      buffers[ids[i] * block_records + counts.add(ids[i])] = element_at<T>(from, i);
    for (unsigned b = 0; b + 1 < next.size(); ++b) {
      std::memcpy(to + next[b] * sizeof(T), buffers.data() + b * block_records,
                  counts[b] * sizeof(T));
      next[b] += counts[b];
    }
  }
}

template <class T, class Id>
void scatter_numbers(const std::byte* from, std::byte* to, const Id* ids, std::uint64_t count,
                     std::vector<std::uint64_t>& next) {
  if (next.size() - 1 <= PackedCounts::max_buckets)
    return scatter_to_few<T>(from, to, ids, count, next);
  for (std::uint64_t i = 0; i < count; ++i) {
    const T element = element_at<T>(from, i);
    std::memcpy(to + next[ids[i]]++ * sizeof(T), &element, sizeof(T));
  }
}

// Copies each element to the next free place of its bucket. `next` has the first free place of each
// bucket, then one more number.
template <class Id>
void scatter(const ConstColumn& from, std::byte* to, const Id* ids, std::uint64_t count,
             std::vector<std::uint64_t> next) {
  switch (count == 0 ? 0 : from.bytes) {
    case 0:
      return;
    case 1:
      return scatter_numbers<std::uint8_t>(from.data, to, ids, count, next);
    case 2:
      return scatter_numbers<std::uint16_t>(from.data, to, ids, count, next);
    case 4:
      return scatter_numbers<std::uint32_t>(from.data, to, ids, count, next);
    case 8:
      return scatter_numbers<std::uint64_t>(from.data, to, ids, count, next);
    default:
      for (std::uint64_t i = 0; i < count; ++i)
        std::memcpy(to + next[ids[i]]++ * from.bytes, from.data + i * from.bytes, from.bytes);
  }
}

// Returns the first place of each bucket, then the end of the last bucket.
inline std::vector<std::uint64_t> begins_of(std::span<const std::uint64_t> counts) {
  std::vector<std::uint64_t> begins(counts.size() + 1);
  std::inclusive_scan(counts.begin(), counts.end(), begins.begin() + 1);
  return begins;
}

// Up to this many boundaries, comparing with all of them is faster than a binary search, whose
// branches mispredict.
inline constexpr std::size_t few_boundaries = 8;

// Returns how many of the boundaries are at most the key.
template <class Key>
[[nodiscard]] std::size_t bucket_of(const Key& key, const std::vector<Key>& boundaries) {
  std::size_t length = boundaries.size(), bucket = 0;
  if (length <= few_boundaries) {
    for (const auto& boundary : boundaries) bucket += key < boundary ? 0 : 1;
    return bucket;
  }
  while (length > 0) {
    const std::size_t half = length / 2;
    const bool right = !(key < boundaries[bucket + half]);
    bucket = right ? bucket + half + 1 : bucket;
    length = right ? length - half - 1 : half;
  }
  return bucket;
}

// A reader behind an interface, so that Partition is compiled once for each type of order key and
// not once for each reader.
template <class K>
class Keys {
 public:
  using Key = K;
  virtual ~Keys() = default;
  // Returns the order key of record i.
  [[nodiscard]] virtual Key of(const Columns& columns, std::uint64_t i) const = 0;
  // Writes the bucket number of each record from `begin` to `end`.
  virtual void classify(const Columns& columns, const std::vector<Key>& boundaries,
                        std::uint64_t begin, std::uint64_t end, std::uint8_t* ids) const = 0;
  virtual void classify(const Columns& columns, const std::vector<Key>& boundaries,
                        std::uint64_t begin, std::uint64_t end, std::uint16_t* ids) const = 0;
  virtual void classify(const Columns& columns, const std::vector<Key>& boundaries,
                        std::uint64_t begin, std::uint64_t end, std::uint32_t* ids) const = 0;
};

template <class Reader>
class KeysOf final : public Keys<typename Reader::Key> {
 public:
  using Key = typename Reader::Key;

  explicit KeysOf(const Reader& reader) : reader_(reader) {}
  [[nodiscard]] Key of(const Columns& columns, std::uint64_t i) const override {
    return reader_(columns, i);
  }
  void classify(const Columns& columns, const std::vector<Key>& boundaries, std::uint64_t begin,
                std::uint64_t end, std::uint8_t* ids) const override {
    if constexpr (Reader::counts_boundaries)
      if (boundaries.size() <= few_boundaries)
        return reader_.count_boundaries(columns, begin, end, boundaries, ids);
    write_buckets(columns, boundaries, begin, end, ids);
  }
  void classify(const Columns& columns, const std::vector<Key>& boundaries, std::uint64_t begin,
                std::uint64_t end, std::uint16_t* ids) const override {
    write_buckets(columns, boundaries, begin, end, ids);
  }
  void classify(const Columns& columns, const std::vector<Key>& boundaries, std::uint64_t begin,
                std::uint64_t end, std::uint32_t* ids) const override {
    write_buckets(columns, boundaries, begin, end, ids);
  }

 private:
  template <class Id>
  void write_buckets(const Columns& columns, const std::vector<Key>& boundaries,
                     std::uint64_t begin, std::uint64_t end, Id* ids) const {
    for (std::uint64_t i = begin; i < end; ++i)
      ids[i - begin] = static_cast<Id>(bucket_of(reader_(columns, i), boundaries));
  }

  const Reader& reader_;
};

// A rank's records, divided into buckets in separate memory.
template <class Key>
class Partition {
 public:
  Partition(const Keys<Key>& keys, Columns columns, std::uint64_t count)
      : keys_(keys), columns_(std::move(columns)), count_(count) {}

  // Appends this rank's samples of stage 1.
  void sample(std::uint64_t total, std::uint64_t samples, Random& random,
              std::vector<Key>& out) const {
    const std::uint64_t mine = samples_of(count_, total, samples, random);
    for (std::uint64_t s = 0; s < mine; ++s)
      out.push_back(keys_.of(columns_, mine == count_ ? s : stratum(s, mine, count_, random)));
  }

  // Divides the records into buckets by `boundaries`. Allocates memory for a copy of the records,
  // and 1 to 4 bytes for each record.
  void divide(const std::vector<Key>& boundaries);
  // Returns this rank's number of records in each bucket.
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }

  // Returns the order bits of the keys of all records in these buckets. `buckets` must ascend.
  [[nodiscard]] std::vector<Key> keys_of(const std::vector<std::uint64_t>& buckets) const;

  // Divides the buckets that contain borders. left[b] is how many records of this rank that tie
  // with border b lie left of it (0 if there are no ties). Returns, for each border, how many of
  // this rank's records lie left of it.
  std::vector<std::uint64_t> divide_at(const std::vector<Border<Key>>& borders,
                                       const std::vector<std::uint64_t>& left);

  // The divided columns.
  [[nodiscard]] std::vector<Bytes>& divided() { return divided_; }

 private:
  void set_begins(std::vector<std::vector<std::uint64_t>>& chunks) const;
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

  const Keys<Key>& keys_;
  Columns columns_;
  std::uint64_t count_;
  std::vector<std::uint64_t> counts_, begins_;
  std::vector<Bytes> divided_;
};

// Adds the numbers of a block's records in each bucket to `counts`.
template <class Id>
void count_ids(const Id* ids, std::uint64_t count, std::vector<std::uint64_t>& counts) {
  if (counts.size() > PackedCounts::max_buckets) {
    for (std::uint64_t i = 0; i < count; ++i) ++counts[ids[i]];
    return;
  }
  PackedCounts packed;
  for (std::uint64_t i = 0; i < count; ++i) packed.add(ids[i]);
  for (unsigned b = 0; b < counts.size(); ++b) counts[b] += packed[b];
}

// Returns how many records a thread divides at a time: so many that the counts of all chunks take
// little memory beside the records.
inline std::uint64_t chunk_records(std::uint64_t buckets) {
  constexpr std::uint64_t least = 1 << 18, records_for_a_count = 16;
  const std::uint64_t wanted = std::max(least, buckets * records_for_a_count);
  return (wanted + block_records - 1) / block_records * block_records;
}

template <class Key>
void Partition<Key>::divide(const std::vector<Key>& boundaries) {
  for (const auto& column : columns_) divided_.emplace_back(count_ * column.bytes);
  counts_.assign(boundaries.size() + 1, 0);
  const std::uint64_t length = chunk_records(counts_.size());
  // For each chunk, its records in each bucket; then where they begin in the divided columns.
  std::vector<std::vector<std::uint64_t>> chunks((count_ + length - 1) / length);
  with_id_type(boundaries.size(), [&](auto type) {
    using Id = decltype(type);
    const Bytes ids(count_ * sizeof(Id));
    auto* const id = reinterpret_cast<Id*>(ids.data());
    for_all(chunks.size(), [&](std::uint64_t c) {
      chunks[c].assign(counts_.size(), 0);
      const std::uint64_t chunk_end = std::min((c + 1) * length, count_);
      for (std::uint64_t begin = c * length; begin < chunk_end; begin += block_records) {
        const std::uint64_t end = std::min(begin + block_records, chunk_end);
        keys_.classify(columns_, boundaries, begin, end, id + begin);
        count_ids(id + begin, end - begin, chunks[c]);
      }
    });
    for (const auto& chunk : chunks)
      for (std::size_t b = 0; b < counts_.size(); ++b) counts_[b] += chunk[b];
    begins_ = begins_of(counts_);
    set_begins(chunks);
    for_all(chunks.size(), [&](std::uint64_t c) {
      const std::uint64_t begin = c * length, records = std::min(length, count_ - begin);
      for (std::size_t k = 0; k < columns_.size(); ++k) {
        const unsigned bytes = columns_[k].bytes;
        scatter({columns_[k].data + begin * bytes, bytes}, divided_[k].data(), id + begin, records,
                chunks[c]);
      }
    });
  });
}

// Replaces each chunk's counts by where its records begin in each bucket. Appends one number, which
// scatter() expects.
template <class Key>
void Partition<Key>::set_begins(std::vector<std::vector<std::uint64_t>>& chunks) const {
  auto next = begins_;
  for (auto& chunk : chunks) {
    for (std::size_t b = 0; b < chunk.size(); ++b) {
      const std::uint64_t records = std::exchange(chunk[b], next[b]);
      next[b] += records;
    }
    chunk.push_back(count_);
  }
}

template <class Key>
auto Partition<Key>::keys_of(const std::vector<std::uint64_t>& buckets) const -> std::vector<Key> {
  const Columns columns = divided_columns();
  std::vector<Key> keys;
  for (const auto b : buckets)
    for (std::uint64_t i = begins_[b]; i < begins_[b + 1]; ++i)
      keys.push_back(keys_.of(columns, i));
  return keys;
}

// Writes, for each record of a bucket, how many borders inside the bucket lie left of the record.
template <class Key>
template <class Id>
void Partition<Key>::number_pieces(std::span<const Border<Key>> borders,
                                   std::span<const std::uint64_t> left, std::uint64_t begin,
                                   std::span<Id> ids) const {
  const Columns columns = divided_columns();
  std::vector<std::uint64_t> seen(
      borders.size());  // number of ties seen so far, counted at the first border of a value
  for (std::uint64_t i = 0; i < ids.size(); ++i) {
    const Key key = keys_.of(columns, begin + i);
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

// Divides one bucket at the borders inside it. Returns, for each of them, how many of the bucket's
// records lie left of it.
template <class Key>
std::vector<std::uint64_t> Partition<Key>::divide_bucket(std::span<const Border<Key>> borders,
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

template <class Key>
std::vector<std::uint64_t> Partition<Key>::divide_at(const std::vector<Border<Key>>& borders,
                                                     const std::vector<std::uint64_t>& left) {
  using Place = typename Border<Key>::Place;
  std::vector<std::uint64_t> cuts;
  for (std::size_t b = 0; b < borders.size();) {
    const std::uint64_t bucket = borders[b].bucket;
    if (borders[b].place != Place::at_value) {
      const bool is_after = borders[b].place == Place::after_bucket;
      cuts.push_back(is_after ? begins_[bucket + 1] : begins_[bucket] + left[b]);
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
