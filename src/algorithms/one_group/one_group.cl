// one-group by radix passes: one work-group sorts the whole list in local memory, in one launch, by
// all passes of an LSD radix sort. columns.cl comes before this file.

PARAMETER(WG)     // work-items of the work-group, a multiple of 256
PARAMETER(ITEMS)  // records of a work-item

#define TILE (WG * ITEMS)

// pass_bytes() in one_group.cpp computes its size.
typedef struct {
  ukey_t keys[TILE];
#if VALUE_BYTES
  value_t values[TILE];
#endif
  index_t scratch[2 * RADIX];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
} one_group_memory_t;

//   keys_in, values_in    in: n records, n at most TILE
//   keys_out, values_out  out: the first `wanted` records in sorted order; may be the input
//   passes                digits of a key
//   shifts, widths        byte p: shift and width in bits of pass p's digit
KERNEL(WG)
void one_group_sort(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                    GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u64 wanted,
                    u64 shifts, u64 widths, u32 passes) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(one_group_memory_t, mine);
  const u32 t = local_id(), count = (u32)n;
  LOCAL u32* my_ranks = mine->ranks + sg_index() * RANK_WORDS;
  const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();

  // Load. Keys past the end are KEY_LAST, which sorts after all keys and is never written out.
  record_t record[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = first + i * SG_LANES;
    record[i] = load_record(keys_in, values_in, min(at, count - 1));
    record[i].key = at < count ? record[i].key : KEY_LAST;
  }
  barrier_all();  // in place, the last record must be read by all before it is overwritten

  for (u32 pass = 0; pass < passes; ++pass) {
    const u32 shift = (u32)(shifts >> (8 * pass)) & 255;
    const u32 mask = (1u << ((u32)(widths >> (8 * pass)) & 255)) - 1;
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
    barrier_local();

    // Rank in the sub-group, in the order of the list.
    u32 place[ITEMS];
#define DIGIT_OF(i) key_digit(record[i].key, shift, mask)
    SG_RANK_ROWS(place, ITEMS, my_ranks, RADIX, DIGIT_OF,
                 count < TILE)  // keys past the end are all equal
    barrier_local();

    // Sum over sub-groups, scan over digits.
    u32 before;
    index_t all;
    const u32 total = sum_digit(mine->ranks, mine->sums, &before);
    const index_t start = wg_scan_add(mine->scratch, RADIX, total, &all);
    place_digit(mine->ranks, mine->sums, (u32)start, before);
    barrier_local();

    // Scatter the records to local memory, and load them back in the order of the digit.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 to = place[i] + my_ranks[key_digit(record[i].key, shift, mask)];
      mine->keys[to] = record[i].key;
#if VALUE_BYTES
      mine->values[to] = record[i].value;
#endif
    }
    barrier_local();
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      record[i].key = mine->keys[first + i * SG_LANES];
#if VALUE_BYTES
      record[i].value = mine->values[first + i * SG_LANES];
#endif
    }
  }

  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = first + i * SG_LANES;
    if (at < (u32)wanted) store_record(keys_out, values_out, at, record[i]);
  }
}
