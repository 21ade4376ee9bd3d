// msd, short lists: the last kernel before the radix passes. If leading bits spread, it sorts the
// buckets by leading bits. If not, it sorts the list by cells (msd_cells.cl): it joins cells to
// buckets, partitions the keys by these, and sorts each bucket. columns.cl, msd_cells.cl and
// msd_local.cl come before this file.
//
// Work-groups take tiles and buckets by ticket. They wait only for work-groups that have taken
// earlier tickets, which therefore run.

PARAMETER(VERDICT_MAPPED)  // the value of *skewed if the list is sorted by cells

#define TILE CAPACITY
// cell_bytes() in msd_shape.cpp computes its size.
typedef struct {
  u8 bucket_of_cell[CELLS];  // first, because it is copied 16 bytes at a time
  union {
    struct {
      ukey_t keys[TILE];
      u8 bucket_of_slot[TILE];
    } tile;  // sorted by bucket
    msd_local_memory_t bucket;
  } now;
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 digit_sums[WG];
  u32 to_out[RADIX];  // slot in the sorted tile + to_out = output index
  index_t scratch[SCAN_WORDS(WG)];
  u32 edges[2 * EDGES];
  u32 ticket;
} cell_memory_t;

// The CELL_STATE words of the work space, except CELL_OUTSIDE. The last array has a word for each
// bucket: how many of its places are reserved.
#define CELL_JOIN 0u        // ticket of the chunks of cells
#define CELL_MOVE 1u        // ticket of the tiles
#define CELL_SORT 2u        // ticket of the buckets
#define CELL_JOINED 3u      // number of chunks that are joined
#define CELL_MOVED 4u       // number of tiles that are partitioned
#define CELL_OVERFULL 5u    // 1 if counts of cells have overflowed
#define CELL_RESERVED 256u  // the array

// Returns the next ticket. `word` counts those that are taken.
INLINE u32 take_ticket(LOCAL cell_memory_t* mine, GLOBAL u32* word) {
  barrier_all();
  if (local_id() == 0) mine->ticket = global_add(word, 1u);
  barrier_local();
  return mine->ticket;
}
// Adds `own` to *word, and waits until all work-groups together have added `all`.
INLINE void finish_tiles(GLOBAL u32* word, u32 own, u32 all) {
  barrier_all();
  if (local_id() == 0 && own != 0) global_add_release(word, own);
  wait_for(word, all);
}

// ---- Buckets ----
// Neighbouring cells are joined to a bucket until it has n / MOST_BUCKETS records, and at least
// LEAST_BUCKET. So it can have more records than that by those of its last cell.
#define MOST_BUCKETS (RADIX - 2)
#define LEAST_BUCKET 512u
#define CHUNK (WG / 2)  // neighbouring cells that a work-group joins at a time
#define CHUNKS (CELLS / CHUNK)
typedef struct {
  GLOBAL uint2* cells;  // of each cell: the number of records before it, and in it
  GLOBAL u8* buckets;   // of each cell: its bucket
  GLOBAL u32* starts;   // of each bucket: the index of its first record; then the end
} cell_tables_t;

// Writes the tables for the chunks for which this work-group takes a ticket. Returns how many these
// are. Sets *overfull to 1 if a cell has more keys than its count can hold. `n` is the number of
// keys in all cells together.
INLINE u32 join_cells(LOCAL cell_memory_t* mine, GLOBAL const u32* counts, cell_tables_t tables,
                      GLOBAL u32* ticket, GLOBAL u32* overfull, u64 n) {
  const u32 t = local_id(),
            inverse = (u32)(((u64)1 << 32) / max(n / MOST_BUCKETS + 1, (u64)LEAST_BUCKET));
#define BUCKET_AT(before) ((u32)((u64)(before)*inverse >> 32))
  for (u32 done = 0;; ++done) {
    const u32 chunk = take_ticket(mine, ticket);
    if (chunk >= CHUNKS) return done;
    // Sum the counts before the chunk, and scan those of the chunk.
    u32 sum = 0;
    for (u32 q = t; q < chunk * (CHUNK / 8); q += WG) {
      const uint4 four = ((GLOBAL const uint4*)counts)[q];
      sum += (four.x & 0xffff) + (four.x >> 16) + (four.y & 0xffff) + (four.y >> 16) +
             (four.z & 0xffff) + (four.z >> 16) + (four.w & 0xffff) + (four.w >> 16);
    }
    const u32 cell = chunk * CHUNK + t % CHUNK,
              count = counts[cell / 2] >> 16 * (cell % 2) & 0xffff;
    index_t before_chunk, all;
    wg_scan_add(mine->scratch, WG, sum, &before_chunk);
    const u32 before =
        (u32)(before_chunk + wg_scan_add(mine->scratch, WG, t < CHUNK ? count : 0, &all));
    if (t >= CHUNK) continue;
    uint2 word;
    word.x = before, word.y = count;
    tables.cells[cell] = word;
    const u32 bucket = BUCKET_AT(before);
    tables.buckets[cell] = (u8)bucket;
    // If the next cell is in another bucket, that one begins behind this cell, and so do the empty
    // buckets before it.
    const u32 end = before + count, next = cell + 1 == CELLS ? RADIX : BUCKET_AT(end);
    for (u32 b = bucket + 1; b <= next; ++b) tables.starts[b] = end;
    if (cell == 0) tables.starts[0] = 0;
    // A 16-bit count that has overflowed makes the sum of all wrong.
    if (cell + 1 == CELLS && end != n) *overfull = 1;
  }
}

// What the sort reads and writes.
typedef struct {
  GLOBAL const ukey_t* keys;
  GLOBAL ukey_t *partitioned, *sorted;
  cell_tables_t tables;
} cell_records_t;

// Loads the keys of a tile.
#define LOAD_TILE(tile)                                          \
  GLOBAL const ukey_t* own = r.keys + (u64)(tile)*TILE;          \
  const u32 count = (u32)min((u64)TILE, n - (u64)(tile)*TILE),   \
            first = sg_index() * (SG_LANES * ITEMS) + sg_lane(); \
  ukey_t key[ITEMS];                                             \
  UNROLL                                                         \
  for (u32 i = 0; i < ITEMS; ++i) key[i] = own[min(first + i * SG_LANES, count - 1)];
#define BUCKET_OF(key) ((u32)mine->bucket_of_cell[cell_of_key(range, key)])

// Copies the buckets of all cells to local memory.
INLINE void copy_buckets(LOCAL cell_memory_t* mine, GLOBAL const u8* buckets) {
  const u32 t = local_id();
  uint4 quad[(CELLS / 16 + WG - 1) / WG];
  UNROLL
  for (u32 i = 0; i < CELLS / 16; i += WG)
    quad[i / WG] = ((GLOBAL const uint4*)buckets)[min(i + t, CELLS / 16 - 1u)];
  UNROLL
  for (u32 i = 0; i < CELLS / 16; i += WG)
    if (i + t < CELLS / 16) ((LOCAL uint4*)mine->bucket_of_cell)[i + t] = quad[i / WG];
}

// Partitions the tiles for which this work-group takes a ticket. Returns how many tiles these are.
INLINE u32 partition_tiles(LOCAL cell_memory_t* mine, sub_group_t sg, cell_records_t r,
                           cell_range_t range, GLOBAL u32* state, GLOBAL u32* ticket, u64 n) {
  const u32 t = local_id(), tiles = (u32)((n + TILE - 1) / TILE);
  LOCAL u32* my_ranks = mine->ranks + sg_index() * RANK_WORDS;
  for (u32 done = 0;; ++done) {
    const u32 tile = take_ticket(mine, ticket);
    if (tile >= tiles) return done;
    LOAD_TILE(tile)
    if (done == 0) copy_buckets(mine, r.tables.buckets);
    for (u32 i = sg_lane(); i < RANK_WORDS; i += SG_LANES) my_ranks[i] = 0;
    barrier_local();
    // Records past the end and keys in no cell are in bucket RADIX - 1, where no others are.
    u32 place[ITEMS], bucket[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      bucket[i] =
          first + i * SG_LANES < count && !IN_NO_CELL(key[i]) ? BUCKET_OF(key[i]) : RADIX - 1;
#define TILE_BUCKET(i) bucket[i]
    SG_RANK_ROWS(place, ITEMS, my_ranks, RADIX, TILE_BUCKET, 0)
    barrier_local();
    u32 of_others;
    const u32 total = sum_digit(mine->ranks, mine->digit_sums, &of_others);
    u32 base = 0;
    if (t < RADIX && total != 0) base = global_add(&state[t], total);
    index_t all;
    const u32 in_tile = (u32)wg_scan_add(mine->scratch, RADIX, total, &all);
    place_digit(mine->ranks, mine->digit_sums, in_tile, of_others);
    if (t < RADIX) mine->to_out[t] = r.tables.starts[t] + base - in_tile;
    barrier_local();
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) place[i] += my_ranks[TILE_BUCKET(i)];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      mine->now.tile.keys[place[i]] = key[i];
      mine->now.tile.bucket_of_slot[place[i]] = (u8)bucket[i];
    }
    barrier_local();
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 at = i * WG + t, of_slot = mine->now.tile.bucket_of_slot[at];
      if (of_slot == RADIX - 1) continue;
      r.partitioned[mine->to_out[of_slot] + at] = mine->now.tile.keys[at];
    }
  }
}

// How the records of a bucket are assigned to bins.
typedef struct {
  u32 begin;    // index of the bucket's first record
  u32 inverse;  // 2^20 * number of bins / number of records
} cell_bins_t;
#define REST_BITS (PLACE_BITS - LOG_CELLS)  // bits of a place in its cell

INLINE cell_bins_t choose_cell_bins(u32 begin, u32 count) {
  cell_bins_t bins;
  bins.begin = begin;
  bins.inverse = (u32)min(((u64)BINS << 20) / count, (u64)~0u);
  return bins;
}

// Returns which 16-bit count belongs to a key's bin. The bin follows
// from the number of records before its cell and from its place in the cell. So bins are about
// equally full, whatever the distribution.
INLINE u32 cell_bin(cell_range_t range, GLOBAL const uint2* cells, cell_bins_t bins, ukey_t order) {
  const u32 place = place_of_order(range, order), rest = place & ((1u << REST_BITS) - 1);
  const uint2 cell = cells[CELL_OF_PLACE(place)];
  // The number of records before this one, times 2^12.
  const u32 before = ((cell.x - bins.begin) << 12) + (u32)((u64)cell.y * rest >> (REST_BITS - 12));
  const u32 bin = (u32)((u64)before * bins.inverse >> 32);
  return 2 * (bin & (BINS / 2 - 1)) + (bin >> (LOG_BINS - 1));
}

// Sorts the items of a bucket. place[i] is the cell_bin() of this work-item's item i. Only the
// first `rows` items exist.
INLINE void sort_in_cell_bins(LOCAL bin_sort_t* sort, sub_group_t sg, const ukey_t* order,
                              u32* place, u32 rows) {
  const u32 t = local_id();
  clear_bins(sort);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) place[i] = place_in_bin(sort->bins, place[i], 1);
  barrier_local();
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) item[i] = i < rows ? order[i] : SORT_LAST;
  if (start_bins(sort, 0, 0)) {
    LOCAL const u16* begins = (LOCAL const u16*)sort->bins;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      sort->items[i < rows ? begins[place[i] & 0xffff] + (place[i] >> 16) : i * WG + t] = item[i];
    sort_scattered(sort, sg, item, rows, 0);
  } else {
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) sort->items[i * WG + t] = item[i];
    sort_by_passes(sort, sg, rows);
  }
  barrier_all();
}

// Sorts the buckets for which this work-group takes a ticket.
INLINE void sort_cell_buckets(LOCAL cell_memory_t* mine, sub_group_t sg, cell_records_t r,
                              cell_range_t range, GLOBAL u32* ticket) {
  const u32 t = local_id();
  for (;;) {
    const u32 bucket = take_ticket(mine, ticket);
    if (bucket >= RADIX) return;
    const u32 begin = r.tables.starts[bucket], count = r.tables.starts[bucket + 1] - begin;
    if (count == 0) continue;
    const u32 rows = (count + WG - 1 - t) / WG;
    ukey_t order[ITEMS];
    u32 place[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      order[i] = CELL_ORDER(r.partitioned[begin + min(i * WG + t, count - 1)]);
    const cell_bins_t bins = choose_cell_bins(begin, count);
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) place[i] = cell_bin(range, r.tables.cells, bins, order[i]);
    sort_in_cell_bins(&mine->now.bucket.sort, sg, order, place, rows);
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (i < rows)
        r.sorted[begin + i * WG + t] = key_of_order(mine->now.bucket.sort.items[i * WG + t]);
  }
}

// Joins cells to buckets, partitions the list by these, and sorts them. Returns 0 if a bucket is
// too large: then no record has moved.
INLINE u32 sort_by_cells(LOCAL cell_memory_t* mine, sub_group_t sg, cell_records_t r,
                         GLOBAL const ukey_t* edges, u32 parts, GLOBAL u32* space, u64 n) {
  const u32 t = local_id(), tiles = (u32)((n + TILE - 1) / TILE);
  const cell_range_t range = find_range(mine->edges, edges, parts, WG);
  const u64 in_cells = n - (KEY_FLOAT ? load_relaxed(&space[CELL_OUTSIDE]) : 0);
  const u32 joined = join_cells(mine, space + CELL_STATE, r.tables, &space[CELL_JOIN],
                                &space[CELL_OVERFULL], in_cells);
  finish_tiles(&space[CELL_JOINED], joined, CHUNKS);
  u32 too_many = load_relaxed(&space[CELL_OVERFULL]);
  if (t < RADIX) too_many |= r.tables.starts[t + 1] - r.tables.starts[t] > CAPACITY ? 1u : 0u;
  if (t == 0) mine->ticket = 0;
  barrier_local();
  if (too_many) local_or(&mine->ticket, 1u);
  barrier_local();
  if (mine->ticket != 0) return 0;  // the same for all work-groups
  const u32 moved =
      partition_tiles(mine, sg, r, range, &space[CELL_RESERVED], &space[CELL_MOVE], n);
  finish_tiles(&space[CELL_MOVED], moved, tiles);
#if KEY_FLOAT
  for (u64 i = in_cells + (u64)group_id() * WG + t; i < n; i += (u64)group_count() * WG)
    r.sorted[i] = PLACED_NAN;
#endif
  sort_cell_buckets(mine, sg, r, range, &space[CELL_SORT]);
  return 1;
}

typedef union {
  msd_local_memory_t of_bucket;
  cell_memory_t of_list;
} local_or_cells_t;

// If *skewed is 0, sorts the buckets by leading bits. If it is 1, tries to sort by cells, and sets
// *skewed to VERDICT_MAPPED if that succeeds. RADIX work-groups. The parameters are those of
// msd_local, and:
//   keys_from               in: the list before the partition
//   edges, parts            in: the edges of each of `parts` parts of the list (msd_cells.cl)
//   ties                    in, floats: null, or a word. If it is not 0, the launch does nothing
//   cells                   CELL_STATE words of work space, 0 at first; behind them the counts of
//                           the cells, which are an input
//   tables                  work space: 2 * CELLS words, CELLS bytes and RADIX + 4 words for
//                           cell_tables_t
KERNEL_RESIDENT(WG, RESIDENT)
void msd_local_or_cells(GLOBAL ukey_t* keys_in, GLOBAL ukey_t* keys_out, GLOBAL value_t* values_in,
                        GLOBAL value_t* values_out, GLOBAL const u32* starts, GLOBAL u32* skewed,
                        u32 low_bits, u32 shift, u64 n, GLOBAL const ukey_t* keys_from,
                        GLOBAL const ukey_t* edges, u32 parts, GLOBAL u32* cells,
                        GLOBAL u32* tables, GLOBAL u32* ties) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(local_or_cells_t, memory);
  // Loaded together, because each load alone would wait for memory.
#if KEY_FLOAT
  const u32 verdict = *skewed, tie = ties ? *ties : 0;
  if (tie) return;
#else
  const u64 begin = starts[group_id()];
  const u32 count = (u32)(starts[group_id() + 1] - begin), verdict = *skewed;
  if (verdict == 0 && count != 0)
    sort_bucket(&memory->of_bucket, sg, begin, begin, count, keys_in, keys_out, values_in,
                values_out, 0, 0, low_bits, shift, 0, 0);
#endif
  if (verdict == 0 || verdict == VERDICT_CROWDED) return;
  cell_records_t r;
  r.keys = keys_from, r.partitioned = keys_in, r.sorted = keys_out;
  r.tables.cells = (GLOBAL uint2*)tables;
  r.tables.buckets = (GLOBAL u8*)(tables + 2 * CELLS);
  r.tables.starts = tables + (2 * CELLS + CELLS / 4);
  const u32 sorted = sort_by_cells(&memory->of_list, sg, r, edges, parts, cells, n);
  if (sorted && group_id() == 0 && local_id() == 0) *skewed = VERDICT_MAPPED;
}
