// msd: reaches the verdict from the samples, and finds the bucket of a key by it. The files
// msd_samples.cl, msd_spread.cl and msd_make_map.cl come before this one. "Order" is short for a
// key's order bits.

#if STRETCHES
// ---- Stretched keys ----
// Sets *s for keys whose sampled orders are from `least` to `largest`. The range is a 64th wider
// than the samples' at both ends, and at least so wide that the scale is at most 2^STRETCH_MOST.
// Returns 0 if that would not spread keys better than their leading bits do.
INLINE u32 choose_stretch(ukey_t least, ukey_t largest, stretch_t* s) {
  const ukey_t all = (ukey_t) ~(ukey_t)0, margin = (largest - least) / 64 + 1,
               narrowest = all >> STRETCH_MOST;
  s->is = 1;
  s->least = least - min(margin, least);
  s->last = max(largest + min(margin, (ukey_t)(all - largest)) - s->least, narrowest);
  s->least = min(s->least, (ukey_t)(all - s->last));
#if KEY_BITS == 64
  s->up = 63 - highest_bit(s->last);
  // width << up is more than 2^63; 0 stands for 2^64. `rest` is what is missing to 2^64.
  const u64 filled = (s->last + 1) << s->up, rest = 0 - filled;
  s->part = (u32)min((rest >> 1) / ((filled >> 33) + 1), (u64)0xffffffff);
  s->inverse = (u32)(~(u64)0 / (((u64)1 << 32) + s->part));
#else
  const u64 scale = ~(u64)0 / ((u64)s->last + 1);
  s->times = (u32)(scale >> 32);
  s->part = (u32)scale;
#endif
  return s->last <= all - all / 16;  // a wider range would fill buckets by 6 % less, or nothing
}

INLINE u32 stretched_bucket(stretch_t s, ukey_t key) {
  return (u32)(stretched_order(s, key) >> (KEY_BITS - highest_bit32(BUCKETS)));
}

// Sets *stretch, and returns 1 if the samples spread over the buckets of stretched keys. Contains
// barriers.
INLINE u32 try_stretch(LOCAL msd_count_memory_t* mine, const ukey_t* sample, limits_t limits,
                       stretch_t* stretch) {
  ukey_t least = (ukey_t) ~(ukey_t)0, largest = 0;
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) {
    least = min(least, key_order(sample[i]));
    largest = max(largest, key_order(sample[i]));
  }
  find_edges(mine->edges, &least, &largest);
  // A map uses the edges again. First, all work-items must have read them.
  barrier_local();
  if (local_id() < 4) mine->edges[local_id()] = 0;
  barrier_local();
  if (!choose_stretch(least, largest, stretch)) return 0;
  u32 bucket[SAMPLES];
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) bucket[i] = stretched_bucket(*stretch, sample[i]);
  return samples_spread(mine, bucket, limits, limits.stretch_coarse);
}
#endif

// ---- The count's buckets by leading bits ----
#if SPREAD_BITS
INLINE u32 bucket_of_spread(ukey_t order, u32 entry, u32 shift) {
#if BUCKET_BITS >= SPREAD_BITS
  const u32 low = (u32)(order >> (KEY_BITS - 32)) & ((1u << LEAD_LOW) - 1);
  return ((entry >> 8) + (low >> (entry & 31))) & (BUCKETS - 1);
#else
  return (u32)(spread_order(order, entry) >> shift) & (BUCKETS - 1);
#endif
}
#endif

// Returns the key's bucket. `mapped` must be a compile-time constant: 0, 1, WITH_PIVOTS if the map
// has pivots, STRETCHED or EQUALIZED. If the key cannot be stretched, sets *others to 1. If the key
// is mapped and may tie (TIES_MATTER), sets *others to 1. With SPREAD_BITS: if the key is not
// mapped and may tie, or if its lead has no spread orders, sets *others to 1 and returns a
// meaningless number. With CLASS_DIGITS, the bucket then has the bit HAS_CLASS instead.
#define WITH_PIVOTS 2
#define STRETCHED 3
#define EQUALIZED 4
INLINE u32 bucket_of(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, verdict_t v, u32 mapped,
                     u32* others) {
#if STRETCHES
  if (mapped == STRETCHED) {
    if (!in_stretch(v.stretch, key)) *others = 1;
    return stretched_bucket(v.stretch, key);
  }
#endif
#if EQUALIZES
  if (mapped == EQUALIZED) return bucket_of_order32(mine->entries, v.cells, key_order(key));
#endif
#if MAPS
  if (mapped) {
#if TIES_MATTER
    if (key_ties(key)) *others = 1;
#endif
    return bucket_of_order(&mine->map, v.window, key_order(key), mapped == WITH_PIVOTS);
  }
#endif
#if SPREAD_BITS
  const ukey_t order = untied_order(key);
  const u32 entry = mine->spread[spread_index(order)];
#if CLASS_DIGITS
  return bucket_of_spread(order, entry, shift) | (entry & HAS_CLASS);
#else
  if (entry >= HAS_CLASS && (entry == SPREAD_NONE || key_ties(key))) *others = 1;
  return bucket_of_spread(order, entry, shift);
#endif
#else
  return key_digit(key, shift, BUCKETS - 1);
#endif
}

#if CLASS_DIGITS
// What kinds of keys a list has: zeros and NaNs, and other keys that may have the same leads.
#define KIND_DENORMAL 1u
#define KIND_BESIDE_NAN 2u  // no member, with a lead that NaNs have
#define KIND_NEGATIVE_ZERO 4u
#define KIND_ZERO 8u
#define KIND_NEGATIVE_NAN 16u  // the NaNs that arithmetic makes
#define KIND_NAN 32u
#define KIND_OTHER_NAN 64u
// Returns 1 if members of a class cannot have a digit of their own: other keys need the same lead,
// or their bits differ and must not.
INLINE u32 need_other_ways(u32 kinds) {
  const u32 zeros = kinds & (KIND_ZERO | KIND_NEGATIVE_ZERO),
            nans = kinds & (KIND_NAN | KIND_NEGATIVE_NAN | KIND_OTHER_NAN);
  if ((kinds & KIND_DENORMAL) && (kinds & KIND_NEGATIVE_ZERO)) return 1;
  if (nans != 0 && (kinds & KIND_BESIDE_NAN)) return 1;
  return CLASS_DIGITS == 2 && (zeros == (KIND_ZERO | KIND_NEGATIVE_ZERO) ||
                               (nans != 0 && nans != KIND_NAN && nans != KIND_NEGATIVE_NAN));
}
// Like bucket_of, but accepts any key. For a member of a class, adds 1 to its number in *members
// and returns NO_BUCKET. Sets *misfits to 1 if no spread orders are planned for the key's lead.
// Sets the key's KIND bits in *kinds.
INLINE u32 bucket_or_class(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, u32* members,
                           u32* misfits, u32* kinds) {
  const u32 negative = (u32)(key >> (KEY_BITS - 1));
  if (has_class(key)) {
    const u32 nan = is_nan(key);
    *members += nan ? ONE_NAN : ONE_ZERO;
    const u32 of_nan = KEY_MAGNITUDE(key) != QUIET_NAN ? KIND_OTHER_NAN
                       : negative                      ? KIND_NEGATIVE_NAN
                                                       : KIND_NAN;
    *kinds |= nan ? of_nan : negative ? KIND_NEGATIVE_ZERO : KIND_ZERO;
    return NO_BUCKET;
  }
  if (KEY_MAGNITUDE(key) < (ukey_t)1 << SPREAD_LOW) *kinds |= KIND_DENORMAL;
  const ukey_t order = untied_order(key);
  const u32 lead = spread_index(order), entry = mine->spread[lead];
  if (lead == 0 || lead == OTHER_NAN_LEAD) *kinds |= KIND_BESIDE_NAN;
  if (entry == SPREAD_NONE) *misfits = 1;
  return bucket_of_spread(order, entry & ~HAS_CLASS, shift);
}
#endif

// ---- The verdict ----
// A number in place of sample i of work-item t. It is unlike other samples, so this sample does not
// count as a repetition.
#define UNLIKE_OTHERS(i) (ukey_t)(((i)*WG + t) * 0x9e3779b97f4a7c15ul)
// By pointer: the simulator Oclgrind cannot inline a function that returns so large a structure.
INLINE void judge(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, u32 shift,
                  limits_t limits, GLOBAL u32* spread, GLOBAL u32* back, verdict_t* verdict) {
  verdict_t v;
  v.skewed = v.mapped = v.ties = 0;
#if STRETCHES
  v.stretched = v.stretch.is = 0;
#endif
#if EQUALIZES
  v.equalized = 0;
#endif
#if SAMPLES
  const u32 t = local_id();
  u32 spreads = 1, repeats = 0, members = 0, others = 0, kinds = 0;
  ukey_t sample[SAMPLES];
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) sample[i] = samples[(i * WG + t) * (GATHERED / SAMPLES)];
#if KEY_FLOAT
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) v.ties |= needs_ties(sample[i], 1);
#endif
#if SPREAD_BITS
  // One or two parts tell too little about where a lead is dense. A map then spreads more lists.
  spreads = !MAPS || LEAD_PARTS >= 4;
  if (spreads) {
    count_parts(mine, sample);
    spreads = make_spread(mine, spread, back, limits.lead);
  }
#endif
#if CLASS_DIGITS && TELLS_REPEATS
  const u32 has_spread = spreads;
#endif
#if TELLS_REPEATS
  repeats = count_repeats(mine, sample);
  if (repeats > limits.repeats) spreads = 0;
#if CLASS_DIGITS
  // Members of a class repeat, but do no harm.
  if (!spreads && has_spread) {
    ukey_t others_only[SAMPLES];
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i)
      others_only[i] = has_class(sample[i]) ? UNLIKE_OTHERS(i) : sample[i];
    spreads = count_repeats(mine, others_only) <= limits.repeats;
  }
#endif
#endif
  if (spreads) {
    u32 bucket[SAMPLES];
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i)
#if CLASS_DIGITS
      bucket[i] = bucket_or_class(mine, sample[i], shift, &members, &others, &kinds);
#else
      bucket[i] = bucket_of(mine, sample[i], shift, v, 0, &others);
#endif
#if CLASS_DIGITS
    if (kinds != 0) local_or(&mine->kinds, kinds);
#endif
    spreads = samples_spread(mine, bucket, limits, limits.coarse);
#if CLASS_DIGITS
    if (!SETS_ASIDE && need_other_ways(mine->kinds)) spreads = 0;
    barrier_local();
    if (t == 0) mine->kinds = 0;
    barrier_local();
#endif
#if SPREAD_BITS && !CLASS_DIGITS
    index_t all_others;
    wg_scan_add(mine->scratch, WG, others, &all_others);
    if (all_others != 0) spreads = 0;  // keys that tie
#endif
  }
  u32 frequent = 0;  // 1: frequent keys are counted or encoded if the list is not partitioned
#if FREQUENT
  if (!spreads) {
#if !TELLS_REPEATS
    clear_counts(mine, COUNT_WORDS);
    repeats = count_repeats(mine, sample);
#endif
    frequent = limits.frequent && repeats >= FREQUENT_LEAST;
#if FREQUENT_SINGLES
    if (frequent) frequent = count_singles(mine, sample) <= FREQUENT_SINGLES;
#endif
  }
#endif
  // If hardly any key is rare, counting takes less time than partitioning.
  const u32 all_frequent = frequent && repeats >= FREQUENT_ALL;
#if STRETCHES || EQUALIZES || MAPS
  // Passes leave out digits that all keys share. Over few digits, they take less time.
  u32 digits = 0;
  if (!spreads && !all_frequent) digits = count_digits(mine, sample, key_order(samples[0]));
#endif
#if STRETCHES
  if (digits >= STRETCH_DIGITS && repeats <= limits.repeats)
    spreads = v.stretched = try_stretch(mine, sample, limits, &v.stretch);
#endif
#if EQUALIZES
  if (!spreads && digits >= MAP_DIGITS)
    spreads = v.equalized =
        try_equalizer(mine, samples, limits.sample_records, limits.capacity, limits.equalized_crowd,
                      repeats > limits.repeats, &v.cells);
#endif
#if MAPS
  if (!spreads && digits >= MAP_DIGITS)
    spreads = v.mapped = try_map(mine, samples, limits, &v.window);
#if TELLS_REPEATS || FREQUENT
  // Frequent keys do no harm if they are pivots. Other keys that repeat crowd the bins. Floats of
  // which few samples repeat stay mapped, because passes over floats are slow.
  if (v.mapped && repeats > limits.repeats && (TELLS_REPEATS || repeats >= FREQUENT_LEAST)) {
    ukey_t others_only[SAMPLES];
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i)
      others_only[i] =
          is_pivot(mine, v.window, key_order(sample[i])) ? UNLIKE_OTHERS(i) : sample[i];
    spreads = v.mapped = count_repeats(mine, others_only) <= limits.repeats;
  }
#endif
#endif
  if (!spreads) {
    v.skewed = 1;
#if FREQUENT
    if (frequent) v.skewed = FREQUENT;
#endif
#if FEW_DIGITS
    if (digits_are_few(mine, sample, limits.rare)) v.skewed = FEW_DIGITS | (v.skewed & FREQUENT);
#endif
  }
#endif
  *verdict = v;
}
