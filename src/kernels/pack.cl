// Packs the fields of a record's key into a word: an unsigned number that orders records as the
// fields do.
//
PARAMETER(WG)    // work-items of a work-group
PARAMETER(PACK)  // expression for the word of record `at`, made of load_number and number_order

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
  if (big_endian) {
    x = x << 32 | x >> 32;
    x = (x & 0x0000ffff0000ffffUL) << 16 | (x >> 16 & 0x0000ffff0000ffffUL);
    x = (x & 0x00ff00ff00ff00ffUL) << 8 | (x >> 8 & 0x00ff00ff00ff00ffUL);
    x >>= 64 - 8 * bytes;
  }
  return x;
}

// Bits [begin_bit, begin_bit + bits) of the order of a number (key_order.h).
INLINE u64 number_order(u64 x, u32 number_bits, u32 is_signed, u64 infinity, u32 nan, u32 zeros,
                        u32 descending, u32 begin_bit, u32 bits) {
  key_order_t order = {number_bits, is_signed, infinity, nan, zeros, descending};
  return bits_of_order(order_of_key(x, order), begin_bit, bits);
}

// Stores one word of every record's key; with `positions`, word i is that of record positions[i].
// The define PACK is the expression for the word of record `at`, built from the two functions
// above.
KERNEL(WG)
void records_pack(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                  GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                  GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL const value_t* positions,
                  GLOBAL ukey_t* words, u64 n) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG) {
    const u64 at = positions ? (u64)positions[i] : i;
    words[i] = (ukey_t)(PACK);
  }
}
