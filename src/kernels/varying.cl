// Words of the bits in which records' keys differ. Each part of a key is a number of up to 64 order
// bits, such as a field. Some of its bits are the same in all records, and do not affect the order.
// The other bits of all parts, one part after the other, make one long number. Its leading 64 bits
// are the first word, the next 64 bits the second, and so on. If fewer bits are left for the last
// word, it repeats bits of the word before, in which its records tie.
//   If the long number determines the records, and has at most 96 bits, no positions are needed:
// each record's value is its *tail*, the lowest 32 bits of the number. It may repeat bits of the
// first word. fields.cl comes before this file.
//
PARAMETER(WG)
PARAMETER(MOVES)       // 6: moves that bring any bits of 64 together
PARAMETER(PARTS)       // parts of a key, the most significant first
PARAMETER(WORDS)       // words that hold a key if all bits of its parts differ
PARAMETER(LOAD_PARTS)  // statements that store the parts of record `at` in x[0], x[1] …
PARAMETER(FULL_BITS)   // bits of all parts
PARAMETER(FULL_WORD)   // expression for the first word of x[0], x[1] …, if all bits differ
PARAMETER(TAILS)       // 1: values are tails if these suffice, else positions
PARAMETER(MAY_TIE)     // expression: 1 if a number of record `at` may have the same order bits as
                       // other numbers, so that these do not tell it; only with TAILS
PARAMETER(STORE_COLUMNS)  // statements that store the elements of record i; see records_unpack

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
  u32 ties;                  // 1: MAY_TIE is 1 for some record
  u32 tails;                 // 1: values are tails
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

#define TAIL_BITS 32u

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

// Sets the bits of key->differ, and key->ties; they are 0 before. Without TAILS, also stores the
// first words as they are if no bits are left out: then wide records are read once.
KERNEL(WG)
void records_differ(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                    GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                    GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL varying_t* key,
                    GLOBAL u64* words, u64 n) {
  LOCAL_ARRAY(u32, all, 2 * PARTS);
  LOCAL_ARRAY(u32, all_ties, 1);
  u64 x[PARTS], first[PARTS], differ[PARTS];
  u64 at = 0;
  u32 ties = 0;
  for (u32 p = local_id(); p < 2 * PARTS; p += WG) all[p] = 0;
  if (local_id() == 0) all_ties[0] = 0;
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
#if TAILS
    ties |= MAY_TIE;
#else
    words[i] = FULL_WORD;
#endif
  }
  barrier_local();
  UNROLL
  for (u32 p = 0; p < PARTS; ++p) {
    wg_or(&all[2 * p], (u32)differ[p]);
    wg_or(&all[2 * p + 1], (u32)(differ[p] >> 32));
  }
  wg_or(&all_ties[0], ties);
  barrier_local();
  for (u32 p = local_id(); p < 2 * PARTS; p += WG)
    if (all[p] & ~load_relaxed(&key->differ[p])) global_or(&key->differ[p], all[p]);
  if (local_id() == 0 && all_ties[0] != 0) global_or(&key->ties, 1u);
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
  key->tails = TAILS && bits <= 64 + TAIL_BITS && !key->ties ? 1 : 0;
  for (u32 w = 0; w < WORDS; ++w) {
    key->used[w] = bits > 0 ? 1 : 0;
    bits -= min(bits, 64u);
    key->low[w] = bits;
  }
}

// Stores word w of all n records or, if `count` is not null, of the records with the first *count
// `values`: their positions, or their tails, which are then the words. If `new_values` is not null,
// also stores the tails there, or else the positions. Without TAILS, if no bits are left out,
// records_differ has already stored the first words.
KERNEL(WG)
void records_pack_varying(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                          GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                          GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL const varying_t* key,
                          GLOBAL const value_t* values, GLOBAL const u64* count, GLOBAL u64* words,
                          GLOBAL value_t* new_values, u32 w, u64 n) {
  u64 x[PARTS];
  u32 from[PARTS], width[PARTS], has_gaps[PARTS];
  const u32 low = key->low[w], tails = TAILS ? key->tails : 0;
  const u64 end = count ? *count : !TAILS && w == 0 && key->bits == FULL_BITS ? 0 : n;
  UNROLL
  for (u32 p = 0; p < PARTS; ++p) {
    from[p] = key->from[p];
    width[p] = key->width[p];
    has_gaps[p] = width[p] > 0 && differing_bits(key, p) >> 1 >> (width[p] - 1) != 0 ? 1 : 0;
  }
  for (u64 i = (u64)group_id() * WG + local_id(); i < end; i += (u64)group_count() * WG) {
    const u64 at = values ? (u64)values[i] : i;
    if (values && tails) {
      words[i] = at;
      continue;
    }
    u64 word = 0, tail = 0;
    LOAD_PARTS
    UNROLL
    for (u32 p = 0; p < PARTS; ++p) {
      if (has_gaps[p])
        x[p] = compressed_bits(x[p] & differing_bits(key, p), &key->moves[MOVES * p]);
      word |= shifted_part(x[p], from[p], width[p], low);
      if (TAILS) tail |= shifted_part(x[p], from[p], width[p], 0);
    }
    words[i] = word;
    if (TAILS && new_values) new_values[i] = (value_t)(tails ? tail : i);
  }
}

// Returns 1 if the first word, or the word and the tail, have all bits in which part p differs.
INLINE u32 part_is_known(GLOBAL const varying_t* key, u32 p) {
  return key->tails || key->width[p] == 0 || key->from[p] >= key->low[0] ? 1 : 0;
}
// Returns part p of the record with this first word and tail. The part must be known.
INLINE u64 part_of_word(GLOBAL const varying_t* key, u32 p, u64 word, u64 tail) {
  const u64 differ = differing_bits(key, p);
  const u32 from = key->from[p], low = key->low[0];
  if (differ == 0) return key->first[p];
  u64 x = from >= low ? word >> (from - low) : tail >> from;
  if (from < low && low - from < 64) x |= word << (low - from);
  const u64 bits = expanded_bits(x, &key->moves[MOVES * p]);
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

// Copies an element of `bytes` bytes, `unit` of them at a time.
INLINE void copy_element(GLOBAL const u8* from, GLOBAL u8* to, u32 bytes, u32 unit) {
  for (u32 b = 0; b < bytes; b += unit) {
    if (unit == 8)
      *(GLOBAL u64*)(to + b) = *(GLOBAL const u64*)(from + b);
    else if (unit == 4)
      *(GLOBAL u32*)(to + b) = *(GLOBAL const u32*)(from + b);
    else if (unit == 2)
      *(GLOBAL u16*)(to + b) = *(GLOBAL const u16*)(from + b);
    else
      to[b] = from[b];
  }
}

// Stores the sorted elements of columns all of whose bits are in the key: of c0 in o0, and so on,
// if the column's bit in `columns` is 1. Most are computed from the records' first words, and their
// values if these are tails; others are read at the records' positions.
KERNEL(WG)
void records_unpack(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                    GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                    GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL u8* o0, GLOBAL u8* o1,
                    GLOBAL u8* o2, GLOBAL u8* o3, GLOBAL u8* o4, GLOBAL u8* o5, GLOBAL u8* o6,
                    GLOBAL u8* o7, GLOBAL const u64* words, GLOBAL const value_t* values,
                    GLOBAL const varying_t* key, u64 n, u32 columns) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG) {
    const u64 word = words[i], tail = TAILS && key->tails ? values[i] : 0;
    STORE_COLUMNS
  }
}
