// msd: a work-group sorts a bucket in local memory by bins. The files msd_set_aside.cl, stretch.cl,
// bins.cl and bin_sort.cl come before this one.
//
// An item is what the work-group sorts. With COMPOSITE it is the order bits that the partition has
// not used (the open bits) followed by the record's position in the bucket. Otherwise it is all of
// the key's order bits.

// Parameters in addition to those of bin_sort.cl:
PARAMETER(RESIDENT)      // work-groups that share a compute unit
PARAMETER(VALUES_LATE)   // 1: values are loaded after the sort, into the items' memory
PARAMETER(GATHER_KEYS)   // 1: an item does not hold all bits of its key, so keys are loaded again
                         // after the sort
PARAMETER(KEEP_KEYS)     // 1, with GATHER_KEYS: keys stay in local memory and are not loaded
                         // again
PARAMETER(SPREAD_BITS)   // not 0: keys are spread orders of floats; the width of a lead
                         // (msd_count.cl) in bits
PARAMETER(ONE_LEAD)      // with SPREAD_BITS, 1: all keys of a bucket have the same lead
PARAMETER(SETS_ASIDE)    // see msd_set_aside.cl
PARAMETER(CLASS_DIGITS)  // see msd_set_aside.cl
PARAMETER(CELLS)  // not 0: msd_local_or_cells (msd_cell_sort.cl) takes the place of msd_local

// 1: the lead is needed to make items. Otherwise it is loaded after the sort, to save registers.
#define LEAD_SORTS (ONE_LEAD && (SORT_BITS == 32 || COMPOSITE))
// 1: items omit the lowest bits of a spread order, which are 0. Not for 64-bit items: few of them
// are equal, and shifts cost more.
#define DROPS_ZEROS (ONE_LEAD && SORT_BITS == 32)
#define SHIFTS_LEAD (ONE_LEAD && KEY_NAN != NAN_FIRST)

// place_in_local_memory() in msd_shape.cpp computes its size.
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

// ---- From keys to items and back ----

// ORDER_OF(key) is the number by which a key is sorted. KEY_OF(order) is its inverse.
#if !SPREAD_BITS
#define ORDER_OF(key) key_order(key)
#define KEY_OF(order) key_of_order(order)
#else
#define ORDER_OF(key) (key)
#if SHIFTS_LEAD
// All keys of the bucket have the same sign and exponent, so one mask turns the other bits of an
// order into those of a key.
#define KEY_OF(order) (lead_key ^ (((order)-lead_begin) >> (lead & 15)))
#elif ONE_LEAD
#define KEY_OF(order) key_of_order(gather_order(order, lead))
#else
#define KEY_OF(order) key_of_order(gather_order(order, back[spread_index(order)]))
#endif
#endif

#if COMPOSITE
#define ITEM_OF(order, at)                                                                     \
  ((sort_t)(((order) & (((ukey_t)1 << begin_bit << low_bits) - 1)) >> begin_bit >> bins.zeros) \
       << POSITION_BITS |                                                                      \
   (at))
#else
#define ITEM_OF(order, at) (order)
#endif

// How the bucket's items are assigned to bins.
typedef struct {
  bins_by_place_t by_place;
  u32 shift;  // an item's bits from this one upwards choose its bin
  u32 alike;  // 1: items of the same bin are equal
  u32 zeros;  // number of low bits that are 0 in all spread orders of the lead
} local_bins_t;

INLINE local_bins_t choose_bins(u32 lead, u32 shift, u32 low_bits, u32 count) {
  local_bins_t bins;
  bins.by_place.bits = bins.by_place.step = 0;
  bins.shift = shift;
  bins.alike = bins.zeros = 0;
#if DROPS_ZEROS && COMPOSITE
  // If a key has fewer open bits than a bin's number, its position supplies the rest: otherwise
  // equal keys would crowd one bin.
  bins.zeros = lead & 15;
  bins.shift = shift - min(shift, bins.zeros);
  bins.by_place.bits = LOG_BINS - min(LOG_BINS, low_bits - min(low_bits, bins.zeros));
  bins.by_place.step = (1u << (16 + bins.by_place.bits)) / count;
#elif DROPS_ZEROS
  bins.zeros = lead & 15;
  bins.shift = max(shift, bins.zeros);
  bins.alike = bins.zeros >= bins.shift && bins.zeros != 0 ? 1u : 0u;
#elif BY_PLACE
  bins.by_place.bits = LOG_BINS - low_bits;
  bins.by_place.step = (1u << (16 + LOG_BINS - low_bits)) / count;
#endif
  return bins;
}

// ---- What a knob leaves out ----

#if KEEP_KEYS
#define KEEP_KEY(at, key) mine->keys[at] = key;
#else
#define KEEP_KEY(at, key)
#endif
#if VALUE_BYTES
#define LOAD_VALUE(at) mine->values[at] = values_in[begin + at];
#define STORE_VALUE(at, item) values_out[out + at] = mine->values[POSITION(item)];
#else
#define LOAD_VALUE(at)
#define STORE_VALUE(at, item)
#endif
#if VALUES_LATE
#define LOAD_VALUE_EARLY(at)
#else
#define LOAD_VALUE_EARLY(at) LOAD_VALUE(at)
#endif
// SORTED_KEY is the key of the work-item's item i.
#if KEEP_KEYS
#define SORTED_KEY(i, item) mine->keys[POSITION(item)]
#elif GATHER_KEYS
#define SORTED_KEY(i, item) own_key[i]
#elif COMPOSITE
#define SORTED_KEY(i, item) KEY_OF(bucket_order | (ukey_t)(item >> POSITION_BITS) << bins.zeros)
#else
#define SORTED_KEY(i, item) KEY_OF(item)
#endif
// Stores the work-item's records. `key_out` is an expression of `key`.
#define MAY_OMIT_KEYS (COMPOSITE || GATHER_KEYS || KEEP_KEYS)
#define STORE_RECORDS(key_out)                   \
  UNROLL                                         \
  for (u32 i = 0; i < ITEMS; ++i) {              \
    const u32 at = i * WG + t;                   \
    if (i >= rows) continue;                     \
    if (!MAY_OMIT_KEYS || keys_out) {            \
      const ukey_t key = SORTED_KEY(i, item[i]); \
      keys_out[out + at] = (key_out);            \
    }                                            \
    STORE_VALUE(at, item[i])                     \
  }

// Takes the work-item's sorted items. With VALUES_LATE, then loads the values of the bucket, which
// begins at index `begin` of the input, into the items' memory.
INLINE void take_sorted(LOCAL msd_local_memory_t* mine, sort_t* item, u32 rows,
                        GLOBAL const value_t* values_in, u64 begin) {
  const u32 t = local_id();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) item[i] = mine->sort.items[i * WG + t];
#if VALUES_LATE
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) LOAD_VALUE(i * WG + t)
  barrier_local();
#endif
}

// Sorts one bucket of `count` records, which begins at index `begin` of the input and at index
// `out` of the output. `stretched` is 1 if keys are stretched. The kernel describes the other
// parameters.
INLINE void sort_bucket(LOCAL msd_local_memory_t* mine, sub_group_t sg, u64 begin, u64 out,
                        u32 count, GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                        GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                        GLOBAL const u32* back, u32 begin_bit, u32 low_bits, u32 shift,
                        u32 stretched, GLOBAL const u32* stretched_by) {
  const u32 t = local_id();
  keys_in += begin;

  // Load.
#if COMPOSITE && !GATHER_KEYS
  // The bits that all keys of the bucket share.
  const ukey_t bucket_order = ORDER_OF(keys_in[0]) >> low_bits << low_bits;
#endif
#if LEAD_SORTS
  const u32 lead = back[spread_index(keys_in[0])];
  const local_bins_t bins = choose_bins(lead, shift, low_bits, count);
#else
  const local_bins_t bins = choose_bins(0, shift, low_bits, count);
#endif
  const u32 rows = (count + WG - 1 - t) / WG;  // how many records this work-item has
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      const ukey_t key = keys_in[at], order = ORDER_OF(key);
      KEEP_KEY(at, key)
      item[i] = ITEM_OF(order, at);
      LOAD_VALUE_EARLY(at)
    }
  }

  // Sort. This contains barriers, so keys_out may be keys_in.
  sort_in_bins(&mine->sort, sg, item, rows, bins.shift, 0, bins.by_place, bins.alike);
  take_sorted(mine, item, rows, values_in, begin);

  // Store.
#if ONE_LEAD && !LEAD_SORTS
  const u32 lead = back[spread_index(mine->sort.items[0])];
#endif
#if SHIFTS_LEAD
  const ukey_t lead_begin = spread_begin(lead),
               lead_key = key_of_order(gather_order(lead_begin, lead));
#endif
#if GATHER_KEYS && !KEEP_KEYS
  ukey_t own_key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) own_key[i] = keys_in[min(POSITION(item[i]), count - 1)];
  barrier_all();  // keys_out may be keys_in
#endif
#if STRETCHES
  if (stretched) {  // one branch around the loop, so that other lists keep their speed
    stretch_t stretch;
    load_stretch(stretched_by, &stretch);
    STORE_RECORDS(unstretched_key(stretch, key))
    return;
  }
#endif
  STORE_RECORDS(key)
}

#if CLASS_DIGITS
// Moves this work-group's portion of the members of classes to their places in the output.
INLINE void put_in_place(aside_head_t head, GLOBAL const u32* starts, u64 n,
                         GLOBAL const ukey_t* aside_keys, GLOBAL ukey_t* keys_out,
                         GLOBAL const value_t* aside_values, GLOBAL value_t* values_out,
                         GLOBAL const u32* back) {
  const u32 is_aside = SETS_ASIDE && head.found == FOUND_ASIDE;
  const u32 zeros = head.zeros, nans = head.nans, members = zeros + nans;
  const u32 first = (u32)n - members,  // if set aside: index of the first of them in aside_keys
      zeros_at = is_aside ? starts[head.gap] + (KEY_NAN == NAN_FIRST ? nans : 0)
                          : starts[head.gap] - zeros,
            nans_at = KEY_NAN == NAN_FIRST ? 0 : (u32)n - nans;
  const u32 share = (u32)(((u64)members + group_count() - 1) / group_count()),
            begin = (u32)min((u64)group_id() * share, (u64)members),
            end = min(begin + share, members);
  for (u32 i = begin + local_id(); i < end; i += WG) {
    const u32 out = i < zeros ? zeros_at + i : nans_at + (i - zeros);
    if (is_aside) {
      keys_out[out] = aside_keys[first + i];
      continue;
    }
    // They are spread orders, and already at their places of the other memory.
    const ukey_t order = aside_keys[out];
    if (!VALUE_BYTES || keys_out)
      keys_out[out] = key_of_order(gather_order(order, back[spread_index(order)]));
#if VALUE_BYTES
    values_out[out] = aside_values[out];
#endif
  }
}
#endif

#if !CELLS
// Sorts buckets: work-group b sorts the records from starts[b] to starts[b + 1].
//   keys_in, values_in    in: the partitioned records; keys_in may be keys_out
//   keys_out, values_out  out: the sorted records; keys_out is null if no keys are wanted
//   starts                in: the index where each bucket begins, then the end
//   skewed                in: a word. The launch does nothing unless it is 0
//   back                  in, SPREAD_BITS: the table from spread orders to leads
//   begin_bit, low_bits   the open bits of a key: low_bits bits from begin_bit upwards
//   shift                 an item's bits from this one upwards choose its bin
//   n                     the number of all records
//   stretched_by          in, STRETCHES: a stretch_t (stretch.cl)
//   aside                 in, CLASS_DIGITS: see msd_set_aside.cl
//   aside_keys, aside_values  in, CLASS_DIGITS: the output of the partition's first
//                         pass
//   has_gap               SETS_ASIDE, 1: keys_in leaves the places of the keys that are set aside
//                         free
KERNEL_RESIDENT(WG, RESIDENT)
void msd_local(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
               GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
               GLOBAL const u32* starts, GLOBAL const u32* skewed, GLOBAL const u32* back,
               u32 begin_bit, u32 low_bits, u32 shift, u64 n, GLOBAL const u32* stretched_by,
               GLOBAL const u32* aside, GLOBAL const ukey_t* aside_keys,
               GLOBAL const value_t* aside_values, u32 has_gap) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_local_memory_t, mine);
  // Loaded together, because each load alone would wait for memory.
  u64 begin = starts[group_id()];
  const u32 count = (u32)(starts[group_id() + 1] - begin), is_off = *skewed;
#if STRETCHES
  const u32 stretched = stretched_by[0];  // stretch_t::is
#else
  const u32 stretched = 0;
#endif
#if CLASS_DIGITS
  const aside_head_t head = load_aside(aside);
#endif
  if (is_off) return;
  u64 out = begin;
#if CLASS_DIGITS
  if (head.found != 0) {
    put_in_place(head, starts, n, aside_keys, keys_out, aside_values, values_out, back);
    if (head.found == FOUND_DIGITS && is_class_bucket(head, group_id(), group_count())) return;
#if SETS_ASIDE
    if (head.found == FOUND_ASIDE) out += aside_before(head, group_id());
    if (has_gap) begin = out;
#endif
  }
#endif
  if (count == 0) return;
  sort_bucket(mine, sg, begin, out, count, keys_in, keys_out, values_in, values_out, back,
              begin_bit, low_bits, shift, stretched, stretched_by);
}
#endif
