// The records of the sort benchmark (sortbenchmark.org): the bytes that gensort 1.5 writes, and the
// figures by which valsort 1.5 validates a sorted file.
//
// A record has 100 bytes; the first 10 are its key, in the order of memcmp().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace app {

__extension__ using Number128 = unsigned __int128;

inline constexpr unsigned benchmark_record_bytes = 100, benchmark_key_bytes = 10;

struct BenchmarkFormat {
  bool ascii = false;   // printable characters, a record a line; else every byte is random
  bool skewed = false;  // many keys begin alike: prefixes of one key for each power of two records
};

// Writes `count` records, beginning with record number `first`. Each record depends only on its
// number, so parts can be made separately.
void make_benchmark_records(const BenchmarkFormat& format, Number128 first, std::uint64_t count,
                            std::byte* out);

// The figures of a sequence of records. append() joins those of consecutive parts.
struct RecordSummary {
  using Record = std::array<std::byte, benchmark_record_bytes>;

  // A record is unordered if its key is less than the key of the record before it, and a duplicate
  // if the two are equal.
  Number128 first_unordered = 0;  // its position, from 0; 0: there is none
  Number128 unordered = 0;
  Number128 count = 0;
  Number128 duplicates = 0;
  Number128 checksum = 0;  // sum of the records' CRC-32 (that of zlib)
  Record first{}, last{};

  // Returns the figures of `count` records.
  [[nodiscard]] static RecordSummary of(const std::byte* records, std::uint64_t count);
  // Appends the figures of the records that follow.
  void append(const RecordSummary& next);

  // A summary in a file, as valsort -o writes it: the five numbers, each as its high and its low 64
  // bits in the machine's byte order, then the first and the last record. Such files can be
  // concatenated.
  static constexpr std::size_t file_bytes = 5 * 16 + 2 * benchmark_record_bytes;
  using FileBytes = std::array<std::byte, file_bytes>;
  [[nodiscard]] FileBytes to_bytes() const;
  [[nodiscard]] static RecordSummary from_bytes(std::span<const std::byte, file_bytes> bytes);
  // True if there are records and the numbers do not contradict each other.
  [[nodiscard]] bool is_plausible() const;
};

// The number in decimal, and in lower-case hexadecimal without leading zeros, as valsort prints it.
[[nodiscard]] std::string decimal(Number128 number);
[[nodiscard]] std::string hexadecimal(Number128 number);

}  // namespace app
