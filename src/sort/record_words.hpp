// The words of a key: unsigned numbers of up to 64 bits that order records as the key's fields do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sortium/records.hpp>
#include <string>
#include <vector>

namespace sortium {

// The most columns from which one word can be packed: records_pack has a parameter for each column.
constexpr std::size_t columns_of_a_word = 8;

// A part of a word: bits [down, down + bits) of the order bits of a number of up to 8 bytes. The
// number is at byte `offset` of an element of the column. The part begins at bit `up` of the word.
struct WordPart {
  unsigned column;
  std::uint64_t offset;
  KeyTypeInfo number;
  bool big_endian;
  const Field* field;  // the number's order and policies
  unsigned down, bits, up;

  // Returns the part of the element at `element` in host memory, shifted to its position in the
  // word.
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
  std::vector<unsigned> columns;  // columns of the parts
  unsigned bits = 0;
  [[nodiscard]] KeyType key() const { return bits <= 32 ? KeyType::u32 : KeyType::u64; }
};

// Returns the words of a key, least significant first. The words point to the fields of `key`.
[[nodiscard]] std::vector<Word> words_of(const std::vector<Field>& key);

// Returns the define PACK: the kernel expression for the word of record `at`.
[[nodiscard]] std::string pack_text(const Word& word, const std::vector<Column>& columns);

// Returns the column that is the whole key and can be sorted without packing; -1 if there is none.
[[nodiscard]] int plain_column(const RecordProblem& problem);

[[nodiscard]] inline unsigned end_bit(const Field& f) {
  return f.end_bit == 0 ? f.type.size() * 8 : f.end_bit;
}

}  // namespace sortium
