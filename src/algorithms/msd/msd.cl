// MSD radix sort: where each bucket, a value of the keys' leading bits, begins; and whether all of them are small enough
// for the local sort. The records then go to their buckets by onesweep's passes.
// Parameters: WG, ITEMS (of a work-item at a time), BUCKETS.

// Two 16-bit counts a word.
typedef struct {
  u32 crowded;
  u32 counts[BUCKETS / 2];
} msd_count_memory_t;

// Adds `what` to a bucket's 16 bits. When they become half full, that half moves to the global count, in time for all
// work-items together never to overflow them.
#define HALF_FULL 0x8000u
INLINE void count_bucket(LOCAL u32 *counts, GLOBAL u32 *global_counts, u32 bucket, u32 what) {
  const u32 shift = bucket % 2 * 16;
  const u32 before = local_add(&counts[bucket / 2], what << shift) >> shift & 0xffff;
  if (before < HALF_FULL && before + what >= HALF_FULL) {
    local_add(&counts[bucket / 2], 0u - (HALF_FULL << shift));
    global_add(&global_counts[bucket], HALF_FULL);
  }
}

// Counts the keys of each bucket: a key's order from bit `shift` on. `overfull` is set, and nothing
// counted, where `samples` keys of each work-item show some bucket to be far too full; so skewed keys cost little here,
// whose counting would be slow.
KERNEL(WG) void msd_count(GLOBAL const ukey_t *keys, GLOBAL u32 *counts, GLOBAL u32 *overfull, u64 n, u32 shift,
                          u32 samples) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_count_memory_t, mine);
  const u32 t = local_id(), words = BUCKETS / 2, mask = BUCKETS - 1;
  for (u32 i = t; i < words; i += WG) mine->counts[i] = 0;
  if (t == 0) mine->crowded = 0;
  barrier_local();

  // Sample: every work-group the same keys, so that all come to the same verdict.
  if (samples != 0) {
    const u64 step = n / (samples * WG);
    const u32 limit = 8 + 4 * (samples * WG / BUCKETS);
    for (u32 i = 0; i < samples; ++i) {
      const u32 bucket = key_digit(keys[(u64)(i * WG + t) * step], shift, mask);
      local_add(&mine->counts[bucket / 2], 1u << bucket % 2 * 16);
    }
    barrier_local();
    u32 most = 0;
    for (u32 i = t; i < words; i += WG) {
      most = max(most, max(mine->counts[i] & 0xffff, mine->counts[i] >> 16));
      mine->counts[i] = 0;
    }
    if (most > limit) local_or(&mine->crowded, 1u);
    barrier_local();
    if (mine->crowded) {
      if (group_id() == 0 && t == 0) *overfull = 1;
      return;
    }
  }

  // Count. Where the keys of a sub-group are alike, as in sorted input, one add does for a row of them.
  for (u64 base = (u64)group_id() * WG * ITEMS; base < n; base += (u64)group_count() * WG * ITEMS) {
    const u32 first = sg_index() * (ITEMS * SG_LANES) + sg_lane();
    GLOBAL const ukey_t *tile = keys + base;
    if (n - base >= WG * ITEMS) {
      u32 bucket[ITEMS];
      UNROLL for (u32 i = 0; i < ITEMS; ++i) bucket[i] = key_digit(tile[first + i * SG_LANES], shift, mask);
#if SG_NATIVE
      if (sg_ballot(sg, bucket[0] != sg_shuffle(sg, bucket[0], 0)) == 0) {
        UNROLL for (u32 i = 0; i < ITEMS; ++i) {
          if (sg_ballot(sg, bucket[i] != sg_shuffle(sg, bucket[i], 0)) != 0)
            count_bucket(mine->counts, counts, bucket[i], 1);
          else if (sg_lane() == 0)
            count_bucket(mine->counts, counts, bucket[i], SG_LANES);
        }
        continue;
      }
#endif
      UNROLL for (u32 i = 0; i < ITEMS; ++i) count_bucket(mine->counts, counts, bucket[i], 1);
    } else {
      for (u32 i = t; i < (u32)(n - base); i += WG)
        count_bucket(mine->counts, counts, key_digit(tile[i], shift, mask), 1);
    }
  }
  barrier_local();
  for (u32 i = t; i < words; i += WG) {
    const u32 low = mine->counts[i] & 0xffff, high = mine->counts[i] >> 16;
    if (low != 0) global_add(&counts[2 * i], low);
    if (high != 0) global_add(&counts[2 * i + 1], high);
  }
}

// starts[b]: the records in all buckets before b; one more for the end. WG buckets a work-group, which adds up all
// counts before its own. `overfull` becomes non-zero where a bucket has more than `capacity` records.
KERNEL(WG) void msd_scan(GLOBAL const u32 *counts, GLOBAL u32 *starts, GLOBAL u32 *overfull, u64 n, u32 buckets,
                         u32 capacity) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u32 t = local_id(), bucket = group_id() * WG + t;
  index_t before, all, sum = 0;
  for (u32 i = t; i < group_id() * WG; i += WG) sum += counts[i];
  wg_scan_add(scratch, WG, sum, &before);
  const u32 count = bucket < buckets ? counts[bucket] : 0;
  const index_t start = before + wg_scan_add(scratch, WG, count, &all);
  if (bucket < buckets) starts[bucket] = (u32)start;
  if (bucket == buckets - 1) starts[buckets] = (u32)n;
  if (count > capacity) global_add(overfull, 1u);
}
