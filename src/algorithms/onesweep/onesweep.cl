// One-sweep LSD radix sort: one kernel a pass reads every record once and writes it once. Each work-group takes tiles
// by ticket, publishes its tile's digit counts, and learns where its digits begin by looking back at the counts of the
// tiles before. Software-pipelined: a tile's counts are published before the tile before it looks back and is written
// out, so that neighbours seldom wait.
// Parameters: WG, ITEMS, RESIDENT (work-groups of a compute unit), PASSES, ASYNC, LOOK_BITS, SEGMENTED (the pass sorts
// each of several segments by a digit, for msd).
//
// `gate`: null, or a word that decides on the device whether the launch does anything: only if (*gate != 0) == gate_open.

#define RADIX 256u
#define TILE (WG * ITEMS)
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
#define TEAMS (WG / RADIX)  // work-items of a digit, when columns of counts are summed
#define TEAM_ROWS (SUB_GROUPS / TEAMS)
#define NO_TILE 0xffffffffu

// A word of the look-back table: what is known of a digit's count, and the count.
#if LOOK_BITS == 64
typedef u64 look_t;
#else
typedef u32 look_t;
#endif
#define LOOK_OWN ((look_t)1 << (LOOK_BITS - 2))  // of the tile alone
#define LOOK_ALL ((look_t)2 << (LOOK_BITS - 2))  // of the tile and all before it
#define LOOK_COUNT (LOOK_OWN - 1)

// Histograms of all passes' digits in one reading. Pass p's digit: shift is byte p of `shifts`, width that of `widths`.
KERNEL(WG) void onesweep_histogram(GLOBAL const ukey_t *keys, GLOBAL u32 *histograms, u64 n, u64 shifts, u64 widths,
                                   GLOBAL const u32 *gate, u32 gate_open) {
  LOCAL_ARRAY(u32, bins, PASSES *RADIX);
  if (gate && (*gate != 0) != gate_open) return;
  const u32 t = local_id();
  for (u32 b = t; b < PASSES * RADIX; b += WG) bins[b] = 0;
  barrier_local();
  const u64 step = (u64)group_count() * WG * 4;
  for (u64 base = (u64)group_id() * WG * 4; base < n; base += step) {
    ukey_t key[4];
    UNROLL for (u32 i = 0; i < 4; ++i) key[i] = keys[min(base + i * WG + t, n - 1)];
    UNROLL for (u32 i = 0; i < 4; ++i) {
      if (base + i * WG + t >= n) continue;
      const ukey_t ordered = key_order(key[i]);
      UNROLL for (u32 p = 0; p < PASSES; ++p) {
        const u32 shift = (u32)(shifts >> (8 * p)) & 255, width = (u32)(widths >> (8 * p)) & 255;
        local_add(&bins[p * RADIX + ((u32)(ordered >> shift) & ((1u << width) - 1))], 1u);
      }
    }
  }
  barrier_local();
  for (u32 b = t; b < PASSES * RADIX; b += WG)
    if (bins[b] != 0) global_add(&histograms[b], bins[b]);
}

typedef struct {
#if ASYNC
  ukey_t raw[TILE + 16 / sizeof(ukey_t)];  // the next tile, as it comes
#endif
  ukey_t keys[TILE];  // the tile at hand, sorted by digit
#if VALUE_BYTES
  value_t values[TILE];
#endif
  u64 copy;
#if SEGMENTED
  index_t segments[RADIX + 1];     // where they begin
  u32 first_tiles[RADIX + 1];      // and their first tiles, counted over all segments
#else
  index_t first[RADIX];   // where the digit's records begin in the output
#endif
  index_t to_out[RADIX];  // place in the sorted tile + this = place in the output
  index_t scratch[2 * RADIX];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
  u32 ticket[2];  // by turns, so that the next is not written while the last is still read
} onesweep_memory_t;

// Counts of the digit in all tiles before `tile`, which is not the first. The walk ends at the first tile that knows all before it; several
// words are on their way at a time.
#define LOOK_WINDOW 4
INLINE index_t look_back(volatile GLOBAL look_t *column, u32 tile) {
  index_t before = 0;
  u32 at = tile, done = 0;
  while (!done) {
    look_t word[LOOK_WINDOW];
    UNROLL for (u32 k = 0; k < LOOK_WINDOW; ++k) word[k] = at > k ? column[(u64)(at - 1 - k) * RADIX] : LOOK_ALL;
    u32 wait = 0;
    UNROLL for (u32 k = 0; k < LOOK_WINDOW; ++k) {
      wait |= word[k] < LOOK_OWN;  // not yet published: from here again
      if (!wait && !done) {
        before += (index_t)(word[k] & LOOK_COUNT);
        done = word[k] >= LOOK_ALL;
        --at;
      }
    }
  }
  return before;
}

#define RANK_TILE(rank_record)                                                            \
  UNROLL for (u32 i = 0; i < ITEMS; ++i) {                                                \
    const u32 rank = rank_record(my_ranks, RADIX, key_digit(key[i], shift, mask));        \
    place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank;                              \
  }

// Record p of the tile goes where its digit's run is.
#if VALUE_BYTES
#define WRITE_VALUE(p) values_out[out] = mine->values[p];
#else
#define WRITE_VALUE(p)
#endif
#define WRITE_RECORD(p)                                                          \
  {                                                                              \
    const ukey_t k = mine->keys[p];                                              \
    const u64 out = (index_t)(mine->to_out[key_digit(k, shift, mask)] + (p));    \
    if (keys_out) keys_out[out] = k; /* an argsort's last pass may not want them */ \
    WRITE_VALUE(p)                                                               \
  }

// A tile: `count` records from `begin`; it is the first of its list or segment, or has others before it.
typedef struct {
  u64 begin;
  u32 count, first, segment;
} tile_t;

#if SEGMENTED
// Tiles are numbered through all segments, and each segment begins a new one.
INLINE tile_t find_tile(LOCAL onesweep_memory_t *mine, u32 segments, u32 tile) {
  u32 low = 0, high = segments;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (mine->first_tiles[middle] <= tile) low = middle;
    else high = middle;
  }
  const u32 within = tile - mine->first_tiles[low];
  tile_t found;
  found.begin = (u64)mine->segments[low] + (u64)within * TILE;
  found.count = (u32)min((u64)TILE, (u64)mine->segments[low + 1] - found.begin);
  found.first = within == 0;
  found.segment = low;
  return found;
}
#define FIND_TILE(tile) find_tile(mine, segments, tile)
#else
INLINE tile_t find_tile(u32 tile, u64 n) {
  tile_t found;
  found.begin = (u64)tile * TILE;
  found.count = (u32)min((u64)TILE, n - found.begin);
  found.first = tile == 0;
  found.segment = 0;
  return found;
}
#define FIND_TILE(tile) find_tile(tile, n)
#endif

#if ASYNC
// The copy engine takes whole units of 16 bytes: it begins `lead` records before the tile, and takes nothing past the
// last whole unit of the list.
#define UNIT ((u32)(16 / sizeof(ukey_t)))
typedef struct {
  const ukey_t *from;
  u32 lead, records;
} copy_t;
INLINE copy_t tile_copy(const ukey_t *keys, u64 n, tile_t tile) {
  copy_t copy;
  copy.lead = (u32)((u64)(keys + tile.begin) % 16 / sizeof(ukey_t));
  copy.from = keys + tile.begin - copy.lead;
  const u64 there = n - tile.begin + copy.lead;
  copy.records = (u32)min((u64)((copy.lead + tile.count + UNIT - 1) / UNIT), there / UNIT) * UNIT;
  return copy;
}
#endif

// `starts`: SEGMENTED: segment s's records with digit d go to starts[(s * digits + d) << start_shift] and on, and the
// segment ends where the next one begins; else the digits' histogram.
KERNEL_RESIDENT(WG, RESIDENT)
void onesweep_pass(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                   GLOBAL value_t *values_out, GLOBAL const u32 *starts, u32 segments, u32 start_shift,
                   GLOBAL look_t *look, GLOBAL look_t *look_next, u64 look_size, GLOBAL u32 *ticket, u64 n, u32 shift,
                   u32 mask, u32 values_are_positions, GLOBAL const u32 *gate, u32 gate_open) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(onesweep_memory_t, mine);
  if (gate && (*gate != 0) != gate_open) return;
  const u32 t = local_id(), lane = sg_lane();
  const u32 digit = t % RADIX, team = t / RADIX;
  LOCAL u32 *my_ranks = mine->ranks + sg_index() * RANK_WORDS;
  const u32 first = sg_index() * (SG_LANES * ITEMS) + lane;
  index_t all;

  // Where digits or segments begin; the first ticket; clear the counters, and the next pass's look-back table.
#if SEGMENTED
  const u32 digits = mask + 1;
  index_t segment_begin = 0, segment_end = 0;
  if (t < segments) {
    segment_begin = starts[(u64)t * digits << start_shift];
    segment_end = starts[(u64)(t + 1) * digits << start_shift];
  }
  const u32 first_tile = (u32)wg_scan_add(mine->scratch, RADIX, (segment_end - segment_begin + TILE - 1) / TILE, &all);
  if (t < segments) {
    if (t == 0) mine->segments[0] = segment_begin;
    mine->segments[t + 1] = segment_end;
    mine->first_tiles[t] = first_tile;
  }
  const u32 tiles = (u32)all;
#else
  const u32 tiles = (u32)((n + TILE - 1) / TILE);
  const index_t start_of_digit = wg_scan_add(mine->scratch, RADIX, t < RADIX ? starts[t] : 0, &all);
  if (t < RADIX) mine->first[t] = start_of_digit;
#endif
  if (t == 0) mine->ticket[0] = global_add(ticket, 1u);
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
  for (u64 i = (u64)group_id() * WG + t; i < look_size; i += (u64)group_count() * WG) look_next[i] = 0;
#if ASYNC
  if (t == 0) async_copy_init(&mine->copy);
#endif
  barrier_local();

  u32 next = mine->ticket[0], current = NO_TILE, turn = 0;
  tile_t next_tile, current_tile;
  next_tile = FIND_TILE(min(next, tiles - 1));
  current_tile = next_tile;
  index_t total = 0, start = 0;  // of this work-item's digit in the tile at hand
#if ASYNC
  copy_t copy = tile_copy(keys_in, n, next_tile);
  if (t == 0 && next < tiles) async_copy_begin(&mine->copy, mine->raw, copy.from, copy.records * sizeof(ukey_t));
#endif

  for (;;) {
    ukey_t key[ITEMS];
    u32 place[(ITEMS + 1) / 2];  // two places a word
#if VALUE_BYTES
    value_t value[ITEMS];
#endif
    index_t next_total = 0, next_start = 0;
    u32 following = NO_TILE;
    tile_t following_tile = next_tile;

    if (next < tiles) {
      // Load. Each sub-group has a contiguous piece of the tile, its lanes are neighbours.
#if ASYNC
      async_copy_wait(&mine->copy, turn);
      UNROLL for (u32 i = 0; i < ITEMS; ++i) key[i] = mine->raw[copy.lead + first + i * SG_LANES];
      if (copy.records < copy.lead + next_tile.count)  // the list's last ones
        UNROLL for (u32 i = 0; i < ITEMS; ++i) {
          const u32 at = min(first + i * SG_LANES, next_tile.count - 1);
          if (copy.lead + at >= copy.records) key[i] = keys_in[next_tile.begin + at];
        }
#else
      UNROLL for (u32 i = 0; i < ITEMS; ++i)
        key[i] = keys_in[next_tile.begin + min(first + i * SG_LANES, next_tile.count - 1)];
#endif
      if (next_tile.count < TILE)  // what stands in for keys past the end sorts after them all, and is never written out
        UNROLL for (u32 i = 0; i < ITEMS; ++i) key[i] = first + i * SG_LANES < next_tile.count ? key[i] : KEY_LAST;
      ++turn;
      if (t == 0) mine->ticket[turn % 2] = global_add(ticket, 1u);

      // Rank in the sub-group, in the order of the input.
#if ORDERED_LOCAL_ATOMICS
      // Lanes with the same digit wait for each other: the first keys tell whether there are many. Where the sub-group
      // has only one digit, places count up.
      const u32 probe = sg_shuffle(sg, key_digit(key[0], shift, mask), 0);
      if (sg_ballot(sg, key_digit(key[0], shift, mask) != probe) != 0) {
        RANK_TILE(sg_rank)
      } else {
        u32 others = 0;
        UNROLL for (u32 i = 0; i < ITEMS; ++i) others |= key_digit(key[i], shift, mask) ^ probe;
        if (sg_ballot(sg, others) == 0) {
          UNROLL for (u32 i = 0; i < ITEMS; ++i) {
            const u32 rank = i * SG_LANES + lane;
            place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank;
          }
          if (lane == 0) my_ranks[probe] = ITEMS * SG_LANES;
        } else {
          RANK_TILE(sg_rank_alike)
        }
      }
#else
      RANK_TILE(sg_rank)
#endif
      barrier_local();
      following = mine->ticket[turn % 2];
      following_tile = FIND_TILE(min(following, tiles - 1));
#if ASYNC
      copy = tile_copy(keys_in, n, following_tile);
      if (t == 0 && following < tiles)
        async_copy_begin(&mine->copy, mine->raw, copy.from, copy.records * sizeof(ukey_t));
#endif

      // Values: on their way while this work-group sums, scans and looks back.
#if VALUE_BYTES
      if (values_are_positions)
        UNROLL for (u32 i = 0; i < ITEMS; ++i) value[i] = (value_t)(next_tile.begin + first + i * SG_LANES);
      else if (next_tile.count == TILE)
        UNROLL for (u32 i = 0; i < ITEMS; ++i) value[i] = values_in[next_tile.begin + first + i * SG_LANES];
      else
        UNROLL for (u32 i = 0; i < ITEMS; ++i)
          value[i] = values_in[next_tile.begin + min(first + i * SG_LANES, next_tile.count - 1)];
#endif

      // Sum over sub-groups, publish, scan over digits.
      u32 sum = 0;
      UNROLL for (u32 s = 0; s < TEAM_ROWS; ++s) sum += mine->ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
      mine->sums[t] = sum;
      barrier_local();
      u32 before = 0;
      UNROLL for (u32 q = 0; q < TEAMS; ++q) {
        const u32 c = mine->sums[q * RADIX + digit];
        before += q < team ? c : 0;
        next_total += c;
      }
      const index_t with_past = next_total;  // counts what stands in for keys, too
      if (digit == mask) next_total -= TILE - next_tile.count;
      if (t < RADIX)
        ((volatile GLOBAL look_t *)look)[(u64)next * RADIX + t] = (next_tile.first ? LOOK_ALL : LOOK_OWN) | next_total;
      next_start = wg_scan_add(mine->scratch, RADIX, with_past, &all);
      if (t < RADIX) mine->sums[t] = (u32)next_start;
      barrier_local();
      u32 at = mine->sums[digit] + before;
      UNROLL for (u32 s = 0; s < TEAM_ROWS; ++s) {
        LOCAL u32 *c = &mine->ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
        const u32 in_row = *c;
        *c = at;
        at += in_row;
      }
    }

    if (current != NO_TILE) {
      // Look back, then write out: neighbouring work-items write neighbouring records of a digit's run.
      if (t < RADIX) {
#if SEGMENTED
        const index_t digit_first = starts[((u64)current_tile.segment * digits + min(t, mask)) << start_shift];
#else
        const index_t digit_first = mine->first[t];
#endif
        index_t before = 0;
        if (!current_tile.first) {
          before = look_back(look + t, current);
          ((volatile GLOBAL look_t *)look)[(u64)current * RADIX + t] = LOOK_ALL | (before + total);
        }
        mine->to_out[t] = digit_first + before - start;
      }
      barrier_local();
      if (current_tile.count == TILE) {
        UNROLL for (u32 i = 0; i < ITEMS; ++i) WRITE_RECORD(t + i * WG)
      } else {
        for (u32 p = t; p < current_tile.count; p += WG) WRITE_RECORD(p)
      }
    }
    if (next >= tiles) break;
    barrier_local();

    // Scatter into local memory: the tile is now sorted by digit.
    UNROLL for (u32 i = 0; i < ITEMS; ++i) {
      const u32 p = (place[i / 2] >> (16 * (i % 2)) & 0xffff) + my_ranks[key_digit(key[i], shift, mask)];
      mine->keys[p] = key[i];
#if VALUE_BYTES
      mine->values[p] = value[i];
#endif
    }
    barrier_local();
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
    current = next;
    current_tile = next_tile;
    total = next_total;
    start = next_start;
    next = following;
    next_tile = following_tile;
    barrier_local();
  }
}
