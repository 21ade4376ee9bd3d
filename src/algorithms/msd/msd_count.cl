// msd, lists above 2^21 records: how many keys each bucket has, where each bucket begins, and
// whether the keys spread over the buckets. A bucket is a value of the keys' leading bits. Two
// kernels:
//   msd_start  clears memory and puts samples of the keys side by side
//   msd_count  looks at the samples, counts all keys, and finds where buckets begin
// Their inputs and outputs stand at the kernels.

PARAMETER(WG)             // work-items of a work-group of msd_count
PARAMETER(ITEMS)          // keys of a work-item at a time
PARAMETER(START_WG)       // work-items of a work-group of msd_start
PARAMETER(BUCKETS)        // buckets, a power of two
PARAMETER(COUNT_BITS)     // bits of a bucket's count in local memory: 16, 8 or 4
PARAMETER(COUNT_WORDS)    // words for the counts, or for what the samples need; a power of two
PARAMETER(SAMPLES)        // samples of each work-item of msd_count; 0: none
PARAMETER(TELLS_REPEATS)  // 1: samples tell whether keys repeat
PARAMETER(FEW_DIGITS)     // not 0: samples tell whether most digits have few values, and *skewed
                          // then becomes this value
PARAMETER(SPREAD_BITS)    // not 0: keys are floats, and go by spread orders with so many leading
                          // bits
PARAMETER(BUCKET_BITS)    // with SPREAD_BITS: log2(BUCKETS)

// COUNT_OF(word, bucket): the bucket's count in its word of local memory.
#define PER_WORD (32 / COUNT_BITS)
#define COUNT_MOST ((1u << COUNT_BITS) - 1)
#define PLACE(bucket) ((bucket) % PER_WORD * COUNT_BITS)
#define COUNT_OF(word, bucket) ((word) >> PLACE(bucket) & COUNT_MOST)

// count_bytes() in msd_shape.cpp computes its size.
typedef struct {
  u32 counts[COUNT_WORDS];
#if SPREAD_BITS
  u32 spread[1 << SPREAD_BITS];            // samples of each lead, then the table
  u32 exponents[(1 << SPREAD_BITS) / 64];  // exponents that samples have, a bit each
#endif
  index_t scratch[SCAN_WORDS(WG)];
  u32 crowded;              // not 0: a bucket has too many samples, or too many records
  u32 agree[KEY_BITS / 8];  // pairs of samples that agree in each digit
  u32 last;                 // 1: this is the last work-group of the count
} msd_count_memory_t;

#if SPREAD_BITS
// ---- Spread orders (floats) ----
// A lead is a value of an order's SPREAD_BITS leading bits: a float's sign and exponent.
#define LEADS (1u << SPREAD_BITS)
// The count's table has for each lead its first bucket, and how far the order's bits below the lead
// (of the upper 32) are shifted to find the bucket among the lead's own.
#define LEAD_LOW (32 - SPREAD_BITS)
#if BUCKET_BITS >= SPREAD_BITS
#define COUNT_ENTRY(first, log2_times)           \
  ((first) << (BUCKET_BITS - SPREAD_BITS) << 8 | \
   (LEAD_LOW - (BUCKET_BITS - SPREAD_BITS) - (log2_times)))
#else
#define COUNT_ENTRY(first, log2_times) spread_entry(first, log2_times)
#endif
// Marks the leads of zeros and NaNs: only their keys are checked for ties.
#define MAY_TIE 0x80000000u
// Returns a float's exponent from its order's lead (NanOrder::first moves it by one).
INLINE u32 exponent_of(u32 lead) {
  return lead < LEADS / 2 ? LEADS / 2 - 1 - lead : lead - LEADS / 2;
}

// Makes the table of spread orders from mine->spread, which counts the samples of each lead. A
// lead's space doubles until its buckets have at most `most` / 256 samples. Leads without samples
// keep the space that they have in the plain order, as far as there is space: the largest exponents
// first, since numbers of that size come by chance; and zero. Work-group 0 writes `table` (from
// leads to spread orders) and `back` (from spread orders to leads). Returns 0 if there is not
// enough space.
#define EXPONENTS_ABOVE 2u  // exponents that samples may have missed
#define EXPONENTS_BELOW 48u
INLINE u32 make_spread(LOCAL msd_count_memory_t* mine, GLOBAL u32* table, GLOBAL u32* back,
                       u32 most) {
  const u32 t = local_id(), own = LEADS > WG ? LEADS / WG : 1;
  const u32 begin = min(t * own, LEADS), end = min(begin + own, LEADS);
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 e = exponent_of(lead);
    if (mine->spread[lead] != 0) local_or(&mine->exponents[e / 32], 1u << e % 32);
  }
  barrier_local();
  u32 least = LEADS, largest = 0;
  for (u32 w = 0; w < LEADS / 64; ++w) {
    u32 word = mine->exponents[w];
    if (w == 0) word &= ~1u;                        // zero and what is next to it
    if (w == LEADS / 64 - 1) word &= ~(u32)0 >> 1;  // infinities
    if (word == 0) continue;
    if (least == LEADS) least = w * 32 + highest_bit32(word & (0u - word));
    largest = w * 32 + highest_bit32(word);
  }
  // Space for the leads that samples have, and for all exponents between.
  index_t sum = 0, all;
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 e = exponent_of(lead), seen = mine->spread[lead];
    u32 log2_times = 0;
    if (seen != 0) {
      // With so many samples there may be so many more.
      const u32 likely = (seen + 4 + (1u << highest_bit32(seen) / 2)) * 256;
      while (likely > most << log2_times && log2_times < SPREAD_BITS) ++log2_times;
    }
    mine->spread[lead] = log2_times;
    sum += e == 0 || e == LEADS / 2 - 1 || (e >= least && e <= largest + EXPONENTS_ABOVE)
               ? 1u << log2_times
               : 0;
  }
  wg_scan_add(mine->scratch, WG, sum, &all);
  if (all > LEADS) return 0;
  const u32 below = min(EXPONENTS_BELOW, (u32)(LEADS - all) / 2);
  // The tables.
  sum = 0;
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 e = exponent_of(lead);
    const u32 has_space =
        e == 0 || e == LEADS / 2 - 1 || (e + below >= least && e <= largest + EXPONENTS_ABOVE);
    mine->spread[lead] = has_space ? mine->spread[lead] : SPREAD_NONE;
    sum += has_space ? 1u << mine->spread[lead] : 0;
  }
  u32 first = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 log2_times = mine->spread[lead];
    if (log2_times != SPREAD_NONE) {
      const u32 e = exponent_of(lead);
      mine->spread[lead] =
          COUNT_ENTRY(first, log2_times) | (e == 0 || e == LEADS / 2 - 1 ? MAY_TIE : 0);
      if (group_id() == 0) {
        table[lead] = spread_entry(first, log2_times);
        for (u32 i = 0; i < 1u << log2_times; ++i)
          back[first + i] = gather_entry(lead, first, log2_times);
      }
      first += 1u << log2_times;
    }
  }
  barrier_local();
  return 1;
}

#endif

// ---- The count ----

// Returns the key's bucket. With SPREAD_BITS, sets *misfits if the key ties or has no space in the
// table; the bucket then has no meaning.
INLINE u32 bucket_of(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, u32* misfits) {
#if SPREAD_BITS
  const ukey_t order = untied_order(key);
  const u32 entry = mine->spread[spread_index(order)];
  if (entry >= MAY_TIE && (entry == SPREAD_NONE || key_ties(key))) *misfits = 1;
#if BUCKET_BITS >= SPREAD_BITS
  const u32 low = (u32)(order >> (KEY_BITS - 32)) & ((1u << LEAD_LOW) - 1);
  return ((entry >> 8) + (low >> (entry & 31))) & (BUCKETS - 1);
#else
  return (u32)(spread_order(order, entry) >> shift) & (BUCKETS - 1);
#endif
#else
  return key_digit(key, shift, BUCKETS - 1);
#endif
}

// Adds `what` to a bucket's count in local memory.
INLINE void count_bucket(LOCAL u32* counts, GLOBAL u32* global_counts, u32 bucket, u32 what) {
  LOCAL u32* word = &counts[bucket / PER_WORD];
#if COUNT_BITS == 16
  // When a count becomes half full, that half moves to the global count. All work-items together
  // cannot fill the other half before.
  const u32 half_full = (COUNT_MOST + 1) / 2,
            before = COUNT_OF(local_add(word, what << PLACE(bucket)), bucket);
  if (before < half_full && before + what >= half_full) {
    local_add(word, 0u - (half_full << PLACE(bucket)));
    global_add(&global_counts[bucket], half_full);
  }
#else
  // Counts this narrow overflow. The word before the addition tells how far the carry goes, and the
  // global counts correct it: 2^COUNT_BITS more for a full count, 1 less for its neighbour.
  if (what != 1) {
    global_add(&global_counts[bucket], what);
    return;
  }
  u32 rest = local_add(word, 1u << PLACE(bucket)) >> PLACE(bucket);
  for (u32 at = bucket; (rest & COUNT_MOST) == COUNT_MOST; rest >>= COUNT_BITS) {
    global_add(&global_counts[at], COUNT_MOST + 1);
    if (++at % PER_WORD == 0) break;  // the carry left the word
    global_add(&global_counts[at], 0u - 1);
  }
#endif
}

// Clears memory, and puts samples of the keys side by side.
//   keys      in
//   samples   out: samples[i] = keys[i * apart], for i < sampled
//   skewed    out: a word, becomes 0
//   cleared   out: `words` words become 0
KERNEL(START_WG)
void msd_start(GLOBAL const ukey_t* keys, GLOBAL ukey_t* samples, u32 sampled, u64 apart,
               GLOBAL u32* skewed, GLOBAL u32* cleared, u64 words) {
  const u64 at = (u64)group_id() * START_WG + local_id(), all = (u64)group_count() * START_WG;
  // A work-group takes neighbouring samples, so that it touches few pages of memory.
  const u32 own = (sampled + group_count() - 1) / group_count(),
            end = min((group_id() + 1) * own, sampled);
  for (u32 i = group_id() * own + local_id(); i < end; i += START_WG) samples[i] = keys[i * apart];
  for (u64 i = at; i < words; i += all) cleared[i] = 0;
  if (at == 0) *skewed = 0;
}

#if TELLS_REPEATS || (FEW_DIGITS && SPREAD_BITS)
// Returns how many samples repeat another one's key. Each sample puts a tag of its key into a
// table, where the largest tag stays; of the samples that find their own tag there, all but one for
// each word repeat. mine->counts is 0 before and after. With barriers.
INLINE u32 count_repeats(LOCAL msd_count_memory_t* mine, const ukey_t* sample) {
  const u32 t = local_id();
  u32 tag[SAMPLES], repeats = 0;  // tags of different keys differ, but for one bit
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) {
#if KEY_BITS == 64
    tag[i] = (u32)((sample[i] * 0x9e3779b97f4a7c15ul) >> 32) | 1;
#else
    tag[i] = (u32)sample[i] * 0x9e3779b1u | 1;
#endif
    local_max(&mine->counts[tag[i] >> (32 - highest_bit32(COUNT_WORDS))], tag[i]);
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i)
    repeats += mine->counts[tag[i] >> (32 - highest_bit32(COUNT_WORDS))] == tag[i] ? 1u : 0u;
  for (u32 i = t; i < COUNT_WORDS; i += WG) repeats -= mine->counts[i] != 0 ? 1u : 0u;
  index_t all;
  wg_scan_add(mine->scratch, WG, (index_t)repeats, &all);
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  barrier_local();
  return (u32)all;
}
#endif

#if FEW_DIGITS
// Returns 1 if in every 8-bit digit of a key more than `most` pairs of samples agree: few values of
// each digit have most keys. With barriers.
INLINE u32 digits_are_few(LOCAL msd_count_memory_t* mine, const ukey_t* sample, u32 most) {
  const u32 t = local_id(), digits = KEY_BITS / 8;
  for (u32 i = t; i < digits * 256; i += WG) mine->counts[i] = 0;
  if (t < digits) mine->agree[t] = 0;
  barrier_local();
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) UNROLL
  for (u32 d = 0; d < KEY_BITS / 8; ++d)
    local_add(&mine->counts[d * 256 + ((u32)(key_order(sample[i]) >> 8 * d) & 255)], 1u);
  barrier_local();
  for (u32 i = t; i < digits * 256; i += WG)
    local_add(&mine->agree[i / 256], mine->counts[i] * mine->counts[i]);
  barrier_local();
  u32 few = 0;
  UNROLL
  for (u32 d = 0; d < KEY_BITS / 8; ++d) few += mine->agree[d] > most ? 1u : 0u;
  return few == digits;
}
#endif

// Called by the last work-group of the count. starts[b] becomes the number of records in all
// buckets before b; starts[BUCKETS] = n. Returns 0 if a bucket has more than `capacity` records.
#define BUCKET_ROWS (BUCKETS > WG ? BUCKETS / WG : 1)  // rows of lanes in a sub-group's buckets
#define ROWS_AT_ONCE (BUCKET_ROWS < 8 ? BUCKET_ROWS : 8)
INLINE u32 start_buckets(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL u32* counts,
                         GLOBAL u32* starts, u64 n, u32 capacity) {
  // Sum. A sub-group has neighbouring buckets, and neighbouring lanes have neighbours of these.
  const u32 first = sg_index() * (BUCKET_ROWS * SG_LANES) + sg_lane();
  u32 sum = 0, too_many = 0;
  for (u32 base = 0; base < BUCKET_ROWS; base += ROWS_AT_ONCE) UNROLL
  for (u32 i = 0; i < ROWS_AT_ONCE; ++i) {
    const u32 bucket = first + (base + i) * SG_LANES,
              count = bucket < BUCKETS ? load_relaxed(&counts[bucket]) : 0;
    sum += count;
    too_many |= count > capacity;
  }
  if (too_many) local_or(&mine->crowded, 1u);
  index_t all;
  u32 at = sg_shuffle(sg, (u32)wg_scan_add(mine->scratch, WG, sum, &all), 0);
  // Scan, row by row.
  for (u32 base = 0; base < BUCKET_ROWS; base += ROWS_AT_ONCE) {
    u32 count[ROWS_AT_ONCE];
    UNROLL
    for (u32 i = 0; i < ROWS_AT_ONCE; ++i) {
      const u32 bucket = first + (base + i) * SG_LANES;
      count[i] = bucket < BUCKETS ? load_relaxed(&counts[bucket]) : 0;
    }
    UNROLL
    for (u32 i = 0; i < ROWS_AT_ONCE; ++i) {
      const u32 bucket = first + (base + i) * SG_LANES;
      const u32 inclusive = (u32)sg_scan_add(sg, count[i]);
      if (bucket < BUCKETS) starts[bucket] = at + inclusive - count[i];
      at += sg_shuffle(sg, inclusive, SG_LANES - 1);
    }
  }
  if (local_id() == 0) starts[BUCKETS] = (u32)n;
  return !mine->crowded;
}

// Counts the keys of each bucket, which is the value of a key's order from bit `shift` on. If the
// samples show that keys do not spread, sets *skewed and counts nothing.
//   keys          in: n keys
//   samples       in: SAMPLES * WG of them
//   counts        work space: a word for each bucket, 0 at first
//   skewed        in and out: 0 at first. Becomes 1 if more than `crowd` samples (at most
//   COUNT_MOST)
//                 fall into one bucket, if more than `repeats_most` samples repeat a key
//                 (TELLS_REPEATS), or if a bucket has more than `capacity` records; FEW_DIGITS if
//                 also more than `few_repeats` samples repeat a key, or digits_are_few with
//                 `few_agree`. With SPREAD_BITS also 1 if keys tie or have no space in the table
//   spread, back  out, SPREAD_BITS: the tables of make_spread, with `lead_most`
//   done          work space: two words, 0 at first
//   starts        out: BUCKETS + 1 words, see start_buckets
KERNEL(WG)
void msd_count(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples, GLOBAL u32* counts,
               GLOBAL u32* skewed, u64 n, u32 shift, u32 crowd, u32 repeats_most, u32 few_repeats,
               u32 few_agree, GLOBAL u32* spread, GLOBAL u32* back, u32 lead_most, GLOBAL u32* done,
               GLOBAL u32* starts, u32 capacity) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_count_memory_t, mine);
  const u32 t = local_id();
  u32 misfits = 0;  // not 0: a key ties or has no space in the table
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  if (t == 0) mine->crowded = 0;
#if SPREAD_BITS
  for (u32 i = t; i < LEADS; i += WG) mine->spread[i] = 0;
  for (u32 i = t; i < LEADS / 64; i += WG) mine->exponents[i] = 0;
#endif
  barrier_local();

  // Look at the samples. All work-groups look at all of them, so that they come to the same
  // verdict.
#if SAMPLES
  ukey_t sample[SAMPLES];
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) sample[i] = samples[i * WG + t];
#endif
#if SPREAD_BITS
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i)
    local_add(&mine->spread[spread_index(key_order(sample[i]))], 1u);
  barrier_local();
  u32 spreads = make_spread(mine, spread, back, lead_most);
#else
  u32 spreads = 1;
#endif
#if SAMPLES
  u32 repeats = 0;
#if TELLS_REPEATS
  repeats = count_repeats(mine, sample);
  spreads &= repeats <= repeats_most;
#endif
  if (spreads) {
    u32 too_many = 0;
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i) {
      const u32 bucket = bucket_of(mine, sample[i], shift, &misfits);
      const u32 before = local_add(&mine->counts[bucket / PER_WORD], 1u << PLACE(bucket));
      too_many |= COUNT_OF(before, bucket) >= crowd;
    }
    if (too_many) local_or(&mine->crowded, 1u);
    barrier_local();
    for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
    barrier_local();
    spreads = !mine->crowded;
  }
  if (!spreads) {
#if FEW_DIGITS
#if SPREAD_BITS  // repeats of floats matter only for the sort that follows
    repeats = count_repeats(mine, sample);
#endif
    const u32 verdict =
        digits_are_few(mine, sample, few_agree) || repeats > few_repeats ? FEW_DIGITS : 1u;
#else
    const u32 verdict = 1;
#endif
    if (group_id() == 0 && t == 0) *skewed = verdict;
    return;
  }
#endif

  // Count. If the keys of a sub-group are in one bucket, as in sorted input, one addition counts a
  // row of them.
  for (u64 base = (u64)group_id() * WG * ITEMS; base < n; base += (u64)group_count() * WG * ITEMS) {
    const u32 first = sg_index() * (ITEMS * SG_LANES) + sg_lane();
    GLOBAL const ukey_t* tile = keys + base;
    if (n - base >= WG * ITEMS) {
      u32 bucket[ITEMS];
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i)
        bucket[i] = bucket_of(mine, tile[first + i * SG_LANES], shift, &misfits);
#if SG_NATIVE
      if (sg_ballot(sg, bucket[0] != sg_shuffle(sg, bucket[0], 0)) == 0) {
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i) {
          if (sg_ballot(sg, bucket[i] != sg_shuffle(sg, bucket[i], 0)) != 0)
            count_bucket(mine->counts, counts, bucket[i], 1);
          else if (sg_lane() == 0)
            count_bucket(mine->counts, counts, bucket[i], SG_LANES);
        }
        continue;
      }
#endif
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) count_bucket(mine->counts, counts, bucket[i], 1);
    } else {
      for (u32 i = t; i < (u32)(n - base); i += WG)
        count_bucket(mine->counts, counts, bucket_of(mine, tile[i], shift, &misfits), 1);
    }
  }
  barrier_local();
  for (u32 b = t; b < BUCKETS; b += WG) {
    const u32 count = COUNT_OF(mine->counts[b / PER_WORD], b);
    if (count != 0) global_add(&counts[b], count);
  }
  if (misfits != 0) global_add(skewed, 1u);

  // The last work-group that is done finds where buckets begin.
  barrier_all();
  if (t == 0) {
    global_add_release(&done[0], 1u);
    mine->last = load_acquire(&done[0]) == group_count() ? global_add(&done[1], 1u) == 0 : 0;
  }
  barrier_all();
  if (mine->last && !start_buckets(mine, sg, counts, starts, n, capacity) && t == 0)
    global_add(skewed, 1u);
}
