// msd, keys that may be mapped: makes the map (key_map.cl) from the samples. msd_samples.cl comes
// before this file. "Order" is short for a key's order bits.

#if MAPS
// ---- The map ----
#define OWN_CELLS (MAP_CELLS > WG ? MAP_CELLS / WG : 1)

// Returns a window around the orders from `least` to `largest`, both closed up. It is at least one
// and a half times as wide, because some keys lie beyond the samples on both sides. `w`: what it
// skips.
INLINE window_t make_window(window_t w, ukey_t least, ukey_t largest) {
  const ukey_t span = largest - least, all = (ukey_t) ~(ukey_t)0, top = closed_up(w, all);
  u32 width = highest_bit(span | 1) + 1;
  if (width < KEY_BITS && (all >> (KEY_BITS - width)) - span < span / 2) ++width;
  w.up = KEY_BITS - width;
  w.last = min(all >> w.up, top);
  const ukey_t below = min((w.last - span) / 2, least);
  w.begin = min(least - below, top - w.last);
#if KEY_FLOAT && KEY_NAN == NAN_LAST
  if (w.begin + w.last == top) --w.last;
#elif KEY_FLOAT && KEY_NAN == NAN_FIRST
  if (w.begin == 0) w.begin = 1, --w.last;
#endif
  w.pivots = 0;
  return w;
}

#if KEY_FLOAT
// If samples lie on both sides of zero, makes the window skip the orders between them, except
// EXPONENTS_KEPT exponents next to the samples of either side. Smaller numbers than that, and zero,
// share a place. Contains barriers.
#define EXPONENTS_KEPT 8u
INLINE void skip_around_zero(LOCAL msd_count_memory_t* mine, window_t* w, const ukey_t* order) {
  const ukey_t zero = key_order(0), exponent = KEY_INFINITY & (0 - KEY_INFINITY),
               kept = exponent * EXPONENTS_KEPT;
  ukey_t above = (ukey_t) ~(ukey_t)0, below = 0;
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    if (IS_NAN_ORDER(order[i])) continue;
    if (order[i] > zero + exponent) above = min(above, order[i]);
    if (order[i] < zero - exponent) below = max(below, order[i]);
  }
  find_edges(&mine->edges[4], &above, &below);
  if (below == 0 || above == (ukey_t) ~(ukey_t)0 || above - below <= 2 * kept) return;
  w->skip_from = below + kept;
  w->skip = above - below - 2 * kept;
}
#endif

// Returns the window around all samples. Contains barriers.
INLINE window_t window_of_samples(LOCAL msd_count_memory_t* mine, const ukey_t* order) {
  window_t w;
#if KEY_FLOAT
  w.skip_from = w.skip = 0;
  skip_around_zero(mine, &w, order);
#endif
  ukey_t least = (ukey_t) ~(ukey_t)0, largest = 0;
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    if (IS_NAN_ORDER(order[i])) continue;
    least = min(least, closed_up(w, order[i]));
    largest = max(largest, closed_up(w, order[i]));
  }
  find_edges(mine->edges, &least, &largest);
  return make_window(w, min(least, largest), largest);
}

// Adds each sample that lies in the window to mine->counts[its cell], except pivots if `pivots` is
// 1.
INLINE void count_cells(LOCAL msd_count_memory_t* mine, window_t w, const ukey_t* order,
                        u32 pivots) {
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const ukey_t x = closed_up(w, order[i]);
    const u32 cell = CELL_OF(PLACE_IN_WINDOW(w, x));
    if (!IN_WINDOW(w, x)) continue;
    if (!pivots || order[i] != mine->map.pivots[cell]) local_add(&mine->counts[cell], 1u);
  }
  barrier_local();
}

// Few samples may lie far from all others, and make the window so wide that the others share few
// cells. If without ZOOM_SAMPLES samples on either side a window ZOOM times narrower is enough,
// returns 1 and sets *w to it. mine->counts has the number of samples in each cell, and is 0
// afterwards. Contains barriers.
#define ZOOM 8u
#define ZOOM_SAMPLES ((u32)(GATHERED * WG / 2048))
INLINE u32 narrow_window(LOCAL msd_count_memory_t* mine, window_t* w) {
  const u32 first = local_id() * OWN_CELLS;
  u32 sum = 0;
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) sum += first + i < MAP_CELLS ? mine->counts[first + i] : 0;
  index_t all;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  const u32 least = ZOOM_SAMPLES, most = (u32)all - min((u32)all, ZOOM_SAMPLES);
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 samples = first + i < MAP_CELLS ? mine->counts[first + i] : 0;
    if (before <= least && least < before + samples) mine->inner[0] = first + i;
    if (before < most && most <= before + samples) mine->inner[1] = first + i;
    before += samples;
  }
  clear_counts(mine, MAP_CELLS);
  if (least >= most || w->up + LOG_CELLS >= KEY_BITS) return 0;
  const u32 begin = mine->inner[0], cells = mine->inner[1] - begin + 1;
  if (cells * ZOOM > MAP_CELLS) return 0;
  const u32 log2_width = KEY_BITS - w->up - LOG_CELLS;  // of a cell
  const ukey_t from = w->begin + ((ukey_t)begin << log2_width);
  *w = make_window(*w, from, from + ((ukey_t)cells << log2_width) - 1);
  return 1;
}

// Finds each cell's pivot: the order of the most samples, if at least `least` samples have it.
// Returns 1 if there is any. Samples are counted in a hash table without their orders, so the
// number may be too large; this costs buckets and nothing else. mine->counts must be 0 and is 0
// afterwards. Contains barriers.
INLINE u32 find_pivots(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, window_t w,
                       const ukey_t* order, u32 least) {
  const u32 t = local_id();
  for (u32 i = t; i < MAP_CELLS; i += WG) mine->map.cells[i] = 0;
  if (t == 0) mine->last = 0;
#if KEY_BITS == 64
#define HASH_OF(order) \
  ((u32)((order)*0x9e3779b97f4a7c15ul >> 32) >> (32 - highest_bit32(COUNT_WORDS)))
#else
#define HASH_OF(order) ((u32)(order)*0x9e3779b1u >> (32 - highest_bit32(COUNT_WORDS)))
#endif
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) local_add(&mine->counts[HASH_OF(order[i])], 1u);
  barrier_local();
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const u32 same = mine->counts[HASH_OF(order[i])];
    const ukey_t x = closed_up(w, order[i]);
    if (same < least || !IN_WINDOW(w, x)) continue;
    local_max(&mine->map.cells[CELL_OF(PLACE_IN_WINDOW(w, x))],
              min(same, 0xffffu) << 16 | (i * WG + t));
  }
  clear_counts(mine, COUNT_WORDS);
  for (u32 i = t; i < MAP_CELLS; i += WG) {
    const u32 found = mine->map.cells[i];
    mine->map.pivots[i] = found != 0 ? key_order(samples[found & 0xffff]) : NO_PIVOT;
    if (found != 0) local_or(&mine->last, 1u);
  }
  barrier_local();
  return mine->last;
}

// Assigns buckets to cells in proportion to their samples, and two buckets to each pivot.
// mine->counts has the number of samples in each cell without those that equal its pivot; it is 0
// afterwards. `last_has`: 1 if the last cell needs buckets for a pivot. Contains barriers.
INLINE void assign_buckets(LOCAL msd_count_memory_t* mine, u32 last_has) {
  const u32 first = local_id() * OWN_CELLS;
  // The weight of a cell is three times the number of its samples, plus those of both neighbours,
  // which make up for the samples' random error, plus 8 for keys that no sample represents. The
  // upper bits count pivots.
#define PIVOT_COUNT 20  // the lowest of these bits
  u32 weight[OWN_CELLS], sum = 0;
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 cell = first + i, is_cell = cell < MAP_CELLS, at = cell % MAP_CELLS;
    const u32 has_pivot = mine->map.pivots[at] != NO_PIVOT || (last_has && at == MAP_CELLS - 1);
    const u32 beside = mine->counts[at - min(at, 1u)] + mine->counts[min(at + 1, MAP_CELLS - 1u)];
    weight[i] = is_cell ? 3 * mine->counts[at] + beside + 8 + (has_pivot << PIVOT_COUNT) : 0;
    sum += weight[i];
  }
  index_t all_;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all_);
  const u32 mask = (1u << PIVOT_COUNT) - 1, all = (u32)all_ & mask,
            shared = INNER_BUCKETS - 2 * ((u32)all_ >> PIVOT_COUNT);
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 own = (u32)((u64)(before & mask) * shared / all),
              next = (u32)((u64)((before + weight[i]) & mask) * shared / all);
    const u32 of_pivots = 2 * (before >> PIVOT_COUNT);
    before += weight[i];
    if (first + i < MAP_CELLS)
      mine->map.cells[first + i] = (INNER_FIRST + own + of_pivots) << 16 | min(next - own, 0xffffu);
  }
  clear_counts(mine, MAP_CELLS);
}

// Returns 1 if the order's bucket has no other orders.
INLINE u32 is_pivot(LOCAL const msd_count_memory_t* mine, window_t w, ukey_t order) {
  const u32 cell = CELL_OF(PLACE_IN_WINDOW(w, closed_up(w, order)));
  return order == mine->map.pivots[cell] || IS_NAN_ORDER(order);
}

// Makes a map of the samples and sets *window. Returns 0 if the map would not help, because too
// many samples share a bucket. Contains barriers.
OUTLINE u32 try_map(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, limits_t limits,
                    window_t* window) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  ukey_t order[GATHERED];
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) order[i] = key_order(samples[i * WG + t]);
  window_t w = window_of_samples(mine, order);
  for (u32 round = 0; round < 3; ++round) {
    count_cells(mine, w, order, 0);
    if (!narrow_window(mine, &w)) break;
  }
  w.pivots = find_pivots(mine, samples, w, order, limits.pivot);
  count_cells(mine, w, order, 1);
  assign_buckets(mine, w.pivots);
  *window = w;
#if COUNT_BITS == 16  // narrower counts may overflow: then the work-groups' verdicts could differ
  u32 bucket[GATHERED];
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i)
    bucket[i] = is_pivot(mine, w, order[i]) ? NO_BUCKET
                                            : bucket_of_order(&mine->map, w, order[i], w.pivots);
  u32 pairs;
  return count_crowded(mine, bucket, GATHERED, limits.map_crowd, 0, MAP_BUCKETS, &pairs) <=
         limits.map_crowded;
#else
  return 1;
#endif
}

// Returns the smallest order whose bucket is `bucket` or a later one, or 0 if there is none.
INLINE ukey_t first_order(LOCAL const map_t* map, window_t w, u32 bucket) {
  ukey_t low = 0, high = (ukey_t) ~(ukey_t)0;
  if (bucket_of_order(map, w, high, w.pivots) < bucket) return 0;
  while (low < high) {
    const ukey_t middle = low + (high - low) / 2;
    if (bucket_of_order(map, w, middle, w.pivots) < bucket)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Returns how many records a local sort can sort of a bucket whose orders are at most `distance`
// apart; a bucket of one order needs no sort. With ITEM_BITS, an item must hold the bits of a
// distance and of a position.
INLINE u32 limit_of(ukey_t distance, u32 capacity) {
  if (distance == 0) return ~0u;
#if ITEM_BITS
  const u32 place_bits = ITEM_BITS - 1 - highest_bit(distance);
  return place_bits < 31 ? min(capacity, 1u << place_bits) : capacity;
#else
  return capacity;
#endif
}

// Work-group 0 writes the map. All work-groups together write the first order of each bucket and
// the most records that it may have.
INLINE void write_map(LOCAL msd_count_memory_t* mine, window_t w, u32 capacity, GLOBAL u32* map,
                      GLOBAL ukey_t* bounds, GLOBAL u32* most) {
  const u32 t = local_id();
  if (group_id() == 0) {
    GLOBAL ukey_t* pivots = (GLOBAL ukey_t*)(map + MAP_HEAD);
    GLOBAL u32* cells = map + MAP_HEAD + MAP_CELLS * (KEY_BITS / 32);
    for (u32 i = t; i < MAP_CELLS; i += WG)
      pivots[i] = mine->map.pivots[i], cells[i] = mine->map.cells[i];
    if (t == 0) {
      map[0] = (u32)w.begin, map[2] = (u32)w.last, map[4] = w.up, map[5] = w.pivots;
#if KEY_BITS == 64
      map[1] = (u32)(w.begin >> 32), map[3] = (u32)(w.last >> 32);
#endif
#if KEY_FLOAT
      map[6] = (u32)w.skip_from, map[8] = (u32)w.skip;
#endif
#if KEY_FLOAT && KEY_BITS == 64
      map[7] = (u32)(w.skip_from >> 32), map[9] = (u32)(w.skip >> 32);
#endif
    }
  }
  for (u32 b = group_id() * WG + t; b < MAP_BUCKETS; b += group_count() * WG) {
    const ukey_t first = first_order(&mine->map, w, b);
    bounds[b] = first;
    most[b] = limit_of(first_order(&mine->map, w, b + 1) - first - 1, capacity);
  }
}
#endif
