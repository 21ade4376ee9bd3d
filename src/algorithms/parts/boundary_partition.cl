// Partitions records stably into buckets whose boundaries are arbitrary ranks: reduce, scan,
// scatter. Bucket b has the records with b boundaries at or before their rank. `used` is the number
// of boundaries, 1 to RADIX - 1. Compiled with tile_ranks.cl in front.

INLINE u32 bucket_of(LOCAL const ukey_t* boundaries, u32 used, ukey_t key) {
  const ukey_t rank = key_rank(key);
  u32 bucket = 0;
  UNROLL
  for (u32 step = RADIX / 2; step > 0; step /= 2) {
    const u32 next = bucket + step;
    bucket = next <= used && boundaries[min(next, used) - 1] <= rank ? next : bucket;
  }
  return bucket;
}

// Counts a key in its bucket; all lanes of the sub-group call it. In sorted lists, all have the
// same bucket: then one lane adds for all, because additions of many lanes to one word are
// serialised.
INLINE void count_in(LOCAL u32* bins, u32 bucket) {
#if ORDERED_LOCAL_ATOMICS
  if (sg_ballot(0, bucket != sg_shuffle(0, bucket, 0)) == 0) {
    if (sg_lane() == 0) local_add(&bins[bucket], SG_LANES);
    return;
  }
#endif
  local_add(&bins[bucket], 1u);
}

// Stores in counts[bucket * groups + group] how many records of the work-group's part are in the
// bucket.
KERNEL(WG)
void partition_count(GLOBAL const ukey_t* keys, GLOBAL index_t* counts,
                     GLOBAL const ukey_t* boundaries, u64 n, u64 part, u32 used) {
  LOCAL_ARRAY(u32, bins, RADIX);
  LOCAL_ARRAY(ukey_t, bounds, RADIX);
  const u32 t = local_id();
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u32 b = t; b < RADIX; b += WG) {
    bins[b] = 0;
    bounds[b] = boundaries[min(b, used - 1)];
  }
  barrier_local();

  // Count. Four keys are loaded before the first one is used, to hide memory latency.
  u64 at = begin;
  for (; at + 4 * WG <= end; at += 4 * WG) {
    ukey_t key[4];
    UNROLL
    for (u32 i = 0; i < 4; ++i) key[i] = keys[at + i * WG + t];
    UNROLL
    for (u32 i = 0; i < 4; ++i) count_in(bins, bucket_of(bounds, used, key[i]));
  }
  for (at += t; at < end; at += WG) local_add(&bins[bucket_of(bounds, used, keys[at])], 1u);
  barrier_local();

  for (u32 b = t; b < RADIX; b += WG) counts[(u64)b * group_count() + group_id()] = bins[b];
}

// `starts` are the scanned counts. With `values_are_positions`, the value of record i is
// first_position + i.
KERNEL(WG)
void partition_scatter(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                       GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                       GLOBAL const index_t* starts, GLOBAL const ukey_t* boundaries, u64 n,
                       u64 part, u64 first_position, u32 used, u32 values_are_positions) {
  LOCAL_ARRAY(u32, ranks, SUB_GROUPS * RANK_WORDS);
  LOCAL_ARRAY(index_t, next, RADIX);    // position of the bucket's next record
  LOCAL_ARRAY(index_t, to_out, RADIX);  // position in the output - position in the sorted tile
  LOCAL_ARRAY(index_t, scratch, 2 * SCAN_WIDTH);
  LOCAL_ARRAY(ukey_t, bounds, RADIX);
  LOCAL_ARRAY(ukey_t, tile_keys, TILE);
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, tile_values, TILE);
#endif
  const u32 t = local_id();
  LOCAL u32* my_ranks = ranks + sg_index() * RANK_WORDS;
  const u64 part_begin = group_id() * part;
  const u64 part_end = part_begin + part < n ? part_begin + part : n;

  for (u32 b = t; b < RADIX; b += WG) {
    next[b] = starts[(u64)b * group_count() + group_id()];
    bounds[b] = boundaries[min(b, used - 1)];
  }
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
    for (u32 i = 0; i < ITEMS; ++i) key[i] = keys_in[tile + min(first + i * SG_LANES, count - 1)];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      bin[i] = first + i * SG_LANES < count ? bucket_of(bounds, used, key[i]) : RADIX;

    // Rank in the sub-group, in the order of the input.
    u32 place[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) place[i] = sg_rank_alike(my_ranks, BINS, bin[i]);
    barrier_local();

    scan_tile(ranks, next, to_out, scratch, count);

    // Scatter into local memory: the tile is now sorted by bucket.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 p = place[i] + my_ranks[bin[i]];
      tile_keys[p] = key[i];
#if VALUE_BYTES
      const u64 at = tile + min(first + i * SG_LANES, count - 1);
      tile_values[p] = values_are_positions ? (value_t)(first_position + at) : values_in[at];
#endif
    }
    barrier_local();

    // Store. Neighbouring work-items write neighbouring records of a bucket.
    for (u32 p = t; p < count; p += WG) {
      const ukey_t k = tile_keys[p];
      const u64 out = (index_t)(to_out[bucket_of(bounds, used, k)] + p);
      keys_out[out] = k;
#if VALUE_BYTES
      values_out[out] = tile_values[p];
#endif
    }
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
    barrier_local();
  }
}
