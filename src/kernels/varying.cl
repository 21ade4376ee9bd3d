// Words of the bits in which records' keys differ. Each part of a key is a number of up to 64 order
// bits, such as a field. Some of its bits are the same in all records, and do not affect the order.
// The other bits of all parts, one part after the other, make one long number. Its leading 64 bits
// are the first word, the next 64 bits the second, and so on. If fewer bits are left for the last
// word, it repeats bits of the word before, in which its records tie.
// fields.cl comes before this file.
//
PARAMETER(WG)
PARAMETER(MOVES)         // 6: moves that bring any bits of 64 together
PARAMETER(PARTS)         // parts of a key, the most significant first
PARAMETER(WORDS)         // words that hold a key if all bits of its parts differ
PARAMETER(LOAD_PARTS)    // statements that store the parts of record `at` in x[0], x[1] …
PARAMETER(FULL_BITS)     // bits of all parts
PARAMETER(FULL_WORD)     // expression for the first word of x[0], x[1] …, if all bits differ
PARAMETER(STORE_COLUMN)  // statements that store the element of record i of column `column`, or set
                         // `unknown` to 1 if the word does not tell it

typedef struct {
  u64 first[PARTS];          // the parts of the first record
  u64 moves[MOVES * PARTS];  // of each part; see find_moves
  u32 differ[2 * PARTS];     // bits in which other records differ from the first one, lower half
                             // first
  u32 width[PARTS];          // number of these bits
  u32 from[PARTS];           // the place of the part's lowest bit in the long number
  u32 low[WORDS];            // the place of each word's lowest bit
  u32 used[WORDS];           // 1: the word has bits
  u32 bits;                  // number of differing bits in all parts
} varying_t;

// Computes the moves that bring the set bits of `mask` together at the low end, in their order. A
// set bit moves down by the number of cleared bits below it. moves[i] has the bits that move down
// by 2^i, at their places after moves 0 to i - 1. (H. S. Warren, Hacker's Delight, 2012, section
// 7-4.)
INLINE void find_moves(u64 mask, GLOBAL u64* moves) {
  u64 above_cleared = ~mask << 1;
  for (u32 i = 0; i < MOVES; ++i) {
    u64 odd = above_cleared;  // becomes: an odd number of cleared bits are below
    for (u32 s = 1; s < 64; s *= 2) odd ^= odd << s;
    const u64 moved = odd & mask;
    moves[i] = moved;
    mask = (mask ^ moved) | moved >> (1u << i);
    above_cleared &= ~odd;  // every second one remains, so their number is halved
  }
}
// Returns the bits of x at the low end. x has no bits outside the mask.
INLINE u64 compressed_bits(u64 x, GLOBAL const u64* moves) {
  UNROLL
  for (u32 i = 0; i < MOVES; ++i) {
    const u64 moved = x & moves[i];
    x = (x ^ moved) | moved >> (1u << i);
  }
  return x;
}
// The inverse: returns the low bits of x at the places of the mask's bits. All other bits of the
// result have no meaning.
INLINE u64 expanded_bits(u64 x, GLOBAL const u64* moves) {
  UNROLL
  for (u32 i = MOVES; i-- > 0;) x = (x & ~moves[i]) | (x << (1u << i) & moves[i]);
  return x;
}

// Returns the bits in which part p differs.
INLINE u64 differing_bits(GLOBAL const varying_t* key, u32 p) {
  return (u64)key->differ[2 * p + 1] << 32 | key->differ[2 * p];
}

// Returns the low `width` bits of x, which begin at bit `from` of the long number, at their places
// in the word that begins at bit `low`.
INLINE u64 shifted_part(u64 x, u32 from, u32 width, u32 low) {
  const u64 bits = width == 0 ? 0 : x & ~(u64)0 >> (64 - width);
  if (from >= low) return from - low < 64 ? bits << (from - low) : 0;
  return low - from < 64 ? bits >> (low - from) : 0;
}

// Sets the bits of key->differ, which is 0 before. Also stores the first words as they are if no
// bits are left out: then wide records are read once.
KERNEL(WG)
void records_differ(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                    GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                    GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL varying_t* key,
                    GLOBAL u64* words, u64 n) {
  LOCAL_ARRAY(u32, all, 2 * PARTS);
  u64 x[PARTS], first[PARTS], differ[PARTS];
  u64 at = 0;
  for (u32 p = local_id(); p < 2 * PARTS; p += WG) all[p] = 0;
  LOAD_PARTS
  UNROLL
  for (u32 p = 0; p < PARTS; ++p) {
    first[p] = x[p];
    differ[p] = 0;
  }
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG) {
    at = i;
    LOAD_PARTS
    UNROLL
    for (u32 p = 0; p < PARTS; ++p) differ[p] |= x[p] ^ first[p];
    words[i] = FULL_WORD;
  }
  barrier_local();
  UNROLL
  for (u32 p = 0; p < PARTS; ++p) {
    wg_or(&all[2 * p], (u32)differ[p]);
    wg_or(&all[2 * p + 1], (u32)(differ[p] >> 32));
  }
  barrier_local();
  for (u32 p = local_id(); p < 2 * PARTS; p += WG)
    if (all[p] & ~load_relaxed(&key->differ[p])) global_or(&key->differ[p], all[p]);
}

// One work-item computes the other members of `key`.
KERNEL(WG)
void records_places(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                    GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                    GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL varying_t* key) {
  if (group_id() != 0 || local_id() != 0) return;
  u64 x[PARTS];
  const u64 at = 0;
  LOAD_PARTS
  u32 bits = 0;
  for (u32 p = PARTS; p-- > 0;) {
    const u64 differ = differing_bits(key, p);
    key->first[p] = x[p];
    key->from[p] = bits;
    key->width[p] = popcount32(differ) + popcount32(differ >> 32);
    bits += key->width[p];
    find_moves(differ, &key->moves[MOVES * p]);
  }
  key->bits = bits;
  for (u32 w = 0; w < WORDS; ++w) {
    key->used[w] = bits > 0 ? 1 : 0;
    bits -= min(bits, 64u);
    key->low[w] = bits;
  }
}

// Stores word w of all n records or, if `count` is not null, of the records at the first *count
// positions. If no bits are left out, records_differ has already stored the first words.
KERNEL(WG)
void records_pack_varying(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                          GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                          GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL const varying_t* key,
                          GLOBAL const value_t* positions, GLOBAL const u64* count,
                          GLOBAL u64* words, u32 w, u64 n) {
  u64 x[PARTS];
  u32 from[PARTS], width[PARTS], has_gaps[PARTS];
  const u32 low = key->low[w];
  const u64 end = count ? *count : w == 0 && key->bits == FULL_BITS ? 0 : n;
  UNROLL
  for (u32 p = 0; p < PARTS; ++p) {
    from[p] = key->from[p];
    width[p] = key->width[p];
    has_gaps[p] = width[p] > 0 && differing_bits(key, p) >> 1 >> (width[p] - 1) != 0 ? 1 : 0;
  }
  for (u64 i = (u64)group_id() * WG + local_id(); i < end; i += (u64)group_count() * WG) {
    const u64 at = positions ? (u64)positions[i] : i;
    u64 word = 0;
    LOAD_PARTS
    UNROLL
    for (u32 p = 0; p < PARTS; ++p) {
      if (has_gaps[p])
        x[p] = compressed_bits(x[p] & differing_bits(key, p), &key->moves[MOVES * p]);
      word |= shifted_part(x[p], from[p], width[p], low);
    }
    words[i] = word;
  }
}

// Returns 1 if the first word has all bits in which records' part p differs.
INLINE u32 part_is_known(GLOBAL const varying_t* key, u32 p) {
  return key->width[p] == 0 || key->from[p] >= key->low[0] ? 1 : 0;
}
// Returns part p of the record whose first word is `word`. The part must be known.
INLINE u64 part_of_word(GLOBAL const varying_t* key, u32 p, u64 word) {
  const u64 differ = differing_bits(key, p);
  if (differ == 0) return key->first[p];
  const u64 bits = expanded_bits(word >> (key->from[p] - key->low[0]), &key->moves[MOVES * p]);
  return (bits & differ) | (key->first[p] & ~differ);
}

// Returns 1 if several numbers (NaN, zeros) have these order bits, so that they do not tell which.
INLINE u32 order_is_shared(u64 order, key_order_t o) {
  if (o.infinity == 0) return 0;
  const u64 of_nan = o.nan == nan_last ? key_mask(o) : 0;
  return (o.nan != nan_by_bits && order == of_nan) ||
                 (o.zeros == zeros_tied && order == order_of_key(0, o))
             ? 1
             : 0;
}

// The inverse of load_number.
INLINE void store_number(GLOBAL u8* p, u64 x, u32 bytes, u32 unit, u32 big_endian) {
  if (big_endian) x = reversed_bytes(x, bytes);
  for (u32 b = 0; b < bytes; b += unit) {
    if (unit == 8)
      *(GLOBAL u64*)(p + b) = x;
    else if (unit == 4)
      *(GLOBAL u32*)(p + b) = (u32)(x >> (8 * b));
    else if (unit == 2)
      *(GLOBAL u16*)(p + b) = (u16)(x >> (8 * b));
    else
      p[b] = (u8)(x >> (8 * b));
  }
}

// Stores the sorted elements of a column all of whose bits are in the key. Most are computed from
// the records' first words; others are read at the records' positions.
KERNEL(WG)
void records_unpack(GLOBAL const u8* in, GLOBAL u8* out, GLOBAL const u64* words,
                    GLOBAL const value_t* positions, GLOBAL const varying_t* key, u64 n, u32 column,
                    u32 bytes, u32 unit) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG) {
    const u64 word = words[i];
    u32 unknown = 0;
    STORE_COLUMN
    if (unknown) {
      const u64 from = (u64)positions[i] * bytes, to = i * bytes;
      for (u32 b = 0; b < bytes; b += unit) {
        if (unit == 8)
          *(GLOBAL u64*)(out + to + b) = *(GLOBAL const u64*)(in + from + b);
        else if (unit == 4)
          *(GLOBAL u32*)(out + to + b) = *(GLOBAL const u32*)(in + from + b);
        else if (unit == 2)
          *(GLOBAL u16*)(out + to + b) = *(GLOBAL const u16*)(in + from + b);
        else
          out[to + b] = in[from + b];
      }
    }
  }
}
