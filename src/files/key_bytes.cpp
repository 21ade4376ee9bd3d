#include "key_bytes.hpp"

#include <algorithm>
#include <cstring>

namespace sortium::files {

namespace {

constexpr unsigned word_bytes = 8;

KeyTypeInfo unsigned_number(unsigned bytes, bool is_signed = false) {
  return {KeyType::u64, "", bytes, is_signed, false};
}

}  // namespace

KeyBytes::KeyBytes(const std::vector<Field>& key, const std::vector<unsigned>& widths) {
  for (const auto& field : key) add(field, widths[field.column]);
  for (const auto& part : parts_) size_ += (part.bits + 7) / 8;
}

void KeyBytes::add(const Field& f, unsigned stride) {
  const auto part = [&](std::uint64_t at, const KeyTypeInfo& number, bool is_text,
                        unsigned begin_bit, unsigned bits) {
    parts_.push_back({f.column, stride, f.offset + at, number, is_text, f.order, f.nan, f.zeros,
                      begin_bit, bits});
  };
  const unsigned size = f.type.size();
  switch (f.type.kind()) {
    case FieldType::Kind::number: {
      const unsigned end = f.end_bit == 0 ? size * 8 : f.end_bit;
      part(0, info(f.type.key()), false, f.begin_bit, end - f.begin_bit);
      break;
    }
    case FieldType::Kind::bytes:
      for (unsigned at = 0; at < size; at += word_bytes) {
        const unsigned bytes = std::min(word_bytes, size - at);
        part(at, unsigned_number(bytes), true, 0, bytes * 8);
      }
      break;
    case FieldType::Kind::u128:  // little-endian: the upper half lies behind the lower one
    case FieldType::Kind::i128:
      part(word_bytes, unsigned_number(word_bytes, f.type.kind() == FieldType::Kind::i128), false,
           0, 64);
      part(0, unsigned_number(word_bytes), false, 0, 64);
  }
}

void KeyBytes::encode(const std::byte* const* columns, std::uint64_t i, std::byte* out) const {
  for (const auto& p : parts_) {
    std::uint64_t x = 0;
    std::memcpy(&x, columns[p.column] + i * p.stride + p.offset, p.number.bytes);
    if (p.is_text) x = __builtin_bswap64(x) >> (64 - p.number.bits());
    x = detail::bits_of_order(order_bits(x, p.number, p.order, p.nan, p.zeros), p.begin_bit,
                              p.bits);
    for (unsigned bytes = (p.bits + 7) / 8; bytes > 0; --bytes)
      *out++ = static_cast<std::byte>(x >> (bytes - 1) * 8);
  }
}

}  // namespace sortium::files
