// msd, lists whose keys are sampled or counted: the memory of msd_count, and what the samples tell
// by themselves. msd_spread.cl, msd_make_map.cl and msd_verdict.cl follow. Every work-group of
// msd_count examines the same samples, so all reach the same verdict: the keys spread by their
// leading bits (or those of spread orders), or they are stretched, or a map of the samples spreads
// them (key_map.cl), or none of these. The files key_map.cl, msd_set_aside.cl and stretch.cl come
// before this one. "Order" is short for a key's order bits.

PARAMETER(WG)          // work-items of a work-group of msd_count
PARAMETER(BUCKETS)     // buckets by leading bits, a power of two
PARAMETER(COUNT_BITS)  // bits of a bucket's count in local memory: 16, 8 or 4
PARAMETER(
    COUNT_WORDS)     // 32-bit words for the counts or for the tables of the samples, a power of two
PARAMETER(SAMPLES)   // samples that each work-item of msd_count examines; 0: there are no samples
PARAMETER(GATHERED)  // samples of each work-item from which a map is made; a multiple of SAMPLES
PARAMETER(SPREAD_BITS)   // not 0: keys are floats that are partitioned by spread orders; the width
                         // of a lead in bits
PARAMETER(BUCKET_BITS)   // log2(BUCKETS); used if SPREAD_BITS is not 0
PARAMETER(SETS_ASIDE)    // not 0: keys are set aside (msd_set_aside.cl); needs SPREAD_BITS
PARAMETER(CLASS_DIGITS)  // not 0: classes may have digits of their own (msd_set_aside.cl)
PARAMETER(TIES_MATTER)   // 1: mapped keys that tie but have different bits need the stable passes
PARAMETER(ITEM_BITS)     // not 0: mapped keys are sorted by items of this many bits, which hold the
                         // distance from a bucket's first order and the position in the bucket
PARAMETER(TELLS_REPEATS)   // 1: samples tell whether keys repeat
PARAMETER(STRETCH_MOST)    // with STRETCHES: log2 of the largest scale
PARAMETER(STRETCH_DIGITS)  // keys are stretched only if samples differ in at least so many digits
PARAMETER(MAP_DIGITS)      // the same for mapped and equalized keys
PARAMETER(FEW_DIGITS)  // not 0: samples tell whether most digits have few values; if so, *skewed
                       // becomes FEW_DIGITS
PARAMETER(FREQUENT)    // not 0: samples tell whether there are frequent keys; if so, *skewed
                       // has the bit FREQUENT
PARAMETER(FREQUENT_LEAST)    // the fewest samples that then repeat
PARAMETER(FREQUENT_SINGLES)  // not 0: the most samples that then have a key of no other sample
PARAMETER(FREQUENT_ALL)      // if so many repeat, keys are not stretched, equalized or mapped
PARAMETER(EQUALIZED_BINS)  // with EQUALIZES: log2 of the bins of a local sort, if equal keys do not
                           // crowd them; else 0

#define MAPS (MAP_CELLS != 0)

// COUNT_OF(word, bucket) extracts the bucket's count from its word of local memory.
#define PER_WORD (32 / COUNT_BITS)
#define COUNT_MOST ((1u << COUNT_BITS) - 1)
#define PLACE(bucket) ((bucket) % PER_WORD * COUNT_BITS)
#define COUNT_OF(word, bucket) ((word) >> PLACE(bucket) & COUNT_MOST)

// count_bytes() in msd_shape.cpp computes its size.
typedef struct {
  u32 counts[COUNT_WORDS];
#if SPREAD_BITS
  u32 spread[1 << SPREAD_BITS];  // the count's table of spread orders
  u32 exponents[4];  // LEADS - the least and 1 + the largest exponent of the samples, then of those
                     // that many samples have; 0: there is none
  u32 sides;         // see exponents_t
#endif
#if EQUALIZES
  u32 edges[8];  // of the samples: the inverted smallest order, then the largest. Four words for
                 // stretched keys, four for the equalizer
#elif STRETCHES && !MAPS
  u32 edges[4];  // the same; upper words first
#endif
#if MAPS
  map_t map;
  u32 edges[8];  // of the samples: the inverted smallest order, then the largest; upper words
                 // first. Four words of all, four of those around zero (KEY_FLOAT)
  u32 inner[2];  // the first and the last cell without the samples that a narrower window leaves
                 // out
#endif
#if EQUALIZES
  u32 entries[EQUALIZER_ENTRIES];
  u32 inner[2];  // as with MAPS
#endif
  index_t scratch[SCAN_WORDS(WG)];
  u32 differ[2];           // bits in which samples differ: the lower word, then the upper word
  u32 crowded;             // excess samples; at the end of the count not 0 if a bucket is too large
  u32 pairs;               // pairs of samples in the same bucket
  u32 rare[KEY_BITS / 8];  // number of samples with a rare value in each digit
  u32 last;                // 1: this is the last work-group of the count
#if CLASS_DIGITS
  u32 gap;          // number of the first bucket after the zeros
  u32 zeros, nans;  // members of each class that this work-group has counted
  u32 kinds;        // the KIND bits of the members and of the keys that may share their leads
  u32 found;        // in the last work-group of the count: the head's word `found`
#endif
} msd_count_memory_t;

// The verdict from the samples.
typedef struct {
  u32 skewed;  // the value for *skewed; if it is not 0, no keys are counted
  u32 mapped;  // 1: keys are mapped by mine->map
  u32 ties;    // 1: a sample of this work-item needs ties (needs_ties)
#if MAPS
  window_t window;
#endif
#if STRETCHES
  u32 stretched;  // 1: keys are stretched
  stretch_t stretch;
#endif
#if EQUALIZES
  u32 equalized;  // 1: keys are equalized, by mine->entries
  cells_t cells;
#endif
} verdict_t;
// Ranges of the leading bits that have 64 samples each, if keys are uniform.
#define COARSE min((u32)BUCKETS, max((u32)(SAMPLES * WG) / 64, 1u))
// Thresholds for the samples; see SampleLimits in msd_shape.hpp.
typedef struct {
  u32 crowd, pairs, map_crowd, map_crowded, pivot, repeats, rare, lead, coarse, stretch_coarse;
  u32 frequent;  // 1: frequent keys may be counted or encoded
#if EQUALIZES
  u32 equalized_crowd;
  u32 sample_records;  // 256 times the records that a sample stands for
  u32 capacity;        // the most records of a bucket
#endif
} limits_t;

#if STRETCHES || EQUALIZES || MAPS
// Returns how many 8-bit digits of the orders differ between samples; `any` is the order of one of
// them. mine->differ must be 0. Contains a barrier.
INLINE u32 count_digits(LOCAL msd_count_memory_t* mine, const ukey_t* sample, ukey_t any) {
  ukey_t differ = 0;
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) differ |= key_order(sample[i]) ^ any;
  wg_or(&mine->differ[0], (u32)differ);
#if KEY_BITS == 64
  wg_or(&mine->differ[1], (u32)(differ >> 32));
#endif
  barrier_local();
  u32 digits = 0;
  UNROLL
  for (u32 d = 0; d < KEY_BITS / 8; ++d)
    digits += (mine->differ[d / 4] >> 8 * (d % 4) & 255) != 0 ? 1u : 0u;
  return digits;
}
#endif

#if EQUALIZES || SPREAD_BITS
// Returns the square root, within 3 % and 1; at least 1.
INLINE u32 root(u32 x) {
  u32 r = 2u << highest_bit32(x | 1) / 2;
  UNROLL
  for (u32 round = 0; round < 2; ++round) r = (r + x / r + 1) / 2;
  return r;
}
#endif

#if TELLS_REPEATS || FREQUENT
// Returns the sum of `x` over all work-items, and sets mine->counts to 0. Ends with a barrier.
INLINE u32 sum_and_clear(LOCAL msd_count_memory_t* mine, u32 x) {
  index_t all;
  wg_scan_add(mine->scratch, WG, (index_t)x, &all);
  for (u32 i = local_id(); i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  barrier_local();
  return (u32)all;
}

// 32 bits, of which the upper ones depend on all bits of the key.
#if KEY_BITS == 64
#define HASHED(key) ((u32)((((key) + 1) * 0x9e3779b97f4a7c15ul) >> 32))
#else
#define HASHED(key) (((u32)(key) + 1) * 0x9e3779b1u)
#endif

// Returns how many samples have the key of another sample. Every sample hashes its key to a tag and
// a word of a table, in which the largest tag stays. In each used word, the samples that find their
// own tag have the same key, so all of them except one are counted. mine->counts must be 0 and is 0
// afterwards. Contains barriers.
INLINE u32 count_repeats(LOCAL msd_count_memory_t* mine, const ukey_t* sample) {
  const u32 t = local_id();
  u32 tag[SAMPLES], repeats = 0;  // a tag has all hash bits except one
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) {
    tag[i] = HASHED(sample[i]) | 1;
    local_max(&mine->counts[tag[i] >> (32 - highest_bit32(COUNT_WORDS))], tag[i]);
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i)
    repeats += mine->counts[tag[i] >> (32 - highest_bit32(COUNT_WORDS))] == tag[i] ? 1u : 0u;
  for (u32 i = t; i < COUNT_WORDS; i += WG) repeats -= mine->counts[i] != 0 ? 1u : 0u;
  return sum_and_clear(mine, repeats);
}
#endif

#if FREQUENT_SINGLES
// Returns how many samples have a key of no other sample. Samples of different keys that share a
// word are missed: few, unless most samples are the only ones of their key. mine->counts is 0
// afterwards. Contains barriers.
INLINE u32 count_singles(LOCAL msd_count_memory_t* mine, const ukey_t* sample) {
  const u32 t = local_id();
  u32 singles = 0;
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  barrier_local();
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i)
    local_add(&mine->counts[HASHED(sample[i]) >> (32 - highest_bit32(COUNT_WORDS))], 1u);
  barrier_local();
  for (u32 i = t; i < COUNT_WORDS; i += WG) singles += mine->counts[i] == 1 ? 1u : 0u;
  return sum_and_clear(mine, singles);
}
#endif

#if FEW_DIGITS
// A value of a digit is rare if at most one sample in 64 has it. Returns 1 if, in every 8-bit digit
// of the key, at most `most` samples have rare values. Contains barriers.
INLINE u32 digits_are_few(LOCAL msd_count_memory_t* mine, const ukey_t* sample, u32 most) {
  const u32 t = local_id(), digits = KEY_BITS / 8;
  for (u32 i = t; i < digits * 256; i += WG) mine->counts[i] = 0;
  if (t < digits) mine->rare[t] = 0;
  barrier_local();
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) UNROLL
  for (u32 d = 0; d < KEY_BITS / 8; ++d)
    local_add(&mine->counts[d * 256 + ((u32)(key_order(sample[i]) >> 8 * d) & 255)], 1u);
  barrier_local();
  for (u32 i = t; i < digits * 256; i += WG)
    if (mine->counts[i] <= SAMPLES * WG / 64) local_add(&mine->rare[i / 256], mine->counts[i]);
  barrier_local();
  u32 few = 0;
  UNROLL
  for (u32 d = 0; d < KEY_BITS / 8; ++d) few += mine->rare[d] <= most ? 1u : 0u;
  return few == digits;
}
#endif

// Returns how many samples are in excess: they are in a bucket that already has `crowd` samples.
// bucket[i] is the bucket of this work-item's sample i. `coarse`: 1 if these are ranges of buckets,
// which have a word each, because narrow counts would overflow. There are `buckets` of them.
// mine->counts, mine->crowded and mine->pairs must be 0 and are 0 afterwards. A sample whose bucket
// is NO_BUCKET is left out. Sets *all_pairs to the number of pairs of samples that are in the same
// bucket. Contains barriers.
#define NO_BUCKET (~0u)
INLINE u32 count_crowded(LOCAL msd_count_memory_t* mine, const u32* bucket, u32 samples, u32 crowd,
                         u32 coarse, u32 buckets, u32* all_pairs) {
  const u32 t = local_id(), words = coarse ? buckets : max(buckets / PER_WORD, 1u);
  u32 crowded = 0, pairs = 0;
  UNROLL
  for (u32 i = 0; i < samples; ++i) {
    if (bucket[i] == NO_BUCKET) continue;
    const u32 before =
        coarse ? local_add(&mine->counts[bucket[i]], 1u)
               : COUNT_OF(local_add(&mine->counts[bucket[i] / PER_WORD], 1u << PLACE(bucket[i])),
                          bucket[i]);
    crowded += before >= crowd ? 1u : 0u;
    pairs += before;
  }
  if (crowded != 0) local_add(&mine->crowded, crowded);
  if (pairs != 0) local_add(&mine->pairs, pairs);
  barrier_local();
  const u32 all = mine->crowded;
  *all_pairs = mine->pairs;
  for (u32 i = t; i < words; i += WG) mine->counts[i] = 0;
  barrier_local();
  if (t == 0) mine->crowded = mine->pairs = 0;
  barrier_local();
  return all;
}

// Returns 1 if no bucket has more than limits.crowd samples, at most limits.pairs pairs of samples
// share a bucket, and no range of buckets has more than `coarse` samples. One bucket has too few
// samples to show that it is somewhat too full; all pairs together show it. May replace bucket[i]
// by its range. Contains barriers.
INLINE u32 samples_spread(LOCAL msd_count_memory_t* mine, u32* bucket, limits_t limits,
                          u32 coarse) {
  u32 pairs;
  if (count_crowded(mine, bucket, SAMPLES, limits.crowd, 0, BUCKETS, &pairs) != 0) return 0;
  if (pairs > limits.pairs) return 0;
#if MAPS || SPREAD_BITS || STRETCHES
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i)
    if (bucket[i] != NO_BUCKET) bucket[i] >>= highest_bit32(BUCKETS / COARSE);
  if (count_crowded(mine, bucket, SAMPLES, coarse, 1, COARSE, &pairs) != 0) return 0;
#endif
  return 1;
}

#if MAPS || EQUALIZES || FREQUENT
// Sets the first `count` words of mine->counts to 0.
INLINE void clear_counts(LOCAL msd_count_memory_t* mine, u32 count) {
  barrier_local();
  for (u32 i = local_id(); i < count; i += WG) mine->counts[i] = 0;
  barrier_local();
}
#endif
