// Partitions records stably into buckets whose boundaries are arbitrary ranks: reduce, scan,
// scatter. Bucket b has the records with b boundaries at or before their rank. `used` is the number
// of boundaries, 1 to RADIX - 1. Compiled with tile_ranks.cl in front.

PARAMETER(RESIDENT)  // work-groups that share a compute unit

// Up to 8 buckets: a work-item keeps the boundaries in registers and compares a key with each.
#define FEW_BUCKETS (DIGIT_BITS <= 3)
// 1: ballots rank the records, and lane b counts those of bucket b. From 16 buckets on, additions
// in local memory are faster, because lanes seldom add to the same word (4.3 against 4.8 ms).
#define RANK_BY_BALLOTS (FEW_BUCKETS && (1u << DIGIT_BITS) <= SG_LANES)

// Boundaries beyond `used` repeat the last one. A rank beyond the last boundary is beyond its
// repetitions, too, so bucket_of takes the smaller of its count and `used`.
#if FEW_BUCKETS
#define BOUNDS_ARRAY(name) ukey_t name[RADIX - 1]
typedef const ukey_t* bounds_t;

INLINE void load_bounds(GLOBAL const ukey_t* boundaries, u32 used, ukey_t* bounds) {
  UNROLL
  for (u32 b = 0; b < RADIX - 1; ++b) bounds[b] = boundaries[min(b, used - 1)];
}
INLINE u32 bucket_of(bounds_t bounds, u32 used, ukey_t key) {
  const ukey_t rank = key_rank(key);
  u32 bucket = 0;
  UNROLL
  for (u32 b = 0; b < RADIX - 1; ++b) bucket += bounds[b] <= rank ? 1u : 0u;
  return min(bucket, used);
}
#else
#define BOUNDS_ARRAY(name) LOCAL_ARRAY(ukey_t, name, RADIX)
typedef LOCAL const ukey_t* bounds_t;

// A barrier must follow.
INLINE void load_bounds(GLOBAL const ukey_t* boundaries, u32 used, LOCAL ukey_t* bounds) {
  for (u32 b = local_id(); b < RADIX; b += WG) bounds[b] = boundaries[min(b, used - 1)];
}
INLINE u32 bucket_of(bounds_t bounds, u32 used, ukey_t key) {
  const ukey_t rank = key_rank(key);
  u32 bucket = 0;
  UNROLL
  for (u32 step = RADIX / 2; step > 0; step /= 2)
    bucket += bounds[bucket + step - 1] <= rank ? step : 0;
  return min(bucket, used);
}
#endif

// Calls COUNT(key) for each key of the work-group's part. Four keys are loaded before the first one
// is used, to hide memory latency. Lanes of a sub-group call COUNT together, COUNT_LAST alone.
#define FOR_KEYS_OF_PART(COUNT, COUNT_LAST)                       \
  {                                                               \
    u64 at = begin;                                               \
    for (; at + 4 * WG <= end; at += 4 * WG) {                    \
      ukey_t key[4];                                              \
      UNROLL                                                      \
      for (u32 i = 0; i < 4; ++i) key[i] = keys[at + i * WG + t]; \
      UNROLL                                                      \
      for (u32 i = 0; i < 4; ++i) COUNT(key[i])                   \
    }                                                             \
    for (at += t; at < end; at += WG) COUNT_LAST(keys[at])        \
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
  BOUNDS_ARRAY(bounds);
  const u32 t = local_id();
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u32 b = t; b < RADIX; b += WG) bins[b] = 0;
  load_bounds(boundaries, used, bounds);
  barrier_local();

#if FEW_BUCKETS
  // beyond[b]: how many of the work-item's keys are at or beyond boundary b.
  u32 beyond[RADIX - 1];
  UNROLL
  for (u32 b = 0; b < RADIX - 1; ++b) beyond[b] = 0;
#define COUNT_BEYOND(key)                                                         \
  {                                                                               \
    const ukey_t rank = key_rank(key);                                            \
    UNROLL                                                                        \
    for (u32 b = 0; b < RADIX - 1; ++b) beyond[b] += bounds[b] <= rank ? 1u : 0u; \
  }
  FOR_KEYS_OF_PART(COUNT_BEYOND, COUNT_BEYOND)
  UNROLL
  for (u32 b = 0; b < RADIX - 1; ++b) local_add(&bins[b + 1], beyond[b]);
  if (begin < end && t == 0) bins[0] = (u32)(end - begin);
  barrier_local();
  for (u32 b = t; b < RADIX; b += WG) {
    const u32 beyond_next = b < used ? bins[b + 1] : 0;
    counts[(u64)b * group_count() + group_id()] = b <= used ? bins[b] - beyond_next : 0;
  }
#else
#define COUNT_IN_BIN(key) count_in(bins, bucket_of(bounds, used, key));
#define COUNT_ALONE(key) local_add(&bins[bucket_of(bounds, used, key)], 1u);
  FOR_KEYS_OF_PART(COUNT_IN_BIN, COUNT_ALONE)
  barrier_local();
  for (u32 b = t; b < RADIX; b += WG) counts[(u64)b * group_count() + group_id()] = bins[b];
#endif
}

#if RANK_BY_BALLOTS
// Returns the mask of the lanes whose bucket is `bucket`. has_bit[k] is the mask of the lanes whose
// bucket has bit k set.
INLINE u32 lanes_with(const u32* has_bit, u32 bucket) {
  u32 lanes = (u32)(((u64)1 << SG_LANES) - 1);
  UNROLL
  for (u32 k = 0; k < DIGIT_BITS; ++k) lanes &= has_bit[k] ^ ((bucket >> k & 1) - 1);
  return lanes;
}

// Returns the record's rank in `bucket` within the sub-group: by call, then by lane. *count in lane
// b is the number of records of bucket b in earlier calls; this call updates it.
INLINE u32 rank_by_ballots(sub_group_t sg, u32 bucket, u32* count) {
  const u32 lane = sg_lane(), earlier = sg_shuffle(sg, *count, bucket);
  u32 has_bit[DIGIT_BITS];
  UNROLL
  for (u32 k = 0; k < DIGIT_BITS; ++k) has_bit[k] = sg_ballot(sg, bucket >> k & 1);
  *count += popcount32(lanes_with(has_bit, lane % RADIX));
  return earlier + popcount32(lanes_with(has_bit, bucket) & ((1u << lane) - 1));
}
// Bin of positions past the end. With ballots it is the last bucket: these positions rank after its
// records.
#define PAST_END (RADIX - 1)
#else
#define PAST_END RADIX
#endif

// RECORDS_OF: the number of records of the tile at index `tile`. LOAD_KEYS loads them into key[].
#define RECORDS_OF(tile) (part_end - (tile) < TILE ? (u32)(part_end - (tile)) : TILE)
#define LOAD_KEYS(tile)                                                  \
  {                                                                      \
    const u32 records = RECORDS_OF(tile);                                \
    UNROLL                                                               \
    for (u32 i = 0; i < ITEMS; ++i)                                      \
      key[i] = keys_in[(tile) + min(first + i * SG_LANES, records - 1)]; \
  }

// Writes record p of the sorted tile to the output.
#if VALUE_BYTES
#define STORE_VALUE(array, out, p) array[out] = tile_values[p];
#else
#define STORE_VALUE(array, out, p)
#endif
#define STORE_RECORD(p)                              \
  {                                                  \
    const u32 bucket = tile_buckets[p];              \
    const u64 out = (index_t)(to_out[bucket] + (p)); \
    if (is_apart[bucket]) {                          \
      keys_apart[out] = tile_keys[p];                \
      STORE_VALUE(values_apart, out, p)              \
    } else {                                         \
      keys_out[out] = tile_keys[p];                  \
      STORE_VALUE(values_out, out, p)                \
    }                                                \
  }

// `starts` are the scanned counts. Bucket b is moved by places[b] records. If places[RADIX + b] is
// 1, it goes to keys_apart and values_apart instead of keys_out and values_out. With
// `values_are_positions`, the value of record i is first_position + i.
KERNEL_RESIDENT(WG, RESIDENT)
void partition_scatter(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                       GLOBAL ukey_t* keys_apart, GLOBAL const value_t* values_in,
                       GLOBAL value_t* values_out, GLOBAL value_t* values_apart,
                       GLOBAL const index_t* starts, GLOBAL const index_t* places,
                       GLOBAL const ukey_t* boundaries, u64 n, u64 part, u64 first_position,
                       u32 used, u32 values_are_positions) {
  LOCAL_ARRAY(u32, ranks, SUB_GROUPS * RANK_WORDS);
  LOCAL_ARRAY(index_t, next, RADIX);    // position of the bucket's next record
  LOCAL_ARRAY(index_t, to_out, RADIX);  // position in the output - position in the sorted tile
  LOCAL_ARRAY(index_t, scratch, 2 * SCAN_WIDTH);
  LOCAL_ARRAY(u8, is_apart, RADIX);
  BOUNDS_ARRAY(bounds);
  LOCAL_ARRAY(ukey_t, tile_keys, TILE);
  LOCAL_ARRAY(u8, tile_buckets, TILE);  // finding a bucket again is slower
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, tile_values, TILE);
#endif
  SUB_GROUP(WG);
  const u32 t = local_id();
  LOCAL u32* my_ranks = ranks + sg_index() * RANK_WORDS;
  const u64 part_begin = group_id() * part;
  const u64 part_end = part_begin + part < n ? part_begin + part : n;

  for (u32 b = t; b < RADIX; b += WG) {
    next[b] = starts[(u64)b * group_count() + group_id()] + places[b];
    is_apart[b] = (u8)places[RADIX + b];
  }
  load_bounds(boundaries, used, bounds);
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
  barrier_local();

  // Each sub-group has a contiguous piece of the tile; neighbouring lanes read neighbouring keys.
  // Past the end of the part, the address is clamped, so that whole and partial tiles take the same
  // path without a branch.
  const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  ukey_t key[ITEMS];
  if (part_begin < part_end) LOAD_KEYS(part_begin)
  for (u64 tile = part_begin; tile < part_end; tile += TILE) {
    const u32 count = RECORDS_OF(tile);
#if VALUE_BYTES
    value_t value[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u64 at = tile + min(first + i * SG_LANES, count - 1);
      value[i] = values_are_positions ? (value_t)(first_position + at) : values_in[at];
    }
#endif

    // Rank in the sub-group, in the order of the input.
    u32 place[ITEMS];  // the bin in the upper half, the rank in the sub-group in the lower one
#if RANK_BY_BALLOTS
    u32 counted = 0;
#define RANK(bin) rank_by_ballots(sg, bin, &counted)
#else
#define RANK(bin) sg_rank_alike(my_ranks, BINS, bin)
#endif
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 bin = first + i * SG_LANES < count ? bucket_of(bounds, used, key[i]) : PAST_END;
      place[i] = bin << 16 | RANK(bin);
    }
#if RANK_BY_BALLOTS
    if (sg_lane() < RADIX) my_ranks[sg_lane()] = counted;
#endif
    barrier_local();

    scan_tile(ranks, next, to_out, scratch, count);

    // Scatter into local memory: the tile is now sorted by bucket.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 p = (place[i] & 0xffff) + my_ranks[place[i] >> 16];
      tile_keys[p] = key[i];
      tile_buckets[p] = (u8)(place[i] >> 16);
#if VALUE_BYTES
      tile_values[p] = value[i];
#endif
    }
    if (tile + TILE < part_end) LOAD_KEYS(tile + TILE)  // while this tile is written
    barrier_local();

    // Store. Neighbouring work-items write neighbouring records of a bucket.
    if (count == TILE) {
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) STORE_RECORD(t + i * WG)
    } else {
      for (u32 p = t; p < count; p += WG) STORE_RECORD(p)
    }
#if !RANK_BY_BALLOTS
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) ranks[i] = 0;
#endif
    barrier_local();
  }
}
