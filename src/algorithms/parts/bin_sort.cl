// A work-group sorts its items in local memory by bins. If crowded bins cannot be sorted one
// by one, it refines the bins, or sorts all items by radix passes. msd sorts buckets in this way,
// one-cluster its parts, and one-group the whole list. bins.cl comes before this file. The speed is
// limited by the number of instructions.

// Parameters in addition to those of bins.cl:
PARAMETER(COMPOSITE)      // 1: an item is the compared bits followed by the record's position
PARAMETER(POSITION_BITS)  // bits of that position
PARAMETER(WINDOW_HIGH)    // 1: the bits that choose a bin lie in an item's upper word
PARAMETER(BY_PLACE)  // 1: keys have fewer compared bits than a bin's number; positions supply the
                     // others (see bins_by_place_t)
PARAMETER(REFINES)   // 1: crowded bins are refined. This is faster if items differ in many bits,
                     // which need many radix passes

// With COMPOSITE, ties keep their order because the position is the lower part of an item.
// POSITION returns the position, which identifies the record.
#define POSITION(item) ((u32)(item) & ((1u << POSITION_BITS) - 1))

// 1: if no bin has more than 4 or 6 items, there are only 4 or 6 rounds of exchanges. This saves
// time for 64-bit items, whose exchange takes several instructions. For 32-bit items, it costs more
// than it saves.
#define COUNTS_ROUNDS (SORT_BITS == 64)
#if COUNTS_ROUNDS
#define ROUNDS(over) ((over)&2 ? BIN_MOST : (over)&1 ? 6u : 4u)
#else
#define ROUNDS(over) BIN_MOST
#endif

// bin_sort_bytes() in bin_sort.hpp computes its size.
typedef struct {
  u32 bins[BIN_WORDS];
  sort_t items[CAPACITY];
  index_t scratch[SCAN_WORDS(WG)];
  u32 differ[2];  // bits in which items differ: the lower word, then the upper word
  u32 crowded;    // bit 0: a bin is crowded; bit 1: and not sorted; bit 2: and too large to sort
  u32 over;       // COUNTS_ROUNDS, bit 0: a bin has more than 4 items; bit 1: more than 6
  u32 count;      // the number of items
  u32 listed;     // the number of crowded bins, if one is not sorted
} bin_sort_t;

// The bits of an item from bit `shift` upwards, as a 32-bit word.
#if SORT_BITS == 32
#define WINDOW(item) ((item) >> shift)
#elif WINDOW_HIGH
#define WINDOW(item) ((u32)((item) >> 32) >> (shift - 32))
#else
#define WINDOW(item) ((u32)((item) >> (shift & 31)))
#endif

// How an item's position extends the number of its bin. Keys with fewer compared bits than a bin's
// number would use only few bins. So the bin's number is the compared bits followed by `bits` bits:
// position * step / 65536. This keeps ties in order. If `bits` is 0, the item's leading bits alone
// choose its bin.
typedef struct {
  u32 bits, step;
} bins_by_place_t;

// The index of word w of the counts. Work-item t scans words 8t to 8t + 7 (16t to 16t + 15 if
// BIN_SHARE is 32). The words are contiguous, except with BY_PLACE: there, neighbouring work-items
// have similar positions, so in contiguous words their additions would go to only two memory banks.
#if BY_PLACE
#define BIN_AT(w) ((w) % 8 * WG + ((w) / 8 ^ (w) / 256))
#define OWN_BIN(i) mine->bins[(i)*WG + (t ^ t / 32)]  // at BIN_AT(8 * t + i)
#else
#define BIN_AT(w) (w)
#endif

// Returns the bits in which mine->items differ: only these need a radix pass. It leaves out the
// bits of the position, because the passes are stable.
INLINE sort_t differing_bits(LOCAL bin_sort_t* mine, u32 rows) {
  const u32 t = local_id();
  if (t < 2) mine->differ[t] = 0;
  barrier_local();
  sort_t differ = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) differ |= i < rows ? mine->items[i * WG + t] ^ mine->items[0] : 0;
#if COMPOSITE
  differ = differ >> POSITION_BITS << POSITION_BITS;
#endif
  wg_or(&mine->differ[0], (u32)differ);
#if SORT_BITS == 64
  wg_or(&mine->differ[1], (u32)(differ >> 32));
#endif
  barrier_local();
  differ = mine->differ[0];
#if SORT_BITS == 64
  differ |= (sort_t)mine->differ[1] << 32;
#endif
  return differ;
}

// Sorts mine->items by radix passes.
INLINE void sort_by_passes(LOCAL bin_sort_t* mine, sub_group_t sg, u32 rows) {
  sort_t differ = differing_bits(mine, rows);
  while (differ != 0) {
    const u32 bit = highest_bit(differ & (0 - differ));
    radix_pass(mine->bins, mine->items, mine->scratch, sg, bit);
    differ = bit + 8 < SORT_BITS ? differ >> (bit + 8) << (bit + 8) : 0;
  }
}

// Returns the number of `item`'s bin. `item` is item i of the work-item.
INLINE u32 number_of_bin(sort_t item, u32 i, u32 shift, bins_by_place_t by_place) {
  u32 window = WINDOW(item);
#if COMPOSITE
  if (by_place.bits != 0)
    window =
        (u32)(item >> POSITION_BITS) << by_place.bits | (i * WG + local_id()) * by_place.step >> 16;
#endif
  return window & (BINS - 1);
}

// Returns the index of the 16-bit count of a bin.
INLINE u32 index_of_bin(u32 number) {
  return 2 * BIN_AT(number & (BINS / 2 - 1)) + (number >> (LOG_BINS - 1));
}
INLINE u32 bin_of(sort_t item, u32 i, u32 shift, bins_by_place_t by_place) {
  return index_of_bin(number_of_bin(item, i, shift, by_place));
}

// Adds 1 to count `bin` if `there` is 1. Returns `bin` in the low 16 bits and the item's rank in
// the high 16 bits: the number of items that were counted in the bin before.
INLINE u32 place_in_bin(LOCAL u32* bins, u32 bin, u32 there) {
  const u32 half_word = 16 * (bin % 2);
  u32 before = 0;
  if (there) before = local_add(&bins[bin / 2], 1u << half_word);
  return bin | before >> half_word << 16;
}

// If a work-item has many 64-bit items, there are no registers for the numbers of their bins. Then
// registers hold only the ranks, with 4 bits each, and each bin's number is computed twice. 4 bits
// are enough: ranks are used only if no bin is crowded or if `alike` is 1, and `alike` is 1 only
// for shorter keys.
#define PACKED_RANKS (SORT_BITS == 64 && !COMPOSITE && !FEW_ITEMS)

#if !PACKED_RANKS && !COMPOSITE
// Sorts mine->items, which are in the order of their bins and sorted in all bins that are not
// crowded. The items of a crowded bin are in order, too, if few of them differ. Otherwise
// sub-groups sort the crowded bins or, if one is too large, radix passes sort all items.
OUTLINE void settle_crowded(LOCAL bin_sort_t* mine, sub_group_t sg, u32 rows) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  LOCAL const sort_t* own = mine->items + t * ITEMS;
  barrier_local();
  u32 unsorted = t != 0 && own[-1] > own[0];
  for (u32 i = 1; i < ITEMS; ++i) unsorted |= own[i - 1] > own[i];
  if (unsorted) local_or(&mine->crowded, 2u);
  barrier_local();
  if (!(mine->crowded & 2)) return;

  LIST_CROWDED(mine, BIN_AT, mine->count)
  if (sort_listed_bins(mine->items, sg, mine->bins, mine->listed)) local_or(&mine->crowded, 4u);
  barrier_local();
  if (mine->crowded & 4) sort_by_passes(mine, sg, rows);
}
#endif

// Sets all counts to 0. Ends with a barrier.
INLINE void clear_bins(LOCAL bin_sort_t* mine) {
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  uint4 zero;
  zero.x = zero.y = zero.z = zero.w = 0;
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) quads[q * WG + local_id()] = zero;
  if (local_id() == 0) mine->crowded = mine->over = 0;
  barrier_local();
}

// Replaces each bin's count by the position where the bin begins, and returns 1. If a bin is
// crowded and `alike` is 0, sets mine->crowded; then, unless `always` is 1, with PACKED_RANKS
// returns 0 and leaves the counts, because not all ranks are known. With COMPOSITE, too: the radix
// passes need the items in the order of the input.
INLINE u32 start_bins(LOCAL bin_sort_t* mine, u32 alike, u32 always) {
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  const u32 t = local_id();
  uint4 quad[BIN_QUADS];
  u32 of_all = 0, too_many = 0, over = 0;
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) {
#if BY_PLACE
    quad[q].x = OWN_BIN(4 * q), quad[q].y = OWN_BIN(4 * q + 1), quad[q].z = OWN_BIN(4 * q + 2),
    quad[q].w = OWN_BIN(4 * q + 3);
#else
    quad[q] = quads[BIN_QUADS * t + q];
#endif
    of_all += quad[q].x + quad[q].y + quad[q].z + quad[q].w;
    too_many |= ANY_TOO_MANY(quad[q]);
#if COUNTS_ROUNDS
    over |= (ANY_OVER(quad[q], 4u) ? 1u : 0u) | (ANY_OVER(quad[q], 6u) ? 2u : 0u);
#endif
  }
  if (over != 0) local_or(&mine->over, over);
  if (too_many && !alike) local_or(&mine->crowded, 1u);
  index_t all;
  u32 at_bin = (u32)wg_scan_add(mine->scratch, WG, of_all, &all);
  if ((PACKED_RANKS || COMPOSITE) && !always && mine->crowded) return 0;
  if (t == 0) mine->count = ((u32)all & 0xffff) + ((u32)all >> 16);
  at_bin += (u32)all << 16;  // the second half of the bins follows the first half
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) {
    START_BINS(quad[q])
#if BY_PLACE
    OWN_BIN(4 * q) = quad[q].x, OWN_BIN(4 * q + 1) = quad[q].y, OWN_BIN(4 * q + 2) = quad[q].z,
                OWN_BIN(4 * q + 3) = quad[q].w;
#else
    quads[BIN_QUADS * t + q] = quad[q];
#endif
  }
  barrier_local();
  return 1;
}

// Sorts the items that have been scattered to their bins. `alike`: see sort_in_bins.
INLINE void sort_scattered(LOCAL bin_sort_t* mine, sub_group_t sg, sort_t* item, u32 rows,
                           u32 alike) {
  const u32 t = local_id();
  barrier_local();
  // Sort each work-item's own items, which sorts all bins inside its range. Then merge across the
  // boundary to the previous work-item, for bins that extend over it.
  if (!alike) {
    LOCAL sort_t* own = mine->items + t * ITEMS;
    const u32 has_items = t * ITEMS < mine->count ? 1 : 0;
    if (has_items) SORT_NEIGHBOURS(item, own, ROUNDS(mine->over))
    barrier_local();
    if (has_items && t != 0 && own[-1] > own[0]) MERGE_BORDER(own)
#if !PACKED_RANKS && !COMPOSITE
    if (mine->crowded) settle_crowded(mine, sg, rows);
#endif
  }
}

#if REFINES && (PACKED_RANKS || COMPOSITE)
#define REFINEMENTS 3u
// Behind the first place of a bin: the largest gap between that place's item and a larger one, and
// then between it and a smaller one. The bits of these floats order as the floats do.
#define FARTHEST(start) ((LOCAL u32*)&mine->items[(start) + 1])
INLINE float gap_between(sort_t a, sort_t b) { return (float)(a > b ? a - b : b - a); }
// place[i] is the number of the bin of item i and, in the upper 16 bits, the item's rank in the
// bin.
#define NUMBER_OF(i) (place[i] & 0xffff)
#define RANK_OF(i) (place[i] >> 16)
#define START_OF(i) ((u32)starts[index_of_bin(NUMBER_OF(i))])
#define SIZE_OF(i) \
  ((NUMBER_OF(i) + 1 < BINS ? (u32)starts[index_of_bin(NUMBER_OF(i) + 1)] : count) - START_OF(i))

// Compares two items of each crowded bin. Returns 1 if their keys are equal in more than an eighth
// of these bins.
INLINE u32 keys_repeat(LOCAL bin_sort_t* mine, const sort_t* item, const u32* place, u32 rows,
                       u32 key_bit) {
  LOCAL const u16* starts = (LOCAL const u16*)mine->bins;
  const u32 t = local_id(), count = mine->count;
  if (t < 2) mine->differ[t] = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows && RANK_OF(i) == 0) mine->items[START_OF(i)] = item[i];
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows && RANK_OF(i) == 1 && SIZE_OF(i) > BIN_MOST) {
      local_add(&mine->differ[0], 1u);
      if ((item[i] ^ mine->items[START_OF(i)]) >> key_bit == 0) local_add(&mine->differ[1], 1u);
    }
  barrier_local();
  const u32 repeat = 8 * mine->differ[1] > mine->differ[0] ? 1 : 0;
  barrier_local();
  return repeat;
}

// Refines the bins of mine->items, which are in the order of the input, until none is crowded, and
// sorts by them. Each bin is divided into as many new bins as it has items. These divide the range
// from its smallest item to its largest one evenly. So a cluster within a bin spreads: records with
// the same value of a key's leading field, for example. An item's bits from `key_bit` on are its
// key's. Returns 0, and leaves the items as they were, if a bin is still crowded after a few rounds
// or if keys repeat. Repeated keys would need further rounds, by position, and passes are faster.
OUTLINE u32 sort_by_refined_bins(LOCAL bin_sort_t* mine, sub_group_t sg, u32 rows, u32 shift,
                                 u32 key_bit, bins_by_place_t by_place) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  LOCAL const u16* starts = (LOCAL const u16*)mine->bins;
  sort_t item[ITEMS];
  u32 place[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    item[i] = mine->items[i * WG + t];
    place[i] = number_of_bin(item[i], i, shift, by_place);
  }
  for (u32 round = 0;; ++round) {
    clear_bins(mine);
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (i < rows) place[i] |= place_in_bin(mine->bins, index_of_bin(place[i]), 1) >> 16 << 16;
    barrier_local();
    start_bins(mine, 0, 1);
    if (!mine->crowded || round == REFINEMENTS) break;
    if (COMPOSITE && round == 0 && keys_repeat(mine, item, place, rows, key_bit)) break;

    // Compare the items of each bin with one of them, `any`, which the bin's first place gets. With
    // 32-bit items, its gaps take two places. So bins of two items stay as they are.
    // The scale has 32 bits: at least 6 items make a bin crowded, and there are at most 2^14 bins.
    const u32 count = mine->count, scale = (u32)(((u64)BINS << 20) / count);
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (i < rows && RANK_OF(i) < 3)
        mine->items[START_OF(i) + RANK_OF(i)] = RANK_OF(i) == 0 ? item[i] : 0;
    barrier_local();
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (i < rows && RANK_OF(i) != 0 && SIZE_OF(i) > 2) {
        const u32 start = START_OF(i);
        const sort_t any = mine->items[start];
        if (item[i] != any)
          local_max(FARTHEST(start) + (item[i] < any ? 1 : 0), as_uint(gap_between(item[i], any)));
      }
    barrier_local();
    // The new number is the item's estimated place, scaled to the number of bins. Each step of the
    // estimate keeps the order of two items, because rounding is monotone.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (i < rows) {
        const u32 start = START_OF(i), size = SIZE_OF(i);
        u32 at = start << 12;
        if (size > 2) {
          const sort_t any = mine->items[start];
          const float above = as_float(FARTHEST(start)[0]), below = as_float(FARTHEST(start)[1]);
          const float far = gap_between(item[i], any),
                      from = item[i] < any ? below - far : below + far;
          if (above + below == 0)  // all items are equal
            at += RANK_OF(i) << 12;
          else
            at += min((u32)(from * (4096.0f / (above + below))), 4095u) * size;
        }
        place[i] = (u32)((u64)at * scale >> 32);
      }
    barrier_local();
  }
  const u32 is_sorted = mine->crowded ? 0 : 1;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    mine->items[is_sorted && i < rows ? START_OF(i) + RANK_OF(i) : i * WG + t] = item[i];
  if (is_sorted) sort_scattered(mine, sg, item, rows, 0);
  return is_sorted;
}
#endif

#if PACKED_RANKS || COMPOSITE
// Sorts items that are not scattered, because a bin is crowded.
INLINE void sort_crowded(LOCAL bin_sort_t* mine, sub_group_t sg, const sort_t* item, u32 rows,
                         u32 shift, u32 key_bit, bins_by_place_t by_place) {
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) mine->items[i * WG + local_id()] = item[i];
#if REFINES
  barrier_local();  // all work-items have read mine->crowded, which refinement sets again
  if (sort_by_refined_bins(mine, sg, rows, shift, key_bit, by_place)) return;
#endif
  sort_by_passes(mine, sg, rows);
}
#endif

// Sorts all items of the work-group into mine->items. item[i] of work-item t has the input position
// i * WG + t. The first `rows` of a work-item's items exist; the others are SORT_LAST. An item's
// bits from `shift` on select its bin (but see bins_by_place_t), those from `key_bit` on are its
// key's (only REFINES needs to know). `alike` is 1 if items of the same
// bin need no sorting. A barrier comes before the first and after the last access to the items.
INLINE void sort_in_bins(LOCAL bin_sort_t* mine, sub_group_t sg, sort_t* item, u32 rows, u32 shift,
                         u32 key_bit, bins_by_place_t by_place, u32 alike) {
  const u32 t = local_id();
  clear_bins(mine);

  // Rank in the bins. If the items are few, all additions are in flight at once. If they are many,
  // there are not enough registers for that.
#if PACKED_RANKS
  u32 ranks[(ITEMS + 7) / 8];  // 4 bits each
  UNROLL
  for (u32 i = 0; i < (ITEMS + 7) / 8; ++i) ranks[i] = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows)
      ranks[i / 8] |= (place_in_bin(mine->bins, bin_of(item[i], i, shift, by_place), 1) >> 16 & 15)
                      << 4 * (i % 8);
#define PLACE_OF_ITEM(i)                                                                          \
  (i < rows                                                                                       \
       ? starts_of_bins[bin_of(item[i], i, shift, by_place)] + (ranks[i / 8] >> 4 * (i % 8) & 15) \
       : i * WG + t)
#else
  u32 place[ITEMS];  // from place_in_bin
#if FEW_ITEMS
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) place[i] = bin_of(item[i], i, shift, by_place);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) place[i] = place_in_bin(mine->bins, place[i], i < rows);
#else
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) place[i] = place_in_bin(mine->bins, bin_of(item[i], i, shift, by_place), 1);
#endif
#define PLACE_OF_ITEM(i) \
  (i < rows ? starts_of_bins[place[i] & 0xffff] + (place[i] >> 16) : i * WG + t)
#endif
  barrier_local();

  if (start_bins(mine, alike, 0)) {
    // Scatter. Items past the end keep their positions.
    LOCAL const u16* starts_of_bins = (LOCAL const u16*)mine->bins;
#if FEW_ITEMS
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) place[i] = PLACE_OF_ITEM(i);
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) mine->items[place[i]] = item[i];
#else
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) mine->items[PLACE_OF_ITEM(i)] = item[i];
#endif
    sort_scattered(mine, sg, item, rows, alike);
  }
#if PACKED_RANKS || COMPOSITE
  else {
    sort_crowded(mine, sg, item, rows, shift, key_bit, by_place);
  }
#endif
  barrier_all();
}
