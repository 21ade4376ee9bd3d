// A rank's records in host memory, and the order keys of their records.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <sortium/problem.hpp>
#include <sortium/records.hpp>
#include <span>
#include <vector>

#include "order_key.hpp"

namespace sortium::distributed {

// Memory whose contents are not initialised. Large blocks are kept for the next sort when they are
// freed, up to an eighth of the machine's memory: fresh pages cost as much as a pass over them.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::uint64_t size);  // throws std::bad_alloc

  [[nodiscard]] std::byte* data() const { return memory_.get(); }
  // Gives the memory up without ever freeing it: a broken communicator may still access it.
  void abandon() noexcept;

 private:
  struct Free {
    std::uint64_t size;
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_{nullptr, Free{0}};
};

// Record i is element i of every column.
struct ConstColumn {
  const std::byte* data = nullptr;
  unsigned bytes = 0;  // of an element
};
using Columns = std::vector<ConstColumn>;

// ---------------------------------------------------------------------------------------------
// Order keys. A reader computes the order key of a record from the columns' data.
// ---------------------------------------------------------------------------------------------

// Keys of a KeyType in the first column.
template <class T>
class NumberReader {
 public:
  using Key = OrderKey<1>;
  static constexpr bool counts_boundaries = false;
  explicit NumberReader(const Problem& problem) : rank_(problem) {}
  [[nodiscard]] Key operator()(const Columns& columns, std::uint64_t i) const {
    T key;
    std::memcpy(&key, columns[0].data + i * sizeof(T), sizeof(T));
    return {{rank_(key)}};
  }

 private:
  KeyRank rank_;
};

// Integers that are compared by all their bits: their order is key ^ flip.
template <class T>
class IntegerReader {
 public:
  using Key = OrderKey<1>;
  explicit IntegerReader(const Problem& problem) : flip_(static_cast<T>(order_bits(0, problem))) {}
  [[nodiscard]] Key operator()(const Columns& columns, std::uint64_t i) const {
    T key;
    std::memcpy(&key, columns[0].data + i * sizeof(T), sizeof(T));
    return {{static_cast<std::uint64_t>(static_cast<T>(key ^ flip_))}};
  }

  static constexpr bool counts_boundaries = true;
  // Writes, for each record from `begin` to `end`, how many of the boundaries are at most its key.
  // This is faster than reading keys one by one, because the compiler vectorises it for short
  // types.
  void count_boundaries(const Columns& columns, std::uint64_t begin, std::uint64_t end,
                        const std::vector<Key>& boundaries, std::uint8_t* out) const {
    const std::uint64_t count = end - begin;
    const std::byte* const keys = columns[0].data + begin * sizeof(T);
    std::memset(out, 0, count);
    for (const auto& boundary : boundaries) {
      if (boundary.word[0] == 0) {
        for (std::uint64_t i = 0; i < count; ++i) ++out[i];
        continue;
      }
      // The key below: the boundary itself may be one more than the largest T.
      const T below = static_cast<T>(boundary.word[0] - 1);
      for (std::uint64_t i = 0; i < count; ++i) {
        T key;
        std::memcpy(&key, keys + i * sizeof(T), sizeof(T));
        out[i] = static_cast<std::uint8_t>(out[i] + (static_cast<T>(key ^ flip_) > below ? 1 : 0));
      }
    }
  }

 private:
  T flip_;
};

// Packs the order bits of a record's key fields into one number without gaps. The first field gets
// the most significant bits.
template <unsigned words>
class FieldReader {
 public:
  using Key = OrderKey<words>;
  static constexpr bool counts_boundaries = false;
  explicit FieldReader(const std::vector<Field>& fields) {
    for (const auto& f : fields) {
      if (f.type.kind() == FieldType::Kind::number) {
        const Problem problem{.key = f.type.key(),
                              .order = f.order,
                              .begin_bit = f.begin_bit,
                              .end_bit = f.end_bit,
                              .nan = f.nan,
                              .zeros = f.zeros};
        fields_.push_back({f, key_bits(problem), KeyRank(problem)});
      } else {
        fields_.push_back({f, f.type.size() * 8, KeyRank(Problem{})});
      }
    }
  }
  [[nodiscard]] Key operator()(const Columns& columns, std::uint64_t i) const {
    Key key;
    unsigned used = 0;
    for (const auto& f : fields_) {
      const auto& column = columns[f.field.column];
      const std::byte* const at = column.data + i * column.bytes + f.field.offset;
      if (f.field.type.kind() == FieldType::Kind::number)
        append(key, used, number(f, at), f.bits);
      else
        append_bytes(key, used, f, at);
    }
    return key;
  }

 private:
  struct ReadField {
    Field field;
    unsigned bits;
    KeyRank rank;
  };
  static std::uint64_t number(const ReadField& f, const std::byte* at) {
    std::uint64_t raw = 0;
    std::memcpy(&raw, at, f.field.type.size());  // hosts are little-endian
    return f.rank(raw);
  }
  // Appends the low `bits` of `value` to the key, of which `used` bits are in use.
  static void append(Key& key, unsigned& used, std::uint64_t value, unsigned bits) {
    const unsigned free = 64 - used % 64;
    const unsigned word = used / 64;
    if (bits <= free) {
      key.word[word] |= value << (free - bits);
    } else if constexpr (words > 1) {  // one word holds all bits
      key.word[word] |= value >> (bits - free);
      key.word[word + 1] |= value << (64 - (bits - free));
    }
    used += bits;
  }
  static void append_bytes(Key& key, unsigned& used, const ReadField& f, const std::byte* at) {
    const unsigned size = f.field.type.size();
    const bool big_endian = f.field.type.kind() == FieldType::Kind::bytes;
    const unsigned flip = f.field.order == Order::descending ? 0xff : 0;
    for (unsigned b = 0; b < size; ++b) {
      auto byte = std::to_integer<unsigned>(at[big_endian ? b : size - 1 - b]) ^ flip;
      if (b == 0 && f.field.type.kind() == FieldType::Kind::i128) byte ^= 0x80;
      append(key, used, byte, 8);
    }
  }

  std::vector<ReadField> fields_;
};

// The bits of a key, for the choice of a FieldReader.
[[nodiscard]] inline unsigned bits_of(const std::vector<Field>& fields) {
  unsigned bits = 0;
  for (const auto& f : fields)
    bits += f.type.kind() == FieldType::Kind::number
                ? (f.end_bit == 0 ? info(f.type.key()).bits() : f.end_bit) - f.begin_bit
                : f.type.size() * 8;
  return bits;
}

// Returns work(reader) with a reader of the key.
template <class Work>
auto with_field_reader(const std::vector<Field>& key, const Work& work) {
  const unsigned bits = bits_of(key);
  if (bits <= 64) return work(FieldReader<1>(key));
  if (bits <= 2 * 64) return work(FieldReader<2>(key));
  if (bits <= 4 * 64) return work(FieldReader<4>(key));
  if (bits <= 16 * 64) return work(FieldReader<16>(key));
  return work(FieldReader<128>(key));  // max_fields byte strings of 32 bytes
}

}  // namespace sortium::distributed
