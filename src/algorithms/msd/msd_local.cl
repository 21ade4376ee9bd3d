// A work-group sorts a bucket in local memory, by bins (bins.cl, bin_sort.cl, which stand in front
// of this). Parameters: those of bin_sort.cl, RESIDENT, VALUES_LATE (values come where the items
// were, for there is no room for both), GATHER_KEYS (an item does not say all of its key's bits),
// KEEP_KEYS (then: they wait in local memory), SPREAD_BITS (the keys are spread orders), ONE_LEAD
// (those of a bucket share these bits). BY_PLACE: fewer bits are open than a bin has.

// What is sorted. COMPOSITE: the bits of the key's order that are still open, then the record's
// position in the bucket. Else the key's order itself.

#ifdef SPREAD_BITS
#define ORDER_OF(key) (key)
#if ONE_LEAD && KEY_NAN != NAN_FIRST
// Sign and exponent are the bucket's, so that the rest of an order becomes the rest of a key by one
// and the same mask.
#define KEY_OF(order) (lead_key ^ (((order)-lead_begin) >> (lead & 15)))
#elif ONE_LEAD
#define KEY_OF(order) key_of_order(gather_order(order, lead))
#else
#define KEY_OF(order) key_of_order(gather_order(order, back[spread_index(order)]))
#endif
#else
#define ORDER_OF(key) key_order(key)
#define KEY_OF(order) key_of_order(order)
#endif

#ifndef SPREAD_BITS
#define ONE_LEAD 0
#endif
// Whether these bits are needed before the sort. Else they are asked for when it is done, for
// registers are few.
#define LEAD_SORTS (ONE_LEAD && (SORT_BITS == 32 || COMPOSITE))

#if VALUES_LATE
typedef union {
#else
typedef struct {
#endif
  bin_sort_t sort;
#if VALUE_BYTES
  value_t values[CAPACITY];
#endif
#if KEEP_KEYS
  ukey_t keys[CAPACITY];
#endif
} msd_local_memory_t;

// Bucket b has the records from starts[b] on. `back`: the table of spread orders. `low_bits`: bits
// of a key that are still open, from `begin_bit` on. The bits of an item from `shift` on choose its
// bin.
KERNEL_RESIDENT(WG, RESIDENT)
void msd_local(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
               GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
               GLOBAL const u32* starts, GLOBAL const u32* overfull, GLOBAL const u32* back,
               u32 begin_bit, u32 low_bits, u32 shift) {
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
  const ukey_t bucket_order =
      ORDER_OF(keys_in[0]) >> low_bits << low_bits;  // what all of the bucket have in common
#endif
#if LEAD_SORTS
  const u32 lead = back[spread_index(keys_in[0])];
#endif
#if ONE_LEAD && SORT_BITS == 32  // in wider numbers few are equal, and shifts cost more
  const u32 zeros = lead & 15;   // a spread order's lowest bits
#if COMPOSITE
  // Items do without them. Where a key's bits are fewer than a bin's, its position says the rest:
  // keys that are equal would crowd one bin.
  shift -= min(shift, zeros);
  const u32 rest = LOG_BINS - min(LOG_BINS, low_bits - min(low_bits, zeros));
  const bins_by_place_t by_place = {rest, (1u << (16 + rest)) / count};
  const u32 alike = 0;
#else
  shift = max(shift, zeros);
  const bins_by_place_t by_place = {0, 0};
  const u32 alike = zeros >= shift && zeros != 0 ? 1u : 0u;
#endif
#else
  const u32 zeros = 0, alike = 0;
#if BY_PLACE  // what is open does not tell as many bins
  const bins_by_place_t by_place = {LOG_BINS - low_bits,
                                    (1u << (16 + LOG_BINS - low_bits)) / count};
#else
  const bins_by_place_t by_place = {0, 0};
#endif
#endif
  const u32 rows =
      (count + WG - 1 - t) / WG;  // of this work-item's places, those that have a record
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      const ukey_t key = keys_in[at], order = ORDER_OF(key);
#if KEEP_KEYS
      mine->keys[at] = key;
#endif
#if COMPOSITE
      item[i] = (sort_t)((order & (((ukey_t)1 << begin_bit << low_bits) - 1)) >> begin_bit >> zeros)
                    << POSITION_BITS |
                at;
#else
      item[i] = order;
#endif
#if VALUE_BYTES && !VALUES_LATE
      mine->values[at] = values_in[begin + at];
#endif
    }
  }
  sort_in_bins(&mine->sort, sg, item, rows, shift, by_place,
               alike);  // with barriers: keys_out may be keys_in

  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) item[i] = mine->sort.items[i * WG + t];
#if VALUES_LATE
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) mine->values[i * WG + t] = values_in[begin + i * WG + t];
  barrier_local();
#endif

  // Store.
#if ONE_LEAD && !LEAD_SORTS
  const u32 lead = back[spread_index(mine->sort.items[0])];
#endif
#if ONE_LEAD && KEY_NAN != NAN_FIRST
  const ukey_t lead_begin = spread_begin(lead),
               lead_key = key_of_order(gather_order(lead_begin, lead));
#endif
#if GATHER_KEYS && !KEEP_KEYS
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = keys_in[min(POSITION(item[i]), count - 1)];
  barrier_all();  // keys_out may be keys_in
#endif
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (i >= rows) continue;
    const sort_t sorted = item[i];
#if KEEP_KEYS
    if (keys_out) keys_out[begin + at] = mine->keys[POSITION(sorted)];
#elif GATHER_KEYS
    if (keys_out) keys_out[begin + at] = key[i];
#elif COMPOSITE
    if (keys_out)
      keys_out[begin + at] = KEY_OF(bucket_order | (ukey_t)(sorted >> POSITION_BITS) << zeros);
#else
    keys_out[begin + at] = KEY_OF(sorted);
#endif
#if VALUE_BYTES
    values_out[begin + at] = mine->values[POSITION(sorted)];
#endif
  }
}
