// LSD radix sort, reduce-then-scan. A pass has three kernels. First, every work-group counts the
// digits of its part. Then the counts are scanned. Last, every work-group scatters its part: it
// sorts one tile after the other in local memory and writes it. A pass is skipped if all keys have
// the same digit (see moves_before).

// Stores in counts[digit * groups + group] how many records of the work-group's part have the
// digit. The first pass also clears left_out.
KERNEL(WG)
void lsd_count(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_a,
               GLOBAL const ukey_t* keys_b, GLOBAL index_t* counts, GLOBAL u32* left_out, u64 n,
               u64 part, u32 pass, u32 passes, u32 shift, u32 mask) {
  LOCAL_ARRAY(u32, bins, RADIX);
  const u32 t = local_id(), moves = moves_before(left_out, pass);
  GLOBAL const ukey_t* keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  if (pass == 0 && group_id() == 0)
    for (u32 p = t; p < passes; p += WG) left_out[p] = 0;
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u32 b = t; b < RADIX; b += WG) bins[b] = 0;
  barrier_local();

  // Count. Four keys are loaded before the first one is used, to hide memory latency.
  u64 at = begin;
  for (; at + 4 * WG <= end; at += 4 * WG) {
    ukey_t key[4];
    UNROLL
    for (u32 i = 0; i < 4; ++i) key[i] = keys[at + i * WG + t];
    UNROLL
    for (u32 i = 0; i < 4; ++i) local_add(&bins[key_digit(key[i], shift, mask)], 1u);
  }
  for (at += t; at < end; at += WG) local_add(&bins[key_digit(keys[at], shift, mask)], 1u);
  barrier_local();

  for (u32 b = t; b < RADIX; b += WG) counts[(u64)b * group_count() + group_id()] = bins[b];
}

// One work-group for each digit: scans the digit's row of counts (exclusive), and writes its sum to
// totals[digit].
KERNEL(WG)
void lsd_scan(GLOBAL index_t* counts, GLOBAL index_t* totals, GLOBAL u32* left_out, u64 n, u32 pass,
              u32 groups) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  GLOBAL index_t* row = counts + (u64)group_id() * groups;
  index_t running = 0;
  for (u32 base = 0; base < groups; base += WG) {
    const u32 i = base + local_id();
    index_t sum;
    const index_t before = wg_scan_add(scratch, WG, i < groups ? row[i] : 0, &sum);
    if (i < groups) row[i] = running + before;
    running += sum;
  }
  if (local_id() == 0) {
    totals[group_id()] = running;
    if (running == n) left_out[pass] = 1;
  }
}

// Computes next[digit]: where this part's records with the digit begin in the output. They come
// after all records with smaller digits, and after the same digit's records of earlier parts.
INLINE void begin_digits(LOCAL index_t* next, LOCAL index_t* scratch, GLOBAL const index_t* counts,
                         GLOBAL const index_t* totals) {
  const u32 t = local_id();
  index_t sum = 0, all;
  for (u32 b = t * BINS_PER_ITEM; b < (t + 1) * BINS_PER_ITEM && b < RADIX; ++b) sum += totals[b];
  index_t start = wg_scan_add(scratch, SCAN_WIDTH, sum, &all);
  for (u32 b = t * BINS_PER_ITEM; b < (t + 1) * BINS_PER_ITEM && b < RADIX; ++b) {
    next[b] = start + counts[(u64)b * group_count() + group_id()];
    start += totals[b];
  }
}

KERNEL(WG)
void lsd_scatter(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
                 GLOBAL const value_t* values_in, GLOBAL value_t* values_a,
                 GLOBAL value_t* values_b, GLOBAL const index_t* counts,
                 GLOBAL const index_t* totals, GLOBAL const u32* left_out, u64 n, u64 part,
                 u32 pass, u32 shift, u32 mask, u32 write_keys, u32 values_are_positions) {
  LOCAL_ARRAY(u32, ranks, SUB_GROUPS * RANK_WORDS);
  LOCAL_ARRAY(index_t, next, RADIX);  // position of the digit's next record
  LOCAL_ARRAY(index_t, to_out,
              RADIX);  // for each digit: position in the output - position in the sorted tile
  LOCAL_ARRAY(index_t, scratch, 2 * SCAN_WIDTH);
  LOCAL_ARRAY(ukey_t, tile_keys, TILE);
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, tile_values, TILE);
#endif
  const u32 t = local_id();
  LOCAL u32* my_ranks = ranks + sg_index() * RANK_WORDS;
  const u64 part_begin = group_id() * part;
  const u64 part_end = left_out[pass] ? part_begin : part_begin + part < n ? part_begin + part : n;
  const u32 moves = moves_before(left_out, pass);
  GLOBAL const ukey_t* keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  GLOBAL ukey_t* keys_out = moves % 2 ? keys_b : keys_a;
#if VALUE_BYTES
  GLOBAL const value_t* values = AFTER_MOVES(moves, values_in, values_a, values_b);
  GLOBAL value_t* values_out = moves % 2 ? values_b : values_a;
  const u32 positions = values_are_positions && moves == 0;
#endif

  begin_digits(next, scratch, counts, totals);
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
  barrier_local();

  for (u64 tile = part_begin; tile < part_end; tile += TILE) {
    const u32 count = part_end - tile < TILE ? (u32)(part_end - tile) : TILE;

    // Load. Each sub-group has a contiguous piece of the tile; neighbouring lanes read neighbouring
    // keys. Past the end of the part, the address is clamped and the bin is RADIX, so that whole
    // and partial tiles take the same path without a branch.
    const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
    ukey_t key[ITEMS];
    u32 bin[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) key[i] = keys[tile + min(first + i * SG_LANES, count - 1)];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      bin[i] = first + i * SG_LANES < count ? key_digit(key[i], shift, mask) : RADIX;

    // Rank in the sub-group, in the order of the input.
    u32 place[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) place[i] = sg_rank(my_ranks, BINS, bin[i]);
    barrier_local();

    scan_tile(ranks, next, to_out, scratch, count);

    // Scatter into local memory: the tile is now sorted by digit.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 p = place[i] + my_ranks[bin[i]];
      tile_keys[p] = key[i];
#if VALUE_BYTES
      const u64 at = tile + min(first + i * SG_LANES, count - 1);
      tile_values[p] = positions ? (value_t)at : values[at];
#endif
    }
    barrier_local();

    // Store. Neighbouring work-items write neighbouring records of a digit.
    for (u32 p = t; p < count; p += WG) {
      const ukey_t k = tile_keys[p];
      const u64 out = (index_t)(to_out[key_digit(k, shift, mask)] + p);
      if (write_keys) keys_out[out] = k;  // false in the last pass of an argsort without keys_out
#if VALUE_BYTES
      values_out[out] = tile_values[p];
#endif
    }
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
    barrier_local();
  }
}
