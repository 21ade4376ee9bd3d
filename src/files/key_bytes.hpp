// Keys of records as strings of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sortium/records.hpp>
#include <vector>

namespace sortium::files {

// Encodes the key of a record so that memcmp() of two encodings compares the keys: the order bits
// of each field, the most significant byte first.
class KeyBytes {
 public:
  // `widths`: the bytes of an element of each column.
  KeyBytes(const std::vector<Field>& key, const std::vector<unsigned>& widths);

  [[nodiscard]] unsigned size() const { return size_; }  // bytes of an encoding
  // Writes the key of record `i`. `columns` holds the first element of each column; those without a
  // field of the key are not read.
  void encode(const std::byte* const* columns, std::uint64_t i, std::byte* out) const;

 private:
  struct Part {  // up to 8 bytes of a field
    unsigned column;
    std::uint64_t stride, offset;  // of the column's elements; in an element
    KeyTypeInfo number;
    bool is_text;  // bytes in the order in which they are stored
    Order order;
    NanOrder nan;
    ZeroOrder zeros;
    unsigned begin_bit, bits;
  };
  void add(const Field& field, unsigned stride);

  std::vector<Part> parts_;
  unsigned size_ = 0;
};

}  // namespace sortium::files
