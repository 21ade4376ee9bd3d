// A work-group sorts its items in local memory by bins. If crowded bins cannot be sorted one
// by one, it sorts all items by radix passes instead. msd sorts buckets in this way,
// one-cluster its parts, and one-group the whole list. bins.cl comes before this file. The speed is
// limited by the number of instructions.

// Parameters in addition to those of bins.cl:
PARAMETER(COMPOSITE)      // 1: an item is the compared bits followed by the record's position
PARAMETER(POSITION_BITS)  // bits of that position
PARAMETER(WINDOW_HIGH)    // 1: the bits that choose a bin lie in an item's upper word
PARAMETER(BY_PLACE)  // 1: keys have fewer compared bits than a bin's number; positions supply the
                     // others (see bins_by_place_t)

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

// Sorts mine->items by radix passes.
INLINE void sort_crowded(LOCAL bin_sort_t* mine, sub_group_t sg, u32 rows) {
  const u32 t = local_id();
  if (t < 2) mine->differ[t] = 0;
  barrier_local();
  // Only bits in which items differ need a pass. The bits of the position need none, because the
  // passes are stable.
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
  while (differ != 0) {
    const u32 bit = highest_bit(differ & (0 - differ));
    radix_pass(mine->bins, mine->items, mine->scratch, sg, bit);
    differ = bit + 8 < SORT_BITS ? differ >> (bit + 8) << (bit + 8) : 0;
  }
}

// Returns the index of the 16-bit count of `item`'s bin. `item` is item i of the work-item.
INLINE u32 bin_of(sort_t item, u32 i, u32 shift, bins_by_place_t by_place) {
  u32 window = WINDOW(item);
#if COMPOSITE
  if (by_place.bits != 0)
    window =
        (u32)(item >> POSITION_BITS) << by_place.bits | (i * WG + local_id()) * by_place.step >> 16;
#endif
  return 2 * BIN_AT(window & (BINS / 2 - 1)) + (window >> (LOG_BINS - 1) & 1);
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
  if (mine->crowded & 4) sort_crowded(mine, sg, rows);
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
// crowded and `alike` is 0, sets mine->crowded; then with PACKED_RANKS returns 0 and leaves the
// counts, because not all ranks are known. With COMPOSITE, too: the radix passes need the items in
// the order of the input.
INLINE u32 start_bins(LOCAL bin_sort_t* mine, u32 alike) {
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
  if ((PACKED_RANKS || COMPOSITE) && mine->crowded) return 0;
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

// Sorts items that are not scattered, because a bin is crowded.
INLINE void sort_unscattered(LOCAL bin_sort_t* mine, sub_group_t sg, const sort_t* item, u32 rows) {
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) mine->items[i * WG + local_id()] = item[i];
  sort_crowded(mine, sg, rows);
}

// Sorts all items of the work-group into mine->items. item[i] of work-item t has the input position
// i * WG + t. The first `rows` of a work-item's items exist; the others are SORT_LAST. An item's
// bits from `shift` on select its bin (but see bins_by_place_t). `alike` is 1 if items of the same
// bin need no sorting. A barrier comes before the first and after the last access to the items.
INLINE void sort_in_bins(LOCAL bin_sort_t* mine, sub_group_t sg, sort_t* item, u32 rows, u32 shift,
                         bins_by_place_t by_place, u32 alike) {
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

  if (start_bins(mine, alike)) {
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
  } else {
    sort_unscattered(mine, sg, item, rows);
  }
  barrier_all();
}
