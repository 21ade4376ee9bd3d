// The words of a key: unsigned numbers of up to 64 bits that order records as the key's fields do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sortium/records.hpp>
#include <string>
#include <vector>

namespace sortium {

// Columns that one word may have parts from: records_pack has a parameter for each.
constexpr std::size_t columns_of_a_word = 8;

// Bits of a word: those from `down` on of what orders a number of up to 8 bytes, put at `up`.
struct WordPart {
  unsigned column;
  std::uint64_t offset;
  KeyTypeInfo number;
  bool big_endian;
  const Field* field;  // its order and policies
  unsigned down, bits, up;

  // Of the element that begins there, in host memory.
  [[nodiscard]] std::uint64_t of(const std::byte* element) const {
    std::uint64_t x = 0;
    std::memcpy(&x, element + offset, number.bytes);
    if (big_endian) x = __builtin_bswap64(x) >> (64 - number.bits());
    const auto order = order_bits(x, number, field->order, field->nan, field->zeros);
    return detail::bits_of_order(order, down, bits) << up;
  }
};

struct Word {
  std::vector<WordPart> parts;
  std::vector<unsigned> columns;  // that the parts are from
  unsigned bits = 0;
  [[nodiscard]] KeyType key() const { return bits <= 32 ? KeyType::u32 : KeyType::u64; }
};

// The words of a key, least significant first. They refer to the fields of `key`.
[[nodiscard]] std::vector<Word> words_of(const std::vector<Field>& key);

// The expression in the language of kernels for the word of record `at`: PACK of pack.cl.
[[nodiscard]] std::string pack_text(const Word& word, const std::vector<Column>& columns);

// The column that is the whole key, as it lies there; -1 if there is none.
[[nodiscard]] int plain_column(const RecordProblem& problem);

[[nodiscard]] inline unsigned end_bit(const Field& f) {
  return f.end_bit == 0 ? f.type.size() * 8 : f.end_bit;
}

}  // namespace sortium
