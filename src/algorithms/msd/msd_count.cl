// MSD radix sort: where each bucket, a value of the keys' leading bits, begins; and whether all of
// them are small enough for the local sort. The records then go to their buckets by onesweep's
// passes, or msd_partition's. Parameters: WG, ITEMS (of a work-item at a time), BUCKETS, COUNT_BITS
// (of a bucket's count in local memory), COUNT_WORDS (of them, and of what samples need: a power of
// two), SAMPLES (keys that each work-item of the count looks at first), TELLS_REPEATS (samples tell
// whether keys repeat), START_WG (msd_start's work-items), SPREAD_BITS (floats are counted, and go
// on, by spread orders), BUCKET_BITS (then).

#define PER_WORD (32 / COUNT_BITS)
#define COUNT_MOST ((1u << COUNT_BITS) - 1)
#define PLACE(bucket) ((bucket) % PER_WORD * COUNT_BITS)
#define COUNT_OF(word, bucket) ((word) >> PLACE(bucket) & COUNT_MOST)

typedef struct {
  u32 counts[COUNT_WORDS];
#ifdef SPREAD_BITS
  u32 spread[1 << SPREAD_BITS];  // samples, then the table
  u32 exponents[(1 << SPREAD_BITS) /
                64];  // that samples have, a bit each; on a boundary that vector loads do not cross
#endif
  index_t scratch[SCAN_WORDS(WG)];
  u32 crowded, agree[KEY_BITS / 8], last;
} msd_count_memory_t;

#ifdef SPREAD_BITS
#define LEADS (1u << SPREAD_BITS)  // values of the leading bits
// What the count itself needs is less: a value's first bucket, and how far the bits below it, those
// of an order's upper 32, are shifted to give the bucket among its own.
#define LEAD_LOW (32 - SPREAD_BITS)
#if BUCKET_BITS >= SPREAD_BITS
#define COUNT_ENTRY(room, log2_times)           \
  ((room) << (BUCKET_BITS - SPREAD_BITS) << 8 | \
   (LEAD_LOW - (BUCKET_BITS - SPREAD_BITS) - (log2_times)))
#else
#define COUNT_ENTRY(room, log2_times) spread_entry(room, log2_times)
#endif
// With the values that zeros and NaNs have, too: whether a key ties is asked of few.
#define MAY_TIE 0x80000000u
// A float's exponent from its order's leading bits (NanOrder::first moves them by one).
INLINE u32 exponent_of(u32 lead) {
  return lead < LEADS / 2 ? LEADS / 2 - 1 - lead : lead - LEADS / 2;
}

// From the samples of each value of the leading bits to the table that spreads orders. A value's
// room grows until the buckets in it have `most` / 256 samples at most. Those without samples have
// their old room, as far as there is room for all: the largest exponents first, since numbers of
// that size come by chance; and zero. False where there is not.
#define EXPONENTS_ABOVE 2u  // that samples may have missed
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
  // Room for what there are samples of, and for all exponents between.
  index_t sum = 0, all;
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 e = exponent_of(lead), seen = mine->spread[lead];
    u32 log2_times = 0;
    if (seen != 0) {
      const u32 likely = (seen + 4 + (1u << highest_bit32(seen) / 2)) *
                         256;  // what there may be where so many were seen
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
    const u32 has_room =
        e == 0 || e == LEADS / 2 - 1 || (e + below >= least && e <= largest + EXPONENTS_ABOVE);
    mine->spread[lead] = has_room ? mine->spread[lead] : SPREAD_NONE;
    sum += has_room ? 1u << mine->spread[lead] : 0;
  }
  u32 room = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 log2_times = mine->spread[lead];
    if (log2_times != SPREAD_NONE) {
      const u32 e = exponent_of(lead);
      mine->spread[lead] =
          COUNT_ENTRY(room, log2_times) | (e == 0 || e == LEADS / 2 - 1 ? MAY_TIE : 0);
      if (group_id() == 0) {
        table[lead] = spread_entry(room, log2_times);
        for (u32 i = 0; i < 1u << log2_times; ++i)
          back[room + i] = gather_entry(lead, room, log2_times);
      }
      room += 1u << log2_times;
    }
  }
  barrier_local();
  return 1;
}

#endif

INLINE u32 bucket_of(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, u32* misfits) {
#ifdef SPREAD_BITS
  const ukey_t order = untied_order(key);
  const u32 entry = mine->spread[spread_index(order)];
  if (entry >= MAY_TIE && (entry == SPREAD_NONE || key_ties(key))) *misfits = 1;
#if BUCKET_BITS >= SPREAD_BITS
  const u32 low = (u32)(order >> (KEY_BITS - 32)) & ((1u << LEAD_LOW) - 1);
  return ((entry >> 8) + (low >> (entry & 31))) &
         (BUCKETS - 1);  // some bucket, where there is no room
#else
  return (u32)(spread_order(order, entry) >> shift) & (BUCKETS - 1);
#endif
#else
  return key_digit(key, shift, BUCKETS - 1);
#endif
}

// Adds `what` to a bucket's count.
INLINE void count_bucket(LOCAL u32* counts, GLOBAL u32* global_counts, u32 bucket, u32 what) {
  LOCAL u32* word = &counts[bucket / PER_WORD];
#if COUNT_BITS == 16
  // When a count becomes half full, that half moves to the global count, in time for all work-items
  // together never to overflow it.
  const u32 half_full = (COUNT_MOST + 1) / 2,
            before = COUNT_OF(local_add(word, what << PLACE(bucket)), bucket);
  if (before < half_full && before + what >= half_full) {
    local_add(word, 0u - (half_full << PLACE(bucket)));
    global_add(&global_counts[bucket], half_full);
  }
#else
  // Counts this narrow do overflow. What carries into the next bucket's is put right in the global
  // counts: the word before the addition says all of it.
  if (what != 1) {
    global_add(&global_counts[bucket], what);
    return;
  }
  u32 rest = local_add(word, 1u << PLACE(bucket)) >> PLACE(bucket);
  for (u32 at = bucket; (rest & COUNT_MOST) == COUNT_MOST; rest >>= COUNT_BITS) {
    global_add(&global_counts[at], COUNT_MOST + 1);
    if (++at % PER_WORD == 0) break;  // there is no next one in the word
    global_add(&global_counts[at], 0u - 1);
  }
#endif
}

// Clears so many words, and puts samples of the keys, so many apart, one after the other, where all
// work-groups of the count find them.
KERNEL(START_WG)
void msd_start(GLOBAL const ukey_t* keys, GLOBAL ukey_t* samples, u32 sampled, u64 apart,
               GLOBAL u32* overfull, GLOBAL u32* cleared, u64 words) {
  const u64 at = (u64)group_id() * START_WG + local_id(), all = (u64)group_count() * START_WG;
  // Neighbouring samples by one work-group, so that it has few pages of memory to find.
  const u32 own = (sampled + group_count() - 1) / group_count(),
            end = min((group_id() + 1) * own, sampled);
  for (u32 i = group_id() * own + local_id(); i < end; i += START_WG) samples[i] = keys[i * apart];
  for (u64 i = at; i < words; i += all) cleared[i] = 0;
  if (at == 0) *overfull = 0;
}

#if TELLS_REPEATS || (defined(FEW_DIGITS) && defined(SPREAD_BITS))
// How many samples have a key that another one has, too: of those that meet at a word, one key's.
// The counts are 0 before and after. With barriers.
INLINE u32 count_repeats(LOCAL msd_count_memory_t* mine, const ukey_t* sample) {
  const u32 t = local_id();
  u32 tag[SAMPLES], repeats = 0;  // tags differ where keys do, but for one bit
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

#ifdef FEW_DIGITS
// Whether two samples agree in a digit of 8 bits more than `most` times, for each of a key's
// digits: a few values are more of them than others. With barriers.
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

// By the last work-group of the count: starts[b] becomes the records in all buckets before b; one
// more for the end. False where a bucket has more than `capacity`.
#define BUCKET_ROWS (BUCKETS > WG ? BUCKETS / WG : 1)  // of a sub-group's buckets
#define ROWS_AT_ONCE (BUCKET_ROWS < 8 ? BUCKET_ROWS : 8)
INLINE u32 start_buckets(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL u32* counts,
                         GLOBAL u32* starts, u64 n, u32 capacity) {
  // Sum. A sub-group has neighbouring buckets, its lanes are neighbours.
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

// Counts the keys of each bucket: a key's order from bit `shift` on. `overfull` is set, and nothing
// counted, where more than `crowd` of the samples (at most COUNT_MOST) fall into one bucket, whose
// counting would be slow; or, with TELLS_REPEATS, more than `repeats_most` repeat a key, so that
// buckets differ by more than chance. It becomes FEW_DIGITS where more than `few_repeats` do, or
// digits_are_few says so of `few_agree`. With SPREAD_BITS it is also set where keys tie or have no
// room, and the samples make `spread` (the table) and `back` (the table of spread orders);
// `lead_most`: make_spread's. `done` is 0, and counts work-groups, of which the last finds
// `starts`, and whether a bucket has more than `capacity` records.
KERNEL(WG)
void msd_count(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples, GLOBAL u32* counts,
               GLOBAL u32* overfull, u64 n, u32 shift, u32 crowd, u32 repeats_most, u32 few_repeats,
               u32 few_agree, GLOBAL u32* spread, GLOBAL u32* back, u32 lead_most, GLOBAL u32* done,
               GLOBAL u32* starts, u32 capacity) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_count_memory_t, mine);
  const u32 t = local_id();
  u32 misfits = 0;  // keys that tie or have no room
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  if (t == 0) mine->crowded = 0;
#ifdef SPREAD_BITS
  for (u32 i = t; i < LEADS; i += WG) mine->spread[i] = 0;
  for (u32 i = t; i < LEADS / 64; i += WG) mine->exponents[i] = 0;
#endif
  barrier_local();

  // Look at the samples: all work-groups at all of them, so that they come to the same verdict.
#if SAMPLES
  ukey_t sample[SAMPLES];
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) sample[i] = samples[i * WG + t];
#endif
#ifdef SPREAD_BITS
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
#ifdef FEW_DIGITS
#ifdef SPREAD_BITS  // of floats that is asked only where onesweep sorts them
    repeats = count_repeats(mine, sample);
#endif
    const u32 verdict =
        digits_are_few(mine, sample, few_agree) || repeats > few_repeats ? FEW_DIGITS : 1u;
#else
    const u32 verdict = 1;
#endif
    if (group_id() == 0 && t == 0) *overfull = verdict;
    return;
  }
#endif

  // Count. Where the keys of a sub-group are alike, as in sorted input, one add does for a row of
  // them.
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
  if (misfits != 0) global_add(overfull, 1u);

  // The last work-group goes on.
  barrier_all();
  if (t == 0) {
    global_add_release(&done[0], 1u);
    mine->last = load_acquire(&done[0]) == group_count() ? global_add(&done[1], 1u) == 0 : 0;
  }
  barrier_all();
  if (mine->last && !start_buckets(mine, sg, counts, starts, n, capacity) && t == 0)
    global_add(overfull, 1u);
}
