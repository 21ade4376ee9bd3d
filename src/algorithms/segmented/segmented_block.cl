// segmented, segments that fit local memory: each work-group sorts segments of its class in a loop.
// Records are assigned to bins by the highest bits in which they differ (bins.cl, which comes
// before this file). If a bin is crowded, radix passes sort the segment instead. msd sorts its
// buckets in the same way. There are two differences: the keys of a segment may have any bits in
// common, and no barrier is inside a condition, because compilers for CPUs cannot handle that.

// Parameters beside those of bins.cl:
PARAMETER(RESIDENT)       // work-groups that share a compute unit
PARAMETER(COMPOSITE)      // 1: an item is the key's rank followed by the record's position in the
                          // segment. 0: an item is the key's order bits
PARAMETER(POSITION_BITS)  // bits of that position
PARAMETER(DROPS)  // 1: if more bits differ than fit beside the position, items omit the lowest
                  // ones; records that then seem to tie are compared by these bits after the sort
PARAMETER(GATHER_KEYS)  // 1: an item does not hold all bits of its key
PARAMETER(LEAVES)       // 1: segments that bins cannot sort are passed on to another kernel

#define BROUGHT_BYTES \
  (GATHER_KEYS && KEY_BITS / 8 > VALUE_BYTES ? KEY_BITS / 8 : VALUE_BYTES)  // see BRING

// With COMPOSITE no two items are equal, so ties keep their order. The position in an item
// identifies the record.
#if COMPOSITE
#define POSITION(item) ((u32)(item) & ((1u << POSITION_BITS) - 1))
#else
#undef RANK
#define RANK(key) key_order(key)  // compares all bits
#endif

// block_bytes() in segmented_shape.cpp computes its size.
typedef struct {
  u32 bins[BIN_WORDS];
  sort_t items[CAPACITY * (BROUGHT_BYTES > SORT_BITS / 8 ? BROUGHT_BYTES / (SORT_BITS / 8) : 1)];
  index_t scratch[2 * WG];
  u32 differ[2];  // bits in which records differ: lower and upper half
  u32 crowded;    // not 0: a bin is crowded, so radix passes are needed
  u32 tied;       // not 0: the omitted bits would change the order
} segmented_memory_t;

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

//   keys_in, keys_spare, keys_work, values_…  in: the records; a task says which. keys_work is
//                  keys_out, or memory that replaces it if no keys are wanted
//   keys_out, values_out  out: the sorted segments
//   tasks          in: the class's list of *length segments
//   begin_bit, rank_mask  parameters of RANK
//   others         in and out, LEAVES: the list of segments passed on; *others_length is its length
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_block(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_spare,
                     GLOBAL const ukey_t* keys_work, GLOBAL ukey_t* keys_out,
                     GLOBAL const value_t* values_in, GLOBAL const value_t* values_spare,
                     GLOBAL value_t* values_out, GLOBAL const task_t* tasks,
                     GLOBAL const u32* length, u32 begin_bit, u64 rank_mask, GLOBAL task_t* others,
                     GLOBAL u32* others_length) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(segmented_memory_t, mine);
  const u32 t = local_id();
  const u64 segments = *length;
  LOCAL uint4* quads = (LOCAL uint4*)mine->bins;
  uint4 zero;
  zero.x = zero.y = zero.z = zero.w = 0;

  for (u64 s = group_id(); s < segments; s += group_count()) {
    const u64 begin = tasks[s].begin;
    const u32 count = TASK_COUNT(tasks[s]), place_of_all = TASK_PLACE(tasks[s]);
    GLOBAL const ukey_t* keys = FROM_PLACE(place_of_all, keys_in, keys_spare, keys_work);

    // Load, and find the bits in which the records differ.
    const u32 rows = (count + WG - 1 - t) / WG;  // this work-item's records
    const ukey_t first = RANK(keys[begin]);
    ukey_t rank[ITEMS];
    ukey_t differ = 0;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      rank[i] = first;
      if (i < rows) rank[i] = RANK(keys[begin + i * WG + t]);
      differ |= rank[i] ^ first;
    }
    quads[t] = quads[WG + t] = zero;
    if (t < 2) mine->differ[t] = 0;
    if (t == 0) mine->crowded = mine->tied = 0;
    barrier_local();
    or_bits(mine->differ, differ);
    barrier_local();
    differ = ored_bits(mine->differ);
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

    // Rank in the bins.
    sort_t item[ITEMS];
    u32 place[ITEMS];  // the 2-byte index of the bin's count and, above it, the rank
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      item[i] = SORT_LAST;
      place[i] = 0;
      if (i < rows) {
        item[i] = item_of(rank[i] & open_mask, drop, i * WG + t);
        const u32 window = (u32)(item[i] >> shift), word = window & (BINS / 2 - 1),
                  upper = window >> (LOG_BINS - 1) & 1;
        const u32 in_bin = local_add(&mine->bins[word], 1u << 16 * upper) >> 16 * upper & 0xffff;
        place[i] = 2 * word + upper | in_bin << 16;
      }
    }
    barrier_local();

    // Scan over bins.
    uint4 low = quads[2 * t], high = quads[2 * t + 1];
    if (ANY_TOO_MANY(low) || ANY_TOO_MANY(high)) local_or(&mine->crowded, 1u);
    index_t all;
    u32 at_bin = (u32)wg_scan_add(
        mine->scratch, WG, low.x + low.y + low.z + low.w + high.x + high.y + high.z + high.w, &all);
    at_bin += (u32)all << 16;  // the upper half of the bins begins where the lower half ends
    START_BINS(low)
    START_BINS(high)
    quads[2 * t] = low;
    quads[2 * t + 1] = high;
    barrier_local();

    // Scatter. Items past the end keep their places. If a bin is crowded, all items keep them.
    LOCAL const u16* starts_of_bins = (LOCAL const u16*)mine->bins;
    const u32 stay = mine->crowded;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 to = starts_of_bins[place[i] & 0xffff] + (place[i] >> 16);
      mine->items[stay || i >= rows ? i * WG + t : to] = item[i];
    }
    barrier_local();

    // Sort each work-item's own items, which sorts all bins inside its range. Then merge across the
    // boundary to the previous work-item, for bins that extend over it.
    LOCAL sort_t* own = mine->items + t * ITEMS;
    if (mine->crowded == 0) SORT_NEIGHBOURS(item, own)
    barrier_local();
    if (mine->crowded == 0 && t != 0 && own[-1] > own[0]) MERGE_BORDER(own)
    barrier_all();  // all items are loaded and may be overwritten

#if DROPS
    // Look for neighbours whose order the omitted bits change.
    if (drop != 0 && mine->crowded == 0)
      for (u32 at = t; at + 1 < count; at += WG) {
        const sort_t x = mine->items[at], y = mine->items[at + 1];
        if (x >> POSITION_BITS == y >> POSITION_BITS &&
            RANK(keys[begin + POSITION(x)]) > RANK(keys[begin + POSITION(y)]))
          local_or(&mine->tied, 1u);
      }
    barrier_local();
#endif

#if LEAVES
    const u32 sorted = (mine->crowded | mine->tied) == 0 ? rows : 0;
    if (t == 0 && sorted == 0) others[global_add(others_length, 1u)] = tasks[s];
#else
    // If a bin is crowded or records tie, sort by LSD radix passes over the bits that differ: first
    // the omitted bits, then the others.
    const u32 sorted = rows;
    const u32 rounds = (mine->crowded | mine->tied) != 0 ? (drop != 0 ? 2 : 1) : 0;
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
#endif

      // Store. Keys and values that items do not hold are loaded in the order of the input. All
      // loads come before the first store, because the output may be the input.
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
        keys_out[begin + at] = key_of_order((ukey_t)(mine->items[at] >> POSITION_BITS));
#endif
#else
      if (i < sorted) keys_out[begin + at] = key_of_order((ukey_t)mine->items[at]);
#endif
    }
#if GATHER_KEYS
    BRING(ukey_t, keys[begin + at], if (keys_out) keys_out[begin + at])
#endif
#if VALUE_BYTES
    GLOBAL const value_t* values = FROM_PLACE(place_of_all, values_in, values_spare, values_out);
    BRING(value_t, values ? values[begin + at] : (value_t)(begin + at), values_out[begin + at])
#endif
    barrier_local();
  }
}
