// What the fill, the count and the scan are where a list is short and one partition does: the counts of each of its tiles are
// kept, and the partition's work-groups add them up. (Of a short list all tiles begin at the same time, and would look back all
// the way; and each launch takes as long as its work.)
// Parameters: WG, ITEMS (of a work-item at a time), BUCKETS (256).

// Work-group g counts the leading 8 bits of the keys of tile g, of `tile` records: a key's order from bit `shift` on. They go
// into row g of `table`. `cleared`: words that become 0.
KERNEL(WG) void msd_count_tiles(GLOBAL const ukey_t *keys, GLOBAL u32 *table, u64 n, u32 tile, u32 shift, GLOBAL u32 *cleared,
                                u64 words) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(u32, counts, BUCKETS);
  const u32 t = local_id();
  const u64 begin = (u64)group_id() * tile;
  const u32 count = (u32)min((u64)tile, n - begin);
  keys += begin;
  if (t < BUCKETS) counts[t] = 0;
  barrier_local();
  for (u32 base = 0; base < count; base += WG * ITEMS) {
    const u32 first = base + sg_index() * (ITEMS * SG_LANES) + sg_lane();
    u32 bucket[ITEMS];
    UNROLL for (u32 i = 0; i < ITEMS; ++i) bucket[i] = key_digit(keys[min(first + i * SG_LANES, count - 1)], shift, BUCKETS - 1);
    // Where the first keys of a sub-group are alike, as in sorted input, one add does for each row of them that is.
#if SG_NATIVE
    if (sg_ballot(sg, bucket[0] != sg_shuffle(sg, bucket[0], 0)) == 0) {
      UNROLL for (u32 i = 0; i < ITEMS; ++i) {
        const u32 there = first + i * SG_LANES < count, other = bucket[i] ^ sg_shuffle(sg, bucket[i], 0);
        if (sg_ballot(sg, !there || other != 0) == 0) {
          if (sg_lane() == 0) local_add(&counts[bucket[i]], SG_LANES);
        } else if (there) {
          local_add(&counts[bucket[i]], 1u);
        }
      }
      continue;
    }
#endif
    UNROLL for (u32 i = 0; i < ITEMS; ++i)
      if (first + i * SG_LANES < count) local_add(&counts[bucket[i]], 1u);
  }
  for (u64 i = (u64)group_id() * WG + t; i < words; i += (u64)group_count() * WG) cleared[i] = 0;
  barrier_local();
  if (t < BUCKETS) table[(u64)group_id() * BUCKETS + t] = counts[t];
}
