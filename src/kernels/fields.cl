// The numbers in a record's fields, and their order.

// Returns the `bytes` low bytes of x (up to 8) in reverse order.
INLINE u64 reversed_bytes(u64 x, u32 bytes) {
  x = x << 32 | x >> 32;
  x = (x & 0x0000ffff0000ffffUL) << 16 | (x >> 16 & 0x0000ffff0000ffffUL);
  x = (x & 0x00ff00ff00ff00ffUL) << 8 | (x >> 8 & 0x00ff00ff00ff00ffUL);
  return x >> (64 - 8 * bytes);
}

// Returns the number at p: `bytes` bytes (up to 8), loaded `unit` of them at a time.
INLINE u64 load_number(GLOBAL const u8* p, u32 bytes, u32 unit, u32 big_endian) {
  u64 x = 0;
  for (u32 b = 0; b < bytes; b += unit) {
    const u64 piece = unit == 8   ? *(GLOBAL const u64*)(p + b)
                      : unit == 4 ? *(GLOBAL const u32*)(p + b)
                      : unit == 2 ? *(GLOBAL const u16*)(p + b)
                                  : p[b];
    x |= piece << (8 * b);
  }
  return big_endian ? reversed_bytes(x, bytes) : x;
}

// key_may_tie() of a number (key_order.h).
INLINE u32 number_may_tie(u64 x, u32 number_bits, u64 infinity, u32 nan, u32 zeros) {
  key_order_t order = {number_bits, 0, infinity, nan, zeros, 0};
  return key_may_tie(x, order);
}

// Bits [begin_bit, begin_bit + bits) of the order of a number (key_order.h).
INLINE u64 number_order(u64 x, u32 number_bits, u32 is_signed, u64 infinity, u32 nan, u32 zeros,
                        u32 descending, u32 begin_bit, u32 bits) {
  key_order_t order = {number_bits, is_signed, infinity, nan, zeros, descending};
  return bits_of_order(order_of_key(x, order), begin_bit, bits);
}
