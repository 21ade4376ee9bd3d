// segmented: a work-group sorts items in local memory by bins. Items are assigned to bins by the
// highest bits in which they differ, or by cells: an exact count of 256 cells tells each cell's
// share of the bins. If a bin is crowded, records with positions enter bins again by position. Bins
// that are not sorted then are sorted by counting, if they have few enough items and local memory
// allows. segmented_ranks.cl and bins.cl come before this file, segmented_block_sort.cl after it.
//
// No barrier is inside a condition, because compilers for CPUs cannot handle that; loops that run 0
// or 1 times replace conditions.

// Parameters beside those of bins.cl:
PARAMETER(COMPOSITE)      // 1: an item is the key's rank and, below it, the record's position in
                          // the segment; 0: an item has only the key's order bits
PARAMETER(POSITION_BITS)  // bits of that position
PARAMETER(DROPS)  // 1: if more bits differ than fit beside the position, items omit the lowest
                  // ones; records that then seem to tie are compared by these bits after the sort
PARAMETER(GATHER_KEYS)  // 1: an item does not hold all bits of its key
PARAMETER(LEAVES)       // 1: segments that bins cannot sort are left to another kernel
PARAMETER(EQUAL)        // 1: all segments have the same length; only their first records are wanted

#define BROUGHT_BYTES \
  (GATHER_KEYS && KEY_BITS / 8 > VALUE_BYTES ? KEY_BITS / 8 : VALUE_BYTES)  // see BRING

// A loop over the rows of `count` records: row i has records i * WG to (i + 1) * WG - 1. Segments
// of small problems often have few rows, so SURE_ROWS of them are followed by a branch around the
// rest.
#if FEW_ITEMS && !EQUAL && !LEAVES
#define SURE_ROWS ((ITEMS + 1) / 2)
#else
#define SURE_ROWS ITEMS
#endif
#define IS_SHORT(count) (SURE_ROWS < ITEMS && (count) <= SURE_ROWS * WG)
#define FOR_ROWS(i, count)                 \
  UNROLL                                   \
  for (u32 i = 0; i < ITEMS; ++i)          \
    if (i == SURE_ROWS && IS_SHORT(count)) \
      break;                               \
    else

// With COMPOSITE no two items are equal, so ties keep their order. The position in an item
// identifies the record.
#if COMPOSITE
#define POSITION(item) ((u32)(item) & ((1u << POSITION_BITS) - 1))
#else
#undef RANK
#define RANK(key) key_order(key)  // compares all bits
#endif

// Floats without values are sorted by their order bits alone. Afterwards, keys that tie with
// different bits (NaN, -0) get their own bits again, in the order of the input.
#define UNTIED_FLOATS (KEY_FLOAT && !COMPOSITE)

// Integers with positions are not sorted by cells: the call's registers would slow down all of them
// by 12 %.
#define USES_CELLS (KEY_FLOAT || !COMPOSITE)
#define LOG_CELLS 8
#define CELLS (1u << LOG_CELLS)

// block_bytes() in segmented_shape.cpp computes its size.
typedef struct {
  u32 bins[BIN_WORDS];
  sort_t items[CAPACITY * (BROUGHT_BYTES > SORT_BITS / 8 ? BROUGHT_BYTES / (SORT_BITS / 8) : 1)];
  index_t scratch[2 * WG];
  u32 differ[2];    // bits in which records differ: lower and upper half
  u32 extremes[2];  // of the windows: the complement of the lowest, and the highest
  u32 crowded;      // not 0: a bin is crowded; with COUNTS or SETTLES, the fullest one's items
  u32 listed;       // the number of crowded bins, if they are listed
  u32 unsorted;     // not 0: bins have not sorted the segment
  u32 tied;         // not 0: keys with different bits may tie
  u32 nan_ones[2];  // bits that are 1 in a NaN, and bits that are 0 in one: lower and upper halves
  u32 nan_zeros[2];
  u32 negative_zero;  // not 0: a key is -0
  u32 alike;          // work-items whose first key equals one of the next 8
} segmented_memory_t;

// How windows are mapped to bins by cells. A window is 32 bits of an item, from the highest bit in
// which items differ. Its cell is the upper LOG_CELLS bits of (window - lowest) << stretch. The
// cells' bins are in memory that the sorted items use later.
typedef struct {
  u32 down, up;  // shifts from an item to its window
  u32 lowest, stretch;
} cells_t;
#define WINDOW(item, cells) ((u32)((item) >> (cells).down) << (cells).up)
#define BINS_OF_CELLS(mine) ((LOCAL u32*)(mine)->items)  // CELLS + 1 words

// Returns the cells of items of `top` bits, before they are counted.
INLINE cells_t cells_of(u32 top) {
  cells_t cells;
  cells.down = max(top, 32u) - 32;
  cells.up = 32 - min(max(top, 1u), 32u);
  cells.lowest = cells.stretch = 0;
  return cells;
}

// Counts the items of each cell, and assigns bins to cells in proportion. A barrier must follow.
INLINE void count_cells(LOCAL segmented_memory_t* mine, cells_t* cells, const sort_t* item,
                        u32 rows, u32 count) {
  STATIC_ASSERT(sizeof(mine->items) >= (CELLS + 1) * sizeof(u32), cells_need_more_items);
  const u32 t = local_id();
  LOCAL u32* bins = BINS_OF_CELLS(mine);
  u32 lowest = ~0u, highest = 0;
  FOR_ROWS(i, count) {
    const u32 window = WINDOW(item[i], *cells);
    lowest = i < rows ? min(lowest, window) : lowest;
    highest = i < rows ? max(highest, window) : highest;
  }
  for (u32 c = t; c < CELLS; c += WG) bins[c] = 0;
  wg_max(&mine->extremes[0], ~lowest);
  wg_max(&mine->extremes[1], highest);
  barrier_local();
  cells->lowest = ~mine->extremes[0];
  const u32 span = mine->extremes[1] - cells->lowest;
  cells->stretch = 31 - highest_bit32(span | 1);
  FOR_ROWS(i, count) {
    const u32 window = WINDOW(item[i], *cells) - cells->lowest;
    if (i < rows) local_add(&bins[window << cells->stretch >> (32 - LOG_CELLS)], 1u);
  }
  barrier_local();
  index_t before = 0, all;
  for (u32 base = 0; base < CELLS; base += WG) {
    const u32 c = base + t;
    const u32 at = (u32)(before + wg_scan_add(mine->scratch, WG < CELLS ? WG : CELLS,
                                              c < CELLS ? bins[c] : 0, &all));
    if (c < CELLS) bins[c] = at * BINS / count;  // less than 2^31
    before += all;
  }
  if (t == 0) bins[CELLS] = BINS;
}

// Returns an item's bin: its cell's bins divide the cell evenly.
INLINE u32 bin_in_cell(LOCAL const u32* bins, sort_t item, cells_t cells) {
  const u32 window = (WINDOW(item, cells) - cells.lowest) << cells.stretch;
  const u32 cell = window >> (32 - LOG_CELLS), begin = bins[cell];
  return begin + ((window << LOG_CELLS >> 16) * (bins[cell + 1] - begin) >> 16);
}

// Empties the bins. A barrier must follow.
INLINE void empty_bins(LOCAL segmented_memory_t* mine) {
  const u32 t = local_id();
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  uint4 zero;
  zero.x = zero.y = zero.z = zero.w = 0;
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) quads[q * WG + t] = zero;
  if (t == 0) mine->crowded = mine->unsorted = 0;
}

// Work-item t scans BIN_QUADS quads of 4 words each, from word t * 4 * BIN_QUADS on. These are
// quads t, t + WG, ... of the local memory, so neighbouring work-items access neighbouring quads.
#define SLOT_OF_WORD(word) \
  (((word) / 4 % BIN_QUADS * WG + (word) / (4 * BIN_QUADS)) * 4 + (word) % 4)
#define WORD_OF_SLOT(slot) ((slot) / 4 % WG * (4 * BIN_QUADS) + (slot) / 4 / WG * 4 + (slot) % 4)

#define FULLER(two) max((two)&0xffffu, (two) >> 16)

// Counts an item in its bin. Returns its place: the 2-byte index of the bin's count and, above it,
// the item's rank in the bin.
INLINE u32 enter_bin(LOCAL segmented_memory_t* mine, u32 bin) {
  const u32 word = bin & (BINS / 2 - 1), upper = bin >> (LOG_BINS - 1) & 1;
  const u32 slot = SLOT_OF_WORD(word);
  const u32 in_bin = local_add(&mine->bins[slot], 1u << 16 * upper) >> 16 * upper & 0xffff;
  return 2 * slot + upper | in_bin << 16;
}

// If bins have at most COUNTED items, crowded ones are sorted by counting. That needs a word for
// each item in the memory of the bins.
#define COUNTS (BIN_SHARE / 2 >= ITEMS)
#define COUNTED 128u
// Otherwise, if items have no positions, sub-groups sort crowded bins.
#define SETTLES (!COUNTS && !COMPOSITE && !LEAVES)

// Replaces each bin's count by the position where the bin begins. If a bin is crowded, sets
// mine->crowded: with COUNTS or SETTLES, to the number of items in the fullest bin.
INLINE void start_bins(LOCAL segmented_memory_t* mine) {
  const u32 t = local_id();
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  uint4 quad[BIN_QUADS];
  u32 of_all = 0, too_many = 0;
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) {
    quad[q] = quads[q * WG + t];
    of_all += quad[q].x + quad[q].y + quad[q].z + quad[q].w;
    too_many |= ANY_TOO_MANY(quad[q]);
  }
  if (too_many) {
    u32 fullest = 1;
#if COUNTS || SETTLES
    UNROLL
    for (u32 q = 0; q < BIN_QUADS; ++q)
      fullest = max(fullest, max(max(FULLER(quad[q].x), FULLER(quad[q].y)),
                                 max(FULLER(quad[q].z), FULLER(quad[q].w))));
#endif
    local_max(&mine->crowded, fullest);
  }
  index_t all;
  u32 at_bin = (u32)wg_scan_add(mine->scratch, WG, of_all, &all);
  at_bin += (u32)all << 16;  // the upper half of the bins begins where the lower half ends
  UNROLL
  for (u32 q = 0; q < BIN_QUADS; ++q) {
    START_BINS(quad[q])
    quads[q * WG + t] = quad[q];
  }
  barrier_local();
}

#if COUNTS
// Returns the position where the bin of `place` ends.
INLINE u32 end_of_bin(LOCAL const u16* starts_of_bins, u32 place, u32 count) {
  const u32 word = WORD_OF_SLOT((place & 0xffff) / 2), upper = place & 1;
  const u32 next = (word + 1) & (BINS / 2 - 1), is_last = next == 0 ? 1 : 0;
  return is_last & upper ? count : starts_of_bins[2 * SLOT_OF_WORD(next) + (upper | is_last)];
}

// Sorts the items of each bin, which are in the bin's part of mine->items, by counting for each
// item the bin's items that come before it. A barrier must come before it, and one must follow.
INLINE void count_in_bins(LOCAL segmented_memory_t* mine, sort_t* item, u32* place, u32 rows,
                          u32 count) {
  const u32 t = local_id();
  LOCAL const u16* starts_of_bins = (LOCAL const u16*)mine->bins;
  // An item's word: where its bin begins, the number of the bin's items, and the item's rank.
  STATIC_ASSERT(CAPACITY <= 0x10000 && COUNTED < 0x100, a_word_is_too_short);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) {
      const u32 begin = starts_of_bins[place[i] & 0xffff];
      const u32 end = end_of_bin(starts_of_bins, place[i], count);
      place[i] = begin | (end - begin) << 16 | place[i] >> 16 << 24;
    }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) mine->bins[(place[i] & 0xffff) + (place[i] >> 24)] = place[i];
  // Bins whose items are alike need no counting. The others get a mark, by where they begin.
  LOCAL u32* marks = &mine->bins[CAPACITY];
  STATIC_ASSERT(BIN_SHARE / 2 > ITEMS, marks_need_more_memory);
  if (t < (CAPACITY + 31) / 32) marks[t] = COMPOSITE ? ~0u : 0;
  barrier_local();
#if !COMPOSITE
  ROLLED
  for (u32 at = t; at < count; at += WG) {
    const u32 begin = mine->bins[at] & 0xffff;
    if (mine->items[at] != mine->items[begin]) local_or(&marks[begin / 32], 1u << begin % 32);
  }
  barrier_local();
#endif
  // Replace each word by the item's new place. Neighbouring work-items count for neighbouring
  // items, so they read the same bins. Eight loads at a time do not wait for one another.
  ROLLED
  for (u32 at = t; at < count; at += WG) {
    const u32 word = mine->bins[at], begin = word & 0xffff, end = begin + (word >> 16 & 0xff);
    const u32 counts = marks[begin / 32] >> begin % 32 & 1;
    const sort_t own = mine->items[at];
    u32 to = counts ? begin : at;
    for (u32 base = begin; base < (counts ? end : begin); base += 8) UNROLL
    for (u32 k = base; k < base + 8; ++k) {
      const sort_t other = mine->items[min(k, end - 1)];
      to += k < end && (other < own || (!COMPOSITE && k < at && other == own)) ? 1u : 0u;
    }
    mine->bins[at] = to;
  }
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) {
      item[i] = mine->items[i * WG + t];
      place[i] = mine->bins[i * WG + t];
    }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) mine->items[place[i]] = item[i];
  if (t == 0) mine->unsorted = 0;
}

#if COMPOSITE
#define EXPECTED_BINS (BINS / CAPACITY)
// Distributes the items to bins again. Each bin owns EXPECTED_BINS new bins for each of its items.
// If all keys of a crowded bin are equal, its items are divided among its new bins by their
// positions in the segment, so these are seldom crowded. All items of any other bin enter its first
// new bin. Overwrites the bins and `place`. The items are in their bin's part of mine->items. A
// barrier must come before it, and one must follow.
INLINE void enter_by_position(LOCAL segmented_memory_t* mine, const sort_t* item, u32* place,
                              u32 rows, u32 count) {
  const u32 t = local_id();
  LOCAL const u16* starts_of_bins = (LOCAL const u16*)mine->bins;
  // One bit for each place where a bin begins: 1 if the bin is crowded and has different keys.
  LOCAL u32* mixed = (LOCAL u32*)mine->scratch;
  STATIC_ASSERT(CAPACITY <= 0x10000 && sizeof(mine->scratch) >= CAPACITY / 8, bits_need_memory);
  if (t < (CAPACITY + 31) / 32) mixed[t] = 0;
  barrier_local();
  u32 bin[ITEMS];  // where the bin begins, and its items
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    bin[i] = 0;
    if (i >= rows) continue;
    const u32 begin = starts_of_bins[place[i] & 0xffff],
              size = end_of_bin(starts_of_bins, place[i], count) - begin;
    bin[i] = begin | size << 16;
    if (size > BIN_MOST && mine->items[begin] >> POSITION_BITS != item[i] >> POSITION_BITS)
      local_or(&mixed[begin / 32], 1u << begin % 32);
  }
  barrier_local();
  empty_bins(mine);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    if (i >= rows) continue;
    const u32 begin = bin[i] & 0xffff, size = bin[i] >> 16;
    const u32 is_mixed = mixed[begin / 32] >> begin % 32 & 1;
    bin[i] = EXPECTED_BINS * begin;
    if (size > BIN_MOST && !is_mixed) bin[i] += (i * WG + t) * (EXPECTED_BINS * size) / count;
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) place[i] = enter_bin(mine, bin[i]);
}
#endif
#endif

#if SETTLES
// Sorts the crowded bins of mine->items, which are in order of their bins. No bin may have more
// than CROWD_MOST items. Overwrites the bins. Ends with a barrier.
INLINE void settle_crowded(LOCAL segmented_memory_t* mine, sub_group_t sg, u32 count) {
  LIST_CROWDED(mine, SLOT_OF_WORD, count)
  sort_listed_bins(mine->items, sg, mine->bins, mine->listed);
}
#endif

// Moves the items into the order of their bins. Items past the end keep their places. Ends with a
// barrier.
INLINE void scatter_to_bins(LOCAL segmented_memory_t* mine, const sort_t* item, const u32* place,
                            u32 rows, u32 count) {
  const u32 t = local_id();
  LOCAL const u16* starts_of_bins = (LOCAL const u16*)mine->bins;
  FOR_ROWS(i, count) {
    const u32 to = starts_of_bins[place[i] & 0xffff] + (place[i] >> 16);
    mine->items[i >= rows ? i * WG + t : to] = item[i];
  }
  if (IS_SHORT(count)) {
    UNROLL
    for (u32 i = SURE_ROWS; i < ITEMS; ++i) mine->items[i * WG + t] = SORT_LAST;
  }
  barrier_local();
}

// Sorts the work-group's `count` items into mine->items by the bins that they have entered: the
// first `wanted` are sorted, the others are behind them. Sets mine->unsorted to 1 if bins do not
// sort them. Items past the end keep their places. A barrier must follow.
INLINE void sort_in_bins(LOCAL segmented_memory_t* mine, sub_group_t sg, sort_t* item, u32* place,
                         u32 rows, u32 count, u32 wanted) {
  const u32 t = local_id();
  barrier_local();
  start_bins(mine);
  // If a bin is crowded, all items are sorted and checked, not only the wanted ones: a wanted one
  // may lie anywhere in that bin.
  u32 crowded = mine->crowded;
  wanted = crowded != 0 ? count : wanted;
  scatter_to_bins(mine, item, place, rows, count);
  u32 counts = COUNTS && crowded <= COUNTED ? 1 : 0;
#if COUNTS && COMPOSITE
  for (u32 once = 0; once < (crowded != 0 ? 1u : 0u); ++once) {
    enter_by_position(mine, item, place, rows, count);
    barrier_local();
    start_bins(mine);
    crowded = mine->crowded;
    counts = crowded <= COUNTED ? 1 : 0;
    scatter_to_bins(mine, item, place, rows, count);
  }
#endif

  // Sort each work-item's own items, which sorts all bins inside its range. Then merge across the
  // boundary to the previous work-item, for bins that extend over it. With positions,
  // exchanges would not sort a crowded bin, because all its items differ.
  LOCAL sort_t* own = mine->items + t * ITEMS;
  const u32 sorts = (COMPOSITE && crowded != 0) || t * ITEMS >= wanted + SIDE ? 0 : 1;
  if (sorts) SORT_NEIGHBOURS(item, own, BIN_MOST)
  barrier_local();
  if (sorts && t != 0 && own[-1] > own[0]) MERGE_BORDER(own)

  const u32 checks = crowded != 0 ? 1 : 0;
  for (u32 once = 0; once < checks; ++once) {
    barrier_local();
    u32 wrong = COMPOSITE;
#if !COMPOSITE
    // A crowded bin is sorted if its items are alike.
    for (u32 i = 0; i < ITEMS; ++i)
      wrong |= t * ITEMS + i + 1 < wanted && own[i] > own[i + 1] ? 1u : 0u;
#endif
    if (wrong) local_or(&mine->unsorted, 1u);
    barrier_local();
#if COUNTS
    counts = mine->unsorted ? counts : 0;
    for (u32 again = 0; again < counts; ++again) count_in_bins(mine, item, place, rows, count);
#elif SETTLES
    const u32 settles = mine->unsorted && crowded <= CROWD_MOST ? 1 : 0;
    barrier_local();  // all have read `unsorted`
    for (u32 again = 0; again < settles; ++again) {
      if (t == 0) mine->unsorted = 0;
      settle_crowded(mine, sg, count);
    }
#endif
  }
}

// Sorts mine->items by bins as sort_in_bins does, unless many keys are alike with positions and
// crowded bins are not sorted. Not inline, so the integers' sort by leading bits does not pay for
// its registers.
#if USES_CELLS
OUTLINE void sort_items_in_bins(LOCAL segmented_memory_t* mine, sub_group_t sg, u32 rows, u32 count,
                                u32 wanted, u32 shift, u32 top, u32 wants_cells) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id(), by_cells = KEY_FLOAT ? wants_cells : 1;
  sort_t item[ITEMS];
  FOR_ROWS(i, count) item[i] = mine->items[i * WG + t];
  u32 tries = 1;
#if COMPOSITE && !COUNTS
  u32 alike = 0;
  for (u32 next = t + 1; next <= t + 8 && next < min(count, (u32)WG); ++next)
    alike += mine->items[next] >> POSITION_BITS == item[0] >> POSITION_BITS ? 1u : 0u;
  if (t == 0) mine->alike = 0;
  barrier_local();
  if (alike != 0) local_add(&mine->alike, 1u);
  barrier_local();
  tries = !by_cells || mine->alike * 32 < WG ? 1 : 0;
#endif
  barrier_local();  // the items may be overwritten, and all have read `unsorted`
  for (u32 once = 0; once < tries; ++once) {
    empty_bins(mine);
    cells_t cells = cells_of(top);
    for (u32 twice = 0; twice < by_cells; ++twice) count_cells(mine, &cells, item, rows, count);
    barrier_local();
    LOCAL const u32* bins_of_cells = BINS_OF_CELLS(mine);
    u32 place[ITEMS];
    FOR_ROWS(i, count) {
      place[i] = 0;
      if (i < rows)
        place[i] = enter_bin(
            mine, by_cells ? bin_in_cell(bins_of_cells, item[i], cells) : (u32)(item[i] >> shift));
    }
    sort_in_bins(mine, sg, item, place, rows, count, wanted);
  }
}
#endif
