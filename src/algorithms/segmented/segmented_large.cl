// Long segments: LSD radix sort, reduce-then-scan, as lsd's; a work-group has a part of one segment, and where the digits of
// the segment's parts begin is scanned segment by segment.
// Parameters: WG (at least RADIX), ITEMS; TINY_CLASSES, BLOCK_CLASSES, ROW, BLOCK_LEAST.

#define RADIX 256u
#define TILE (WG * ITEMS)
#define SUB_GROUPS (WG / SG_LANES)
#define BINS (RADIX + 1)  // the last: places past the part's end
#define RANK_WORDS SG_RANK_WORDS(BINS)

// counts[p * RADIX + digit]: how many records of part p have the digit.
KERNEL(WG) void segmented_count(GLOBAL const ukey_t *keys, GLOBAL const task_t *parts, GLOBAL const u32 *counters,
                                GLOBAL index_t *counts, u32 shift, u32 mask) {
  LOCAL_ARRAY(u32, bins, RADIX);
  const u32 t = local_id();
  const u32 all_parts = counters[CLASSES];
  for (u64 p = group_id(); p < all_parts; p += group_count()) {
    const u64 begin = parts[p].begin, end = begin + parts[p].count;
    if (t < RADIX) bins[t] = 0;
    barrier_local();
    // Several loads are in flight before the first is used.
    u64 at = begin;
    for (; at + 4 * WG <= end; at += 4 * WG) {
      ukey_t key[4];
      UNROLL for (u32 i = 0; i < 4; ++i) key[i] = keys[at + i * WG + t];
      UNROLL for (u32 i = 0; i < 4; ++i) local_add(&bins[key_digit(key[i], shift, mask)], 1u);
    }
    for (at += t; at < end; at += WG) local_add(&bins[key_digit(keys[at], shift, mask)], 1u);
    barrier_local();
    if (t < RADIX) counts[p * RADIX + t] = bins[t];
    barrier_local();
  }
}

// A work-group a segment: the counts of its parts become the places where the parts' records of each digit go.
KERNEL(RADIX) void segmented_scan(GLOBAL const long_t *longs, GLOBAL const u32 *counters, GLOBAL index_t *counts) {
  LOCAL_ARRAY(index_t, scratch, 2 * RADIX);
  const u32 all_longs = counters[CLASSES - 1];
  for (u64 s = group_id(); s < all_longs; s += group_count()) {
    GLOBAL index_t *mine = counts + (u64)longs[s].first * RADIX + local_id();
    const u32 parts = longs[s].parts;
    index_t sum = 0, all;
    for (u32 p = 0; p < parts; ++p) sum += mine[(u64)p * RADIX];
    index_t next = longs[s].begin + wg_scan_add(scratch, RADIX, sum, &all);
    for (u32 p = 0; p < parts; ++p) {
      const index_t count = mine[(u64)p * RADIX];
      mine[(u64)p * RADIX] = next;
      next += count;
    }
  }
}

KERNEL(WG) void segmented_scatter(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                                  GLOBAL value_t *values_out, GLOBAL const task_t *parts, GLOBAL const u32 *counters,
                                  GLOBAL const index_t *counts, u32 shift, u32 mask, u32 values_are_positions) {
  LOCAL_ARRAY(u32, ranks, SUB_GROUPS *RANK_WORDS);
  LOCAL_ARRAY(index_t, to_out, RADIX);  // place in the sorted tile + this = place in the output
  LOCAL_ARRAY(index_t, scratch, 2 * RADIX);
  LOCAL_ARRAY(ukey_t, tile_keys, TILE);
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, tile_values, TILE);
#endif
  const u32 t = local_id();
  const u32 all_parts = counters[CLASSES];
  LOCAL u32 *my_ranks = ranks + sg_index() * RANK_WORDS;

  for (u64 part = group_id(); part < all_parts; part += group_count()) {
    const u64 part_begin = parts[part].begin, part_end = part_begin + parts[part].count;
    index_t next = t < RADIX ? counts[part * RADIX + t] : 0;  // where the next record of this work-item's digit goes

    for (u64 tile = part_begin; tile < part_end; tile += TILE) {
      const u32 count = part_end - tile < TILE ? (u32)(part_end - tile) : TILE;
      for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
      barrier_local();

      // Load: each sub-group has a contiguous piece of the tile, its lanes are neighbours. Places past the end get a
      // clamped address and a bin of their own, the last, instead of a branch.
      const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
      ukey_t key[ITEMS];
      u32 bin[ITEMS];
      UNROLL for (u32 i = 0; i < ITEMS; ++i) key[i] = keys_in[tile + min(first + i * SG_LANES, count - 1)];
      UNROLL for (u32 i = 0; i < ITEMS; ++i)
        bin[i] = first + i * SG_LANES < count ? key_digit(key[i], shift, mask) : RADIX;

      // Rank in the sub-group, in the order of the input.
      u32 place[ITEMS];
      UNROLL for (u32 i = 0; i < ITEMS; ++i) place[i] = sg_rank(my_ranks, BINS, bin[i]);
      barrier_local();

      // Scan over digits and, within a digit, over sub-groups.
      u32 in_tile = 0;
      if (t < RADIX)
        for (u32 s = 0; s < SUB_GROUPS; ++s) in_tile += ranks[s * RANK_WORDS + t];
      index_t all;
      const u32 start = (u32)wg_scan_add(scratch, RADIX, in_tile, &all);
      if (t < RADIX) {
        to_out[t] = next - start;
        next += in_tile;
      }
      for (u32 b = t; b < BINS; b += WG) {
        u32 at = b < RADIX ? start : count;
        for (u32 s = 0; s < SUB_GROUPS; ++s) {
          const u32 in_row = ranks[s * RANK_WORDS + b];
          ranks[s * RANK_WORDS + b] = at;
          at += in_row;
        }
      }
      barrier_local();

      // Scatter into local memory: the tile is now sorted by digit.
      UNROLL for (u32 i = 0; i < ITEMS; ++i) {
        const u32 p = place[i] + my_ranks[bin[i]];
        tile_keys[p] = key[i];
#if VALUE_BYTES
        const u64 at = tile + min(first + i * SG_LANES, count - 1);
        tile_values[p] = values_are_positions ? (value_t)at : values_in[at];
#endif
      }
      barrier_local();

      // Write out: neighbouring work-items write neighbouring records of a digit's run.
      for (u32 p = t; p < count; p += WG) {
        const ukey_t k = tile_keys[p];
        const u64 out = (index_t)(to_out[key_digit(k, shift, mask)] + p);
        if (keys_out) keys_out[out] = k;  // an argsort's last pass may not want them
#if VALUE_BYTES
        values_out[out] = tile_values[p];
#endif
      }
      barrier_local();
    }
  }
}
