// one-group by bins: one work-group sorts the whole list in local memory. bins.cl and bin_sort.cl
// come before this file; they declare more parameters.

PARAMETER(WG)         // work-items of the work-group
PARAMETER(ITEMS)      // records of a work-item
PARAMETER(SORT_BITS)  // bits of an item
PARAMETER(COMPOSITE)  // 1: an item holds the compared bits and, below them, the record's position

// bin_layout() in one_group.cpp computes its size.
typedef struct {
  bin_sort_t sort;
#if COMPOSITE  // the records; items hold only their compared bits and positions
  ukey_t keys[CAPACITY];
#if VALUE_BYTES
  value_t values[CAPACITY];
#endif
#endif
} one_group_memory_t;
#if VALUE_BYTES
#define MINE_VALUES mine->values
#else
#define MINE_VALUES ((LOCAL value_t*)0)
#endif

//   keys_in, values_in    in: n records, n at most CAPACITY
//   keys_out, values_out  out: the first `wanted` records in sorted order; may be the input
//   begin_bit, open_bits  open_bits bits of a key's order, from begin_bit on, are compared
//   bin_shift             the lowest of an item's bits that select its bin
KERNEL(WG)
void one_group_bins(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                    GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u64 wanted,
                    u32 begin_bit, u32 open_bits, u32 bin_shift) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(one_group_memory_t, mine);
  const u32 t = local_id(), count = (u32)n;
  const u32 rows = (count + WG - 1 - t) / WG;  // this work-item's records

  // Load.
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      const record_t r = load_record(keys_in, values_in, at);
#if COMPOSITE
      put_record(mine->keys, MINE_VALUES, at, r);
      item[i] = (sort_t)(key_order(r.key) >> begin_bit & ((ukey_t)2 << (open_bits - 1)) - 1)
                    << POSITION_BITS |
                at;
#else
      item[i] = key_order(r.key);
#endif
    }
  }
  const bins_by_place_t by_place = {0, 0};
  // Its barriers separate the loads from the stores: keys_out may be keys_in.
  sort_in_bins(&mine->sort, sg, item, rows, bin_shift, 0, by_place, 0);

  // Store.
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (i >= rows || at >= (u32)wanted) continue;
#if COMPOSITE
    store_record(keys_out, values_out, at,
                 get_record(mine->keys, MINE_VALUES, POSITION(mine->sort.items[at])));
#else
    keys_out[at] = key_of_order(mine->sort.items[at]);
#endif
  }
}
