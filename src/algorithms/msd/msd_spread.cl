// msd, floats: chooses spread orders from the samples. msd_samples.cl comes before this file.
// "Order" is short for a key's order bits.

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
  if (seen == 0) return 0;
  const u32 all = seen + 4 + root(seen);
  // Within its part the density changes, too: by a quarter of the difference between the part and
  // the lead.
  return densest ? max(all, LEAD_PARTS * (most + 1 + root(most)) + (LEAD_PARTS * most - seen) / 4)
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
// spread orders, an eighth more; if there still are not, until its buckets have `most` / 256 on
// average. A lead without samples keeps the range that it has in the plain order, if enough spread
// orders are left; zero always does.
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
  if (all > LEADS) all = choose_ranges(mine, exponents, begin, end, most + most / 8, 1);
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
  // If all samples have one sign, numbers of the other sign get space only if enough is left for
  // numbers that are smaller than the samples.
  const u32 width = exponents.largest + exponents.above + 1 + exponents.below - exponents.least;
  if (sides == 1 && width + 2 * EXPONENTS_BEYOND <= left)
    exponents.sides = 3, sides = 2, left -= width;
  exponents.below += left / sides;  // for smaller numbers still
  for (u32 lead = begin; lead < end; ++lead)
    if (!has_space(exponents, lead)) mine->spread[lead] = SPREAD_NONE;
  write_spread(mine, table, back, begin, end);
  return 1;
}
#endif
