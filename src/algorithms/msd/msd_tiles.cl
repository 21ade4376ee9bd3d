// msd, lists of up to 2^21 records that are partitioned by one digit. Two kernels replace the
// clearing, counting and partitioning of longer lists. msd_count_tiles stores the digit counts of
// each tile. msd_partition_tiles, with one work-group for each tile, adds up these counts itself.
// A look-back would be slower: in a short list all tiles begin at the same time, so each would look
// back to the first one. Another launch for the sums would take as long as the work itself.
// columns.cl and msd_cells.cl come before this file.

PARAMETER(COUNT_WG)     // work-items of a work-group of msd_count_tiles
PARAMETER(COUNT_ITEMS)  // keys that a work-item of msd_count_tiles loads at a time
PARAMETER(WG)           // work-items of a work-group of msd_partition_tiles
PARAMETER(ITEMS)        // records that a work-item has in a tile

#define TILE ((u32)(WG * ITEMS))

// A row has RADIX counts of 16 bits. A work-item reads eight counts at a time, as one uint4. The
// work-items of a team add up the same rows.
#define ROW_WORDS (RADIX / 2)
#define ROW_QUADS (RADIX / 8)
#define ROW_TEAMS (WG / ROW_QUADS)
#define ROWS_AT_ONCE 8

#define ADD_COUNTS(sum, i, word) \
  sum[i] += word & 0xffff;       \
  sum[i + 1] += word >> 16;
// Adds eight counts to sum[0] to sum[7].
#define ADD_QUAD(sum, quad)  \
  ADD_COUNTS(sum, 0, quad.x) \
  ADD_COUNTS(sum, 2, quad.y) \
  ADD_COUNTS(sum, 4, quad.z) \
  ADD_COUNTS(sum, 6, quad.w)

#define PUT_QUAD(to, from, i)                                                           \
  {                                                                                     \
    uint4 four;                                                                         \
    four.x = from[i], four.y = from[i + 1], four.z = from[i + 2], four.w = from[i + 3]; \
    *(LOCAL uint4*)(to) = four;                                                         \
  }

#if VALUE_BYTES
// Loads the values of a tile of `count` records that begins at index `begin`. This work-item's
// records lie SG_LANES apart, from record `first` of the tile on. `values` is null if a value is
// its record's position.
INLINE void load_tile_values(GLOBAL const value_t* values, u32 begin, u32 first, u32 count,
                             value_t* value) {
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = begin + min(first + i * SG_LANES, count - 1);
    value[i] = values ? values[at] : (value_t)at;
  }
}
#endif

#if CELLS
// Stores the edges (msd_cells.cl) of tile group_id(). Each work-item passes those of its own keys:
// the smallest and the largest order, for floats on each side of zero. `work`: 2 * EDGES words of
// local memory, 0 at first.
INLINE void store_edges(LOCAL u32* work, ukey_t* least, ukey_t* largest, GLOBAL ukey_t* edges) {
  UNROLL
  for (u32 side = 0; side < EDGES / 2; ++side) {
    find_edges(work + 4 * side, &least[side], &largest[side]);
    if (local_id() != 0) continue;
    edges[EDGES * group_id() + 2 * side] = least[side];
    edges[EDGES * group_id() + 2 * side + 1] = largest[side];
  }
}
#endif

// Work-group g counts the digits of tile g. The digit is the 8 bits of a key's order from bit
// `shift` upwards. For floats, the kernel counts no digits: it stores edges, and clears.
//   keys     in: n keys
//   table    out, integers: row g has the 256 counts of tile g, two in a word
//   cleared  out: `words` words; become 0
//   edges    out, CELLS: the edges of each tile
KERNEL(COUNT_WG)
void msd_count_tiles(GLOBAL const ukey_t* keys, GLOBAL u32* table, u64 n, u32 shift,
                     GLOBAL u32* cleared, u64 words, GLOBAL ukey_t* edges) {
  SUB_GROUP(COUNT_WG);
  LOCAL_ARRAY(u32, counts, RADIX);
#if CELLS
  LOCAL_ARRAY(u32, work, 2 * EDGES);
  ukey_t least[EDGES / 2], largest[EDGES / 2];
  UNROLL
  for (u32 side = 0; side < EDGES / 2; ++side) least[side] = (ukey_t) ~(ukey_t)0, largest[side] = 0;
#endif
  const u32 t = local_id();
  const u64 begin = (u64)group_id() * TILE;
  const u32 count = (u32)min((u64)TILE, n - begin);
  keys += begin;
  if (t < RADIX) counts[t] = 0;
#if CELLS
  if (t < 2 * EDGES) work[t] = 0;
#endif
  barrier_local();
  for (u32 base = 0; base < count; base += COUNT_WG * COUNT_ITEMS) {
    const u32 first = base + sg_index() * (COUNT_ITEMS * SG_LANES) + sg_lane();
    ukey_t key[COUNT_ITEMS];
    UNROLL
    for (u32 i = 0; i < COUNT_ITEMS; ++i) key[i] = keys[min(first + i * SG_LANES, count - 1)];
#if CELLS
    UNROLL
    for (u32 i = 0; i < COUNT_ITEMS; ++i) {
      const ukey_t order = CELL_ORDER(key[i]);
#if KEY_FLOAT
      const u32 above = order >= untied_order(0),
                has_edges =
                    (ukey_t)(key[i] << 1) != 0 && !IN_NO_CELL(key[i]);  // zeros need no edges
      if (has_edges && !above) least[0] = min(least[0], order), largest[0] = max(largest[0], order);
      if (has_edges && above) least[1] = min(least[1], order), largest[1] = max(largest[1], order);
#else
      least[0] = min(least[0], order), largest[0] = max(largest[0], order);
#endif
    }
#endif
#if !KEY_FLOAT
    u32 bucket[COUNT_ITEMS];
    UNROLL
    for (u32 i = 0; i < COUNT_ITEMS; ++i) bucket[i] = key_digit(key[i], shift, RADIX - 1);
      // If the first keys of a sub-group have the same digit, as in sorted input, each row with a
      // single digit is counted by one addition.
#if SG_NATIVE
    if (sg_ballot(sg, bucket[0] != sg_shuffle(sg, bucket[0], 0)) == 0) {
      UNROLL
      for (u32 i = 0; i < COUNT_ITEMS; ++i) {
        const u32 there = first + i * SG_LANES < count,
                  other = bucket[i] ^ sg_shuffle(sg, bucket[i], 0);
        if (sg_ballot(sg, !there || other != 0) == 0) {
          if (sg_lane() == 0) local_add(&counts[bucket[i]], SG_LANES);
        } else if (there) {
          local_add(&counts[bucket[i]], 1u);
        }
      }
      continue;
    }
#endif
    UNROLL
    for (u32 i = 0; i < COUNT_ITEMS; ++i)
      if (first + i * SG_LANES < count) local_add(&counts[bucket[i]], 1u);
#endif
  }
  for (u64 i = (u64)group_id() * COUNT_WG + t; i < words; i += (u64)group_count() * COUNT_WG)
    cleared[i] = 0;
#if CELLS
  store_edges(work, least, largest, edges);
#endif
  barrier_local();
  if (!KEY_FLOAT && t < RADIX / 2)
    table[group_id() * (RADIX / 2) + t] = counts[2 * t] | counts[2 * t + 1] << 16;
}

// tile_partition() in msd_shape.cpp computes its size.
typedef struct {
  union {
    u32 sums[2][ROW_TEAMS * RADIX];  // sums of each team's rows: [0] of the rows before the tile,
                                     // [1] of all rows
    struct {
      ukey_t keys[TILE];
#if VALUE_BYTES
      value_t values[TILE];
#endif
    } tile;  // sorted by digit
  } mine;
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 digit_sums[WG];
  u32 to_out[RADIX];  // slot in the sorted tile + to_out = output index
  index_t scratch[SCAN_WORDS(RADIX)];
  u32 skewed;
#if CELLS
  u32 edges[2 * EDGES];
  u32 crowded;
  u32 outside;           // how many keys are in no cell
  u32 cells[CELLS / 2];  // counts of the tile's keys, 16 bits each
#endif
} msd_tile_memory_t;

// Adds up the rows of `tiles` tiles. Work-item t < RADIX returns the sum of digit t in all rows,
// and stores in *before its sum in the rows before `tile`. Contains a barrier.
INLINE u32 sum_rows(LOCAL msd_tile_memory_t* own, GLOBAL const uint4* table, u32 tiles, u32 tile,
                    u32* before) {
  // Each team adds up consecutive rows. Each of its work-items adds up eight digits of these rows.
  const u32 t = local_id(), team = t / ROW_QUADS, quad = t % ROW_QUADS,
            rows = (tiles + ROW_TEAMS - 1) / ROW_TEAMS;
  const u32 end = min((team + 1) * rows, tiles);
  u32 sum[8], earlier[8];
  UNROLL
  for (u32 d = 0; d < 8; ++d) sum[d] = earlier[d] = 0;
  for (u32 row = team * rows; row < end; row += ROWS_AT_ONCE) {
    uint4 counts[ROWS_AT_ONCE];
    UNROLL
    for (u32 i = 0; i < ROWS_AT_ONCE; ++i)
      counts[i] = table[min(row + i, end - 1) * ROW_QUADS + quad];
    UNROLL
    for (u32 i = 0; i < ROWS_AT_ONCE; ++i) {
      if (row + i == tile) UNROLL
      for (u32 d = 0; d < 8; ++d) earlier[d] = sum[d];
      if (row + i < end) {
        ADD_QUAD(sum, counts[i])
      }
    }
  }
  if (end <= tile) UNROLL
  for (u32 d = 0; d < 8; ++d) earlier[d] = sum[d];
  LOCAL u32* to = &own->mine.sums[0][team * RADIX + 8 * quad];
  PUT_QUAD(to, earlier, 0)
  PUT_QUAD(to + 4, earlier, 4)
  PUT_QUAD(to + ROW_TEAMS * RADIX, sum, 0)
  PUT_QUAD(to + ROW_TEAMS * RADIX + 4, sum, 4)
  barrier_local();
  u32 in_earlier = 0, in_all = 0;
  if (t < RADIX) UNROLL
  for (u32 q = 0; q < ROW_TEAMS; ++q) {
    in_earlier += own->mine.sums[0][q * RADIX + t];
    in_all += own->mine.sums[1][q * RADIX + t];
  }
  *before = in_earlier;
  return in_all;
}

#if CELLS
// Adds the tile's keys to the counts of their cells. `key` and `first`: as in msd_partition_tiles.
INLINE void count_cells(LOCAL msd_tile_memory_t* own, sub_group_t sg, cell_range_t range,
                        const ukey_t* key, u32 first, u32 count, GLOBAL u32* counts) {
  LOCAL u32* of_tile = own->cells;
  u32 cell[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) cell[i] = cell_of_key(range, key[i]);
#if SG_NATIVE
  const u32 alike = sg_ballot(sg, cell[0] != sg_shuffle(sg, cell[0], 0)) == 0;
#endif
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 there = first + i * SG_LANES < count && !IN_NO_CELL(key[i]);
    u32 times = there;
#if SG_NATIVE
    if (alike) {  // as in msd_count_tiles
      const u32 other = cell[i] ^ sg_shuffle(sg, cell[i], 0);
      if (sg_ballot(sg, !there || other != 0) == 0) times = sg_lane() == 0 ? SG_LANES : 0;
    }
#endif
    if (times != 0) local_add(&of_tile[cell[i] / 2], times << 16 * (cell[i] % 2));
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < CELLS / 2; i += WG) {
    const u32 two = of_tile[i + local_id()];
    if (two != 0) global_add(&counts[i + local_id()], two);
  }
}

// Returns 1 if a cell has more than MOST_SAMPLES of WG samples of the keys. Its bucket would then
// be too large; if it were not, the result would seldom be 1 by chance. Sets own->cells to 0.
#define MOST_SAMPLES 5u
INLINE u32 samples_crowd(LOCAL msd_tile_memory_t* own, cell_range_t range, ukey_t sample) {
  const u32 t = local_id(), cell = cell_of_key(range, sample);
  LOCAL u32* counts = own->cells;
  for (u32 i = t; i < CELLS / 2; i += WG) counts[i] = 0;
  if (t == 0) own->crowded = 0;
  barrier_local();
  const u32 at = 16 * (cell % 2), one = IN_NO_CELL(sample) ? 0 : 1,
            before = local_add(&counts[cell / 2], one << at) >> at;
  if (one && (before & 0xffff) >= MOST_SAMPLES) local_or(&own->crowded, 1u);
  barrier_local();
  counts[cell / 2] = 0;
  barrier_local();
  return own->crowded;
}
#endif

#if CELLS && KEY_FLOAT
// Adds the number of the tile's keys in no cell to *all. `key` and `first`: as in
// msd_partition_tiles.
INLINE void count_outside(LOCAL msd_tile_memory_t* own, sub_group_t sg, const ukey_t* key,
                          u32 first, u32 count, GLOBAL u32* all) {
  u32 outside = 0;
  if (local_id() == 0) own->outside = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    outside += popcount32(sg_ballot(sg, first + i * SG_LANES < count && IN_NO_CELL(key[i])));
  barrier_local();
  if (sg_lane() == 0 && outside != 0) local_add(&own->outside, outside);
  barrier_local();
  if (local_id() == 0 && own->outside != 0) global_add(all, own->outside);
}

// For floats, this kernel takes the place of msd_partition_tiles. Work-group g adds the keys of
// tile g to the counts of their cells. The other parameters are those of msd_partition_tiles.
//   skewed  out: 1 if the list may be sorted by cells, else VERDICT_CROWDED
//   ties    null, or a word, 0 at first; becomes 1 if a key needs ties (needs_ties)
KERNEL(WG)
void msd_count_cells(GLOBAL const ukey_t* keys_in, GLOBAL u32* skewed, u64 n, u32 tiles,
                     GLOBAL const ukey_t* edges, GLOBAL u32* cells, GLOBAL u32* ties) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_tile_memory_t, own);
  const u32 t = local_id(), tile = group_id(), begin = tile * TILE,
            count = (u32)min((u64)TILE, n - begin);
  const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = keys_in[begin + min(first + i * SG_LANES, count - 1)];
  const ukey_t sample = keys_in[sample_index(t, (u32)n / WG)];
  const cell_range_t range = find_range(own->edges, edges, tiles, WG);
  const u32 crowd = samples_crowd(own, range, sample);
  if (tile == 0 && t == 0) *skewed = crowd ? VERDICT_CROWDED : 1;
  u32 tie = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) tie |= needs_ties(key[i], KEY_NAN == NAN_LAST);
  if (ties && tie) *ties = 1;
#if KEY_NAN == NAN_LAST
  count_outside(own, sg, key, first, count, &cells[CELL_OUTSIDE]);
#endif
  if (!crowd) count_cells(own, sg, range, key, first, count, cells + CELL_STATE);
}
#else

// Work-group g partitions tile g by the digit. Stable.
//   keys_in, values_in    in: n records; if values_in is null, a value is its record's position
//   keys_out, values_out  out: n records
//   table                 in: the counts of `tiles` tiles, from msd_count_tiles
//   starts                out: the output index where each digit begins, then the end
//   skewed                out: a word: 0 if no digit has more than `capacity` records: then the
//                         records are partitioned. Else no record moves. 1: the keys of each cell
//                         are counted, if there are cells. VERDICT_CROWDED: cells would have too
//                         many keys, so none are counted
//   edges                 in, CELLS: the edges of each tile, from msd_count_tiles
//   cells                 CELLS: CELL_STATE words, which stay as they are; after them, out: the
//                         counts of all cells, 0 at first
KERNEL(WG)
void msd_partition_tiles(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                         GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                         GLOBAL const u32* table, GLOBAL u32* starts, GLOBAL u32* skewed, u64 n,
                         u32 shift, u32 tiles, u32 capacity, GLOBAL const ukey_t* edges,
                         GLOBAL u32* cells) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_tile_memory_t, own);
  const u32 t = local_id(), tile = group_id(), begin = tile * TILE,
            count = (u32)min((u64)TILE, n - begin);
  LOCAL u32* my_ranks = own->ranks + sg_index() * RANK_WORDS;

  // Load. Each sub-group loads a contiguous piece of the tile. Keys past the end are KEY_LAST,
  // which sorts after all keys and is never written out.
  const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = first + i * SG_LANES;
    const ukey_t k = keys_in[begin + min(at, count - 1)];
    key[i] = at < count ? k : KEY_LAST;
  }

  for (u32 i = sg_lane(); i < RANK_WORDS; i += SG_LANES) my_ranks[i] = 0;
  if (t == 0) own->skewed = 0;
  u32 in_tiles_before;
  const u32 in_list = sum_rows(own, (GLOBAL const uint4*)table, tiles, tile, &in_tiles_before);

  // Find where each digit begins, and whether a digit has too many records.
  if (in_list > capacity) local_or(&own->skewed, 1u);
  index_t all;
  const u32 begins = (u32)wg_scan_add(own->scratch, RADIX, in_list, &all);
  if (tile == 0 && t == 0) *skewed = own->skewed;
  if (own->skewed) {
#if CELLS
    const ukey_t sample = keys_in[sample_index(t, (u32)n / WG)];
    const cell_range_t range = find_range(own->edges, edges, tiles, WG);
    if (!samples_crowd(own, range, sample))
      count_cells(own, sg, range, key, first, count, cells + CELL_STATE);
    else if (tile == 0 && t == 0)
      *skewed = VERDICT_CROWDED;
#endif
    return;
  }
  if (tile == 0 && t < RADIX) starts[t] = begins;
  if (tile == 0 && t == 0) starts[RADIX] = (u32)n;

  // Rank in the sub-group; sum over sub-groups; scan over digits. Values are loaded meanwhile.
  u32 place[ITEMS];
#define DIGIT(i) key_digit(key[i], shift, RADIX - 1)
  SG_RANK_ROWS(place, ITEMS, my_ranks, RADIX, DIGIT,
               count < TILE)  // keys past the end are all the same
  barrier_local();
#if VALUE_BYTES
  value_t value[ITEMS];
  load_tile_values(values_in, begin, first, count, value);
#endif
  u32 of_others;
  const u32 total = sum_digit(own->ranks, own->digit_sums, &of_others);
  const u32 in_tile = (u32)wg_scan_add(own->scratch, RADIX, total, &all);
  place_digit(own->ranks, own->digit_sums, in_tile, of_others);
  if (t < RADIX) own->to_out[t] = begins + in_tiles_before - in_tile;
  barrier_local();

  // Scatter into local memory, then write out. Neighbouring work-items write neighbouring records
  // of a digit. All places are read before the first record is stored, because compilers cannot
  // tell that records do not overlap the places.
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) place[i] += my_ranks[DIGIT(i)];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    own->mine.tile.keys[place[i]] = key[i];
#if VALUE_BYTES
    own->mine.tile.values[place[i]] = value[i];
#endif
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (at >= count) continue;
    const ukey_t k = own->mine.tile.keys[at];
    const u32 out = own->to_out[key_digit(k, shift, RADIX - 1)] + at;
    keys_out[out] = k;
#if VALUE_BYTES
    values_out[out] = own->mine.tile.values[at];
#endif
  }
}
#endif
