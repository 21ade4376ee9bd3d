// What sorts by bins have in common: a work-group's records go to about as many bins as there are
// records, in local memory, and what is left is to sort within bins of a few. Stands in front of
// their kernels. Parameters: WG, ITEMS (odd, more than 8), BIN_SHARE (bins for each work-item: 16
// or 32), SORT_BITS (of sort_t).

#define CAPACITY (WG * ITEMS)
#define BINS (BIN_SHARE * WG)
#define BIN_QUADS (BIN_SHARE / 8)  // of words that count them, two a word, of each work-item
#define LOG_BINS highest_bit32(BINS)
#define RADIX 256u
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
// Records of a bin that is not crowded, and those on each side of a border that are merged: a bin
// that lies across the border has one at least on either side. A work-item's two borders are not to
// meet.
#define FEW_ITEMS (ITEMS <= 16)  // there are registers for more than them
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

// The bins' counts, two a word: of bin b, and of the one that lies half of all bins above. So one
// sum scans both. A radix sort, where a bin is crowded, has its ranks there.
#define BIN_WORDS (BINS / 2 > SUB_GROUPS * RANK_WORDS ? BINS / 2 : SUB_GROUPS * RANK_WORDS)
#define TOO_MANY(two) \
  ((two) + 0x10001u * (0x7fffu - BIN_MOST))  // has the top bit of a half that is above BIN_MOST
#define ANY_TOO_MANY(quad) \
  (((TOO_MANY(quad.x) | TOO_MANY(quad.y) | TOO_MANY(quad.z) | TOO_MANY(quad.w)) & 0x80008000u) != 0)
#define START_BIN(two)      \
  {                         \
    const u32 counts = two; \
    two = at_bin;           \
    at_bin += counts;       \
  }
// The counts become the places where bins begin, from `at_bin` on.
#define START_BINS(quad) START_BIN(quad.x) START_BIN(quad.y) START_BIN(quad.z) START_BIN(quad.w)

#define SORT_PAIR(a, b)        \
  {                            \
    const sort_t x = a, y = b; \
    a = min(x, y);             \
    b = max(x, y);             \
  }

// Sorts ITEMS neighbours by rounds of odd-even exchanges: nobody is further from its place than a
// bin is long.
#define SORT_NEIGHBOURS(item, own)                                           \
  {                                                                          \
    UNROLL                                                                   \
    for (u32 i = 0; i < ITEMS; ++i) item[i] = own[i];                        \
    for (u32 round = 0; round < BIN_MOST; round += 2) {                      \
      UNROLL                                                                 \
      for (u32 i = 0; i + 1 < ITEMS; i += 2) SORT_PAIR(item[i], item[i + 1]) \
      UNROLL                                                                 \
      for (u32 i = 1; i + 1 < ITEMS; i += 2) SORT_PAIR(item[i], item[i + 1]) \
    }                                                                        \
    UNROLL                                                                   \
    for (u32 i = 0; i < ITEMS; ++i) own[i] = item[i];                        \
  }

// Merges across the border to the work-item before.
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

// Where a bin is crowded: a pass by the 8 bits from `shift` on, over all places; stable.
OUTLINE void radix_pass(LOCAL u32* ranks, LOCAL sort_t* items, LOCAL index_t* scratch,
                        sub_group_t sg, u32 shift) {
  const u32 t = local_id(), first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  LOCAL u32* my_ranks = ranks + sg_index() * RANK_WORDS;
  sort_t item[ITEMS];
  u32 place[ITEMS];
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
  barrier_local();
  // Rank in the sub-group.
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) item[i] = items[first + i * SG_LANES];
#define DIGIT_AT(i) ((u32)(item[i] >> shift) & (RADIX - 1))
#if ORDERED_LOCAL_ATOMICS
  // Most likely a few digits are most of all.
  const u32 one = sg_shuffle(sg, DIGIT_AT(0), 0), others = sg_ballot(sg, DIGIT_AT(0) != one);
  const u32 other = sg_shuffle(sg, DIGIT_AT(0), others != 0 ? highest_bit32(others) : 0),
            two = others != 0 ? other : RADIX;
#define PUT_PLACE(i, rank) place[i] = rank;
  SG_RANK_COMMON(ITEMS, my_ranks, RADIX, DIGIT_AT, one, two, PUT_PLACE)
#else
  SG_RANK_ROWS(place, ITEMS, my_ranks, RADIX, DIGIT_AT, 0)
#endif
  barrier_local();
  // Scan over digits, and over sub-groups for each.
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
  // Scatter, once all places are read: compilers cannot tell that no item lies where they are.
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) place[i] += my_ranks[DIGIT_AT(i)];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) items[place[i]] = item[i];
  barrier_local();
}
