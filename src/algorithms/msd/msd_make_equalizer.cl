// msd, 32-bit integers: makes an equalizer (equalize.cl) from the samples. The files equalize.cl
// and msd_samples.cl come before this one. "Order" is short for a key's order bits.

#if EQUALIZES
#define OWN_EQUALIZER_CELLS (EQUALIZER_CELLS > WG ? EQUALIZER_CELLS / WG : 1)
// The index of the first cell's entry.
#define FIRST_CELL(cells) ((cells).most - EQUALIZER_CELLS - (cells).least)

// Returns cells around the orders from `least` to `largest`, and some beyond on both sides.
INLINE cells_t make_cells(u32 least, u32 largest) {
  const u32 beyond = (largest - least) / 4, begin = least - min(beyond, least),
            end = largest + min(beyond, ~0u - largest);
  cells_t cells;
  cells.log2_cell = 1;
  while ((end >> cells.log2_cell) - (begin >> cells.log2_cell) >= EQUALIZER_CELLS)
    ++cells.log2_cell;
  const u32 all = 1u << (32 - cells.log2_cell),
            first = min(begin >> cells.log2_cell, all - EQUALIZER_CELLS);
  cells.least = first - min(first, 1u);
  cells.most = first + EQUALIZER_CELLS;
  return cells;
}

// Adds each sample to mine->counts[its entry]. Ends with a barrier.
INLINE void count_entries(LOCAL msd_count_memory_t* mine, cells_t cells, const u32* order) {
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) local_add(&mine->counts[entry_of_order(cells, order[i])], 1u);
  barrier_local();
}

// A few outliers may stretch the cells, so that all other samples share few of them. Ignores `far`
// samples on either side. If the others need at most 1 / `times` of the cells, returns 1 and sets
// *cells to narrower ones around them. mine->counts has the number of samples of each entry, and is
// 0 afterwards if the result is 1. Contains barriers.
INLINE u32 narrow_cells(LOCAL msd_count_memory_t* mine, cells_t* cells, u32 far, u32 times) {
  const u32 first = local_id() * OWN_EQUALIZER_CELLS, at = FIRST_CELL(*cells);
  u32 sum = 0;
  UNROLL
  for (u32 i = 0; i < OWN_EQUALIZER_CELLS; ++i)
    sum += first + i < EQUALIZER_CELLS ? mine->counts[at + first + i] : 0;
  index_t all;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  const u32 least = far, most = (u32)all - min((u32)all, far);
  UNROLL
  for (u32 i = 0; i < OWN_EQUALIZER_CELLS; ++i) {
    const u32 samples = first + i < EQUALIZER_CELLS ? mine->counts[at + first + i] : 0;
    if (before <= least && least < before + samples) mine->inner[0] = first + i;
    if (before < most && most <= before + samples) mine->inner[1] = first + i;
    before += samples;
  }
  barrier_local();
  if (least >= most || cells->log2_cell == 1) return 0;
  const u32 begin = mine->inner[0], end = mine->inner[1], cell = cells->most - EQUALIZER_CELLS;
  if ((end - begin + 1) * times > EQUALIZER_CELLS) return 0;
  *cells = make_cells((cell + begin) << cells->log2_cell,
                      ((cell + end) << cells->log2_cell) + ((1u << cells->log2_cell) - 1));
  clear_counts(mine, EQUALIZER_ENTRIES);
  return 1;
}

// Returns how many samples the entry at index `at`, one of cell `cell`, is expected to have if the
// random error of the samples is at its expense, and if the whole cell is as dense as its denser
// edge. `errors`: 1 allows for two standard deviations of the mean of the cell and its neighbours,
// and for about one of the edge.
INLINE u32 likely_in_cell(LOCAL const msd_count_memory_t* mine, u32 at, u32 cell, u32 errors) {
  const u32 own = mine->counts[at], below = mine->counts[at - min(cell, 1u)],
            above = mine->counts[at + (cell + 1 < EQUALIZER_CELLS ? 1 : 0)],
            mean = (3 * own + below + above) / 5, edge = max(own, (own + max(below, above)) / 2);
  return max(mean + errors * (4 * root(mean) / 3 + 1), edge + errors * (root(edge) * 3 / 4 + 1)) +
         1;
}

// Returns the log2 of the number of buckets that a cell of so many records needs.
INLINE u32 log2_buckets(u32 records, u32 capacity) {
  return records <= capacity ? 0 : highest_bit32((records - 1) / capacity) + 1;
}
// What the choice of the buckets tells.
typedef struct {
  u32 fails;  // 1: there are not enough buckets
  u32 pairs;  // pairs of samples that are expected to share a bucket
  u32 wide;   // samples in cells whose buckets have more orders than there are bins
} assigned_t;

// Chooses the buckets of each entry by its number of samples, which mine->counts has. Contains
// barriers.
INLINE assigned_t assign_buckets(LOCAL msd_count_memory_t* mine, cells_t cells, u32 sample_records,
                                 u32 capacity, u32 errors) {
  const u32 first = local_id() * OWN_EQUALIZER_CELLS, at = FIRST_CELL(cells),
            width = cells.log2_cell;
  const u32 begin = (cells.most - EQUALIZER_CELLS) << width, end = cells.most << width,
            below = begin == 0 ? 0 : ((begin - 1) >> DISTANCE_BITS) + 1,
            above = end == 0 ? 0 : (~0u >> DISTANCE_BITS) - (end >> DISTANCE_BITS) + 1;
  u32 log2_own[OWN_EQUALIZER_CELLS], sum = 0, pairs = 0, wide = 0;
  if (local_id() < 2) {  // orders below or above the cells
    const u32 samples = mine->counts[local_id() == 0 ? 0 : at + EQUALIZER_CELLS],
              buckets = local_id() == 0 ? below : above;
    if (buckets != 0) {
      pairs = 8 * samples * (samples - min(samples, 1u)) / buckets;
      if ((u64)samples * sample_records >> 8 > (u64)buckets * (capacity / 2))
        sum = EQUALIZED_BUCKETS;
    }
  }
  UNROLL
  for (u32 i = 0; i < OWN_EQUALIZER_CELLS; ++i) {
    const u32 cell = min(first + i, EQUALIZER_CELLS - 1), samples = mine->counts[at + cell];
    const u64 records = (u64)samples * sample_records >> 8,
              likely = (u64)likely_in_cell(mine, at + cell, cell, errors) * sample_records >> 8;
    log2_own[i] = max(log2_buckets((u32)likely, capacity - capacity / 16),
                      width - min(width, (u32)DISTANCE_BITS));
    log2_own[i] = min(log2_own[i], min(width - 1, (u32)EQUALIZED_BITS));
    if (first + i >= EQUALIZER_CELLS) continue;
    // A bucket has at least two orders. If such buckets are too full, the attempt fails.
    sum += (u32)records > capacity << log2_own[i] ? EQUALIZED_BUCKETS : 1u << log2_own[i];
    pairs += 8 * samples * (samples - min(samples, 1u)) >> log2_own[i];
    wide += width - log2_own[i] > EQUALIZED_BINS ? samples : 0;
  }
  index_t all, all_pairs, all_wide;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  assigned_t result;
  result.fails = below + (u32)all + above > EQUALIZED_BUCKETS;
  result.pairs = result.wide = 0;
  if (result.fails) return result;  // the same for all work-items
  wg_scan_add(mine->scratch, WG, pairs, &all_pairs);
  wg_scan_add(mine->scratch, WG, wide, &all_wide);
  result.pairs = (u32)all_pairs / 16, result.wide = (u32)all_wide;
  UNROLL
  for (u32 i = 0; i < OWN_EQUALIZER_CELLS; ++i) {
    if (first + i >= EQUALIZER_CELLS) continue;
    const u32 s = width - log2_own[i], from = (begin + ((first + i) << width)) >> s;
    mine->entries[at + first + i] = (below + before - from) << 8 | s;
    before += 1u << log2_own[i];
  }
  if (local_id() == 0) {
    mine->entries[at + EQUALIZER_CELLS] =
        (below + (u32)all - (end >> DISTANCE_BITS)) << 8 | DISTANCE_BITS;
    if (at != 0) mine->entries[0] = DISTANCE_BITS;
  }
  barrier_local();
  return result;
}

INLINE u32 bucket_of_order32(LOCAL const u32* entries, cells_t cells, u32 order) {
  return bucket_by_entry(entries[entry_of_order(cells, order)], order) & 0xffff;
}

// Returns 1 if the samples spread evenly enough over the buckets, or if COUNT_BITS is not 16.
// `pairs`: how many pairs of samples are expected to share a bucket. mine->counts is 0 before and
// afterwards. Contains barriers.
INLINE u32 equalizer_spreads(LOCAL msd_count_memory_t* mine, cells_t cells, const u32* order,
                             u32 pairs, u32 crowd) {
  u32 found = 0, crowded = 0;
#if COUNT_BITS == 16  // narrower ones may overflow, and verdicts could differ
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const u32 b = bucket_of_order32(mine->entries, cells, order[i]),
              before = COUNT_OF(local_add(&mine->counts[b / PER_WORD], 1u << PLACE(b)), b);
    found += before;
    crowded += before >= crowd ? 1u : 0u;
  }
#endif
  index_t all, all_crowded;
  wg_scan_add(mine->scratch, WG, found, &all);
  wg_scan_add(mine->scratch, WG, crowded, &all_crowded);
  clear_counts(mine, COUNT_WORDS);
  return all_crowded <= 1 && (u32)all <= pairs + pairs / 16 + 4 * root(pairs) + 16;
}

// Chooses cells and buckets by the samples. Sets *cells and mine->entries. Returns 0 if an
// equalizer would not help. `sample_records`, `capacity`, `crowd`: see limits_t. `repeats`: 1 if
// keys repeat. Contains barriers.
OUTLINE u32 try_equalizer(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples,
                          u32 sample_records, u32 capacity, u32 crowd, u32 repeats,
                          cells_t* cells_) {
  KNOWN_LOCAL(mine);
  if (repeats && EQUALIZED_BINS == 0) return 0;  // equal keys would crowd any bins
  const u32 t = local_id();
  u32 order[GATHERED], least = ~0u, largest = 0;
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    order[i] = key_order(samples[i * WG + t]);
    least = min(least, order[i]), largest = max(largest, order[i]);
  }
  find_edges(mine->edges + 4, &least, &largest);
  cells_t cells = make_cells(least, largest);
  count_entries(mine, cells, order);
  // Up to three times, ignores a 2048th of the samples on either side if the others need an eighth
  // of the cells. Then once a 32nd, if the others need a 64th.
  for (u32 round = 0; round < 4; ++round) {
    const u32 last = round == 3, samples = GATHERED * WG;
    if (narrow_cells(mine, &cells, samples / (last ? 32 : 2048), last ? 64 : 8))
      count_entries(mine, cells, order);
    else if (!last)
      round = 2;
  }
  *cells_ = cells;
  // Keys that repeat would crowd bins, unless each bin can have keys of one order only. Cells as
  // wide as this have few buckets that are so narrow.
  assigned_t assigned;
  assigned.fails = repeats && cells.log2_cell >= EQUALIZED_BINS + 8;
  if (!assigned.fails) {
    assigned = assign_buckets(mine, cells, sample_records, capacity, 2);
    if (assigned.fails) assigned = assign_buckets(mine, cells, sample_records, capacity, 1);
  }
  clear_counts(mine, EQUALIZER_ENTRIES);
  if (assigned.fails || (repeats && assigned.wide > GATHERED * WG / 16)) return 0;
  return equalizer_spreads(mine, cells, order, assigned.pairs, crowd);
}

// Writes the entries and their head.
INLINE void write_equalizer(LOCAL const msd_count_memory_t* mine, cells_t cells,
                            GLOBAL u32* equalizer) {
  for (u32 i = local_id(); i < EQUALIZER_ENTRIES; i += WG)
    equalizer[EQUALIZER_HEAD + i] = mine->entries[i];
  if (local_id() == 0) {
    equalizer[0] = cells.log2_cell, equalizer[1] = cells.least, equalizer[2] = cells.most;
    equalizer[EQUALIZER_USED] = bucket_of_order32(mine->entries, cells, ~0u) + 1;
  }
}

// Writes the origins of an entry's buckets: of its bucket `from` and of every `step`-th after it.
INLINE void write_origins_of(LOCAL const msd_count_memory_t* mine, cells_t cells,
                             GLOBAL u32* origins, u32 index, u32 from, u32 step) {
  const u32 at = FIRST_CELL(cells);
  u32 least = (cells.least + index) << cells.log2_cell,
      last = least + ((1u << cells.log2_cell) - 1);
  if (index < at) least = 0, last = ((cells.most - EQUALIZER_CELLS) << cells.log2_cell) - 1;
  if (index == at + EQUALIZER_CELLS) last = ~0u;
  const u32 entry = mine->entries[index], s = entry & 31,
            bucket = bucket_by_entry(entry, least) & 0xffff, buckets = (last >> s) - (least >> s);
  for (u32 b = from; b <= buckets; b += step)
    origins[bucket + b] = ((least >> s) + b) << s | 1u << (s - 1);
}

// Called by one work-group. Writes each bucket's origin: its first order plus half of its width.
INLINE void write_origins(LOCAL const msd_count_memory_t* mine, cells_t cells,
                          GLOBAL u32* origins) {
  const u32 at = FIRST_CELL(cells), above = at + EQUALIZER_CELLS;
  for (u32 i = sg_index(); i < EQUALIZER_CELLS; i += WG / SG_LANES)
    write_origins_of(mine, cells, origins, at + i, sg_lane(), SG_LANES);
  if (at != 0) write_origins_of(mine, cells, origins, 0, local_id(), WG);
  if (cells.most << cells.log2_cell != 0)
    write_origins_of(mine, cells, origins, above, local_id(), WG);
}
#endif
