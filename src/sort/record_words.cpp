#include "record_words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sortium {

std::string FieldType::name() const {
  switch (kind_) {
    case Kind::number:
      return std::string(info(key_).name);
    case Kind::u128:
      return "u128";
    case Kind::i128:
      return "i128";
    case Kind::bytes:
      return fmt::format("bytes({})", length_);
  }
  return "?";
}

namespace {

unsigned lowest_bit(std::uint64_t x) { return static_cast<unsigned>(x & (~x + 1)); }

// Returns a part of a byte string or 128-bit number: `bytes` bytes, which follow the `done` most
// significant ones.
WordPart part_of_bytes(const Field& f, unsigned done, unsigned bytes) {
  const bool big_endian = f.type.kind() == FieldType::Kind::bytes;
  const bool is_signed = f.type.kind() == FieldType::Kind::i128 && done == 0;
  const std::uint64_t offset = f.offset + (big_endian ? done : f.type.size() - done - bytes);
  const KeyTypeInfo number{KeyType::u64, "", bytes, is_signed, false};
  return {f.column, offset, number, big_endian, &f, 0, bytes * 8, 0};
}

// Packs the fields of a key into words, the most significant first. So only the last word can have
// few bits, and the first word decides the order of most records.
class WordPacker {
 public:
  [[nodiscard]] std::vector<Word> pack(const std::vector<Field>& key) && {
    for (const auto& f : key)
      if (f.type.kind() == FieldType::Kind::number)
        add_number(f);
      else
        add_bytes(f);
    std::ranges::reverse(words_);
    return std::move(words_);
  }

 private:
  // Returns the last word if it has space for `least` more bits and for the column, else a new
  // word.
  Word& word_for(unsigned column, unsigned least) {
    const auto has = [&] { return std::ranges::count(words_.back().columns, column) != 0; };
    if (words_.empty() || words_.back().bits + least > 64 ||
        (!has() && words_.back().columns.size() == columns_of_a_word))
      words_.emplace_back();
    if (!has()) words_.back().columns.push_back(column);
    return words_.back();
  }
  // Adds a part below the word's other parts.
  static void append(Word& w, const WordPart& part) {
    for (auto& p : w.parts) p.up += part.bits;
    w.parts.push_back(part);
    w.bits += part.bits;
  }

  // If a field extends over two words, the kernel reads the number for each of them, because a
  // float's order depends on all of its bits.
  void add_number(const Field& f) {
    for (unsigned end = end_bit(f); end > f.begin_bit;) {
      Word& w = word_for(f.column, 1);
      const unsigned bits = std::min(end - f.begin_bit, 64 - w.bits);
      end -= bits;
      append(w, {f.column, f.offset, info(f.type.key()), false, &f, end, bits, 0});
    }
  }

  // Adds a byte string or 128-bit number, from its most significant bytes on.
  void add_bytes(const Field& f) {
    const unsigned size = f.type.size();
    for (unsigned done = 0; done != size;) {
      Word& w = word_for(f.column, 8);
      const unsigned bytes = std::min(size - done, (64 - w.bits) / 8);
      append(w, part_of_bytes(f, done, bytes));
      done += bytes;
    }
  }

  std::vector<Word> words_;
};

}  // namespace

std::vector<Word> words_of(const std::vector<Field>& key) { return WordPacker().pack(key); }

std::vector<WordPart> parts_of(const std::vector<Field>& key) {
  std::vector<WordPart> parts;
  for (const auto& f : key) {
    if (f.type.kind() == FieldType::Kind::number) {
      parts.push_back({f.column, f.offset, info(f.type.key()), false, &f, f.begin_bit,
                       end_bit(f) - f.begin_bit, 0});
      continue;
    }
    const unsigned size = f.type.size();
    for (unsigned done = 0; done < size; done += 8)
      parts.push_back(part_of_bytes(f, done, std::min(size - done, 8u)));
  }
  return parts;
}

unsigned unit_of_part(const WordPart& p, const std::vector<Column>& columns) {
  return lowest_bit(columns[p.column].bytes | p.offset | p.number.bytes | 8);
}

std::string number_text(const WordPart& p, const std::vector<unsigned>& arguments,
                        const std::vector<Column>& columns) {
  return fmt::format("load_number(c{} + at * {} + {}, {}, {}, {})",
                     std::ranges::find(arguments, p.column) - arguments.begin(),
                     columns[p.column].bytes, p.offset, p.number.bytes, unit_of_part(p, columns),
                     int{p.big_endian});
}

std::string part_text(const WordPart& p, const std::vector<unsigned>& arguments,
                      const std::vector<Column>& columns) {
  return fmt::format(
      "number_order({}, {}, {}, {}UL, {}, {}, {}, {}, {})", number_text(p, arguments, columns),
      p.number.bits(), int{p.number.is_signed}, p.number.infinity, static_cast<int>(p.field->nan),
      static_cast<int>(p.field->zeros), int{p.field->order == Order::descending}, p.down, p.bits);
}

std::string order_text(const WordPart& p) {
  return fmt::format("{{{}, {}, {}UL, {}, {}, {}}}", p.number.bits(), int{p.number.is_signed},
                     p.number.infinity, static_cast<int>(p.field->nan),
                     static_cast<int>(p.field->zeros), int{p.field->order == Order::descending});
}

std::string pack_text(const Word& word, const std::vector<Column>& columns) {
  std::string text;
  for (const auto& p : word.parts)
    text += fmt::format("{}({} << {})", text.empty() ? "" : " | ",
                        part_text(p, word.columns, columns), p.up);
  return text;
}

int plain_column(const RecordProblem& p) {
  const auto& f = p.key[0];
  const bool plain = p.key.size() == 1 && f.type.kind() == FieldType::Kind::number &&
                     f.offset == 0 && p.columns[f.column].bytes == f.type.size();
  return plain ? static_cast<int>(f.column) : -1;
}

}  // namespace sortium
