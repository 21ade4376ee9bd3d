// msd, lists of more than 2^21 records: counts the keys of each bucket, finds where each bucket
// begins, and decides whether the keys spread over the buckets. A bucket is a value of the keys'
// leading bits. Two kernels:
//   msd_start  clears memory and copies samples of the keys into one array
//   msd_count  examines the samples, counts all keys, and finds where buckets begin
// Comments at the kernels describe their inputs and outputs. "Order" is short for a key's order
// bits.

PARAMETER(WG)          // work-items of a work-group of msd_count
PARAMETER(ITEMS)       // keys that a work-item loads at a time
PARAMETER(START_WG)    // work-items of a work-group of msd_start
PARAMETER(BUCKETS)     // buckets, a power of two
PARAMETER(COUNT_BITS)  // bits of a bucket's count in local memory: 16, 8 or 4
PARAMETER(
    COUNT_WORDS)     // 32-bit words for the counts or for the tables of the samples, a power of two
PARAMETER(SAMPLES)   // samples that each work-item of msd_count examines; 0: there are no samples
PARAMETER(GATHERED)  // samples of each work-item from which a map is made; a multiple of SAMPLES
PARAMETER(TELLS_REPEATS)  // 1: samples tell whether keys repeat
PARAMETER(FEW_DIGITS)     // not 0: samples tell whether most digits have few values; if so, *skewed
                          // becomes FEW_DIGITS
PARAMETER(
    MAP_BUCKETS)  // number of buckets of mapped keys, a power of two; used if MAP_CELLS is not 0
PARAMETER(LISTS)  // 1: mapped buckets that are too large are listed; used if MAP_CELLS is not 0
PARAMETER(SPREAD_BITS)  // not 0: keys are floats that are partitioned by spread orders; the width
                        // of a lead in bits
PARAMETER(BUCKET_BITS)  // log2(BUCKETS); used if SPREAD_BITS is not 0
PARAMETER(SETS_ASIDE)   // not 0: keys are set aside (msd_set_aside.cl, which comes before this
                        // file); needs SPREAD_BITS

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
  u32 spread[1 << SPREAD_BITS];            // the number of samples of each lead, then the table
  u32 exponents[(1 << SPREAD_BITS) / 64];  // one bit for each exponent: 1 if a sample has it
#endif
#if MAPS
  map_t map;
  u32 edges[4];  // of the samples: the inverted smallest order, then the largest; upper words first
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

#define EXPONENTS_ABOVE 2u  // exponents beyond those of the samples that get space, too
#define EXPONENTS_BELOW 48u
// The exponents to which spread orders are assigned: those of zero and infinity, and those from
// `least` - `below` to `largest` + EXPONENTS_ABOVE.
typedef struct {
  u32 least, largest, below;
} exponents_t;
INLINE u32 has_space(exponents_t exponents, u32 lead) {
  const u32 e = exponent_of(lead);
  return e == 0 || e == LEADS / 2 - 1 ||
         (e + exponents.below >= exponents.least && e <= exponents.largest + EXPONENTS_ABOVE);
}

// Returns the range of the samples' exponents. mine->spread has the number of samples of each lead.
// Contains barriers.
INLINE exponents_t find_exponents(LOCAL msd_count_memory_t* mine, u32 begin, u32 end) {
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 e = exponent_of(lead);
    if (mine->spread[lead] != 0) local_or(&mine->exponents[e / 32], 1u << e % 32);
  }
  barrier_local();
  exponents_t found;
  found.least = LEADS, found.largest = 0, found.below = 0;
  for (u32 w = 0; w < LEADS / 64; ++w) {
    u32 word = mine->exponents[w];
    if (w == 0) word &= ~1u;  // the exponents of zero and of the smallest numbers
    if (w == LEADS / 64 - 1) word &= ~(u32)0 >> 1;  // infinities
    if (word == 0) continue;
    if (found.least == LEADS) found.least = w * 32 + highest_bit32(word & (0u - word));
    found.largest = w * 32 + highest_bit32(word);
  }
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

// Makes the table of spread orders. At first, mine->spread has the number of samples of each lead.
// Each lead gets a range of spread orders. The range of a lead with samples doubles until its
// buckets are expected to have at most `most` / 256 samples each. A lead without samples keeps the
// range that it has in the plain order, if enough spread orders are left; zero always does. Larger
// exponents come first, because random numbers of that size may occur. Work-group 0 writes `table`
// (from leads to spread orders) and `back` (from spread orders to leads). Returns 0 if there are
// not enough spread orders.
INLINE u32 make_spread(LOCAL msd_count_memory_t* mine, GLOBAL u32* table, GLOBAL u32* back,
                       u32 most) {
  const u32 t = local_id(), own = LEADS > WG ? LEADS / WG : 1;
  const u32 begin = min(t * own, LEADS), end = min(begin + own, LEADS);
  exponents_t exponents = find_exponents(mine, begin, end);
  // Assign ranges to the leads that samples have, and to all exponents between.
  index_t sum = 0, all;
  for (u32 lead = begin; lead < end; ++lead) {
    const u32 seen = mine->spread[lead];
    u32 log2_times = 0;
    if (seen != 0) {
      // The whole list may have more keys of this lead than the samples suggest: add their random
      // error.
      const u32 likely = (seen + 4 + (1u << highest_bit32(seen) / 2)) * 256;
      while (likely > most << log2_times && log2_times < SPREAD_BITS) ++log2_times;
    }
    mine->spread[lead] = log2_times;
    sum += has_space(exponents, lead) ? 1u << log2_times : 0;
  }
  wg_scan_add(mine->scratch, WG, sum, &all);
  all += GAP_LEADS - 1;
  if (all > LEADS) return 0;
  exponents.below = min(EXPONENTS_BELOW, (u32)(LEADS - all) / 2);
  for (u32 lead = begin; lead < end; ++lead)
    if (!has_space(exponents, lead)) mine->spread[lead] = SPREAD_NONE;
  write_spread(mine, table, back, begin, end);
  return 1;
}

#endif

// ---- The map (msd_map.cl) ----
#if MAPS
// Stores the smallest and the largest order of the samples in mine->edges. Contains barriers.
INLINE void find_edges(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples) {
  const u32 t = local_id();
  ukey_t least = (ukey_t) ~(ukey_t)0, largest = 0;
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const ukey_t order = key_order(samples[i * WG + t]);
    least = min(least, order);
    largest = max(largest, order);
  }
  const ukey_t inverted = ~least;
  local_max(&mine->edges[0], (u32)(inverted >> 32));
  local_max(&mine->edges[2], (u32)(largest >> 32));
  barrier_local();
  if ((u32)(inverted >> 32) == mine->edges[0]) local_max(&mine->edges[1], (u32)inverted);
  if ((u32)(largest >> 32) == mine->edges[2]) local_max(&mine->edges[3], (u32)largest);
  barrier_local();
}

// Returns the window around the samples. It has 2^k orders, at least twice as many as lie between
// the smallest and the largest sample, because other keys lie beyond the samples on both sides.
INLINE window_t make_window(LOCAL msd_count_memory_t* mine) {
  const ukey_t least = ~((ukey_t)mine->edges[0] << 32 | mine->edges[1]),
               largest = (ukey_t)mine->edges[2] << 32 | mine->edges[3];
  const ukey_t span = largest - least, all = (ukey_t) ~(ukey_t)0;
  u32 width = max(highest_bit(span | 1) + 1, 32 - ROOT_LOW);
  if (width < KEY_BITS && (all >> (KEY_BITS - width)) - span < span) ++width;
  window_t w;
  w.up = KEY_BITS - width;
  const ukey_t most = all >> w.up, below = min((most - span) / 2, least);
  w.begin = min(least - below, all - most);
  w.last = w.begin + most;
  return w;
}

// Divides roots into cells and assigns buckets to cells, in proportion to the samples in them.
// mine->counts must be 0 and is 0 afterwards. Contains barriers.
#define CELL_SAMPLES 32u  // the fewest samples of a cell, if its root has several cells
#define OWN_ROOTS (MAP_ROOTS > WG ? MAP_ROOTS / WG : 1)
#define OWN_CELLS (MAP_CELLS > WG ? MAP_CELLS / WG : 1)
INLINE void divide_roots(LOCAL msd_count_memory_t* mine, const u32* place) {
  const u32 t = local_id();
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) local_add(&mine->counts[place[i] >> ROOT_LOW], 1u);
  barrier_local();
  u32 log2_cells[OWN_ROOTS], cells = 0;
  UNROLL
  for (u32 i = 0; i < OWN_ROOTS; ++i) {
    const u32 root = t * OWN_ROOTS + i,
              samples = root < MAP_ROOTS ? mine->counts[root & (MAP_ROOTS - 1)] : 0;
    log2_cells[i] = highest_bit32(samples / CELL_SAMPLES | 1);
    cells += root < MAP_ROOTS ? 1u << log2_cells[i] : 0;
  }
  index_t all;
  u32 first = (u32)wg_scan_add(mine->scratch, WG, cells, &all);
  UNROLL
  for (u32 i = 0; i < OWN_ROOTS; ++i) {
    const u32 root = t * OWN_ROOTS + i;
    if (root >= MAP_ROOTS) continue;
    mine->counts[root] = 0;
    mine->map.roots[root] = (u16)(((first - (root << log2_cells[i])) & (MAP_CELLS - 1)) << 5 |
                                  (ROOT_LOW - log2_cells[i]));
    first += 1u << log2_cells[i];
  }
  if (t == 0) mine->last = (u32)all;
  barrier_local();
}
INLINE void make_map(LOCAL msd_count_memory_t* mine, const u32* place) {
  const u32 t = local_id();
  divide_roots(mine, place);
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) {
    const u32 root = mine->map.roots[place[i] >> ROOT_LOW];
    local_add(&mine->counts[CELL_OF(place[i], root)], 1u);
  }
  barrier_local();
  // The weight of a cell is twice the number of its samples, plus 1 for keys that no sample
  // represents.
  u32 weight[OWN_CELLS], sum = 0;
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 cell = t * OWN_CELLS + i;
    weight[i] = cell < mine->last ? 2 * mine->counts[cell & (MAP_CELLS - 1)] + 1 : 0;
    sum += weight[i];
  }
  index_t all;
  u32 before = (u32)wg_scan_add(mine->scratch, WG, sum, &all);
  UNROLL
  for (u32 i = 0; i < OWN_CELLS; ++i) {
    const u32 cell = t * OWN_CELLS + i, first = (u32)((u64)before * MAP_BUCKETS / all);
    before += weight[i];
    const u32 buckets = (u32)((u64)before * MAP_BUCKETS / all) - first;
    if (cell >= MAP_CELLS) continue;
    mine->counts[cell] = 0;
    mine->map.cells[cell] = first << 16 | min(buckets, 0xffffu);
  }
  barrier_local();
}

// Returns the smallest order whose bucket is `bucket` or a later one, or the largest possible order
// if there is none.
INLINE ukey_t first_order(LOCAL const map_t* map, window_t w, u32 bucket) {
  ukey_t low = 0, high = (ukey_t) ~(ukey_t)0;
  while (low < high) {
    const ukey_t middle = low + (high - low) / 2;
    if (bucket_of_place(map, place_in_window(w, middle)) < bucket)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Work-group 0 writes the map. All work-groups together write the first order of each bucket.
INLINE void write_map(LOCAL msd_count_memory_t* mine, window_t w, GLOBAL u32* map,
                      GLOBAL ukey_t* bounds) {
  const u32 t = local_id();
  if (group_id() == 0) {
    for (u32 i = t; i < MAP_CELLS; i += WG) map[MAP_HEAD + i] = mine->map.cells[i];
    for (u32 i = t; i < MAP_ROOTS / 2; i += WG)
      map[MAP_HEAD + MAP_CELLS + i] = mine->map.roots[2 * i] | (u32)mine->map.roots[2 * i + 1]
                                                                   << 16;
    if (t == 0) {
      map[0] = (u32)w.begin, map[1] = (u32)(w.begin >> 32);
      map[2] = (u32)w.last, map[3] = (u32)(w.last >> 32);
      map[4] = w.up, map[MAP_GROUPS] = 0;
    }
  }
  for (u32 b = group_id() * WG + t; b < MAP_BUCKETS; b += group_count() * WG)
    bounds[b] = first_order(&mine->map, w, b);
}
#else
typedef u32 window_t;
#endif

// ---- The count ----

#if SPREAD_BITS
INLINE u32 bucket_of_order(ukey_t order, u32 entry, u32 shift) {
#if BUCKET_BITS >= SPREAD_BITS
  const u32 low = (u32)(order >> (KEY_BITS - 32)) & ((1u << LEAD_LOW) - 1);
  return ((entry >> 8) + (low >> (entry & 31))) & (BUCKETS - 1);
#else
  return (u32)(spread_order(order, entry) >> shift) & (BUCKETS - 1);
#endif
}
#endif

// Returns the key's bucket. With SPREAD_BITS: if the key may be a zero or NaN that ties, or if its
// lead has no spread orders, sets *others to 1 and returns a meaningless number.
INLINE u32 bucket_of(LOCAL msd_count_memory_t* mine, ukey_t key, u32 shift, window_t w, u32 mapped,
                     u32* others) {
#if SPREAD_BITS
  const ukey_t order = untied_order(key);
  const u32 entry = mine->spread[spread_index(order)];
#if SETS_ASIDE
  if (entry >= HAS_CLASS) *others = 1;
#else
  if (entry >= HAS_CLASS && (entry == SPREAD_NONE || key_ties(key))) *others = 1;
#endif
  return bucket_of_order(order, entry, shift);
#else
#if MAPS
  if (mapped) return bucket_of_place(&mine->map, place_in_window(w, key_order(key)));
#endif
  return key_digit(key, shift, BUCKETS - 1);
#endif
}

#if SETS_ASIDE
#define NO_BUCKET (~0u)
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
  return bucket_of_order(order, entry & ~HAS_CLASS, shift);
}
#endif

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

// Clears memory, and copies samples of the keys into one array.
//   keys      in
//   samples   out: samples[i] = keys[i * apart] for i < sampled
//   skewed    out: one word; becomes 0
//   cleared   out: `words` words; become 0
KERNEL(START_WG)
void msd_start(GLOBAL const ukey_t* keys, GLOBAL ukey_t* samples, u32 sampled, u64 apart,
               GLOBAL u32* skewed, GLOBAL u32* cleared, u64 words) {
  const u64 at = (u64)group_id() * START_WG + local_id(), all = (u64)group_count() * START_WG;
  // A work-group reads consecutive samples, so that it touches few pages of memory.
  const u32 own = (sampled + group_count() - 1) / group_count(),
            end = min((group_id() + 1) * own, sampled);
  for (u32 i = group_id() * own + local_id(); i < end; i += START_WG) samples[i] = keys[i * apart];
  for (u64 i = at; i < words; i += all) cleared[i] = 0;
  if (at == 0) *skewed = 0;
}

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

#if SETS_ASIDE
// Called by the last work-group of the count. Replaces the number of members in each tile by the
// number in the tiles before it, and writes the head of `aside`. Returns how many keys are set
// aside. Contains barriers.
OUTLINE u32 scan_aside(LOCAL msd_count_memory_t* mine, GLOBAL u32* aside, u64 n) {
  if (load_relaxed(&aside[ASIDE_FOUND]) == 0) return 0;
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
  }
  return (u32)(all_zeros + all_nans);
}
#endif

// Called by the last work-group of the count. Sets starts[b] to the number of records in all
// buckets before b, and starts[buckets] to n. `buckets` must be a compile-time constant. Returns
// not 0 if a bucket has more than `capacity` records.
INLINE u32 start_buckets(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL u32* counts,
                         GLOBAL u32* starts, u64 n, u32 capacity, u32 buckets) {
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
    too_many |= count > capacity;
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
// Called by the last work-group after start_buckets, if a bucket of mapped keys has more than
// `capacity` records. Stores these buckets in `list` (described at the kernel), except those that
// have only one possible key. Returns the verdict.
INLINE u32 list_buckets(LOCAL msd_count_memory_t* mine, GLOBAL u32* counts,
                        GLOBAL const u32* starts, GLOBAL const ukey_t* bounds, u32 capacity,
                        u32 most_listed, GLOBAL u32* list) {
  const u32 own = MAP_BUCKETS > WG ? MAP_BUCKETS / WG : 1, first = local_id() * own,
            end = min(first + own, (u32)MAP_BUCKETS);
#define IS_LISTED(b)                      \
  (load_relaxed(&counts[b]) > capacity && \
   ((b) + 1 < MAP_BUCKETS ? bounds[(b) + 1] : 0) - bounds[b] != 1)
  u32 listed = 0, records = 0;
  for (u32 b = first; b < end; ++b) {
    if (!IS_LISTED(b)) continue;
    ++listed;
    records += load_relaxed(&counts[b]);
  }
  index_t all_listed, all_records;
  u32 at = (u32)wg_scan_add(mine->scratch, WG, listed, &all_listed);
  u32 before = (u32)wg_scan_add(mine->scratch, WG, records, &all_records);
  if (all_listed == 0) return VERDICT_MAPPED;
  if (!LISTS || all_records > most_listed) return 1;
  if (local_id() == 0) list[0] = (u32)all_listed, list[1] = (u32)all_records;
  for (u32 b = first; b < end; ++b) {
    if (!IS_LISTED(b)) continue;
    list[2 + at] = starts[b];
    list[2 + (u32)all_listed + at] = before;
    ++at;
    before += load_relaxed(&counts[b]);
  }
  return VERDICT_LISTED;
}
#endif

// Returns how many samples are in excess: they are in a bucket that already has `crowd` samples.
// bucket[i] is the bucket of this work-item's sample i. mine->counts and mine->crowded must be 0
// and are 0 afterwards. Contains barriers.
INLINE u32 count_crowded(LOCAL msd_count_memory_t* mine, const u32* bucket, u32 samples,
                         u32 crowd) {
  const u32 t = local_id();
  u32 crowded = 0;
  UNROLL
  for (u32 i = 0; i < samples; ++i) {
#if SETS_ASIDE
    if (bucket[i] == NO_BUCKET) continue;
#endif
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

// The verdict from the samples. All work-groups examine all samples, so they reach the same
// verdict.
typedef struct {
  u32 skewed;  // the value for *skewed; if it is not 0, no keys are counted
  u32 mapped;  // 1: keys are mapped by mine->map
  window_t window;
} verdict_t;
// Thresholds for the samples; see SampleLimits in msd_shape.hpp.
typedef struct {
  u32 crowd, map_crowd, map_crowded, repeats, dense_width, few_repeats, few_agree, lead;
} limits_t;

#if MAPS
// Makes a map of the samples. Returns 0 if the map would not help, for one of three reasons: too
// many samples share a mapped bucket; keys repeat (more than limits.repeats samples) in a window so
// wide that the bins of the local sort would be crowded; or the upper halves of all samples are
// equal, because onesweep then skips the passes over the upper digits.
OUTLINE u32 try_map(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, limits_t limits,
                    u32 repeats, window_t* window) {
  const u32 t = local_id();
  find_edges(mine, samples);
  if ((u32)~mine->edges[0] == mine->edges[2]) return 0;
  const window_t w = make_window(mine);
  u32 place[GATHERED];
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) place[i] = place_in_window(w, key_order(samples[i * WG + t]));
  make_map(mine, place);
  *window = w;
  if (repeats > limits.repeats && KEY_BITS - w.up > limits.dense_width) return 0;
#if COUNT_BITS == 16  // narrower counts may overflow: then the work-groups' verdicts could differ
  UNROLL
  for (u32 i = 0; i < GATHERED; ++i) place[i] = bucket_of_place(&mine->map, place[i]);
  return count_crowded(mine, place, GATHERED, limits.map_crowd) <= limits.map_crowded;
#else
  return 1;
#endif
}
#endif

INLINE verdict_t judge(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* samples, u32 shift,
                       limits_t limits, GLOBAL u32* spread, GLOBAL u32* back) {
  verdict_t v;
  v.skewed = v.mapped = 0;
#if SAMPLES
  const u32 t = local_id();
  u32 spreads = 1, repeats = 0, members = 0, others = 0;
  ukey_t sample[SAMPLES];
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) sample[i] = samples[(i * WG + t) * (GATHERED / SAMPLES)];
#if SPREAD_BITS
  UNROLL
  for (u32 i = 0; i < SAMPLES; ++i) {
#if SETS_ASIDE
    if (has_class(sample[i])) continue;
#endif
    local_add(&mine->spread[spread_index(key_order(sample[i]))], 1u);
  }
  barrier_local();
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
      bucket[i] = bucket_of(mine, sample[i], shift, v.window, 0, &others);
#endif
    spreads = count_crowded(mine, bucket, SAMPLES, limits.crowd) == 0;
  }
#if MAPS
  if (!spreads) spreads = v.mapped = try_map(mine, samples, limits, repeats, &v.window);
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
  return v;
}

#if SETS_ASIDE
// Adds the members among one row of a sub-group's keys to the count of their tile. `at` is the
// index of one of these keys.
INLINE void add_aside(LOCAL msd_count_memory_t* mine, GLOBAL u32* aside, u64 at, u32 members) {
#if SG_NATIVE
  if (sg_ballot(0, members != 0) == 0) return;
  for (u32 distance = 1; distance < SG_LANES; distance *= 2)
    members += sg_shuffle(0, members, sg_lane() ^ distance);
  if (sg_lane() != 0) return;
#endif
  if (members == 0) return;
  global_add(&aside[ASIDE_HEAD + 2 * (u32)(at / SETS_ASIDE)], members);
  mine->found = 1;
}
#endif

// The number of keys that a work-group counts at once.
#define BLOCK ((u32)(WG * ITEMS))
#define KEY_AT(i) (sg_index() * (ITEMS * SG_LANES) + (i)*SG_LANES + sg_lane())

#if SETS_ASIDE
// Rows of a sub-group's keys that are certainly in one tile.
#define TILE_ROWS (ITEMS * SG_LANES <= 256 ? ITEMS : 256 / SG_LANES)
// Counts the first `count` keys of a work-group's turn, and counts for each tile the keys that will
// be set aside because they tie (NaN, -0). Returns not 0 if any key's lead has no range of spread
// orders.
INLINE u32 count_and_set_aside(LOCAL msd_count_memory_t* mine, GLOBAL const ukey_t* keys, u64 base,
                               u32 count, GLOBAL u32* counts, u32 shift, GLOBAL u32* aside) {
  u32 misfits = 0;
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = keys[base + min(KEY_AT(i), count - 1)];
  UNROLL
  for (u32 row = 0; row < ITEMS; row += TILE_ROWS) {
    u32 members = 0;
    UNROLL
    for (u32 i = row; i < row + TILE_ROWS; ++i) {
      if (KEY_AT(i) >= count) continue;
      const u32 bucket = bucket_or_class(mine, key[i], shift, &members, &misfits);
      if (bucket != NO_BUCKET) count_bucket(mine->counts, counts, bucket, 1);
    }
    add_aside(mine, aside, base + KEY_AT(row), members);
  }
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

// Counts this work-group's keys in mine->counts, and the keys that are set aside in `aside`.
// `mapped` must be a compile-time constant. Returns not 0 if the lead of a key has no spread orders
// or if, without SETS_ASIDE, a key may tie with another one of different bits.
INLINE u32 count_keys(LOCAL msd_count_memory_t* mine, sub_group_t sg, GLOBAL const ukey_t* keys,
                      GLOBAL u32* counts, u64 n, u32 shift, window_t w, u32 mapped,
                      GLOBAL u32* aside) {
  const u32 t = local_id();
  u32 misfits = 0;
  for (u64 base = (u64)group_id() * BLOCK; base < n; base += (u64)group_count() * BLOCK) {
    GLOBAL const ukey_t* block = keys + base;
    if (n - base >= BLOCK) {
      u32 bucket[ITEMS], others = 0;
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i)
        bucket[i] = bucket_of(mine, block[KEY_AT(i)], shift, w, mapped, &others);
#if SETS_ASIDE
      if (sg_ballot(sg, others) != 0) {
        misfits |= count_and_set_aside(mine, keys, base, BLOCK, counts, shift, aside);
        continue;
      }
#else
      misfits |= others;
#endif
      count_block(mine, sg, counts, bucket);
    } else {
#if SETS_ASIDE
      misfits |= count_and_set_aside(mine, keys, base, (u32)(n - base), counts, shift, aside);
#else
      for (u32 i = t; i < (u32)(n - base); i += WG)
        count_bucket(mine->counts, counts, bucket_of(mine, block[i], shift, w, mapped, &misfits),
                     1);
#endif
    }
  }
  barrier_local();
  for (u32 b = t; b < (mapped ? MAP_BUCKETS : BUCKETS); b += WG) {
    const u32 count = COUNT_OF(mine->counts[b / PER_WORD], b);
    if (count != 0) global_add(&counts[b], count);
  }
#if SETS_ASIDE
  if (t == 0 && mine->found) global_add(&aside[ASIDE_FOUND], 1u);
#endif
  return misfits;
}

#if MAPS
// Out of line, so that the loop that counts keys without a map gets its own allocation of
// registers.
OUTLINE void count_mapped_keys(LOCAL msd_count_memory_t* mine, sub_group_t sg,
                               GLOBAL const ukey_t* keys, GLOBAL u32* counts, u64 n, window_t w) {
  count_keys(mine, sg, keys, counts, n, 0, w, 1, 0);
}
#endif

INLINE void clear_memory(LOCAL msd_count_memory_t* mine) {
  const u32 t = local_id();
  for (u32 i = t; i < COUNT_WORDS; i += WG) mine->counts[i] = 0;
  if (t == 0) mine->crowded = 0;
#if SETS_ASIDE
  if (t == 0) mine->found = 0;
#endif
#if SPREAD_BITS
  for (u32 i = t; i < LEADS; i += WG) mine->spread[i] = 0;
  for (u32 i = t; i < LEADS / 64; i += WG) mine->exponents[i] = 0;
#endif
#if MAPS
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
// If that would put too many keys into a few buckets, a map computes the buckets instead. If the
// samples show that the map does not spread the keys either, sets *skewed and counts nothing.
//   keys          in: n keys
//   samples       in: GATHERED * WG samples
//   counts        work space: one word for each bucket, 0 at first
//   skewed        in and out: 0 at first. Stays 0 if the keys spread by their leading bits.
//                 VERDICT_MAPPED or VERDICT_LISTED: keys are mapped.
//                 1: keys do not spread. A bucket has more than `capacity` records (mapped keys:
//                 all
//                 such buckets together have more than `most_listed`), or the samples exceed a
//                 threshold, or a lead has no spread orders (SPREAD_BITS), or keys may tie
//                 (SPREAD_BITS without SETS_ASIDE).
//                 FEW_DIGITS: as 1, and the samples show that most digits have few values
//   crowd ... lead_most  thresholds for the samples (limits_t)
//   spread, back  out, SPREAD_BITS: the tables of make_spread, made with `lead_most`
//   map           out, if keys are mapped: MAP_WORDS words
//   bounds        out, if keys are mapped: the first order of each bucket
//   list          out, with VERDICT_LISTED: the number m of listed buckets; the number of their
//                 records; the output index where each listed bucket begins (m words); the number
//                 of records in the listed buckets before each (m words)
//   done          work space: two words, 0 at first
//   starts        out: the index where each bucket begins, then the end; keys that are set aside
//                 are not counted
//   aside         in and out, SETS_ASIDE: 0 at first; see msd_set_aside.cl
KERNEL(WG)
void msd_count(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples, GLOBAL u32* counts,
               GLOBAL u32* skewed, u64 n, u32 shift, u32 crowd, u32 map_crowd, u32 map_crowded,
               u32 repeats_most, u32 dense_width, u32 few_repeats, u32 few_agree, u32 lead_most,
               GLOBAL u32* spread, GLOBAL u32* back, GLOBAL u32* map, GLOBAL ukey_t* bounds,
               GLOBAL u32* list, u32 most_listed, GLOBAL u32* done, GLOBAL u32* starts,
               u32 capacity, GLOBAL u32* aside) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_count_memory_t, mine);
  const u32 t = local_id();
  clear_memory(mine);
  limits_t limits;
  limits.crowd = crowd, limits.map_crowd = map_crowd, limits.map_crowded = map_crowded;
  limits.repeats = repeats_most, limits.dense_width = dense_width;
  limits.few_repeats = few_repeats, limits.few_agree = few_agree, limits.lead = lead_most;
  const verdict_t v = judge(mine, samples, shift, limits, spread, back);
  if (v.skewed) {
    if (group_id() == 0 && t == 0) *skewed = v.skewed;
    return;
  }

  // Count.
  u32 misfits = 0;
#if MAPS
  if (v.mapped) {
    write_map(mine, v.window, map, bounds);
    count_mapped_keys(mine, sg, keys, counts, n, v.window);
  } else
#endif
    misfits = count_keys(mine, sg, keys, counts, n, shift, v.window, 0, aside);
  if (misfits != 0) global_add(skewed, 1u);

  // The last work-group to finish finds where buckets begin.
  if (!is_last_group(mine, done)) return;
#if MAPS
  if (v.mapped) {
    const u32 crowded = start_buckets(mine, sg, counts, starts, n, capacity, MAP_BUCKETS);
    u32 verdict = VERDICT_MAPPED;
    barrier_all();  // makes starts[] visible
    if (crowded) verdict = list_buckets(mine, counts, starts, bounds, capacity, most_listed, list);
    if (t == 0 && load_relaxed(skewed) == 0) *skewed = verdict;
    return;
  }
#endif
#if SETS_ASIDE
  n -= scan_aside(mine, aside, n);
#endif
  if (start_buckets(mine, sg, counts, starts, n, capacity, BUCKETS) && t == 0)
    global_add(skewed, 1u);
}
