// A work-group sorts a segment that fits its local memory, by bins (segmented_block_bins.cl, which
// comes before this file). Cells are for floats, except in a part of a long segment, and for a
// segment whose bins are crowded otherwise. If bins remain crowded with cells, too, radix passes
// sort the segment.

// Gives keys that tie with different bits their own bits again. `tied` is one of them. mine->items
// has the sorted orders of the segment's `count` keys; afterwards, without ties.
INLINE void restore_tied(LOCAL segmented_memory_t* mine, GLOBAL const ukey_t* keys, u32 count,
                         ukey_t tied) {
  const u32 t = local_id();
  const ukey_t order = key_order(tied);
  u32 place = 0;  // of the first key with this order
  for (u32 step = 1u << highest_bit32(CAPACITY); step > 0; step /= 2)
    if (place + step <= count && mine->items[place + step - 1] < order) place += step;
  barrier_local();
  for (u32 base = 0; base < count; base += WG) {
    const ukey_t key = base + t < count ? keys[base + t] : (ukey_t)0;
    const u32 here = base + t < count && key_order(key) == order;
    index_t all;
    const u32 at = place + (u32)wg_scan_add(mine->scratch, WG, here, &all);
    if (here) mine->items[at] = untied_order(key);
    place += (u32)all;
  }
  barrier_local();
}

// Returns the item of record `at` of the segment, without the lowest `drop` bits of its rank.
INLINE sort_t item_of(ukey_t rank, u32 drop, u32 at) {
#if DROPS
  return (sort_t)(rank >> drop) << POSITION_BITS | at;
#elif COMPOSITE
  return (sort_t)rank << POSITION_BITS | at;
#else
  return rank;
#endif
}

// Gives all keys that tie their own bits again. If all NaN have the same bits, these replace each.
#if UNTIED_FLOATS
OUTLINE void restore_all_tied(LOCAL segmented_memory_t* mine, GLOBAL const ukey_t* keys,
                              u32 count) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  if (t < 2) mine->nan_ones[t] = mine->nan_zeros[t] = 0;
  if (t == 0) mine->negative_zero = 0;
  barrier_local();
  ukey_t nan_ones = 0, nan_zeros = 0;
  for (u32 at = t; at < count; at += WG) {
    const ukey_t key = keys[at];
    const u32 is_nan = (ukey_t)(key & ~KEY_SIGN) > (ukey_t)KEY_INFINITY;
    nan_ones |= is_nan ? key : (ukey_t)0;
    nan_zeros |= is_nan ? (ukey_t)~key : (ukey_t)0;
    if (key == KEY_SIGN) mine->negative_zero = 1;
  }
  or_bits(mine->nan_ones, nan_ones);
  or_bits(mine->nan_zeros, nan_zeros);
  barrier_local();
  const ukey_t a_nan = ored_bits(mine->nan_ones), nan_order = key_order(a_nan);
  const u32 nan_ties = KEY_NAN != NAN_BITS && a_nan != 0;
  const u32 nan_differ = nan_ties && (a_nan & ored_bits(mine->nan_zeros)) != 0;
  const u32 zeros_tie = KEY_ZEROS == ZEROS_TIED && mine->negative_zero;
  for (u32 once = 0; once < zeros_tie; ++once) restore_tied(mine, keys, count, 0);
  for (u32 once = 0; once < nan_differ; ++once) restore_tied(mine, keys, count, a_nan);
  if (nan_ties && !nan_differ)
    for (u32 at = t; at < count; at += WG)
      if (mine->items[at] == nan_order) mine->items[at] = untied_order(a_nan);
  barrier_local();
}
#endif

// Moves keys or values to their sorted places through the local memory of the items. For each index
// `at`, a work-item loads `what_belongs` (the key or value of record `at` of the input), and stores
// the one of the record that item `at` names to `its_place`.
#define BRING(type, what_belongs, its_place)                    \
  {                                                             \
    LOCAL type* there = (LOCAL type*)mine->items;               \
    type own[ITEMS];                                            \
    UNROLL                                                      \
    for (u32 i = 0; i < ITEMS; ++i) {                           \
      const u32 at = i * WG + t;                                \
      own[i] = 0;                                               \
      if (i < rows) own[i] = what_belongs;                      \
    }                                                           \
    barrier_all();                                              \
    UNROLL                                                      \
    for (u32 i = 0; i < ITEMS; ++i) there[i * WG + t] = own[i]; \
    barrier_local();                                            \
    UNROLL                                                      \
    for (u32 i = 0; i < ITEMS; ++i) {                           \
      const u32 at = i * WG + t;                                \
      if (i < sorted) {                                         \
        const type its = there[from[i]];                        \
        its_place = its;                                        \
      }                                                         \
    }                                                           \
  }

// Sorts the segment by LSD radix passes over the bits that differ, if bins have not sorted it:
// first by the omitted bits, then by the others.
INLINE void sort_by_passes(LOCAL segmented_memory_t* mine, sub_group_t sg,
                           GLOBAL const ukey_t* keys, u64 begin, u32 count, ukey_t differ,
                           ukey_t open_mask, u32 drop, u32 begin_bit, u64 rank_mask) {
  const u32 t = local_id();
  const u32 rounds = mine->unsorted != 0 ? (drop != 0 ? 2 : 1) : 0;
  for (u32 round = 0; round < rounds; ++round) {
    const u32 dropped = round + 1 < rounds;  // this round sorts by the omitted bits
    for (u32 at = t; at < count; at += WG) {
#if COMPOSITE
      const u32 from = drop != 0 && !dropped ? POSITION(mine->items[at]) : at;
      const ukey_t of = RANK(keys[begin + from]) & open_mask;
#if DROPS
      mine->items[at] = dropped ? (sort_t)(of & (((ukey_t)1 << drop) - 1)) << POSITION_BITS | from
                                : item_of(of, drop, from);
#else
      mine->items[at] = item_of(of, 0, from);
#endif
#endif
    }
    barrier_local();
#if DROPS
    const ukey_t bits = dropped ? differ & (((ukey_t)1 << drop) - 1) : differ >> drop;
#else
    const ukey_t bits = differ;
#endif
#if COMPOSITE
    const u32 base = POSITION_BITS;
#else
    const u32 base = 0;
#endif
    const u32 lowest = bits != 0 ? highest_bit(bits & (ukey_t)(0 - bits)) : 0;
    const u32 end = bits != 0 ? highest_bit(bits) + 1 : 0;
    for (u32 low_bit = lowest; low_bit < end; low_bit += 8)
      radix_pass(mine->bins, mine->items, mine->scratch, sg, base + low_bit);
  }
}

// Stores the work-item's first `sorted` records. Keys and values that items do not hold are loaded
// in the order of the input. All loads come before the first store, because the output may be the
// input.
INLINE void store_segment(LOCAL segmented_memory_t* mine, GLOBAL const ukey_t* keys,
                          GLOBAL const value_t* values, u64 begin, u32 rows, u32 sorted,
                          GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 to) {
  const u32 t = local_id();
#if COMPOSITE
  u32 from[ITEMS];
#endif
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
#if COMPOSITE
    from[i] = POSITION(mine->items[at]);
#if !GATHER_KEYS
    if (i < sorted && keys_out)
      keys_out[to + at] = key_of_order((ukey_t)(mine->items[at] >> POSITION_BITS));
#endif
#else
    if (i < sorted) keys_out[to + at] = key_of_order((ukey_t)mine->items[at]);
#endif
  }
#if VALUE_BYTES && FEW_ITEMS
  // Registers can hold the values while the keys are moved.
  value_t value[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    value[i] = 0;
    if (i < rows) value[i] = values ? values[begin + at] : (value_t)(begin + at);
  }
#define VALUE_AT(i, at) value[i]
#else
#define VALUE_AT(i, at) (values ? values[begin + (at)] : (value_t)(begin + (at)))
#endif
#if GATHER_KEYS
  BRING(ukey_t, keys[begin + at], if (keys_out) keys_out[to + at])
#endif
#if VALUE_BYTES
  BRING(value_t, VALUE_AT(i, at), values_out[to + at])
#endif
}

// Sorts the `count` records of a segment, from record `begin` of keys and values on, and stores the
// first `wanted` from record `to` of the output on. Returns 0 if LEAVES is 1 and bins have not
// sorted the segment; then stores nothing. `values` may be null: positions are stored. With
// COMPOSITE, keys_out may be null. `is_part`: the segment is a part of a long one, so that its keys
// probably share their leading bits. A barrier must follow.
INLINE u32 sort_segment(LOCAL segmented_memory_t* mine, sub_group_t sg, GLOBAL const ukey_t* keys,
                        GLOBAL const value_t* values, u64 begin, u32 count, u32 is_part,
                        GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 to, u32 wanted,
                        u32 begin_bit, u64 rank_mask) {
  const u32 t = local_id();
  const u32 to_write = (wanted + WG - 1 - t) / WG;  // this work-item's records of the output

  // Load, and find the bits in which the records differ.
  const u32 rows = (count + WG - 1 - t) / WG;  // this work-item's records
  const ukey_t first = RANK(keys[begin]);
  ukey_t rank[ITEMS];
  ukey_t differ = 0;
  u32 ties = 0;
  FOR_ROWS(i, count) {
    rank[i] = first;
    if (i < rows) {
      const ukey_t key = keys[begin + i * WG + t];
      rank[i] = RANK(key);
#if UNTIED_FLOATS
      ties |= key_ties(key);
#endif
    }
    differ |= rank[i] ^ first;
  }
#if !KEY_FLOAT
  empty_bins(mine);
#endif
  if (t < 2) mine->differ[t] = mine->extremes[t] = 0;
  if (t == 0) mine->tied = 0;
  barrier_local();
  or_bits(mine->differ, differ);
  if (ties) local_or(&mine->tied, 1u);
  barrier_local();
  differ = ored_bits(mine->differ);
#if EQUAL && UNTIED_FLOATS
  const u32 to_sort = mine->tied ? count : wanted;  // restore_tied needs all in order
#elif EQUAL && !DROPS
  const u32 to_sort = wanted;
#else
  const u32 to_sort = count;
#endif
  const u32 open = differ != 0 ? highest_bit(differ) + 1 : 0;
#if DROPS
  const u32 drop = max(open + POSITION_BITS, (u32)SORT_BITS) - SORT_BITS;
  const ukey_t open_mask = open == KEY_BITS ? ~(ukey_t)0 : ((ukey_t)1 << open) - 1;
#else
  const u32 drop = 0;
  const ukey_t open_mask = (ukey_t) ~(ukey_t)0;
#endif
#if COMPOSITE
  const u32 top = open - drop + POSITION_BITS;
#else
  const u32 top = open;
#endif
  const u32 shift = max(top, (u32)LOG_BINS) - LOG_BINS;
#if KEY_FLOAT
  FOR_ROWS(i, count)
  mine->items[i * WG + t] = i < rows ? item_of(rank[i] & open_mask, drop, i * WG + t) : SORT_LAST;
  if (t == 0) mine->unsorted = 1;
#else
  sort_t item[ITEMS];
  u32 place[ITEMS];
  FOR_ROWS(i, count) {
    item[i] = SORT_LAST;
    place[i] = 0;
    if (i < rows) {
      item[i] = item_of(rank[i] & open_mask, drop, i * WG + t);
      place[i] = enter_bin(mine, (u32)(item[i] >> shift));
    }
  }
  sort_in_bins(mine, sg, item, place, rows, count, to_sort);
#endif
#if USES_CELLS
  // The keys of a part of a long segment share leading bits, so its bins may be even without
  // cells. For integers of few bits, radix passes are faster.
  for (u32 by_cells = KEY_FLOAT && is_part ? 0 : 1; by_cells < 2; ++by_cells) {
    barrier_local();
    const u32 tries = mine->unsorted && (KEY_FLOAT || open > 16) ? 1 : 0;
    for (u32 once = 0; once < tries; ++once)
      sort_items_in_bins(mine, sg, rows, count, to_sort, shift, top, by_cells);
  }
#endif
  barrier_all();  // all keys are loaded and may be overwritten

#if DROPS
  // Look for neighbours whose order the omitted bits change.
  const u32 looked_at = drop != 0 && mine->unsorted == 0 ? count : 0;
  barrier_local();  // all have read `unsorted`, which the loop may write
  for (u32 at = t; at + 1 < looked_at; at += WG) {
    const sort_t x = mine->items[at], y = mine->items[at + 1];
    if (x >> POSITION_BITS == y >> POSITION_BITS &&
        RANK(keys[begin + POSITION(x)]) > RANK(keys[begin + POSITION(y)]))
      local_or(&mine->unsorted, 1u);
  }
  barrier_local();
#endif

#if LEAVES
  const u32 is_sorted = mine->unsorted == 0 ? 1 : 0, sorted = is_sorted ? to_write : 0;
#else
  const u32 is_sorted = 1, sorted = to_write;
  sort_by_passes(mine, sg, keys, begin, count, differ, open_mask, drop, begin_bit, rank_mask);
#endif
#if UNTIED_FLOATS
  for (u32 once = 0; once < mine->tied; ++once) restore_all_tied(mine, keys + begin, count);
#endif

  store_segment(mine, keys, values, begin, rows, sorted, keys_out, values_out, to);
  return is_sorted;
}
