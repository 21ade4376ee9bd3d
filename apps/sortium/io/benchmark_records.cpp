#include "io/benchmark_records.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace app {

namespace {

constexpr Number128 number128(std::uint64_t high, std::uint64_t low) {
  return Number128{high} << 64 | low;
}
constexpr auto high64(Number128 n) { return static_cast<std::uint64_t>(n >> 64); }
constexpr auto low64(Number128 n) { return static_cast<std::uint64_t>(n); }

// ---------------------------------------------------------------------------------------------
// The generator
// ---------------------------------------------------------------------------------------------

// The random numbers: x' = multiplier x + increment modulo 2^128, from 0. The number after n + 1
// steps belongs to record n.
constexpr Number128 multiplier = number128(0x2360ed051fc65da4, 0x4385df649fccf645);
constexpr Number128 increment = number128(0x4a696d4772617952, 0x4950202020202001);

constexpr Number128 next(Number128 x) { return multiplier * x + increment; }

// Returns the number after `steps` steps from 0. Two steps are again a step, with multiplier a^2
// and increment (a + 1) c.
Number128 after(Number128 steps) {
  Number128 x = 0;
  for (Number128 a = multiplier, c = increment; steps != 0; steps >>= 1) {
    if ((steps & 1) != 0) x = a * x + c;
    c *= a + 1;
    a *= a;
  }
  return x;
}

// A binary record is 10 parts of 10 bytes. Part p is the highest 80 bits of the p-th number from
// the record's own on, with the bits of `masks[p]` inverted. The masks are gensort 1.5's.
constexpr unsigned parts = 10, part_bytes = 10;
constexpr Number128 masks[parts] = {0,
                                    number128(0xf0e8e4e2e1d8d4d2, 0xd1cc000000000000),
                                    number128(0xcac9c6c5c3b8b4b2, 0xb1ac000000000000),
                                    number128(0xaaa9a6a5a39c9a99, 0x9695000000000000),
                                    number128(0x938e8d8b87787472, 0x716c000000000000),
                                    number128(0x6a696665635c5a59, 0x5655000000000000),
                                    number128(0x534e4d4b473c3a39, 0x3635000000000000),
                                    number128(0x332e2d2b271e1d1b, 0x170f000000000000),
                                    number128(0xc8c4c2c198949291, 0x8ce0000000000000),
                                    number128(0x170f332e2d2b271e, 0x1d1b000000000000)};

// Big-endian, on every machine.
void store_high_80_bits(std::byte* out, Number128 n) {
  for (unsigned i = 0; i < part_bytes; ++i) out[i] = static_cast<std::byte>(n >> (120 - 8 * i));
}

void make_binary(std::byte* out, const Number128* numbers) {
  for (unsigned p = 0; p < parts; ++p)
    store_high_80_bits(out + p * part_bytes, numbers[p] ^ masks[p]);
}

// Writes `count` digits to base 95, the lowest first, as the printable characters ' ' to '~'.
void put_printable(std::byte* out, std::uint64_t n, unsigned count) {
  for (unsigned i = 0; i < count; ++i, n /= 95) out[i] = static_cast<std::byte>(' ' + n % 95);
}

void put_ascii_key(std::byte* out, Number128 n) {
  put_printable(out, high64(n), 8);
  put_printable(out + 8, low64(n), 2);
}

// Writes the lowest `digits` hexadecimal digits of `n`, the highest first, each `times` times.
void put_hexadecimal(std::byte* out, Number128 n, unsigned digits, unsigned times) {
  for (unsigned i = 0; i < digits; ++i) {
    const char digit = "0123456789ABCDEF"[static_cast<unsigned>(n >> 4 * (digits - 1 - i)) & 15];
    std::memset(out + i * times, digit, times);
  }
}

// Key, record number, 13 digits of the random number, and the end of a line.
void make_ascii(std::byte* out, Number128 record, Number128 n) {
  constexpr unsigned number_begin = 12, filler_begin = 46, end_begin = 98;
  std::memset(out, ' ', benchmark_record_bytes);
  put_ascii_key(out, n);
  put_hexadecimal(out + number_begin, record, 32, 1);
  put_hexadecimal(out + filler_begin, n, 13, 4);
  std::memcpy(out + end_begin, "\r\n", 2);
}

// Skewed keys begin like the key of record number i, where i is the number of significant bits of
// their own record number.
constexpr unsigned skew_bytes = 6;  // at most so many bytes are alike
constexpr auto skew_numbers = [] {
  std::array<Number128, 129> out{};
  Number128 x = 0;
  for (auto& n : out) n = x = next(x);
  return out;
}();

// gensort counts 64 bits for every word of at least 2^60.
unsigned significant_bits(std::uint64_t word) {
  return word >> 60 != 0 ? 64u : static_cast<unsigned>(std::bit_width(word));
}

Number128 skew_number(Number128 record) {
  const std::uint64_t high = high64(record);
  return skew_numbers[high != 0 ? 64 + significant_bits(high) : significant_bits(low64(record))];
}

// 0 to 48 bits are alike. Of the 64 values, the 16 that are too large mean 0.
void skew_binary_key(std::byte* out, Number128 record, Number128 n) {
  const unsigned bits = low64(n) >> 32 & 63;
  if (bits == 0 || bits > 8 * skew_bytes) return;
  const Number128 mask = ~Number128{0} << (128 - bits);
  store_high_80_bits(out, (skew_number(record) & mask) | (n & ~mask));
}

// 0 to 6 characters are alike. Of the 8 values, the one that is too large means 0.
void skew_ascii_key(std::byte* out, Number128 record, Number128 n) {
  const unsigned characters = low64(n) >> 32 & 7;
  if (characters <= skew_bytes) put_printable(out, high64(skew_number(record)), characters);
}

// ---------------------------------------------------------------------------------------------
// CRC-32: the polynomial of zlib, IEEE 802.3 and gzip; bits reversed. Eight bytes a step.
// ---------------------------------------------------------------------------------------------

constexpr unsigned crc_step = 8;
constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, crc_step> out{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (unsigned bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ ((crc & 1) != 0 ? std::uint32_t{0xedb88320} : 0u);
    out[0][byte] = crc;
  }
  for (unsigned step = 1; step < crc_step; ++step)
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = out[step - 1][byte];
      out[step][byte] = before >> 8 ^ out[0][before & 255];
    }
  return out;
}();

std::uint32_t crc32(const std::byte* record) {
  std::uint32_t crc = ~0u;
  unsigned i = 0;
  for (; i + crc_step <= benchmark_record_bytes; i += crc_step) {
    std::uint32_t next_crc = 0;
    for (unsigned byte = 0; byte < crc_step; ++byte) {
      const std::uint32_t before = byte < 4 ? crc >> 8 * byte & 255 : 0;
      next_crc ^= crc_tables[crc_step - 1 - byte]
                            [before ^ std::to_integer<std::uint32_t>(record[i + byte])];
    }
    crc = next_crc;
  }
  for (; i < benchmark_record_bytes; ++i)
    crc = crc >> 8 ^ crc_tables[0][(crc & 255) ^ std::to_integer<std::uint32_t>(record[i])];
  return ~crc;
}

int compare_keys(const std::byte* a, const std::byte* b) {
  return std::memcmp(a, b, benchmark_key_bytes);
}

std::string digits_of(Number128 number, unsigned base) {
  std::string out;
  do {
    out += "0123456789abcdef"[static_cast<unsigned>(number % base)];
    number /= base;
  } while (number != 0);
  std::ranges::reverse(out);
  return out;
}

}  // namespace

void make_benchmark_records(const BenchmarkFormat& format, Number128 first, std::uint64_t count,
                            std::byte* out) {
  std::vector<Number128> numbers(count + parts - 1);
  Number128 x = after(first);
  for (auto& n : numbers) n = x = next(x);

  for (std::uint64_t i = 0; i < count; ++i, out += benchmark_record_bytes) {
    const Number128 record = first + i;
    if (format.ascii) {
      make_ascii(out, record, numbers[i]);
      if (format.skewed) skew_ascii_key(out, record, numbers[i]);
    } else {
      make_binary(out, &numbers[i]);
      if (format.skewed) skew_binary_key(out, record, numbers[i]);
    }
  }
}

RecordSummary RecordSummary::of(const std::byte* records, std::uint64_t count) {
  RecordSummary s;
  s.count = count;
  if (count == 0) return s;
  std::memcpy(s.first.data(), records, benchmark_record_bytes);
  std::memcpy(s.last.data(), records + (count - 1) * benchmark_record_bytes,
              benchmark_record_bytes);

  std::uint64_t first_unordered = 0, unordered = 0, duplicates = 0;
  s.checksum = crc32(records);
  for (std::uint64_t i = 1; i < count; ++i) {
    const std::byte* const record = records + i * benchmark_record_bytes;
    s.checksum += crc32(record);
    const int order = compare_keys(record - benchmark_record_bytes, record);
    if (order > 0 && unordered++ == 0) first_unordered = i;
    if (order == 0) ++duplicates;
  }
  s.first_unordered = first_unordered;
  s.unordered = unordered;
  s.duplicates = duplicates;
  return s;
}

void RecordSummary::append(const RecordSummary& next) {
  if (next.count == 0) return;
  if (count == 0) {
    *this = next;
    return;
  }
  const int order = compare_keys(last.data(), next.first.data());
  if (order == 0) ++duplicates;
  if (unordered == 0 && (order > 0 || next.unordered != 0))
    first_unordered = order > 0 ? count : count + next.first_unordered;
  if (order > 0) ++unordered;
  unordered += next.unordered;
  count += next.count;
  duplicates += next.duplicates;
  checksum += next.checksum;
  last = next.last;
}

RecordSummary::FileBytes RecordSummary::to_bytes() const {
  FileBytes out;
  std::byte* to = out.data();
  const auto put = [&to](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  for (const Number128 n : {first_unordered, unordered, count, duplicates, checksum}) {
    const std::uint64_t halves[] = {high64(n), low64(n)};
    put(halves, sizeof halves);
  }
  put(first.data(), first.size());
  put(last.data(), last.size());
  return out;
}

RecordSummary RecordSummary::from_bytes(std::span<const std::byte, file_bytes> bytes) {
  RecordSummary s;
  const std::byte* from = bytes.data();
  const auto take = [&from](void* to, std::size_t size) {
    std::memcpy(to, from, size);
    from += size;
  };
  for (Number128* n : {&s.first_unordered, &s.unordered, &s.count, &s.duplicates, &s.checksum}) {
    std::uint64_t halves[2];
    take(halves, sizeof halves);
    *n = number128(halves[0], halves[1]);
  }
  take(s.first.data(), s.first.size());
  take(s.last.data(), s.last.size());
  return s;
}

bool RecordSummary::is_plausible() const {
  return count != 0 && unordered < count && duplicates < count &&
         (unordered == 0) == (first_unordered == 0) && first_unordered < count;
}

std::string decimal(Number128 number) { return digits_of(number, 10); }
std::string hexadecimal(Number128 number) { return digits_of(number, 16); }

}  // namespace app
