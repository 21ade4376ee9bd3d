// msd, lists whose keys are sampled or counted: what the samples tell. Every work-group of
// msd_count examines the same samples, so all reach the same verdict: the keys spread by their
// leading bits (or those of spread orders), or a map of the samples spreads them (key_map.cl), or
// neither. The files key_map.cl and msd_set_aside.cl come before this one. "Order" is short for a
// key's order bits.

PARAMETER(WG)          // work-items of a work-group of msd_count
PARAMETER(BUCKETS)     // buckets by leading bits, a power of two
PARAMETER(COUNT_BITS)  // bits of a bucket's count in local memory: 16, 8 or 4
PARAMETER(
    COUNT_WORDS)     // 32-bit words for the counts or for the tables of the samples, a power of two
PARAMETER(SAMPLES)   // samples that each work-item of msd_count examines; 0: there are no samples
PARAMETER(GATHERED)  // samples of each work-item from which a map is made; a multiple of SAMPLES
PARAMETER(SPREAD_BITS)  // not 0: keys are floats that are partitioned by spread orders; the width
                        // of a lead in bits
PARAMETER(BUCKET_BITS)  // log2(BUCKETS); used if SPREAD_BITS is not 0
PARAMETER(SETS_ASIDE)   // not 0: keys are set aside (msd_set_aside.cl); needs SPREAD_BITS
PARAMETER(TIES_MATTER)  // 1: mapped keys that tie but have different bits need the stable passes
PARAMETER(ITEM_BITS)    // not 0: mapped keys are sorted by items of this many bits, which hold the
                        // distance from a bucket's first order and the position in the bucket
PARAMETER(TELLS_REPEATS)  // 1: samples tell whether keys repeat
PARAMETER(STRETCH_MORE)   // with STRETCHES: stretch_t::more, if keys are stretched
PARAMETER(STRETCH_MOST)   // with STRETCHES: the largest stretch_t::up
PARAMETER(FEW_DIGITS)     // not 0: samples tell whether most digits have few values; if so, *skewed
                          // becomes FEW_DIGITS

#define MAPS (MAP_CELLS != 0)
#define STRETCHED_BUCKETS ((u32)BUCKETS << STRETCH_MORE)

// COUNT_OF(word, bucket) extracts the bucket's count from its word of local memory.
#define PER_WORD (32 / COUNT_BITS)
#define COUNT_MOST ((1u << COUNT_BITS) - 1)
#define PLACE(bucket) ((bucket) % PER_WORD * COUNT_BITS)
#define COUNT_OF(word, bucket) ((word) >> PLACE(bucket) & COUNT_MOST)

// count_bytes() in msd_shape.cpp computes its size.
typedef struct {
  u32 counts[COUNT_WORDS];
#if SPREAD_BITS
  u32 spread[1 << SPREAD_BITS];            // the log2 of each lead's factor, then the table
  u32 exponents[(1 << SPREAD_BITS) / 64];  // one bit for each exponent: 1 if a sample has it
  u32 common[(1 << SPREAD_BITS) / 64];     // the same for exponents that many samples have
  u32 sides;                               // see exponents_t
#endif
#if STRETCHES && !MAPS
  u32 edges[4];  // of the samples: the inverted smallest order, then the largest
#endif
#if MAPS
  map_t map;
  u32 edges[8];  // of the samples: the inverted smallest order, then the largest; upper words
                 // first. Four words of all, four of those around zero (KEY_FLOAT)
  u32 inner[2];  // the first and the last cell without the samples that a narrower window leaves
                 // out
#endif
  index_t scratch[SCAN_WORDS(WG)];
  u32 crowded;  // excess samples; at the end of the count not 0 if a bucket is too large
  u32 agree[KEY_BITS / 8];  // number of pairs of samples that agree in each digit
  u32 last;                 // 1: this is the last work-group of the count
#if SETS_ASIDE
  u32 gap;    // number of the first bucket after the zeros
  u32 found;  // not 0: keys were set aside
#endif
} msd_count_memory_t;

// The verdict from the samples.
typedef struct {
  u32 skewed;  // the value for *skewed; if it is not 0, no keys are counted
  u32 mapped;  // 1: keys are mapped by mine->map
  u32 ties;    // 1: a sample of this work-item may tie with a key of other bits
#if MAPS
  window_t window;
#endif
#if STRETCHES
  u32 stretched;  // 1: keys are stretched
  stretch_t stretch;
#endif
} verdict_t;
// Ranges of the leading bits that have 64 samples each, if keys are uniform.
#define COARSE min((u32)BUCKETS, max((u32)(SAMPLES * WG) / 64, 1u))
// Thresholds for the samples; see SampleLimits in msd_shape.hpp.
typedef struct {
  u32 crowd, map_crowd, map_crowded, pivot, repeats, few_repeats, few_agree, lead, coarse,
      stretch_coarse;
} limits_t;

#if TELLS_REPEATS || (FEW_DIGITS && SPREAD_BITS)
// Returns how many samples have the key of another sample. Every sample hashes its key to a tag and
// a word of a table, in which the largest tag stays. In each used word, the samples that find their
// own tag have the same key, so all of them except one are counted. mine->counts must be 0 and is 0
// afterwards. Contains barriers.
INLINE u32 count_repeats(LOCAL msd_count_memory_t* mine, const ukey_t* sample) {
  const u32 t = local_id();
  u32 tag[SAMPLES], repeats = 0;  // a tag has all hash bits except one
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) {
#if KEY_BITS == 64
    tag[i] = (u32)(((sample[i] + 1) * 0x9e3779b97f4a7c15ul) >> 32) | 1;
#else
    tag[i] = ((u32)sample[i] + 1) * 0x9e3779b1u | 1;
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
// Returns 1 if in every 8-bit digit of the key more than `most` pairs of samples agree: then most
// keys share a few values of each digit. Contains barriers.
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

// Returns how many samples are in excess: they are in a bucket that already has `crowd` samples.
// bucket[i] is the bucket of this work-item's sample i. mine->counts and mine->crowded must be 0
// and are 0 afterwards. A sample whose bucket is NO_BUCKET is left out. Contains barriers.
#define NO_BUCKET (~0u)
INLINE u32 count_crowded(LOCAL msd_count_memory_t* mine, const u32* bucket, u32 samples,
                         u32 crowd) {
  const u32 t = local_id();
  u32 crowded = 0;
  UNROLL
  for (u32 i = 0; i < samples; ++i) {
    if (bucket[i] == NO_BUCKET) continue;
    const u32 before = local_add(&mine->counts[bucket[i] / PER_WORD], 1u << PLACE(bucket[i]));
    crowded += COUNT_OF(before, bucket[i]) >= crowd ? 1u : 0u;
  }
  if (crowded != 0) local_add(&mine->crowded, crowded);
  barrier_local();
  const u32 all = mine->crowded;
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  barrier_local();
  if (t == 0) mine->crowded = 0;
  barrier_local();
  return all;
}

#if SPREAD_BITS
// ---- Spread orders (floats) ----
// A lead is the value of the SPREAD_BITS leading bits of an order: a float's sign and exponent.
#define LEADS (1u << SPREAD_BITS)
// For each lead, the count's table has the lead's first bucket and a shift. The shift turns the
// order's bits below the lead (those in the upper 32 bits of the order) into the index of the
// bucket among the lead's buckets.
#define LEAD_LOW (32 - SPREAD_BITS)
#if BUCKET_BITS >= SPREAD_BITS
#define COUNT_ENTRY(first, log2_times)           \
  ((first) << (BUCKET_BITS - SPREAD_BITS) << 8 | \
   (LEAD_LOW - (BUCKET_BITS - SPREAD_BITS) - (log2_times)))
#else
#define COUNT_ENTRY(first, log2_times) spread_entry(first, log2_times)
#endif
// Returns the exponent of the floats with this lead. With NanOrder::first it is off by one.
INLINE u32 exponent_of(u32 lead) {
  return lead < LEADS / 2 ? LEADS / 2 - 1 - lead : lead - LEADS / 2;
}
// Flag of a lead whose keys may be zeros or NaNs. Only such keys may be set aside.
#define HAS_CLASS 0x80000000u
#define MAY_HAVE_CLASS(e) \
  ((e) == 0 || (e) == LEADS / 2 - 1 || (KEY_NAN == NAN_FIRST && (e) == LEADS / 2 - 2))
// The first lead after the zeros. If a bucket has several leads, this is rounded up to the first
// lead of a bucket; up to GAP_LEADS - 1 spread orders before it then remain unused.
#define LEAD_AFTER_ZEROS (LEADS / 2 + (KEY_NAN == NAN_FIRST ? 1 : 0))
#if BUCKET_BITS >= SPREAD_BITS
#define GAP_LEADS 1u
#define FIRST_BUCKET(lead) ((lead) << (BUCKET_BITS - SPREAD_BITS))
#else
#define GAP_LEADS (SETS_ASIDE ? 1u << (SPREAD_BITS - BUCKET_BITS) : 1u)
#define FIRST_BUCKET(lead) ((lead) >> (SPREAD_BITS - BUCKET_BITS))
#endif

// Exponents beyond those of the samples that get space, too, if enough spread orders are left. A
// list may have 2^17 times as many keys as samples, and some of them are that much larger or
// smaller. More exponents below them are for smaller numbers still.
#define EXPONENTS_BEYOND 20u
// The exponents to which spread orders are assigned: those of zero and infinity, and those from
// `least` - `below` to `largest` + `above` of numbers with certain signs.
typedef struct {
  u32 least, largest, below, above;
  u32 sides;  // bit 0: numbers before zero; bit 1: numbers after zero
} exponents_t;
INLINE u32 has_space(exponents_t exponents, u32 lead) {
  const u32 e = exponent_of(lead);
  return e == 0 || e == LEADS / 2 - 1 ||
         (e + exponents.below >= exponents.least && e <= exponents.largest + exponents.above &&
          (exponents.sides >> (lead >= LEADS / 2 ? 1 : 0) & 1));
}

// A lead has LEAD_PARTS parts of the same width. A word of mine->counts has the numbers of samples
// of two parts.
#define LEAD_PARTS min(8u, (u32)COUNT_WORDS * 2 / LEADS)
#define SAMPLES_OF(part) (mine->counts[(part) / 2] >> 16 * ((part) % 2) & 0xffff)

// Counts the samples of each part. mine->counts must be 0. Ends with a barrier.
INLINE void count_parts(LOCAL msd_count_memory_t* mine, const ukey_t* sample) {
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) {
#if SETS_ASIDE
    if (has_class(sample[i])) continue;
#endif
    const u32 part = (u32)(key_order(sample[i]) >> (KEY_BITS - SPREAD_BITS - 3)) / (8 / LEAD_PARTS);
    local_add(&mine->counts[part / 2], 1u << 16 * (part % 2));
  }
  barrier_local();
}

// Returns how many samples the lead is expected to have if the random error of the samples is at
// the lead's expense; 0 if it has none. `densest`: if the whole lead were as dense as the densest
// place in it.
INLINE u32 likely_samples(LOCAL const msd_count_memory_t* mine, u32 lead, u32 densest) {
  u32 seen = 0, most = 0;
  for (u32 part = lead * LEAD_PARTS; part < (lead + 1) * LEAD_PARTS; ++part) {
    const u32 samples = SAMPLES_OF(part);
    seen += samples, most = max(most, samples);
  }
#define ROOT(samples) (1u << highest_bit32(samples) / 2)  // rounded down to a power of two
  if (seen == 0) return 0;
  const u32 all = seen + 4 + ROOT(seen);
  // Within its part the density changes, too: by a quarter of the difference between the part and
  // the lead.
  return densest
             ? max(all, LEAD_PARTS * (most + 1 + ROOT(most) / 2) + (LEAD_PARTS * most - seen) / 4)
             : all;
}

// Finds the least and the largest exponent whose bit in `bits` is 1, except the exponents of zero
// and infinity. If there is none, *least is LEADS and *largest is 0.
INLINE void find_range(LOCAL const u32* bits, u32* least, u32* largest) {
  *least = LEADS, *largest = 0;
  for (u32 w = 0; w < LEADS / 64; ++w) {
    u32 word = bits[w];
    if (w == 0) word &= ~1u;
    if (w == LEADS / 64 - 1) word &= ~(u32)0 >> 1;
    if (word == 0) continue;
    if (*least == LEADS) *least = w * 32 + highest_bit32(word & (0u - word));
    *largest = w * 32 + highest_bit32(word);
  }
}

// Returns the range of the samples' exponents, and their signs. Sets `below` and `above` to how
// many of these exponents are smaller and larger than all common ones. Contains barriers.
INLINE exponents_t find_exponents(LOCAL msd_count_memory_t* mine, u32 begin, u32 end) {
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 e = exponent_of(lead), likely = likely_samples(mine, lead, 0);
    if (likely == 0) continue;
    local_or(&mine->exponents[e / 32], 1u << e % 32);
    if (likely > SAMPLES * WG / 128) local_or(&mine->common[e / 32], 1u << e % 32);
    if (e != 0 && e != LEADS / 2 - 1) local_or(&mine->sides, lead >= LEADS / 2 ? 2u : 1u);
  }
  barrier_local();
  exponents_t found;
  u32 least, largest;  // of the common ones
  find_range(mine->exponents, &found.least, &found.largest);
  find_range(mine->common, &least, &largest);
  found.below = least <= largest ? least - found.least : 0;
  found.above = least <= largest ? found.largest - largest : 0;
  found.sides = mine->sides != 0 ? mine->sides : 3;
  return found;
}

// Writes the tables `table` and `back`. For each lead, mine->spread has the log2 of its factor, or
// SPREAD_NONE. Contains barriers.
INLINE void write_spread(LOCAL msd_count_memory_t* mine, GLOBAL u32* table, GLOBAL u32* back,
                         u32 begin, u32 end) {
  index_t sum = 0, sum_before_zeros = 0, all;
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 log2_times = mine->spread[lead];
    sum += log2_times != SPREAD_NONE ? 1u << log2_times : 0;
    if (lead + 1 == LEAD_AFTER_ZEROS || lead + 1 == end)
      if (lead < LEAD_AFTER_ZEROS) sum_before_zeros = sum;
  }
  u32 first = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
#if SETS_ASIDE
  wg_scan_add(mine->scratch, WG, sum_before_zeros, &all);
  const u32 left_out = (u32)(0 - all) % GAP_LEADS;
  if (local_id() == 0) mine->gap = FIRST_BUCKET((u32)all + left_out);
  first += begin > LEAD_AFTER_ZEROS ? left_out : 0;
#endif
  for (u32 lead = begin; lead < end; ++lead) {
#if SETS_ASIDE
    first += lead == LEAD_AFTER_ZEROS ? left_out : 0;
#endif
    const u32 log2_times = mine->spread[lead];
    if (log2_times != SPREAD_NONE) {
      mine->spread[lead] =
          COUNT_ENTRY(first, log2_times) | (MAY_HAVE_CLASS(exponent_of(lead)) ? HAS_CLASS : 0);
      if (group_id() == 0) {
        table[lead] = spread_entry(first, log2_times);
        for (u32 i = 0; i < 1u << log2_times; ++i)
          back[first + i] = gather_entry(lead, first, log2_times);
      }
      first += 1u << log2_times;
    }
  }
  barrier_local();
}

// Chooses how many spread orders each lead gets, and sets mine->spread to their log2. Returns the
// number of spread orders if only the samples' exponents have space. Contains barriers.
INLINE u32 choose_ranges(LOCAL msd_count_memory_t* mine, exponents_t exponents, u32 begin, u32 end,
                         u32 most, u32 densest) {
  index_t sum = 0, all;
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 likely = likely_samples(mine, lead, densest);
    u32 log2_times = 0;
    while (256 * likely > most << log2_times && log2_times < SPREAD_BITS) ++log2_times;
    mine->spread[lead] = log2_times;
    sum += has_space(exponents, lead) ? 1u << log2_times : 0;
  }
  wg_scan_add(mine->scratch, WG, sum, &all);
  return (u32)all + GAP_LEADS - 1;
}

// Makes the table of spread orders of the samples that count_parts has counted. mine->counts is 0
// afterwards. Each lead gets a range of spread orders. The range of a lead with samples doubles
// until the buckets of its densest place are expected to have at most `most` / 256 samples each; if
// that leaves few spread orders to other exponents, a sixteenth more; if there are not enough
// spread orders, until its buckets have `most` / 256 on average. A lead without samples keeps the
// range that it has in the plain order, if enough spread orders are left; zero always does.
// Work-group 0 writes `table` (from leads to spread orders) and `back` (from spread orders to
// leads). Returns 0 if there are not enough spread orders. Contains barriers.
INLINE u32 make_spread(LOCAL msd_count_memory_t* mine, GLOBAL u32* table, GLOBAL u32* back,
                       u32 most) {
  const u32 t = local_id(), own = LEADS > WG ? LEADS / WG : 1;
  const u32 begin = min(t * own, LEADS), end = min(begin + own, LEADS);
  exponents_t exponents = find_exponents(mine, begin, end);
  const u32 few_below = exponents.below + 1, few_above = exponents.above + 1;
  exponents.below = exponents.above = 0;
  u32 sides = exponents.sides != 3 ? 1 : 2;
  const u32 beyond = sides * 2 * EXPONENTS_BEYOND;  // the spread orders that other exponents need
  u32 all = choose_ranges(mine, exponents, begin, end, most, 1);
  if (all + beyond > LEADS) all = choose_ranges(mine, exponents, begin, end, most + most / 16, 1);
  if (all > LEADS) all = choose_ranges(mine, exponents, begin, end, most, 0);
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  barrier_local();
  if (all > LEADS) return 0;
  u32 left = LEADS - all;
  // Where rare exponents are many, more are to be expected beyond.
  const u32 share = left / sides;
  exponents.below = min(EXPONENTS_BEYOND, share * few_below / (few_below + few_above));
  exponents.above = min(EXPONENTS_BEYOND, share - exponents.below);
  exponents.below = min(EXPONENTS_BEYOND, share - exponents.above);
  left -= sides * (exponents.below + exponents.above);
  // Numbers of the other sign, which no sample has, get space if enough is left.
  const u32 width = exponents.largest + exponents.above + 1 + exponents.below - exponents.least;
  if (sides == 1 && width <= left) exponents.sides = 3, sides = 2, left -= width;
  exponents.below += left / sides;  // for smaller numbers still
  for (u32 lead = begin; lead < end; ++lead)
    if (!has_space(exponents, lead)) mine->spread[lead] = SPREAD_NONE;
  write_spread(mine, table, back, begin, end);
  return 1;
}
#endif

#if MAPS || STRETCHES
// Finds the smallest and the largest of the work-items' orders and stores them in *least and
// *largest. `edges`: four words, 0 at first. Contains barriers.
INLINE void find_edges(LOCAL u32* edges, ukey_t* least, ukey_t* largest) {
  const ukey_t inverted = ~*least;
#if KEY_BITS == 64
  wg_max(&edges[0], (u32)(inverted >> 32));
  wg_max(&edges[2], (u32)(*largest >> 32));
  barrier_local();
  if ((u32)(inverted >> 32) == edges[0]) local_max(&edges[1], (u32)inverted);
  if ((u32)(*largest >> 32) == edges[2]) local_max(&edges[3], (u32)*largest);
  barrier_local();
  *least = ~((ukey_t)edges[0] << 32 | edges[1]);
  *largest = (ukey_t)edges[2] << 32 | edges[3];
#else
  wg_max(&edges[0], (u32)inverted);
  wg_max(&edges[2], (u32)*largest);
  barrier_local();
  *least = ~(ukey_t)edges[0];
  *largest = (ukey_t)edges[2];
#endif
}

#endif

#if MAPS
// Sets the first `count` words of mine->counts to 0.
INLINE void clear_counts(LOCAL msd_count_memory_t* mine, u32 count) {
  barrier_local();
  for (u32 i = local_id(); i < count; i += WG) mine->counts[i] = 0;
  barrier_local();
}
#endif

#if MAPS
// ---- The map ----
#define OWN_CELLS (MAP_CELLS > WG ? MAP_CELLS / WG : 1)

// Returns a window around the orders from `least` to `largest`, both closed up. It is at least one
// and a half times as wide, because some keys lie beyond the samples on both sides. `w`: what it
// skips.
INLINE window_t make_window(window_t w, ukey_t least, ukey_t largest) {
  const ukey_t span = largest - least, all = (ukey_t) ~(ukey_t)0, top = closed_up(w, all);
  u32 width = highest_bit(span | 1) + 1;
  if (width < KEY_BITS && (all >> (KEY_BITS - width)) - span < span / 2) ++width;
  w.up = KEY_BITS - width;
  w.last = min(all >> w.up, top);
  const ukey_t below = min((w.last - span) / 2, least);
  w.begin = min(least - below, top - w.last);
#if KEY_FLOAT && KEY_NAN == NAN_LAST
  if (w.begin + w.last == top) --w.last;
#elif KEY_FLOAT && KEY_NAN == NAN_FIRST
  if (w.begin == 0) w.begin = 1, --w.last;
#endif
  w.pivots = 0;
  return w;
}

#if KEY_FLOAT
// If samples lie on both sides of zero, makes the window skip the orders between them, except
// EXPONENTS_KEPT exponents next to the samples of either side. Smaller numbers than that, and zero,
// share a place. Contains barriers.
#define EXPONENTS_KEPT 8u
INLINE void skip_around_zero(LOCAL msd_count_memory_t* mine, window_t* w, const ukey_t* order) {
  const ukey_t zero = key_order(0), exponent = KEY_INFINITY & (0 - KEY_INFINITY),
               kept = exponent * EXPONENTS_KEPT;
  ukey_t above = (ukey_t) ~(ukey_t)0, below = 0;
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    if (IS_NAN_ORDER(order[i])) continue;
    if (order[i] > zero + exponent) above = min(above, order[i]);
    if (order[i] < zero - exponent) below = max(below, order[i]);
  }
  find_edges(&mine->edges[4], &above, &below);
  if (below == 0 || above == (ukey_t) ~(ukey_t)0 || above - below <= 2 * kept) return;
  w->skip_from = below + kept;
  w->skip = above - below - 2 * kept;
}
#endif

// Returns the window around all samples. Contains barriers.
INLINE window_t window_of_samples(LOCAL msd_count_memory_t* mine, const ukey_t* order) {
  window_t w;
#if KEY_FLOAT
  w.skip_from = w.skip = 0;
  skip_around_zero(mine, &w, order);
#endif
  ukey_t least = (ukey_t) ~(ukey_t)0, largest = 0;
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    if (IS_NAN_ORDER(order[i])) continue;
    least = min(least, closed_up(w, order[i]));
    largest = max(largest, closed_up(w, order[i]));
  }
  find_edges(mine->edges, &least, &largest);
  return make_window(w, min(least, largest), largest);
}

// Adds each sample that lies in the window to mine->counts[its cell], except pivots if `pivots` is
// 1.
INLINE void count_cells(LOCAL msd_count_memory_t* mine, window_t w, const ukey_t* order,
                        u32 pivots) {
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const ukey_t x = closed_up(w, order[i]);
    const u32 cell = CELL_OF(PLACE_IN_WINDOW(w, x));
    if (!IN_WINDOW(w, x)) continue;
    if (!pivots || order[i] != mine->map.pivots[cell]) local_add(&mine->counts[cell], 1u);
  }
  barrier_local();
}

// Few samples may lie far from all others, and make the window so wide that the others share few
// cells. If without ZOOM_SAMPLES samples on either side a window ZOOM times narrower is enough,
// returns 1 and sets *w to it. mine->counts has the number of samples in each cell, and is 0
// afterwards. Contains barriers.
#define ZOOM 8u
#define ZOOM_SAMPLES ((u32)(GATHERED * WG / 2048))
INLINE u32 narrow_window(LOCAL msd_count_memory_t* mine, window_t* w) {
  const u32 first = local_id() * OWN_CELLS;
  u32 sum = 0;
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) sum += first + i < MAP_CELLS ? mine->counts[first + i] : 0;
  index_t all;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  const u32 least = ZOOM_SAMPLES, most = (u32)all - min((u32)all, ZOOM_SAMPLES);
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 samples = first + i < MAP_CELLS ? mine->counts[first + i] : 0;
    if (before <= least && least < before + samples) mine->inner[0] = first + i;
    if (before < most && most <= before + samples) mine->inner[1] = first + i;
    before += samples;
  }
  clear_counts(mine, MAP_CELLS);
  if (least >= most || w->up + LOG_CELLS >= KEY_BITS) return 0;
  const u32 begin = mine->inner[0], cells = mine->inner[1] - begin + 1;
  if (cells * ZOOM > MAP_CELLS) return 0;
  const u32 log2_width = KEY_BITS - w->up - LOG_CELLS;  // of a cell
  const ukey_t from = w->begin + ((ukey_t)begin << log2_width);
  *w = make_window(*w, from, from + ((ukey_t)cells << log2_width) - 1);
  return 1;
}

// Finds each cell's pivot: the order of the most samples, if at least `least` samples have it.
// Returns 1 if there is any. Samples are counted in a hash table without their orders, so the
// number may be too large; this costs buckets and nothing else. mine->counts must be 0 and is 0
// afterwards. Contains barriers.
INLINE u32 find_pivots(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, window_t w,
                       const ukey_t* order, u32 least) {
  const u32 t = local_id();
  for (u32 i = t; i < MAP_CELLS; i += WG) mine->map.cells[i] = 0;
  if (t == 0) mine->last = 0;
#if KEY_BITS == 64
#define HASH_OF(order) \
  ((u32)((order)*0x9e3779b97f4a7c15ul >> 32) >> (32 - highest_bit32(COUNT_WORDS)))
#else
#define HASH_OF(order) ((u32)(order)*0x9e3779b1u >> (32 - highest_bit32(COUNT_WORDS)))
#endif
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) local_add(&mine->counts[HASH_OF(order[i])], 1u);
  barrier_local();
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const u32 same = mine->counts[HASH_OF(order[i])];
    const ukey_t x = closed_up(w, order[i]);
    if (same < least || !IN_WINDOW(w, x)) continue;
    local_max(&mine->map.cells[CELL_OF(PLACE_IN_WINDOW(w, x))],
              min(same, 0xffffu) << 16 | (i * WG + t));
  }
  clear_counts(mine, COUNT_WORDS);
  for (u32 i = t; i < MAP_CELLS; i += WG) {
    const u32 found = mine->map.cells[i];
    mine->map.pivots[i] = found != 0 ? key_order(samples[found & 0xffff]) : NO_PIVOT;
    if (found != 0) local_or(&mine->last, 1u);
  }
  barrier_local();
  return mine->last;
}

// Assigns buckets to cells in proportion to their samples, and two buckets to each pivot.
// mine->counts has the number of samples in each cell without those that equal its pivot; it is 0
// afterwards. `last_has`: 1 if the last cell needs buckets for a pivot. Contains barriers.
INLINE void assign_buckets(LOCAL msd_count_memory_t* mine, u32 last_has) {
  const u32 first = local_id() * OWN_CELLS;
  // The weight of a cell is three times the number of its samples, plus those of both neighbours,
  // which make up for the samples' random error, plus 8 for keys that no sample represents. The
  // upper bits count pivots.
#define PIVOT_COUNT 20  // the lowest of these bits
  u32 weight[OWN_CELLS], sum = 0;
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 cell = first + i, is_cell = cell < MAP_CELLS, at = cell % MAP_CELLS;
    const u32 has_pivot = mine->map.pivots[at] != NO_PIVOT || (last_has && at == MAP_CELLS - 1);
    const u32 beside = mine->counts[at - min(at, 1u)] + mine->counts[min(at + 1, MAP_CELLS - 1u)];
    weight[i] = is_cell ? 3 * mine->counts[at] + beside + 8 + (has_pivot << PIVOT_COUNT) : 0;
    sum += weight[i];
  }
  index_t all_;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all_);
  const u32 mask = (1u << PIVOT_COUNT) - 1, all = (u32)all_ & mask,
            shared = INNER_BUCKETS - 2 * ((u32)all_ >> PIVOT_COUNT);
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 own = (u32)((u64)(before & mask) * shared / all),
              next = (u32)((u64)((before + weight[i]) & mask) * shared / all);
    const u32 of_pivots = 2 * (before >> PIVOT_COUNT);
    before += weight[i];
    if (first + i < MAP_CELLS)
      mine->map.cells[first + i] = (INNER_FIRST + own + of_pivots) << 16 | min(next - own, 0xffffu);
  }
  clear_counts(mine, MAP_CELLS);
}

// Makes a map of the samples and sets *window. Returns 0 if the map would not help, because too
// many samples share a bucket. Contains barriers.
OUTLINE u32 try_map(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, limits_t limits,
                    window_t* window) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  ukey_t order[GATHERED];
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) order[i] = key_order(samples[i * WG + t]);
  window_t w = window_of_samples(mine, order);
  for (u32 round = 0; round < 3; ++round) {
    count_cells(mine, w, order, 0);
    if (!narrow_window(mine, &w)) break;
  }
  w.pivots = find_pivots(mine, samples, w, order, limits.pivot);
  count_cells(mine, w, order, 1);
  assign_buckets(mine, w.pivots);
  *window = w;
#if COUNT_BITS == 16  // narrower counts may overflow: then the work-groups' verdicts could differ
  u32 bucket[GATHERED];
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const u32 cell = CELL_OF(PLACE_IN_WINDOW(w, closed_up(w, order[i]))),
              is_pivot = order[i] == mine->map.pivots[cell] || IS_NAN_ORDER(order[i]);
    bucket[i] = is_pivot ? NO_BUCKET : bucket_of_order(&mine->map, w, order[i], w.pivots);
  }
  return count_crowded(mine, bucket, GATHERED, limits.map_crowd) <= limits.map_crowded;
#else
  return 1;
#endif
}

// Returns the smallest order whose bucket is `bucket` or a later one, or 0 if there is none.
INLINE ukey_t first_order(LOCAL const map_t* map, window_t w, u32 bucket) {
  ukey_t low = 0, high = (ukey_t) ~(ukey_t)0;
  if (bucket_of_order(map, w, high, w.pivots) < bucket) return 0;
  while (low < high) {
    const ukey_t middle = low + (high - low) / 2;
    if (bucket_of_order(map, w, middle, w.pivots) < bucket)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Returns how many records a local sort can sort of a bucket whose orders are at most `distance`
// apart; a bucket of one order needs no sort. With ITEM_BITS, an item must hold the bits of a
// distance and of a position.
INLINE u32 limit_of(ukey_t distance, u32 capacity) {
  if (distance == 0) return ~0u;
#if ITEM_BITS
  const u32 place_bits = ITEM_BITS - 1 - highest_bit(distance);
  return place_bits < 31 ? min(capacity, 1u << place_bits) : capacity;
#else
  return capacity;
#endif
}

// Work-group 0 writes the map. All work-groups together write the first order of each bucket and
// the most records that it may have.
INLINE void write_map(LOCAL msd_count_memory_t* mine, window_t w, u32 capacity, GLOBAL u32* map,
                      GLOBAL ukey_t* bounds, GLOBAL u32* most) {
  const u32 t = local_id();
  if (group_id() == 0) {
    GLOBAL ukey_t* pivots = (GLOBAL ukey_t*)(map + MAP_HEAD);
    GLOBAL u32* cells = map + MAP_HEAD + MAP_CELLS * (KEY_BITS / 32);
    for (u32 i = t; i < MAP_CELLS; i += WG)
      pivots[i] = mine->map.pivots[i], cells[i] = mine->map.cells[i];
    if (t == 0) {
      map[0] = (u32)w.begin, map[2] = (u32)w.last, map[4] = w.up, map[5] = w.pivots;
#if KEY_BITS == 64
      map[1] = (u32)(w.begin >> 32), map[3] = (u32)(w.last >> 32);
#endif
#if KEY_FLOAT
      map[6] = (u32)w.skip_from, map[8] = (u32)w.skip;
#endif
#if KEY_FLOAT && KEY_BITS == 64
      map[7] = (u32)(w.skip_from >> 32), map[9] = (u32)(w.skip >> 32);
#endif
    }
  }
  for (u32 b = group_id() * WG + t; b < MAP_BUCKETS; b += group_count() * WG) {
    const ukey_t first = first_order(&mine->map, w, b);
    bounds[b] = first;
    most[b] = limit_of(first_order(&mine->map, w, b + 1) - first - 1, capacity);
  }
}
#endif

#if STRETCHES
// ---- Stretched keys ----
// choose_stretch sets *s for keys whose sampled orders are from `least` to `largest`. It returns 0
// if this attempt would not spread them better than their leading bits do.
#if KEY_BITS == 64
#define STRETCH_ATTEMPTS 2u
// The first range has the width of a power of two and is a 32nd wider than the samples' or more.
// The second one is the block of 2^k orders that begins at a multiple of 2^k and has all samples,
// so keys beyond the samples may be outside it.
INLINE u32 choose_stretch(ukey_t least, ukey_t largest, u32 attempt, stretch_t* s) {
  const ukey_t all = (ukey_t) ~(ukey_t)0, apart = (ukey_t)(least ^ largest) | 1,
               span = largest - least;
  u32 width = highest_bit(attempt != 0 ? apart : (ukey_t)(span | 1)) + 1;
  if (attempt == 0 && width < KEY_BITS && (ukey_t)((all >> (KEY_BITS - width)) - span) <= span / 32)
    ++width;
  s->up = min(KEY_BITS - width, (u32)STRETCH_MOST);
  s->more = STRETCH_MORE;
  s->last = all >> s->up;
  if (attempt != 0)
    s->least = least & (ukey_t)~s->last;
  else
    s->least =
        min((ukey_t)(least - min((ukey_t)((s->last - span) / 2), least)), (ukey_t)(all - s->last));
  return s->up != 0 || (s->more != 0 && attempt == 0);
}
#else
#define STRETCH_ATTEMPTS 1u
// The range is a 64th wider than the samples' at both ends, and at least so wide that the scale is
// at most 2^STRETCH_MOST.
INLINE u32 choose_stretch(ukey_t least, ukey_t largest, u32 attempt, stretch_t* s) {
  const u32 all = ~0u, margin = (largest - least) / 64 + 1, narrowest = all >> STRETCH_MOST;
  s->least = least - min(margin, least);
  s->last = max(largest + min(margin, all - largest) - s->least, narrowest);
  s->least = min(s->least, all - s->last);
  const u64 scale = ~(u64)0 / ((u64)s->last + 1);
  s->times = (u32)(scale >> 32);
  s->part = (u32)scale;
  s->more = 0;
  return s->last <= all - all / 16;  // a wider range would fill buckets by 6 % less, or nothing
}
#endif

INLINE u32 stretched_bucket(stretch_t s, ukey_t key) {
  return (u32)(stretched_order(s, key) >> (KEY_BITS - highest_bit32(BUCKETS) - s.more));
}

// Returns 1 if the samples spread over the buckets of stretched keys, and sets *stretch. Contains
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
  for (u32 attempt = 0; attempt < STRETCH_ATTEMPTS; ++attempt) {
    stretch_t s;
    s.is = 1;
    if (!choose_stretch(least, largest, attempt, &s)) continue;
    u32 bucket[SAMPLES];
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i) bucket[i] = stretched_bucket(s, sample[i]);
    if (count_crowded(mine, bucket, SAMPLES, limits.crowd) != 0) continue;
    const u32 coarse = highest_bit32(BUCKETS / COARSE) + s.more;
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i) bucket[i] >>= coarse;
    if (count_crowded(mine, bucket, SAMPLES, max(limits.coarse, limits.stretch_coarse << s.more)) !=
        0)
      continue;
    *stretch = s;
    return 1;
  }
  return 0;
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
// has pivots, or STRETCHED. If the key cannot be stretched, sets *others to 1. If the key is mapped
// and may tie (TIES_MATTER), sets *others to 1. With SPREAD_BITS: if the key is not mapped and may
// be a zero or NaN that ties, or if its lead has no spread orders, sets *others to 1 and returns a
// meaningless number.
#define WITH_PIVOTS 2
#define STRETCHED 3
INLINE u32 bucket_of(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, verdict_t v, u32 mapped,
                     u32* others) {
#if STRETCHES
  if (mapped == STRETCHED) {
    if (!in_stretch(v.stretch, key)) *others = 1;
    return stretched_bucket(v.stretch, key);
  }
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
#if SETS_ASIDE
  if (entry >= HAS_CLASS) *others = 1;
#else
  if (entry >= HAS_CLASS && (entry == SPREAD_NONE || key_ties(key))) *others = 1;
#endif
  return bucket_of_spread(order, entry, shift);
#else
  return key_digit(key, shift, BUCKETS - 1);
#endif
}

#if SETS_ASIDE
// Like bucket_of, but accepts any key. If the key is set aside, counts it in *members and returns
// NO_BUCKET. If its lead has no spread orders, sets *misfits to 1.
INLINE u32 bucket_or_class(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, u32* members,
                           u32* misfits) {
  if (has_class(key)) {
    *members += is_nan(key) ? ONE_NAN : ONE_ZERO;
    return NO_BUCKET;
  }
  const ukey_t order = untied_order(key);
  const u32 entry = mine->spread[spread_index(order)];
  if (entry == SPREAD_NONE) *misfits = 1;
  return bucket_of_spread(order, entry & ~HAS_CLASS, shift);
}
#endif

// ---- The verdict ----
// By pointer: the simulator Oclgrind cannot inline a function that returns so large a structure.
INLINE void judge(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, u32 shift,
                  limits_t limits, GLOBAL u32* spread, GLOBAL u32* back, verdict_t* verdict) {
  verdict_t v;
  v.skewed = v.mapped = v.ties = 0;
#if STRETCHES
  v.stretched = v.stretch.is = v.stretch.more = 0;
#endif
#if SAMPLES
  const u32 t = local_id();
  u32 spreads = 1, repeats = 0, members = 0, others = 0;
  ukey_t sample[SAMPLES];
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) sample[i] = samples[(i * WG + t) * (GATHERED / SAMPLES)];
#if KEY_FLOAT
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) v.ties |= key_ties(sample[i]);
#endif
#if SPREAD_BITS
  count_parts(mine, sample);
  spreads = make_spread(mine, spread, back, limits.lead);
#endif
#if TELLS_REPEATS
  repeats = count_repeats(mine, sample);
  spreads = repeats <= limits.repeats;
#endif
  if (spreads) {
    u32 bucket[SAMPLES];
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i)
#if SETS_ASIDE
      bucket[i] = bucket_or_class(mine, sample[i], shift, &members, &others);
#else
      bucket[i] = bucket_of(mine, sample[i], shift, v, 0, &others);
#endif
    spreads = count_crowded(mine, bucket, SAMPLES, limits.crowd) == 0;
#if MAPS || SPREAD_BITS || STRETCHES
    // A bucket has few samples, which tell little. Many buckets together tell more.
    UNROLL
    for (u32 i = 0; i < SAMPLES; ++i)
      if (bucket[i] != NO_BUCKET) bucket[i] >>= highest_bit32(BUCKETS / COARSE);
    if (spreads) spreads = count_crowded(mine, bucket, SAMPLES, limits.coarse) == 0;
#endif
#if SPREAD_BITS && !SETS_ASIDE
    index_t all_others;
    wg_scan_add(mine->scratch, WG, others, &all_others);
    if (all_others != 0) spreads = 0;  // keys that tie
#endif
  }
#if STRETCHES
  if (!spreads && repeats <= limits.repeats)
    spreads = v.stretched = try_stretch(mine, sample, limits, &v.stretch);
#endif
#if MAPS
  if (!spreads) spreads = v.mapped = try_map(mine, samples, limits, &v.window);
#endif
  if (!spreads) {
    v.skewed = 1;
#if FEW_DIGITS
#if SPREAD_BITS  // for floats, repeated keys matter only for the sort of keys that do not spread
    repeats = count_repeats(mine, sample);
#endif
    if (digits_are_few(mine, sample, limits.few_agree) || repeats > limits.few_repeats)
      v.skewed = FEW_DIGITS;
#endif
  }
#endif
  *verdict = v;
}
