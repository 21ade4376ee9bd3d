// Shared by all sorts by bins. A work-group distributes its items to about as many bins in local
// memory as there are items. Then each bin has few items, and exchanges of neighbouring items sort
// them. Crowded bins need more: sub-groups sort them, or radix passes sort all items. This file
// comes before the kernels that use it.

PARAMETER(WG)         // work-items of a work-group, a power of two
PARAMETER(ITEMS)      // items of a work-item; odd, more than 8
PARAMETER(BIN_SHARE)  // bins for each work-item: 16 or 32
PARAMETER(SORT_BITS)  // bits of an item: 32 or 64

#define CAPACITY (WG * ITEMS)
#define BINS (BIN_SHARE * WG)
#define BIN_QUADS (BIN_SHARE / 8)  // uint4 of a work-item's bins; a word counts two bins
#define LOG_BINS highest_bit32(BINS)
#define RADIX 256u
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
// A bin with more than BIN_MOST items is crowded. Work-item t sorts items t * ITEMS to (t + 1) *
// ITEMS - 1. A bin may extend over the boundary between two work-items, with at most BIN_MOST - 1
// items on either side. So the SIDE items on each side of a boundary are merged. 2 * SIDE is at
// most ITEMS, so that a work-item's merges at its two boundaries do not overlap.
#define FEW_ITEMS (ITEMS <= 16)  // registers can hold all items and their positions
#if !FEW_ITEMS
#define BIN_MOST 8u
#define SIDE 8u
#else
#define BIN_MOST 5u
#define SIDE 4u
#endif

#if SORT_BITS == 64
typedef u64 sort_t;
#else
typedef u32 sort_t;
#endif
#define SORT_LAST ((sort_t)(~(sort_t)0))

// A word counts two bins: bin b in its lower 16 bits, and bin b + BINS / 2 in its upper 16 bits. So
// one scan of the words scans both. The radix passes store their ranks in the same memory.
#define BIN_WORDS (BINS / 2 > SUB_GROUPS * RANK_WORDS ? BINS / 2 : SUB_GROUPS * RANK_WORDS)
// Sets the top bit of each 16-bit half of `two` that is greater than `most`.
#define OVER(two, most) ((two) + 0x10001u * (0x7fffu - (most)))
#define ANY_OVER(quad, most)                                                              \
  (((OVER(quad.x, most) | OVER(quad.y, most) | OVER(quad.z, most) | OVER(quad.w, most)) & \
    0x80008000u) != 0)
#define ANY_TOO_MANY(quad) ANY_OVER(quad, BIN_MOST)
// START_BINS replaces each count by the position where its bin begins. The first bin begins at
// `at_bin`.
#define START_BIN(two)      \
  {                         \
    const u32 counts = two; \
    two = at_bin;           \
    at_bin += counts;       \
  }
#define START_BINS(quad) START_BIN(quad.x) START_BIN(quad.y) START_BIN(quad.z) START_BIN(quad.w)

#define SORT_PAIR(a, b)        \
  {                            \
    const sort_t x = a, y = b; \
    a = min(x, y);             \
    b = max(x, y);             \
  }

// Sorts the work-item's ITEMS neighbouring items by rounds of odd-even exchanges. Items only move
// within their bins, so as many rounds suffice as the largest bin has items: at most BIN_MOST.
#define SORT_NEIGHBOURS(item, own, rounds)                                   \
  {                                                                          \
    UNROLL                                                                   \
    for (u32 i = 0; i < ITEMS; ++i) item[i] = own[i];                        \
    for (u32 round = 0; round < (rounds); round += 2) {                      \
      UNROLL                                                                 \
      for (u32 i = 0; i + 1 < ITEMS; i += 2) SORT_PAIR(item[i], item[i + 1]) \
      UNROLL                                                                 \
      for (u32 i = 1; i + 1 < ITEMS; i += 2) SORT_PAIR(item[i], item[i + 1]) \
    }                                                                        \
    UNROLL                                                                   \
    for (u32 i = 0; i < ITEMS; ++i) own[i] = item[i];                        \
  }

// Merges the SIDE items on each side of the boundary between the previous work-item and this one.
#define MERGE_BORDER(own)                                                \
  {                                                                      \
    sort_t two[2 * SIDE];                                                \
    UNROLL                                                               \
    for (u32 i = 0; i < SIDE; ++i) two[i] = own[(int)i - (int)SIDE];     \
    UNROLL                                                               \
    for (u32 i = 0; i < SIDE; ++i) two[2 * SIDE - 1 - i] = own[i];       \
    UNROLL                                                               \
    for (u32 distance = SIDE; distance > 0; distance /= 2) UNROLL        \
    for (u32 i = 0; i < 2 * SIDE; ++i)                                   \
      if ((i & distance) == 0) SORT_PAIR(two[i], two[i + distance])      \
    UNROLL                                                               \
    for (u32 i = 0; i < 2 * SIDE; ++i) own[(int)i - (int)SIDE] = two[i]; \
  }

#define HAS_DIGIT(digit) (WG <= RADIX || (digit) < RADIX)

// A stable radix pass over all CAPACITY items by the 8 bits from `shift` on. `ranks`: BIN_WORDS
// words; `scratch`: SCAN_WORDS(WG).
OUTLINE void radix_pass(LOCAL u32* ranks, LOCAL sort_t* items, LOCAL index_t* scratch,
                        sub_group_t sg, u32 shift) {
  KNOWN_LOCAL(ranks);
  KNOWN_LOCAL(items);
  KNOWN_LOCAL(scratch);
  const u32 t = local_id(), first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  LOCAL u32* my_ranks = ranks + sg_index() * RANK_WORDS;
  sort_t item[ITEMS];
  u32 place[ITEMS];
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
  barrier_local();
  // Rank in the sub-group.
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) item[i] = items[first + i * SG_LANES];
#define ITEM_DIGIT(i) ((u32)(item[i] >> shift) & (RADIX - 1))
#if ORDERED_LOCAL_ATOMICS
  // A bin is crowded, so few digits are probably very common. SG_RANK_COMMON is fast for two common
  // digits. Guess them from row 0: the digit of lane 0, and one that differs from it.
  const u32 one = sg_shuffle(sg, ITEM_DIGIT(0), 0), others = sg_ballot(sg, ITEM_DIGIT(0) != one);
  const u32 other = sg_shuffle(sg, ITEM_DIGIT(0), others != 0 ? highest_bit32(others) : 0),
            two = others != 0 ? other : RADIX;
#define PUT_PLACE(i, rank) place[i] = rank;
  SG_RANK_COMMON(ITEMS, my_ranks, RADIX, ITEM_DIGIT, one, two, PUT_PLACE)
#else
  SG_RANK_ROWS(place, ITEMS, my_ranks, RADIX, ITEM_DIGIT, 0)
#endif
  barrier_local();
  // Scan over digits and, within a digit, over sub-groups.
  index_t before = 0;
  for (u32 base = 0; base < RADIX; base += WG) {
    const u32 digit = base + t;
    index_t sum = 0, all;
    if (HAS_DIGIT(digit)) UNROLL
    for (u32 s = 0; s < SUB_GROUPS; ++s) sum += ranks[s * RANK_WORDS + digit];
    u32 at = (u32)(before + wg_scan_add(scratch, WG, sum, &all));
    if (HAS_DIGIT(digit)) UNROLL
    for (u32 s = 0; s < SUB_GROUPS; ++s) {
      const u32 in_row = ranks[s * RANK_WORDS + digit];
      ranks[s * RANK_WORDS + digit] = at;
      at += in_row;
    }
    before += all;
  }
  barrier_local();
  // Scatter, after all places are read: compilers cannot tell that items and places do not overlap.
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) place[i] += my_ranks[ITEM_DIGIT(i)];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) items[place[i]] = item[i];
  barrier_local();
}

// ---- Crowded bins ----
#if !COMPOSITE
// Without positions, if any item is in the wrong order, sub-groups sort each crowded bin whose
// items differ: they count for each item those that come before it. Such a bin may have up to
// CROWD_MOST items. (With positions, no two items are equal, all crowded bins need this, and radix
// passes are faster.)
#define CROWD_ROWS 4u
#define CROWD_MOST (CROWD_ROWS * SG_LANES)

// Appends the crowded ones of a work-item's bins to `list`: where each begins and, above it, its
// size. start[i] has the places where two of the bins begin: in its lower half and in its upper
// half. lower_end and upper_end are where the last ones end.
INLINE void list_crowded(LOCAL u32* list, LOCAL u32* listed, const u32* start, u32 lower_end,
                         u32 upper_end) {
  UNROLL
  for (u32 i = 0; i < BIN_SHARE / 2; ++i) UNROLL
  for (u32 upper = 0; upper < 2; ++upper) {
    const u32 begin = start[i] >> 16 * upper & 0xffff, last = upper ? upper_end : lower_end;
    const u32 end = i + 1 < BIN_SHARE / 2 ? start[i + 1] >> 16 * upper & 0xffff : last;
    if (end - begin > BIN_MOST) list[local_add(listed, 1u)] = begin | (end - begin) << 16;
  }
}

// Replaces the bins of `count` items by a list of the crowded ones. mine->bins holds where each bin
// begins, and then the list; mine->listed is its length. SLOT(w) is the index of word w of the
// bins. Ends with a barrier.
#define LIST_CROWDED(mine, SLOT, count)                                                  \
  {                                                                                      \
    const u32 words = BIN_SHARE / 2, is_last = local_id() + 1 == WG ? 1 : 0;             \
    u32 start[BIN_SHARE / 2];                                                            \
    UNROLL                                                                               \
    for (u32 i = 0; i < words; ++i) start[i] = mine->bins[SLOT(words * local_id() + i)]; \
    /* The lower half of the bins ends where the upper half begins. */                   \
    const u32 next = mine->bins[SLOT(is_last ? 0 : words * (local_id() + 1))];           \
    if (local_id() == 0) mine->listed = 0;                                               \
    barrier_local();                                                                     \
    list_crowded(mine->bins, &mine->listed, start, is_last ? next >> 16 : next & 0xffff, \
                 is_last ? (count) : next >> 16);                                        \
    barrier_local();                                                                     \
  }

// Adds to rank[r] the number of the bin's items that come before item[r], which is item r *
// SG_LANES
// + sg_lane() of the bin.
INLINE void rank_in_bin(LOCAL const sort_t* bin, u32 size, const sort_t* item, u32* rank,
                        u32 rows) {
  for (u32 k = 0; k < size; ++k) {
    const sort_t other = bin[k];
    UNROLL
    for (u32 r = 0; r < rows; ++r)
      rank[r] += other < item[r] || (other == item[r] && k < r * SG_LANES + sg_lane()) ? 1u : 0u;
  }
}

// Sorts the `listed` bins of `list`, which are in `items`. Ends with a barrier. Returns 1 in the
// work-items of a sub-group that could not sort a bin: it is too large, and its items are not all
// equal.
INLINE u32 sort_listed_bins(LOCAL sort_t* items, sub_group_t sg, LOCAL const u32* list,
                            u32 listed) {
  const u32 lane = sg_lane();
  u32 left = 0;
  for (u32 base = 0; base < listed; base += SUB_GROUPS) {
    const u32 word = base + sg_index() < listed ? list[base + sg_index()] : 0;
    LOCAL sort_t* bin = items + (word & 0xffff);
    u32 size = word >> 16, differ = 0;
    for (u32 k = lane; k < size; k += SG_LANES) differ |= bin[k] != bin[0] ? 1u : 0u;
    if (sg_ballot(sg, differ) == 0) size = 0;
    left |= size > CROWD_MOST ? 1u : 0u;
    if (size > CROWD_MOST) size = 0;
    sort_t item[CROWD_ROWS];
    u32 rank[CROWD_ROWS];
    UNROLL
    for (u32 r = 0; r < CROWD_ROWS; ++r) {
      item[r] = r * SG_LANES + lane < size ? bin[r * SG_LANES + lane] : SORT_LAST;
      rank[r] = 0;
    }
    if (size <= SG_LANES)
      rank_in_bin(bin, size, item, rank, 1);
    else if (size <= 2 * SG_LANES)
      rank_in_bin(bin, size, item, rank, 2);
    else
      rank_in_bin(bin, size, item, rank, CROWD_ROWS);
    sg_barrier();
    UNROLL
    for (u32 r = 0; r < CROWD_ROWS; ++r)
      if (r * SG_LANES + lane < size) bin[rank[r]] = item[r];
  }
  barrier_local();
  return left;
}
#endif
