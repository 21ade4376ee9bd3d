// The words of a key: unsigned numbers of up to 64 bits that order records as the key's fields do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sortium/records.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sortium {

// cpu:0 sorts by counting if at most so many bits of a key count.
constexpr unsigned most_counted_bits = 16;
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

  // Adds the part to words of records in host memory: that of the element at element(i) to
  // words[i].
  template <class WordType, class Element>
  void add_to(WordType* words, std::uint64_t count, const Element& element) const {
    const auto add = [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((number.bytes == I + 1 ? add_numbers<I + 1>(words, count, element) : void()), ...);
    };
    add(std::make_index_sequence<8>{});
  }

 private:
  // With the number of bytes as a constant, a load is one instruction. The orders of integers and,
  // by default, of floats are computed without branches.
  template <unsigned bytes, class WordType, class Element>
  void add_numbers(WordType* words, std::uint64_t count, const Element& element) const {
    const auto add = [&](const auto& order_of) {
      const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t x = 0;
        std::memcpy(&x, element(i) + offset, bytes);
        words[i] |= static_cast<WordType>((order_of(x) >> down & mask) << up);
      }
    };
    if (number.infinity != 0 && field->nan == NanOrder::last && field->zeros == ZeroOrder::tied) {
      constexpr std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1), all = sign | (sign - 1);
      const std::uint64_t down_mask = field->order == Order::descending ? all : 0;
      return add([=, infinity = number.infinity](std::uint64_t x) {
        const std::uint64_t up_order = detail::signed_default_order(x, infinity, 8 * bytes) ^ sign;
        return up_order == all ? all : up_order ^ down_mask;  // NaN are last in both directions
      });
    }
    if (number.infinity != 0)
      return add([=, this](std::uint64_t x) {
        return order_bits(x, number, field->order, field->nan, field->zeros);
      });
    const std::uint64_t flip = order_bits(0, number, field->order, field->nan, field->zeros);
    if (big_endian)
      return add([=](std::uint64_t x) { return __builtin_bswap64(x) >> (64 - 8 * bytes) ^ flip; });
    add([=](std::uint64_t x) { return x ^ flip; });
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

// Returns the parts of a key, each of up to 64 bits, the most significant first. They point to the
// fields of `key`; `up` is not set.
[[nodiscard]] std::vector<WordPart> parts_of(const std::vector<Field>& key);

// Returns the kernel expression for the number of which the part is, of record `at`. `arguments`
// are the columns that the kernel has as c0, c1 …
[[nodiscard]] std::string number_text(const WordPart& part, const std::vector<unsigned>& arguments,
                                      const std::vector<Column>& columns);
// Returns the kernel expression for the part of record `at`.
[[nodiscard]] std::string part_text(const WordPart& part, const std::vector<unsigned>& arguments,
                                    const std::vector<Column>& columns);
// Returns the initializer of a key_order_t for the part's number.
[[nodiscard]] std::string order_text(const WordPart& part);
// Returns how many bytes of the part's number a kernel may load or store at once.
[[nodiscard]] unsigned unit_of_part(const WordPart& part, const std::vector<Column>& columns);

// Returns the define PACK: the kernel expression for the word of record `at`.
[[nodiscard]] std::string pack_text(const Word& word, const std::vector<Column>& columns);

// Returns the column that is the whole key and can be sorted without packing; -1 if there is none.
[[nodiscard]] int plain_column(const RecordProblem& problem);

[[nodiscard]] inline unsigned end_bit(const Field& f) {
  return f.end_bit == 0 ? f.type.size() * 8 : f.end_bit;
}

}  // namespace sortium
