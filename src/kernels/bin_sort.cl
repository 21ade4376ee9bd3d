// A work-group sorts its items in local memory: they go to bins, in which a few are left to sort
// (bins.cl, which stands in front of this); where a bin is crowded, a radix sort does instead.
// msd's local sort, one-cluster and one-group have it in common. Instructions are what it costs: a
// work-item's places, the counts' places and their sums are all worked out once. Parameters: those
// of bins.cl, COMPOSITE, POSITION_BITS, WINDOW_HIGH (the bits that choose a bin lie in an item's
// upper word), BY_PLACE (an item's place stands in for the lowest of these bits, so that
// neighbours' differ in the highest only).

// COMPOSITE: below what is compared, an item has its place among those that are sorted: no two are
// equal, so that no order of ties is lost, and the place finds the rest of the record.
#define POSITION(item) ((u32)(item) & ((1u << POSITION_BITS) - 1))

typedef struct {
  u32 bins[BIN_WORDS];
  sort_t items[CAPACITY];
  index_t scratch[SCAN_WORDS(WG)];
  u32 differ[2];  // bits in which items differ, low and high
  u32 crowded;
} bin_sort_t;

// The bits of an item from `shift` on, 32 of them at least.
#if SORT_BITS == 32
#define WINDOW(item) ((item) >> shift)
#elif WINDOW_HIGH  // it lies in the upper word
#define WINDOW(item) ((u32)((item) >> 32) >> (shift - 32))
#else
#define WINDOW(item) ((u32)((item) >> (shift & 31)))
#endif

// Of bits above the position that are all alike, a position may stand in for some (see msd_local).
typedef struct {
  u32 bits, step;  // how many; places of a work-group for each value of theirs, times 65536
} bins_by_place_t;

// Where word w of the counts lies. Work-item t scans words 8t to 8t + 7: they lie one after the
// other, unless that puts what neighbours add to into two banks.
#if BY_PLACE
#define BIN_AT(w) ((w) % 8 * WG + ((w) / 8 ^ (w) / 256))
#define OWN_BIN(i) mine->bins[(i)*WG + (t ^ t / 32)]  // at BIN_AT(8 * t + i)
#else
#define BIN_AT(w) (w)
#endif

// Where a bin is crowded: by passes, over mine->items.
INLINE void sort_crowded(LOCAL bin_sort_t* mine, sub_group_t sg, u32 rows) {
  const u32 t = local_id();
  if (t < 2) mine->differ[t] = 0;
  barrier_local();
  // The bits in which items differ; those that are alike in all need no pass, nor do positions.
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

// The 2-byte index of the count of item i's bin.
INLINE u32 bin_of(sort_t item, u32 i, u32 shift, bins_by_place_t by_place) {
  u32 window = WINDOW(item);
#if COMPOSITE
  if (by_place.bits != 0)
    window =
        (u32)(item >> POSITION_BITS) << by_place.bits | (i * WG + local_id()) * by_place.step >> 16;
#endif
  return 2 * BIN_AT(window & (BINS / 2 - 1)) + (window >> (LOG_BINS - 1) & 1);
}

// With the rank there, above: how many have come before. Nothing where the item is not `there`.
INLINE u32 place_in_bin(LOCAL u32* bins, u32 bin, u32 there) {
  const u32 half_word = 16 * (bin % 2);
  u32 before = 0;
  if (there) before = local_add(&bins[bin / 2], 1u << half_word);
  return bin | before >> half_word << 16;
}

// Many keys of 64 bits leave no registers for their places. Kept are ranks, of which 4 bits are
// enough where no bin is crowded (`alike` is for shorter keys), and bins are worked out again.
#define PACKED_RANKS (SORT_BITS == 64 && !COMPOSITE && !FEW_ITEMS)

// Item i of a work-item is the one at place i * WG + t; of them `rows` are there, the others
// SORT_LAST. They are sorted into mine->items. Bits of an item from `shift` on choose its bin.
// `alike`: the items of a bin are equal, and need no sorting.
INLINE void sort_in_bins(LOCAL bin_sort_t* mine, sub_group_t sg, sort_t* item, u32 rows, u32 shift,
                         bins_by_place_t by_place, u32 alike) {
  const u32 t = local_id();
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  uint4 zero;
  zero.x = zero.y = zero.z = zero.w = 0;
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) quads[q * WG + t] = zero;
  if (t == 0) mine->crowded = 0;
  barrier_local();

  // Rank in the bins. Of few items all are on their way at once, of many, for want of registers,
  // one after the other.
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
  u32 place[ITEMS];  // the 2-byte index of the bin's count, and the rank above
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

  // Scan over bins.
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
  if (!mine->crowded) {
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

    // Scatter; what stands past the end stays there.
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

    // Sort within bins, and across the borders between work-items.
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
