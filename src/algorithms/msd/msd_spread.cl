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
// In the count's table, marks a lead whose keys may be zeros or NaNs.
#define HAS_CLASS 0x80000000u
#define MAY_HAVE_CLASS(e) \
  ((e) == 0 || (e) == LEADS / 2 - 1 || (KEY_NAN == NAN_FIRST && (e) == LEADS / 2 - 2))
// All NaNs have lead 0 or this lead. With NanOrder::first, the largest finite number has it, too.
#define OTHER_NAN_LEAD (KEY_NAN == NAN_FIRST ? 1u : LEADS - 1)
// The lead before which the zeros' digit lies. If zeros are a class, its spread orders begin at a
// multiple of GAP_LEADS. Up to GAP_LEADS - 1 spread orders before the digit then remain unused.
#define LEAD_AFTER_ZEROS (LEADS / 2 + (KEY_NAN == NAN_FIRST ? 1 : 0))
#if BUCKET_BITS >= SPREAD_BITS
#define FIRST_BUCKET(lead) ((lead) << (BUCKET_BITS - SPREAD_BITS))
#else
#define FIRST_BUCKET(lead) ((lead) >> (SPREAD_BITS - BUCKET_BITS))
#endif
#if CLASS_DIGITS
#define ZERO_LEADS (KEY_ZEROS == ZEROS_TIED ? CLASS_LEADS : 0u)
#define NAN_LEADS (KEY_NAN == NAN_BITS ? 0u : CLASS_LEADS)
#define GAP_LEADS (KEY_ZEROS == ZEROS_TIED ? CLASS_LEADS : 1u)
#else
#define ZERO_LEADS 0u
#define NAN_LEADS 0u
#define GAP_LEADS 1u
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
#if CLASS_DIGITS
    if (has_class(sample[i])) continue;
#endif
    const u32 part = (u32)(key_order(sample[i]) >> (KEY_BITS - SPREAD_BITS - 3)) / (8 / LEAD_PARTS);
    local_add(&mine->counts[part / 2], 1u << 16 * (part % 2));
  }
  barrier_local();
}

// How many leads each work-item has, and the number of its lead i.
#define OWN_LEADS (LEADS > WG ? LEADS / WG : 1u)
#define LEAD(i) (local_id() * OWN_LEADS + (i))

// How many samples a lead is expected to have, if the random error of the samples is at the lead's
// expense; 0 if it has none.
typedef struct {
  u32 all;      // in the whole lead
  u32 densest;  // if the whole lead were as dense as the densest place in it
} likely_t;
INLINE likely_t likely_samples(LOCAL const msd_count_memory_t* mine, u32 lead) {
  u32 seen = 0, most = 0;  // samples of the lead, and of its part with the most
  if (LEAD_PARTS == 8) {
    const uint4 w = ((LOCAL const uint4*)mine->counts)[lead];
    const u32 sum = w.x + w.y + w.z + w.w;
    seen = (sum & 0xffff) + (sum >> 16);
    most = max(max(max(w.x >> 16, w.y >> 16), max(w.z >> 16, w.w >> 16)),
               max(max(w.x & 0xffff, w.y & 0xffff), max(w.z & 0xffff, w.w & 0xffff)));
  } else {
    for (u32 part = lead * LEAD_PARTS; part < (lead + 1) * LEAD_PARTS; ++part) {
      const u32 samples = SAMPLES_OF(part);
      seen += samples, most = max(most, samples);
    }
  }
  likely_t likely;
  likely.all = likely.densest = 0;
  if (seen == 0) return likely;
  likely.all = seen + 4 + root(seen);
  // Within its part the density changes, too: by a quarter of the difference between the part and
  // the lead.
  likely.densest =
      max(likely.all, LEAD_PARTS * (most + 1 + root(most)) + (LEAD_PARTS * most - seen) / 4);
  return likely;
}

// Returns the range of the samples' exponents, and their signs. Sets `below` and `above` to how
// many of these exponents are smaller and larger than all common ones. Contains a barrier.
INLINE exponents_t find_exponents(LOCAL msd_count_memory_t* mine, const likely_t* likely) {
  UNROLL
  for (u32 i = 0; i < OWN_LEADS; ++i) {
    const u32 e = exponent_of(LEAD(i));
    if (likely[i].all == 0 || e == 0 || e == LEADS / 2 - 1) continue;
    local_max(&mine->exponents[0], LEADS - e);
    local_max(&mine->exponents[1], e + 1);
    if (likely[i].all > SAMPLES * WG / 128) {
      local_max(&mine->exponents[2], LEADS - e);
      local_max(&mine->exponents[3], e + 1);
    }
    local_or(&mine->sides, LEAD(i) >= LEADS / 2 ? 2u : 1u);
  }
  barrier_local();
  exponents_t found;
  found.least = LEADS - mine->exponents[0];
  found.largest = max(mine->exponents[1], 1u) - 1;
  const u32 least = LEADS - mine->exponents[2], end = mine->exponents[3];  // of the common ones
  found.below = end != 0 ? least - found.least : 0;
  found.above = end != 0 ? found.largest - (end - 1) : 0;
  found.sides = mine->sides != 0 ? mine->sides : 3;
  return found;
}

#if CLASS_DIGITS
// Writes the entries of the classes. `zeros`: the first lead of the zeros' digit.
INLINE void write_classes(GLOBAL u32* table, GLOBAL u32* back, u32 zeros) {
  const u32 nans = KEY_NAN == NAN_FIRST ? 0 : LEADS - CLASS_LEADS, i = local_id();
  if (i >= 2) return;
  table[LEADS + i] =
      i == 0 ? (ZERO_LEADS != 0 ? zeros : NO_CLASS) : (NAN_LEADS != 0 ? nans : NO_CLASS);
  // class_lead() chooses by the lowest bit of the lead.
  if (ZERO_LEADS != 0) back[zeros + i] = gather_entry(LEADS / 2 - i, zeros + i, 0);
  if (NAN_LEADS != 0) back[nans + i] = gather_entry(i == 0 ? 0u : OTHER_NAN_LEAD, nans + i, 0);
}
#endif

// Writes the tables `table` and `back`, and sets mine->spread to the count's table. log2_times[i]
// is the log2 of the factor of the work-item's lead i, or SPREAD_NONE. Contains barriers.
INLINE void write_spread(LOCAL msd_count_memory_t* mine, GLOBAL u32* table, GLOBAL u32* back,
                         const u32* log2_times) {
  index_t sum = 0, sum_before_zeros = 0, all;
  UNROLL
  for (u32 i = 0; i < OWN_LEADS; ++i) {
    sum += log2_times[i] != SPREAD_NONE ? 1u << log2_times[i] : 0;
    if (LEAD(i) < LEAD_AFTER_ZEROS) sum_before_zeros = sum;
  }
  u32 first = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
#if CLASS_DIGITS
  wg_scan_add(mine->scratch, WG, sum_before_zeros, &all);
  const u32 least = KEY_NAN == NAN_FIRST ? NAN_LEADS : 0, before = least + (u32)all,
            zeros = before + (0 - before) % GAP_LEADS, left_out = zeros + ZERO_LEADS - before;
  if (local_id() == 0) mine->gap = FIRST_BUCKET(zeros + ZERO_LEADS);
  first += least + (LEAD(0) > LEAD_AFTER_ZEROS ? left_out : 0);
  if (group_id() == 0) write_classes(table, back, zeros);
#endif
  UNROLL
  for (u32 i = 0; i < OWN_LEADS; ++i) {
    const u32 lead = LEAD(i), power = log2_times[i],
              flag = MAY_HAVE_CLASS(exponent_of(lead)) ? HAS_CLASS : 0;
#if CLASS_DIGITS
    first += lead == LEAD_AFTER_ZEROS ? left_out : 0;
#endif
    if (lead >= LEADS) continue;
    const u32 has_range = power != SPREAD_NONE;
    mine->spread[lead] = has_range ? COUNT_ENTRY(first, power) | flag : SPREAD_NONE;
    if (group_id() == 0 && has_range) table[lead] = spread_entry(first, power);
    if (!has_range) continue;
    for (u32 at = group_id(); at < 1u << power; at += group_count())
      back[first + at] = gather_entry(lead, first, power);
    first += 1u << power;
  }
  barrier_local();
}

// Chooses how many spread orders each lead gets, and sets log2_times[i] to the log2 of that of the
// work-item's lead i. `densest`: by its densest place. Returns the number of spread orders if only
// the samples' exponents have space. Contains barriers.
INLINE u32 choose_ranges(LOCAL msd_count_memory_t* mine, exponents_t exponents,
                         const likely_t* likely, u32* log2_times, u32 most, u32 densest) {
  index_t sum = 0, all;
  UNROLL
  for (u32 i = 0; i < OWN_LEADS; ++i) {
    // The fewest doublings after which 256 * samples <= most << power.
    const u32 samples = densest ? likely[i].densest : likely[i].all,
              ratio = samples != 0 ? (256 * samples - 1) / most : 0,
              power = ratio != 0 ? min(highest_bit32(ratio) + 1, (u32)SPREAD_BITS) : 0;
    log2_times[i] = power;
    sum += LEAD(i) < LEADS && has_space(exponents, LEAD(i)) ? 1u << power : 0;
  }
  wg_scan_add(mine->scratch, WG, sum, &all);
  return (u32)all + GAP_LEADS - 1 + ZERO_LEADS + NAN_LEADS;
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
  likely_t likely[OWN_LEADS];
  u32 log2_times[OWN_LEADS];
  UNROLL
  for (u32 i = 0; i < OWN_LEADS; ++i)
    if (LEAD(i) < LEADS)
      likely[i] = likely_samples(mine, LEAD(i));
    else
      likely[i].all = likely[i].densest = 0;
  exponents_t exponents = find_exponents(mine, likely);
  const u32 few_below = exponents.below + 1, few_above = exponents.above + 1;
  exponents.below = exponents.above = 0;
  u32 sides = exponents.sides != 3 ? 1 : 2;
  const u32 beyond = sides * 2 * EXPONENTS_BEYOND;  // the spread orders that other exponents need
  // After find_exponents, nothing reads the counts.
  for (u32 i = local_id(); i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
#define CHOOSE(limit, densest) \
  all = choose_ranges(mine, exponents, likely, log2_times, limit, densest)
  u32 all;
  CHOOSE(most, 1);
  if (all + beyond > LEADS) CHOOSE(most + most / 16, 1);
  if (all > LEADS) CHOOSE(most + most / 8, 1);
  if (all > LEADS) CHOOSE(most, 0);
#undef CHOOSE
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
  UNROLL
  for (u32 i = 0; i < OWN_LEADS; ++i)
    if (LEAD(i) >= LEADS || !has_space(exponents, LEAD(i))) log2_times[i] = SPREAD_NONE;
  write_spread(mine, table, back, log2_times);
  return 1;
}
#endif
