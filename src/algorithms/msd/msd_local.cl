// A work-group sorts a bucket in local memory. The records go to bins by the highest bits that are still open (bins.cl, which
// stands in front of this); those of a bin, a few, are sorted by the work-items, who have neighbouring records in registers.
// Where a bin is crowded, an LSD radix sort does instead.
// Instructions are what it costs: a work-item's places, the counts' places and their sums are all worked out once.
// Parameters: those of bins.cl, RESIDENT, COMPOSITE, POSITION_BITS, WINDOW_HIGH (the bits that choose a bin lie in an item's
// upper word), GATHER_KEYS (an item does not say all of its key's bits), SPREAD_BITS (the keys are spread orders), ONE_LEAD
// (those of a bucket share these bits).

// What is sorted. COMPOSITE: the bits of the key's order that are still open, then the record's position in the bucket:
// no two are equal, so that no order of ties is lost, and the position finds the value. Else the key's order itself.

#ifdef SPREAD_BITS
#define ORDER_OF(key) (key)
#if ONE_LEAD
#define KEY_OF(order) key_of_order(gather_order(order, lead))
#else
#define KEY_OF(order) key_of_order(gather_order(order, back[spread_index(order)]))
#endif
#else
#define ORDER_OF(key) key_order(key)
#define KEY_OF(order) key_of_order(order)
#endif

#define POSITION(item) ((u32)(item) & ((1u << POSITION_BITS) - 1))

typedef struct {
  u32 bins[BIN_WORDS];
  sort_t items[CAPACITY];
#if VALUE_BYTES
  value_t values[CAPACITY];
#endif
  index_t scratch[2 * WG];
  u32 differ[2];  // bits in which records differ, low and high
  u32 crowded;
} msd_local_memory_t;

// The bits of an item from `shift` on, 32 of them at least.
#if SORT_BITS == 32
#define WINDOW(item) ((item) >> shift)
#elif WINDOW_HIGH  // it lies in the upper word
#define WINDOW(item) ((u32)((item) >> 32) >> (shift - 32))
#else
#define WINDOW(item) ((u32)((item) >> (shift & 31)))
#endif

INLINE u32 highest_bit(sort_t x) {
#if SORT_BITS == 64
  return x >> 32 ? 32 + highest_bit32(x >> 32) : highest_bit32(x);
#else
  return highest_bit32(x);
#endif
}

// The digits above `low` up to `high`, 8 bits a pass, by all of the work-group; stable.
INLINE void local_radix_sort(LOCAL msd_local_memory_t *mine, sub_group_t sg, u32 low, u32 high) {
  const u32 t = local_id(), first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  LOCAL u32 *my_ranks = mine->bins + sg_index() * RANK_WORDS;
  for (u32 shift = low; shift <= high; shift += 8) {
    sort_t item[ITEMS];
    u32 place[ITEMS];
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->bins[i] = 0;
    barrier_local();
    // Rank in the sub-group.
    UNROLL for (u32 i = 0; i < ITEMS; ++i) {
      item[i] = mine->items[first + i * SG_LANES];
      place[i] = sg_rank_alike(my_ranks, RADIX, (u32)(item[i] >> shift) & (RADIX - 1));
    }
    barrier_local();
    // Scan over digits, and over sub-groups for each.
    index_t before = 0;
    for (u32 base = 0; base < RADIX; base += WG) {
      const u32 digit = base + t;
      index_t sum = 0, all;
      if (digit < RADIX)
        for (u32 s = 0; s < SUB_GROUPS; ++s) sum += mine->bins[s * RANK_WORDS + digit];
      u32 at = (u32)(before + wg_scan_add(mine->scratch, WG, sum, &all));
      if (digit < RADIX)
        for (u32 s = 0; s < SUB_GROUPS; ++s) {
          const u32 in_row = mine->bins[s * RANK_WORDS + digit];
          mine->bins[s * RANK_WORDS + digit] = at;
          at += in_row;
        }
      before += all;
    }
    barrier_local();
    // Scatter.
    UNROLL for (u32 i = 0; i < ITEMS; ++i)
      mine->items[place[i] + my_ranks[(u32)(item[i] >> shift) & (RADIX - 1)]] = item[i];
    barrier_local();
  }
}

// Bucket b has the records from starts[b] on. `back`: the table of spread orders. `low_bits`: bits of a key that are still
// open, from `begin_bit` on. The bits of an item from `shift` on choose its bin.
KERNEL_RESIDENT(WG, RESIDENT)
void msd_local(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
               GLOBAL value_t *values_out, GLOBAL const u32 *starts, GLOBAL const u32 *overfull,
               GLOBAL const u32 *back, u32 begin_bit, u32 low_bits, u32 shift) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_local_memory_t, mine);
  if (*overfull != 0) return;
  const u32 t = local_id();
  const u64 begin = starts[group_id()];
  const u32 count = (u32)(starts[group_id() + 1] - begin);
  if (count == 0) return;
  keys_in += begin;

  // Load.
#if COMPOSITE && !GATHER_KEYS
  const ukey_t bucket_order = ORDER_OF(keys_in[0]) >> low_bits << low_bits;  // what all of the bucket have in common
#endif
#if defined(SPREAD_BITS) && ONE_LEAD
  const u32 lead = back[spread_index(keys_in[0])];
#endif
#if defined(SPREAD_BITS) && ONE_LEAD && SORT_BITS == 32  // in wider numbers few are equal, and shifts cost more
  const u32 zeros = lead & 15;  // a spread order's lowest bits
#if COMPOSITE
  // Items do without them. Where a key's bits are fewer than a bin's, its position says the rest: keys that are equal would
  // crowd one bin.
  shift -= min(shift, zeros);
  const u32 rest = LOG_BINS - min(LOG_BINS, low_bits - min(low_bits, zeros)), step = (1u << (16 + rest)) / count;
#define BIN(item, at) (rest != 0 ? (u32)((item) >> POSITION_BITS) << rest | (at) * step >> 16 : WINDOW(item))
#else
  shift = max(shift, zeros);
#endif
#else
  const u32 zeros = 0;
#endif
#ifndef BIN
#define BIN(item, at) WINDOW(item)
#endif
  const u32 rows = (count + WG - 1 - t) / WG;  // of this work-item's places, those that have a record
  sort_t item[ITEMS];
  UNROLL for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      const ukey_t order = ORDER_OF(keys_in[at]);
#if COMPOSITE
      item[i] = (sort_t)((order & (((ukey_t)1 << begin_bit << low_bits) - 1)) >> begin_bit >> zeros) << POSITION_BITS | at;
#else
      item[i] = order;
#endif
#if VALUE_BYTES
      mine->values[at] = values_in[begin + at];
#endif
    }
  }
  LOCAL uint4 *quads = (LOCAL uint4 *)mine->bins;
  uint4 zero;
  zero.x = zero.y = zero.z = zero.w = 0;
  quads[t] = quads[WG + t] = zero;
  if (t == 0) mine->crowded = 0;
  barrier_local();

  // Rank in the bins.
  u32 place[ITEMS];  // the 2-byte index of the bin's count, and the rank above
  UNROLL for (u32 i = 0; i < ITEMS; ++i) {
    if (i < rows) {
      const u32 window = BIN(item[i], i * WG + t), word = window & (BINS / 2 - 1), upper = window >> (LOG_BINS - 1) & 1;
      const u32 rank = local_add(&mine->bins[word], 1u << 16 * upper) >> 16 * upper;
      place[i] = 2 * word + upper | rank << 16;
    }
  }
  barrier_local();

  // Scan over bins.
  uint4 low = quads[2 * t], high = quads[2 * t + 1];
  const u32 alike = !COMPOSITE && zeros >= shift && zeros != 0 ? 1u : 0u;  // a bin's keys are equal, and need no more
  if (ANY_TOO_MANY(low, high) && !alike) local_or(&mine->crowded, 1u);
  index_t all;
  u32 at_bin = (u32)wg_scan_add(mine->scratch, WG,
                                low.x + low.y + low.z + low.w + high.x + high.y + high.z + high.w, &all);
  if (!mine->crowded) {
    at_bin += (u32)all << 16;  // the upper half of the bins begins where the lower half ends
    START_BINS(low, high)
    quads[2 * t] = low;
    quads[2 * t + 1] = high;
    barrier_local();

    // Scatter; what stands past the end stays there.
    LOCAL const u16 *starts_of_bins = (LOCAL const u16 *)mine->bins;
    UNROLL for (u32 i = 0; i < ITEMS; ++i)
      mine->items[i < rows ? starts_of_bins[place[i] & 0xffff] + (place[i] >> 16) : i * WG + t] = item[i];
    barrier_local();

    // Sort within bins, and across the borders between work-items.
    if (!alike) {
      LOCAL sort_t *own = mine->items + t * ITEMS;
      SORT_NEIGHBOURS(item, own)
      barrier_local();
      if (t != 0 && own[-1] > own[0]) MERGE_BORDER(own)
    }
  } else {
    UNROLL for (u32 i = 0; i < ITEMS; ++i) mine->items[i * WG + t] = item[i];
    if (t < 2) mine->differ[t] = 0;
    barrier_local();
    // The bits in which records differ; those that are alike in all need no pass, nor do positions.
    sort_t differ = 0;
    UNROLL for (u32 i = 0; i < ITEMS; ++i) differ |= i < rows ? item[i] ^ mine->items[0] : 0;
#if COMPOSITE
    differ = differ >> POSITION_BITS << POSITION_BITS;
#endif
    local_or(&mine->differ[0], (u32)differ);
#if SORT_BITS == 64
    local_or(&mine->differ[1], (u32)(differ >> 32));
#endif
    barrier_local();
    differ = mine->differ[0];
#if SORT_BITS == 64
    differ |= (sort_t)mine->differ[1] << 32;
#endif
    if (differ != 0) local_radix_sort(mine, sg, highest_bit(differ & (0 - differ)), highest_bit(differ));
  }
  barrier_all();  // keys_out may be keys_in

  // Store.
#if GATHER_KEYS
  ukey_t key[ITEMS];
  UNROLL for (u32 i = 0; i < ITEMS; ++i) key[i] = keys_in[min(POSITION(mine->items[i * WG + t]), count - 1)];
  barrier_all();  // keys_out may be keys_in
#endif
  UNROLL for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (i >= rows) continue;
    const sort_t sorted = mine->items[at];
#if GATHER_KEYS
    if (keys_out) keys_out[begin + at] = key[i];
#elif COMPOSITE
    if (keys_out) keys_out[begin + at] = KEY_OF(bucket_order | (ukey_t)(sorted >> POSITION_BITS) << zeros);
#else
    keys_out[begin + at] = KEY_OF(sorted);
#endif
#if VALUE_BYTES
    values_out[begin + at] = mine->values[POSITION(sorted)];
#endif
  }
}
