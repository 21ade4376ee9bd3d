// Radix select. First the threshold, the rank of the k-th record of the sorted order, is found
// digit by digit from the most significant. Then the records are partitioned into those before the
// threshold, ties, and those after it, each in the order of the input. Here a key's rank is its
// key_order with all bits cleared by which the problem does not compare keys. `bits` has the other
// bits set.

PARAMETER(WG)          // work-items of a work-group, a power of two
PARAMETER(ITEMS)       // neighbouring records of a work-item in a tile
PARAMETER(DIGIT_BITS)  // bits of a digit

#define RADIX (1u << DIGIT_BITS)
#define TILE (WG * ITEMS)
#define BINS_PER_ITEM ((RADIX + WG - 1) / WG)

INLINE void count_in(LOCAL u32* bin) {
#if WG == 1
  ++*bin;
#else
  local_add(bin, 1u);
#endif
}

// Counts in table[d] the keys whose digit is d and whose earlier digits are those of before[0].
// `decided` has the bits of the earlier digits set. The upper half of a 64-bit count is in
// table[RADIX + d].
KERNEL(WG)
void select_count(GLOBAL const ukey_t* keys, GLOBAL u32* table, GLOBAL const u64* before, u64 n,
                  u64 part, u32 shift, u32 mask, u64 decided) {
  LOCAL_ARRAY(u32, bins, RADIX);
  const u32 t = local_id();
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  const ukey_t prefix = before ? (ukey_t)before[0] : 0;
  for (u32 b = t; b < RADIX; b += WG) bins[b] = 0;
  barrier_local();

  // Count. Four keys are loaded before the first one is used, to hide memory latency.
  u64 at = begin;
  for (; at + 4 * WG <= end; at += 4 * WG) {
    ukey_t order[4];
    UNROLL
    for (u32 i = 0; i < 4; ++i) order[i] = keys[at + i * WG + t];
    UNROLL
    for (u32 i = 0; i < 4; ++i) order[i] = key_order(order[i]);
    UNROLL
    for (u32 i = 0; i < 4; ++i)
      if (((order[i] ^ prefix) & (ukey_t)decided) == 0)
        count_in(&bins[(u32)(order[i] >> shift) & mask]);
  }
  for (at += t; at < end; at += WG) {
    const ukey_t order = key_order(keys[at]);
    if (((order ^ prefix) & (ukey_t)decided) == 0) count_in(&bins[(u32)(order >> shift) & mask]);
  }
  barrier_local();

  for (u32 b = t; b < RADIX; b += WG) {
    const u32 count = bins[b];
    if (count != 0) add_to_count(&table[b], RADIX, count);
  }
}

INLINE index_t count_of_bin(GLOBAL const u32* table, u32 bin) {
  return READ_COUNT(*, &table[bin], RADIX);
}

// One work-group finds the digit of the wanted record. That is record number before[1], from 1, of
// the records that were counted; in the first pass, number k. Stores in after[0] the digits found
// so far, and in after[1] the wanted record's number, from 1, among the records that have these
// digits.
KERNEL(WG)
void select_pick(GLOBAL const u32* table, GLOBAL const u64* before, GLOBAL u64* after, u64 k,
                 u32 shift) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u32 t = local_id();
  const u64 wanted = before ? before[1] : k;
  const u64 prefix = before ? before[0] : 0;
  index_t sum = 0, all;
  for (u32 b = t * BINS_PER_ITEM; b < (t + 1) * BINS_PER_ITEM && b < RADIX; ++b)
    sum += count_of_bin(table, b);
  u64 smaller = wg_scan_add(scratch, WG, sum, &all);
  for (u32 b = t * BINS_PER_ITEM; b < (t + 1) * BINS_PER_ITEM && b < RADIX; ++b) {
    const u64 count = count_of_bin(table, b);
    if (smaller < wanted && wanted <= smaller + count) {
      after[0] = prefix | (u64)b << shift;
      after[1] = wanted - smaller;
    }
    smaller += count;
  }
}

// Stores in counts[group] how many records of the group's part come before the threshold, in
// counts[groups + group] how many tie with it, and 0 in counts[2 * groups].
KERNEL(WG)
void select_tally(GLOBAL const ukey_t* keys, GLOBAL index_t* counts, GLOBAL const u64* picked,
                  u64 n, u64 part, u64 bits) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u32 t = local_id();
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  const ukey_t threshold = (ukey_t)picked[0];
  index_t smaller = 0, ties = 0, all_smaller, all_ties;
  u64 at = begin;
  for (; at + 4 * WG <= end; at += 4 * WG) {
    ukey_t rank[4];
    UNROLL
    for (u32 i = 0; i < 4; ++i) rank[i] = keys[at + i * WG + t];
    UNROLL
    for (u32 i = 0; i < 4; ++i) {
      rank[i] = key_order(rank[i]) & (ukey_t)bits;
      smaller += rank[i] < threshold ? 1 : 0;
      ties += rank[i] == threshold ? 1 : 0;
    }
  }
  for (at += t; at < end; at += WG) {
    const ukey_t rank = key_order(keys[at]) & (ukey_t)bits;
    smaller += rank < threshold ? 1 : 0;
    ties += rank == threshold ? 1 : 0;
  }
  wg_scan_add(scratch, WG, smaller, &all_smaller);
  wg_scan_add(scratch, WG, ties, &all_ties);
  if (t == 0) {
    counts[group_id()] = all_smaller;
    counts[(u64)group_count() + group_id()] = all_ties;
    if (group_id() == 0) counts[2 * (u64)group_count()] = 0;
  }
}

// Moves the records before the threshold to the front, ties after them, the others to the end.
// Records whose output position is at least `limit` are not written. `counts` must have been
// scanned: it holds the output positions of each part's first record before the threshold and of
// its first tie.
KERNEL(WG)
void select_partition(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                      GLOBAL const index_t* counts, GLOBAL const u64* picked, u64 n, u64 part,
                      u64 bits, u64 limit) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u32 t = local_id();
  const u64 groups = group_count();
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  const ukey_t threshold = (ukey_t)picked[0];
  u64 next_smaller = counts[group_id()], next_tie = counts[groups + group_id()];
  u64 next_larger = counts[2 * groups] + (begin - next_smaller - (next_tie - counts[groups]));

  for (u64 tile = begin; tile < end; tile += TILE) {
    // Classify: 0 before, 1 tie, 2 after, 3 past the end. Addresses past the end are clamped, which
    // avoids a branch.
    const u32 count = end - tile < TILE ? (u32)(end - tile) : TILE;
    ukey_t key[ITEMS];
    u32 kind[ITEMS], found = 0;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) key[i] = keys_in[tile + min(t * ITEMS + i, count - 1)];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const ukey_t rank = key_order(key[i]) & (ukey_t)bits;
      kind[i] = t * ITEMS + i >= count ? 3u : rank < threshold ? 0u : rank == threshold ? 1u : 2u;
      found += kind[i] == 0 ? 1u : kind[i] == 1 ? 1u << 16 : 0u;
    }

    // Place: one scan ranks both kinds, 16 bits for each. The positions of records after the
    // threshold follow from these ranks.
    index_t all;
    const u32 before = (u32)wg_scan_add(scratch, WG, found, &all);
    const u32 all_smaller = (u32)all & 0xffffu, all_ties = (u32)all >> 16;
    u64 smaller = next_smaller + (before & 0xffffu), tie = next_tie + (before >> 16);
    u64 larger = next_larger + (t * ITEMS - (before & 0xffffu) - (before >> 16));
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u64 place = kind[i] == 0 ? smaller : kind[i] == 1 ? tie : kind[i] == 2 ? larger : limit;
      smaller += kind[i] == 0 ? 1 : 0;
      tie += kind[i] == 1 ? 1 : 0;
      larger += kind[i] == 2 ? 1 : 0;
      if (place < limit) {
        record_t r;
        r.key = key[i];
#if VALUE_BYTES
        const u64 from = tile + t * ITEMS + i;
        r.value = values_in ? values_in[from]
                            : (value_t)from;  // null: an argsort, whose values are positions
#endif
        store_record(keys_out, values_out, place, r);
      }
    }
    next_smaller += all_smaller;
    next_tie += all_ties;
    next_larger += TILE - all_smaller - all_ties;
  }
}
