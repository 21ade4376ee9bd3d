// A work-group sorts its items in local memory, by bins; if a bin is crowded, by radix passes. msd
// (for buckets), one-cluster (for parts) and one-group (for the list) use it. bins.cl comes before
// it. Instructions limit its speed: so an item's position, the address of its count, and their sum
// are each computed once.

// Parameters beside those of bins.cl:
PARAMETER(COMPOSITE)      // 1: an item holds the compared bits and, below them, its position
PARAMETER(POSITION_BITS)  // bits of that position
PARAMETER(WINDOW_HIGH)    // 1: the bits that choose a bin lie in an item's upper word
PARAMETER(BY_PLACE)       // 1: fewer bits are compared than a bin's number has, so the position
                          // completes it

// COMPOSITE: no two items are equal, so ties keep their order. The position in an item identifies
// the record.
#define POSITION(item) ((u32)(item) & ((1u << POSITION_BITS) - 1))

// bin_sort_bytes() in bin_sort.hpp computes its size.
typedef struct {
  u32 bins[BIN_WORDS];
  sort_t items[CAPACITY];
  index_t scratch[SCAN_WORDS(WG)];
  u32 differ[2];  // bits in which items differ, low and high
  u32 crowded;
} bin_sort_t;

// The bits of an item from `shift` on, as a word.
#if SORT_BITS == 32
#define WINDOW(item) ((item) >> shift)
#elif WINDOW_HIGH
#define WINDOW(item) ((u32)((item) >> 32) >> (shift - 32))
#else
#define WINDOW(item) ((u32)((item) >> (shift & 31)))
#endif

// How an item's position completes the number of its bin. If fewer bits are compared than a bin's
// number has, neighbours would add to few bins. Then the lowest `bits` bits of the bin's number are
// the item's position, scaled by `step` / 65536. bits == 0: the item alone determines its bin.
typedef struct {
  u32 bits, step;
} bins_by_place_t;

// The address of word w of the counts. Work-item t scans words 8t to 8t + 7. They are contiguous,
// except with BY_PLACE: there, neighbours would add to words in only two banks.
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
  // Only bits in which items differ need a pass. Positions need none, because passes are stable.
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

// Returns which half-word of `bins` counts the bin of `item`, the work-item's item i.
INLINE u32 bin_of(sort_t item, u32 i, u32 shift, bins_by_place_t by_place) {
  u32 window = WINDOW(item);
#if COMPOSITE
  if (by_place.bits != 0)
    window =
        (u32)(item >> POSITION_BITS) << by_place.bits | (i * WG + local_id()) * by_place.step >> 16;
#endif
  return 2 * BIN_AT(window & (BINS / 2 - 1)) + (window >> (LOG_BINS - 1) & 1);
}

// Counts an item in its bin if `there` is 1. Returns `bin` and, from bit 16 on, the item's rank:
// the number of items counted in the bin before.
INLINE u32 place_in_bin(LOCAL u32* bins, u32 bin, u32 there) {
  const u32 half_word = 16 * (bin % 2);
  u32 before = 0;
  if (there) before = local_add(&bins[bin / 2], 1u << half_word);
  return bin | before >> half_word << 16;
}

// Many items of 64 bits leave no registers for their bins. Then registers hold only the ranks, in 4
// bits each, and bins are computed again. (4 bits suffice if no bin is crowded; `alike` is for
// shorter keys.)
#define PACKED_RANKS (SORT_BITS == 64 && !COMPOSITE && !FEW_ITEMS)

// Empties the bins. A barrier ends it.
INLINE void clear_bins(LOCAL bin_sort_t* mine) {
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  uint4 zero;
  zero.x = zero.y = zero.z = zero.w = 0;
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) quads[q * WG + local_id()] = zero;
  if (local_id() == 0) mine->crowded = 0;
  barrier_local();
}

// Replaces the bins' counts by where the bins begin, and returns 1; returns 0, and the counts stay,
// if a bin is crowded and its items are not `alike`.
INLINE u32 start_bins(LOCAL bin_sort_t* mine, u32 alike) {
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  const u32 t = local_id();
  uint4 quad[BIN_QUADS];
  u32 of_all = 0, too_many = 0;
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
  }
  if (too_many && !alike) local_or(&mine->crowded, 1u);
  index_t all;
  u32 at_bin = (u32)wg_scan_add(mine->scratch, WG, of_all, &all);
  if (mine->crowded) return 0;
  at_bin += (u32)all << 16;  // the upper half of the bins begins where the lower half ends
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

// Sorts all items into mine->items. item[i] of work-item t is number i * WG + t; the first `rows`
// exist, the others are SORT_LAST. The bits from `shift` on select an item's bin; see
// bins_by_place_t. `alike` is 1 if items of the same bin are equal and need no sorting. Begins and
// ends with barriers.
INLINE void sort_in_bins(LOCAL bin_sort_t* mine, sub_group_t sg, sort_t* item, u32 rows, u32 shift,
                         bins_by_place_t by_place, u32 alike) {
  const u32 t = local_id();
  clear_bins(mine);

  // Rank in the bins: few items at once; many one after the other, because registers are short.
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
    // Scatter. Items past the end keep their places.
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
    barrier_local();

    // Sort within bins, then across the boundaries between work-items.
    if (!alike) {
      LOCAL sort_t* own = mine->items + t * ITEMS;
      SORT_NEIGHBOURS(item, own)
      barrier_local();
      if (t != 0 && own[-1] > own[0]) MERGE_BORDER(own)
    }
  } else {
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) mine->items[i * WG + t] = item[i];
    sort_crowded(mine, sg, rows);
  }
  barrier_all();
}
