// msd, lists of more than 2^21 records, and floats: counts the keys of each bucket, finds where
// each bucket begins, and decides whether the keys spread over the buckets. A bucket is a value of
// the keys' leading bits or, if keys are mapped or equalized, a number that key_map.cl or
// equalize.cl computes. Two kernels:
//   msd_start  clears memory and copies samples of the keys into one array
//   msd_count  examines the samples, counts all keys, and finds where buckets begin
// The files key_map.cl, msd_set_aside.cl, stretch.cl, msd_samples.cl, msd_spread.cl,
// msd_make_map.cl and msd_verdict.cl come before this one. Comments at the
// kernels describe their inputs and outputs. "Order" is short for a key's order bits.

PARAMETER(WG)        // work-items of a work-group of msd_count
PARAMETER(RESIDENT)  // work-groups of msd_count that share a compute unit
PARAMETER(ITEMS)     // keys that a work-item loads at a time
PARAMETER(START_WG)  // work-items of a work-group of msd_start
PARAMETER(LISTS)     // 1: mapped buckets that are too large are listed; used if MAP_CELLS is not 0
PARAMETER(SETS_ASIDE)      // not 0: keys are set aside (msd_set_aside.cl)
PARAMETER(CLASS_DIGITS)    // not 0: classes may have digits of their own (msd_set_aside.cl)
PARAMETER(VERDICT_MAPPED)  // the value of *skewed if keys are mapped; see msd_count
PARAMETER(VERDICT_LISTED)  // the same if some buckets are listed, too

// Clears memory, and copies samples of the keys into one array.
//   keys      in
//   samples   out: `sampled` samples, of parts of `apart` keys (sample_index). If `apart` is 0, all
//             are the first key
//   others    null, or out: `others_sampled` other samples, of parts of `others_apart` keys
//   skewed    out: one word; becomes 0
//   cleared   out: `words` words; become 0
KERNEL(START_WG)
void msd_start(GLOBAL const ukey_t* keys, GLOBAL ukey_t* samples, u32 sampled, u64 apart,
               GLOBAL ukey_t* others, u32 others_sampled, u32 others_apart, GLOBAL u32* skewed,
               GLOBAL u32* cleared, u64 words) {
  const u64 at = (u64)group_id() * START_WG + local_id(), all = (u64)group_count() * START_WG;
  // A work-group reads consecutive samples, so that it touches few pages of memory.
  const u32 own = (sampled + group_count() - 1) / group_count(),
            end = min((group_id() + 1) * own, sampled);
  for (u32 i = group_id() * own + local_id(); i < end; i += START_WG)
    samples[i] = keys[sample_index(i, (u32)apart)];
  if (others)
    for (u64 i = at; i < others_sampled; i += all)
      others[i] = keys[sample_index((u32)i, others_apart)];
  for (u64 i = at; i < words; i += all) cleared[i] = 0;
  if (at == 0) *skewed = 0;
}

// ---- The count ----

// Adds `what` to the count of `bucket` in local memory.
INLINE void count_bucket(LOCAL u32* counts, GLOBAL u32* global_counts, u32 bucket, u32 what) {
  LOCAL u32* word = &counts[bucket / PER_WORD];
#if COUNT_BITS == 16
  // When a count reaches half of its maximum, that half moves to the global count. The work-items
  // of a work-group together cannot add the other half before that.
  const u32 half_full = (COUNT_MOST + 1) / 2,
            before = COUNT_OF(local_add(word, what << PLACE(bucket)), bucket);
  if (before < half_full && before + what >= half_full) {
    local_add(word, 0u - (half_full << PLACE(bucket)));
    global_add(&global_counts[bucket], half_full);
  }
#else
  // Counts of 8 or 4 bits overflow into the next count of the word. The word before the addition
  // tells how far the carry goes. The global counts correct it: plus 2^COUNT_BITS for each count
  // that overflows, minus 1 for each count that receives a carry.
  if (what != 1) {
    global_add(&global_counts[bucket], what);
    return;
  }
  u32 rest = local_add(word, 1u << PLACE(bucket)) >> PLACE(bucket);
  for (u32 at = bucket; (rest & COUNT_MOST) == COUNT_MOST; rest >>= COUNT_BITS) {
    global_add(&global_counts[at], COUNT_MOST + 1);
    if (++at % PER_WORD == 0) break;  // the carry has left the word
    global_add(&global_counts[at], 0u - 1);
  }
#endif
}

#if SETS_ASIDE
// Called by the last work-group of the count, if members are set aside. Replaces the number of
// members in each tile by the number in the tiles before it, and writes the head of `aside`.
// Returns how many keys are set aside. Contains barriers.
OUTLINE u32 scan_aside(LOCAL msd_count_memory_t* mine, GLOBAL u32* aside, u64 n) {
  KNOWN_LOCAL(mine);
  GLOBAL u32* words = aside + ASIDE_HEAD;
  const u32 tiles = (u32)((n + SETS_ASIDE - 1) / SETS_ASIDE), own = (tiles + WG - 1) / WG,
            begin = min(local_id() * own, tiles), end = min(begin + own, tiles);
  u32 zeros = 0, nans = 0;
  for (u32 tile = begin; tile < end; ++tile) {
    const u32 members = load_relaxed(&words[2 * tile]);
    zeros += members & 0xffff, nans += members >> 16;
  }
  index_t all_zeros, all_nans;
  zeros = (u32)wg_scan_add(mine->scratch, WG, zeros, &all_zeros);
  nans = (u32)wg_scan_add(mine->scratch, WG, nans, &all_nans);
  for (u32 tile = begin; tile < end; ++tile) {
    const u32 members = load_relaxed(&words[2 * tile]);
    words[2 * tile] = zeros, words[2 * tile + 1] = nans;
    zeros += members & 0xffff, nans += members >> 16;
  }
  if (local_id() == 0) {
    aside[0] = words[2 * tiles] = (u32)all_zeros;
    aside[1] = words[2 * tiles + 1] = (u32)all_nans;
    aside[2] = mine->gap;
    aside[ASIDE_FOUND] = FOUND_ASIDE;
  }
  return (u32)(all_zeros + all_nans);
}
#endif

#if CLASS_DIGITS
// The buckets of the zeros and of the NaNs.
#define ZEROS_BUCKET (mine->gap - 1)
#define NANS_BUCKET (KEY_NAN == NAN_FIRST ? 0u : BUCKETS - 1)
#define MAY_BE_LARGE(bucket)                                \
  ((KEY_ZEROS == ZEROS_TIED && (bucket) == ZEROS_BUCKET) || \
   (KEY_NAN != NAN_BITS && (bucket) == NANS_BUCKET))
// Changes the table: keys with this lead get the class's digit, which begins with lead `first`.
INLINE void move_lead(GLOBAL u32* spread, u32 lead, u32 first) {
  spread[lead] = spread_entry(class_lead(first, lead), 0);
}
// Called by one work-item of the last work-group of the count. Returns the head's word `found`:
// FOUND_DIGITS if it has written the head and given the leads of members their digits. FOUND_ASIDE
// if the members are in no bucket; scan_aside then writes the head. 0 if there are no members, or
// members are keys like others, or neither way applies (*skewed is then not 0).
INLINE u32 place_classes(LOCAL const msd_count_memory_t* mine, GLOBAL u32* aside,
                         GLOBAL u32* counts, GLOBAL u32* spread, u32 shift, GLOBAL u32* skewed) {
  const u32 nans = KEY_NAN != NAN_BITS ? load_relaxed(&counts[NANS_BUCKET]) : 0,
            kinds = load_relaxed(&aside[ASIDE_FOUND]);
  u32 zeros = KEY_ZEROS == ZEROS_TIED ? load_relaxed(&counts[ZEROS_BUCKET]) : 0;
  aside[ASIDE_FOUND] = 0;
  if (zeros + nans == 0) return 0;
  if (need_other_ways(kinds)) {
    if (KEY_ZEROS == ZEROS_TIED) counts[ZEROS_BUCKET] = 0;
    if (KEY_NAN != NAN_BITS) counts[NANS_BUCKET] = 0;
    if (!SETS_ASIDE) global_add(skewed, 1u);
    return SETS_ASIDE ? FOUND_ASIDE : 0;
  }
  const ukey_t zero = untied_order(0), other = untied_order(KEY_SIGN);
  if (zeros != 0 && (kinds & KIND_DENORMAL)) {
    // All zeros are +0: keys like others.
    const u32 entry = mine->spread[spread_index(zero)] & ~HAS_CLASS;
    counts[ZEROS_BUCKET] = 0;
    global_add(&counts[bucket_of_spread(zero, entry, shift)], zeros);
    zeros = 0;
  }
  if (zeros != 0) {
    move_lead(spread, spread_index(zero), spread[LEADS]);
    move_lead(spread, spread_index(other), spread[LEADS]);
  }
  if (nans != 0) {
    move_lead(spread, 0, spread[LEADS + 1]);
    move_lead(spread, OTHER_NAN_LEAD, spread[LEADS + 1]);
  }
  aside[0] = zeros, aside[1] = nans, aside[2] = mine->gap;
  aside[ASIDE_FOUND] = zeros + nans != 0 ? FOUND_DIGITS : 0;
  return aside[ASIDE_FOUND];
}
#else
#define MAY_BE_LARGE(bucket) 0
#endif

// Called by the last work-group of the count. Sets starts[b] to the number of records in all
// buckets before b, and starts[buckets] to n. `buckets` must be a compile-time constant. Returns
// not 0 if a bucket has more than `capacity` records (the bucket of a class may have any number)
// or, if `most` is not null, more than most[b].
INLINE u32 start_buckets(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL u32* counts,
                         GLOBAL u32* starts, u64 n, u32 capacity, u32 buckets,
                         GLOBAL const u32* most) {
  // Sum. Each sub-group handles consecutive buckets, and neighbouring lanes handle neighbouring
  // ones.
  const u32 rows = buckets > WG ? buckets / WG
                                : 1,  // how many of a sub-group's buckets each lane handles
      at_once = rows < 8 ? rows : 8;
  const u32 first = sg_index() * (rows * SG_LANES) + sg_lane();
  u32 sum = 0, too_many = 0;
  for (u32 base = 0; base < rows; base += at_once) UNROLL
  for (u32 i = 0; i < at_once; ++i) {
    const u32 bucket = first + (base + i) * SG_LANES,
              count = bucket < buckets ? load_relaxed(&counts[bucket]) : 0;
    sum += count;
    if (most)
      too_many |= bucket < buckets && count > most[bucket];
    else
      too_many |= count > capacity && !MAY_BE_LARGE(bucket);
  }
  if (too_many) local_or(&mine->crowded, 1u);
  index_t all;
  u32 at = sg_shuffle(sg, (u32)wg_scan_add(mine->scratch, WG, sum, &all), 0);
  // Scan, row by row.
  for (u32 base = 0; base < rows; base += at_once) {
    u32 count[8];
    UNROLL
    for (u32 i = 0; i < at_once; ++i) {
      const u32 bucket = first + (base + i) * SG_LANES;
      count[i] = bucket < buckets ? load_relaxed(&counts[bucket]) : 0;
    }
    UNROLL
    for (u32 i = 0; i < at_once; ++i) {
      const u32 bucket = first + (base + i) * SG_LANES;
      const u32 inclusive = (u32)sg_scan_add(sg, count[i]);
      if (bucket < buckets) starts[bucket] = at + inclusive - count[i];
      at += sg_shuffle(sg, inclusive, SG_LANES - 1);
    }
  }
  if (local_id() == 0) starts[buckets] = (u32)n;
  return mine->crowded;
}

#if MAPS
// Called by the last work-group after start_buckets, if mapped buckets have more than most[b]
// records. Stores these buckets in `list` (described at the kernel). Returns the verdict.
INLINE u32 list_buckets(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL u32* counts,
                        GLOBAL const u32* starts, GLOBAL const u32* most, u32 most_listed,
                        GLOBAL u32* list) {
  // As in start_buckets, each sub-group handles consecutive buckets.
  const u32 rows = MAP_BUCKETS > WG ? MAP_BUCKETS / WG : 1,
            first = sg_index() * (rows * SG_LANES) + sg_lane();
  u32 listed = 0, records = 0;
  for (u32 i = 0; i < rows; ++i) {
    const u32 b = first + i * SG_LANES, count = b < MAP_BUCKETS ? load_relaxed(&counts[b]) : 0;
    const u32 is = b < MAP_BUCKETS && count > most[b];
    listed += is;
    records += is ? count : 0;
  }
  index_t all_listed, all_records;
  u32 at = sg_shuffle(sg, (u32)wg_scan_add(mine->scratch, WG, listed, &all_listed), 0);
  u32 before = sg_shuffle(sg, (u32)wg_scan_add(mine->scratch, WG, records, &all_records), 0);
  if (!LISTS || all_records > most_listed) return 1;
  if (local_id() == 0) list[0] = (u32)all_listed, list[1] = (u32)all_records;
  for (u32 i = 0; i < rows; ++i) {
    const u32 b = first + i * SG_LANES, count = b < MAP_BUCKETS ? load_relaxed(&counts[b]) : 0;
    const u32 is = b < MAP_BUCKETS && count > most[b];
    const u32 lanes = sg_ballot(sg, is);
#if SG_NATIVE
    if (lanes == 0) continue;
#endif
    const u32 inclusive = (u32)sg_scan_add(sg, is ? count : 0);
    if (is) {
      const u32 own = at + popcount32(lanes & ((1u << sg_lane()) - 1));
      list[2 + own] = starts[b];
      list[2 + (u32)all_listed + own] = before + inclusive - count;
    }
    at += popcount32(lanes);
    before += sg_shuffle(sg, inclusive, SG_LANES - 1);
  }
  return VERDICT_LISTED;
}
#endif

#if CLASS_DIGITS
// Adds the members among one row of a sub-group's keys to the counts of the work-group and, with
// SETS_ASIDE, of their tile. `at` is the index of one of these keys.
INLINE void add_members(LOCAL msd_count_memory_t* mine, GLOBAL u32* aside, u64 at, u32 members) {
#if SG_NATIVE
  if (sg_ballot(0, members != 0) == 0) return;
  for (u32 distance = 1; distance < SG_LANES; distance *= 2)
    members += sg_shuffle(0, members, sg_lane() ^ distance);
  if (sg_lane() != 0) return;
#endif
  if (members == 0) return;
#if SETS_ASIDE
  global_add(&aside[ASIDE_HEAD + 2 * (u32)(at / SETS_ASIDE)], members);
#endif
  local_add(&mine->zeros, members & 0xffff);
  local_add(&mine->nans, members >> 16);
}
#endif

// The number of keys that a work-group counts at once.
#define BLOCK ((u32)(WG * ITEMS))
#define KEY_AT(i) (sg_index() * (ITEMS * SG_LANES) + (i)*SG_LANES + sg_lane())

#if CLASS_DIGITS
// Rows of a sub-group's keys that are certainly in one tile.
#define TILE_ROWS (ITEMS * SG_LANES <= 256 ? ITEMS : 256 / SG_LANES)
// Counts the first `count` keys of a block, the members of classes separately. The block begins
// at index `base` of the list; bucket[i] is the bucket of the work-item's key i, or has the bit
// HAS_CLASS. Returns not 0 if any key's lead has no range of spread orders.
INLINE u32 count_with_classes(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* block, u64 base,
                              u32 count, u32* bucket, GLOBAL u32* counts, u32 shift,
                              GLOBAL u32* aside) {
  u32 misfits = 0, kinds = 0;
  UNROLL
  for (u32 row = 0; row < ITEMS; row += TILE_ROWS) {
    u32 members = 0;
    UNROLL
    for (u32 i = row; i < row + TILE_ROWS; ++i) {
      if (KEY_AT(i) >= count) continue;
      if (bucket[i] >= HAS_CLASS)
        bucket[i] = bucket_or_class(mine, block[KEY_AT(i)], shift, &members, &misfits, &kinds);
      if (bucket[i] != NO_BUCKET) count_bucket(mine->counts, counts, bucket[i], 1);
    }
    add_members(mine, aside, base + KEY_AT(row), members);
  }
  if (kinds != 0) local_or(&mine->kinds, kinds);
  return misfits;
}
#endif

// Counts a block of keys. If all keys of a row of a sub-group are in one bucket, as in sorted
// input, one addition counts the row.
INLINE void count_block(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL u32* counts,
                        const u32* bucket) {
#if SG_NATIVE
  if (sg_ballot(sg, bucket[0] != sg_shuffle(sg, bucket[0], 0)) == 0) {
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      if (sg_ballot(sg, bucket[i] != sg_shuffle(sg, bucket[i], 0)) != 0)
        count_bucket(mine->counts, counts, bucket[i], 1);
      else if (sg_lane() == 0)
        count_bucket(mine->counts, counts, bucket[i], SG_LANES);
    }
    return;
  }
#endif
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) count_bucket(mine->counts, counts, bucket[i], 1);
}

// Counts this work-group's keys in mine->counts, and with SETS_ASIDE the keys that are set aside in
// `aside`. `mapped` must be a compile-time constant. Returns not 0 if the lead of a key has no
// spread orders, if a key may tie with another one of different bits and has no place for its
// class, or if a key cannot be stretched.
INLINE u32 count_keys(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL const ukey_t* keys,
                      GLOBAL u32* counts, u64 n, u32 shift, verdict_t v, u32 mapped,
                      GLOBAL u32* aside) {
  const u32 t = local_id();
  u32 misfits = 0;
  for (u64 base = (u64)group_id() * BLOCK; base < n; base += (u64)group_count() * BLOCK) {
    GLOBAL const ukey_t* block = keys + base;
    if (n - base >= BLOCK) {
      u32 bucket[ITEMS], others = 0;
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i)
        bucket[i] = bucket_of(mine, block[KEY_AT(i)], shift, v, mapped, &others);
#if CLASS_DIGITS
      if (!mapped) {  // the same for all work-items
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i) others |= bucket[i] & HAS_CLASS;
        if (sg_ballot(sg, others) != 0) {
          misfits |= count_with_classes(mine, block, base, BLOCK, bucket, counts, shift, aside);
          continue;
        }
      }
#endif
      misfits |= others;
      count_block(mine, sg, counts, bucket);
    } else {
#if CLASS_DIGITS
      if (!mapped) {
        const u32 count = (u32)(n - base);
        u32 bucket[ITEMS], others = 0;
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i)
          bucket[i] = bucket_of(mine, block[min(KEY_AT(i), count - 1)], shift, v, 0, &others);
        misfits |= count_with_classes(mine, block, base, count, bucket, counts, shift, aside);
        continue;
      }
#endif
      for (u32 i = t; i < (u32)(n - base); i += WG)
        count_bucket(mine->counts, counts, bucket_of(mine, block[i], shift, v, mapped, &misfits),
                     1);
    }
  }
  barrier_local();
#if EQUALIZES
  const u32 buckets = mapped == STRETCHED || !mapped ? BUCKETS : EQUALIZED_BUCKETS;
#else
  const u32 buckets = mapped == STRETCHED || !mapped ? BUCKETS : MAP_BUCKETS;
#endif
  for (u32 b = t; b < buckets; b += WG) {
    const u32 count = COUNT_OF(mine->counts[b / PER_WORD], b);
    if (count != 0) global_add(&counts[b], count);
  }
#if CLASS_DIGITS
  if (t == 0 && mine->zeros != 0) global_add(&counts[ZEROS_BUCKET], mine->zeros);
  if (t == 0 && mine->nans != 0) global_add(&counts[NANS_BUCKET], mine->nans);
  if (t == 0 && mine->kinds != 0) global_or(&aside[ASIDE_FOUND], mine->kinds);
#endif
  return misfits;
}

#if MAPS
// Out of line, so that the loop that counts keys without a map gets its own allocation of
// registers.
OUTLINE u32 count_mapped_keys(LOCAL msd_count_memory_t* mine, sub_group_t sg,
                              GLOBAL const ukey_t* keys, GLOBAL u32* counts, u64 n, verdict_t v) {
  KNOWN_LOCAL(mine);
  return v.window.pivots ? count_keys(mine, sg, keys, counts, n, 0, v, WITH_PIVOTS, 0)
                         : count_keys(mine, sg, keys, counts, n, 0, v, 1, 0);
}
#endif

#if EQUALIZES
// Out of line for the same reason.
OUTLINE u32 count_equalized_keys(LOCAL msd_count_memory_t* mine, sub_group_t sg,
                                 GLOBAL const ukey_t* keys, GLOBAL u32* counts, u64 n,
                                 verdict_t v) {
  KNOWN_LOCAL(mine);
  return count_keys(mine, sg, keys, counts, n, 0, v, EQUALIZED, 0);
}
#endif

#if STRETCHES
// Out of line for the same reason.
OUTLINE u32 count_stretched_keys(LOCAL msd_count_memory_t* mine, sub_group_t sg,
                                 GLOBAL const ukey_t* keys, GLOBAL u32* counts, u64 n,
                                 verdict_t v) {
  KNOWN_LOCAL(mine);
  return count_keys(mine, sg, keys, counts, n, 0, v, STRETCHED, 0);
}
#endif

INLINE void clear_memory(LOCAL msd_count_memory_t* mine) {
  const u32 t = local_id();
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  if (t == 0) mine->crowded = mine->pairs = 0;
  if (t < 2) mine->differ[t] = 0;
#if CLASS_DIGITS
  if (t == 0) mine->zeros = mine->nans = mine->kinds = 0;
#endif
#if SPREAD_BITS
  if (t < 4) mine->exponents[t] = 0;
  if (t == 0) mine->sides = 0;
#endif
#if MAPS || EQUALIZES
  if (t < 8) mine->edges[t] = 0;
#elif STRETCHES
  if (t < 4) mine->edges[t] = 0;
#endif
  barrier_local();
}

// Returns 1 in the last work-group that calls it. What the others have written is then visible.
// Contains barriers.
INLINE u32 is_last_group(LOCAL msd_count_memory_t* mine, GLOBAL u32* done) {
  barrier_all();
  if (local_id() == 0) {
    global_add_release(&done[0], 1u);
    mine->last = load_acquire(&done[0]) == group_count() ? global_add(&done[1], 1u) == 0 : 0;
  }
  barrier_all();
  return mine->last;
}

// Counts the keys of each bucket. A bucket is a value of the key's order from bit `shift` upwards.
// If that would put too many keys into a few buckets, a map computes the buckets. If the samples
// show that the map does not spread the keys either, sets *skewed and counts nothing.
//   keys          in: n keys
//   samples       in: GATHERED * WG samples
//   counts        in and out: one word for each bucket, 0 at first. If keys are equalized, it
//                 becomes the first order of each bucket plus half of its width
//   skewed        in and out: 0 at first. Stays 0 if the keys spread by their leading bits.
//                 VERDICT_MAPPED or VERDICT_LISTED: keys are mapped or equalized.
//                 1 or a little more: keys do not spread. A bucket has more than `capacity` records
//                 (mapped keys: buckets of more than `mapped_capacity` are listed, and all together
//                 have more than `most_listed`), or the samples exceed a threshold, or a lead has
//                 no spread orders (SPREAD_BITS), or a key cannot be stretched, or keys may tie
//                 (members of classes without a place, and mapped floats without values). Two bits
//                 say the same and more. FREQUENT: the samples show frequent keys. FEW_DIGITS: the
//                 samples show that most digits have few values
//   ties          null, or a word; becomes 1 if keys do not spread and a sample needs ties
//   crowd ... equalized_crowd  thresholds for the samples (limits_t)
//   may_be_frequent  FREQUENT: 0: *skewed does not get the bit FREQUENT
//   spread, back  out, SPREAD_BITS: the tables of make_spread, made with `lead_most`
//   stretch       in and out, STRETCHES: STRETCH_WORDS words, 0 at first (stretch.cl)
//   equalizer     out, if keys are equalized: EQUALIZER_HEAD + EQUALIZER_ENTRIES words
//   map           out, if keys are mapped: MAP_WORDS words
//   bounds        out, if keys are mapped: the first order of each bucket
//   most          out, if keys are mapped: the most records of each bucket that a local sort can
//                 sort
//   list          out, with VERDICT_LISTED: the number m of listed buckets; the number of their
//                 records; the output index where each listed bucket begins (m words); the number
//                 of records in the listed buckets before each (m words)
//   done          work space: two words, 0 at first
//   starts        out: the index where each bucket begins, then the end; members of classes that
//                 have digits are counted, keys that are set aside are not
//   aside         in and out, CLASS_DIGITS: 0 at first; see msd_set_aside.cl. Without SETS_ASIDE it
//                 is only a head. Meanwhile, the word `found` collects KIND bits
KERNEL_RESIDENT(WG, RESIDENT)
void msd_count(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples, GLOBAL u32* counts,
               GLOBAL u32* skewed, GLOBAL u32* ties, u64 n, u32 shift, u32 crowd, u32 pairs_most,
               u32 map_crowd, u32 map_crowded, u32 pivot, u32 repeats_most, u32 rare_most,
               u32 lead_most, u32 coarse, u32 stretch_coarse, u32 equalized_crowd,
               u32 may_be_frequent, GLOBAL u32* spread, GLOBAL u32* back, GLOBAL u32* stretch,
               GLOBAL u32* equalizer, GLOBAL u32* map, GLOBAL ukey_t* bounds, GLOBAL u32* most,
               GLOBAL u32* list, u32 most_listed, GLOBAL u32* done, GLOBAL u32* starts,
               u32 capacity, u32 mapped_capacity, GLOBAL u32* aside) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_count_memory_t, mine);
  const u32 t = local_id();
  clear_memory(mine);
  limits_t limits;
  limits.crowd = crowd, limits.pairs = pairs_most;
  limits.map_crowd = map_crowd, limits.map_crowded = map_crowded;
  limits.pivot = pivot, limits.repeats = repeats_most;
  limits.rare = rare_most, limits.lead = lead_most;
  limits.coarse = coarse, limits.stretch_coarse = stretch_coarse;
  limits.frequent = may_be_frequent;
#if EQUALIZES
  limits.equalized_crowd = equalized_crowd, limits.capacity = capacity;
  limits.sample_records = (u32)(256 * n / (GATHERED * WG));
#endif
  verdict_t v;
  judge(mine, samples, shift, limits, spread, back, &v);
  if (v.skewed) {
    if (group_id() == 0 && t == 0) *skewed = v.skewed;
    if (group_id() == 0 && v.ties && ties) *ties = 1;
    return;
  }

  // Count.
#if MAPS
  if (v.mapped) write_map(mine, v.window, mapped_capacity, map, bounds, most);
#endif
#if EQUALIZES
  if (v.equalized && group_id() == 0) write_equalizer(mine, v.cells, equalizer);
#endif
#if STRETCHES
  if (v.stretched && group_id() == 0 && t == 0) store_stretch(stretch, v.stretch);
#endif
  u32 misfits = 0;
#if MAPS
  if (v.mapped)
    misfits = count_mapped_keys(mine, sg, keys, counts, n, v);
  else
#endif
#if EQUALIZES
      if (v.equalized)
    misfits = count_equalized_keys(mine, sg, keys, counts, n, v);
  else
#endif
#if STRETCHES
      if (v.stretched)
    misfits = count_stretched_keys(mine, sg, keys, counts, n, v);
  else
#endif
    misfits = count_keys(mine, sg, keys, counts, n, shift, v, 0, aside);
  if (misfits != 0) global_add(skewed, 1u);

  // The last work-group to finish finds where buckets begin.
  if (!is_last_group(mine, done)) return;
#if MAPS
  if (v.mapped) {
    const u32 crowded =
        start_buckets(mine, sg, counts, starts, n, mapped_capacity, MAP_BUCKETS, most);
    u32 verdict = VERDICT_MAPPED;
    barrier_all();  // makes starts[] visible
    if (crowded) verdict = list_buckets(mine, sg, counts, starts, most, most_listed, list);
    if (t == 0 && load_relaxed(skewed) == 0) *skewed = verdict;
    return;
  }
#endif
#if CLASS_DIGITS
  if (t == 0) mine->found = place_classes(mine, aside, counts, spread, shift, skewed);
  barrier_all();  // start_buckets reads the counts
#endif
#if SETS_ASIDE
  if (mine->found == FOUND_ASIDE) n -= scan_aside(mine, aside, n);
#endif
#if EQUALIZES
  if (v.equalized) {
    const u32 crowded = start_buckets(mine, sg, counts, starts, n, capacity, EQUALIZED_BUCKETS, 0);
    barrier_all();  // all have read the counts
    write_origins(mine, v.cells, counts);
    if (t == 0) *skewed = crowded ? 1 : VERDICT_MAPPED;
    return;
  }
#endif
  if (start_buckets(mine, sg, counts, starts, n, capacity, BUCKETS, 0) && t == 0)
    global_add(skewed, 1u);
}
