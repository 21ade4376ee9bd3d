// Operations on sorted records: check that they are sorted, keep the first of each run of equal
// keys, merge two sorted ranges, search in a sorted range. Keys are equal if their ranks (key_rank)
// are.

PARAMETER(WG)           // work-items of a work-group, a power of two
PARAMETER(ITEMS)        // neighbouring records of a work-item in a tile
PARAMETER(COUNT_BYTES)  // bytes of a run's length: 4 or 8

#define TILE (WG * ITEMS)

// Returns the minimum of `mine` over the work-group.
INLINE u64 least_of_group(LOCAL u64* found, u64 mine) {
  const u32 t = local_id();
  found[t] = mine;
  barrier_local();
  for (u32 distance = WG / 2; distance > 0; distance /= 2) {
    if (t < distance) found[t] = min(found[t], found[t + distance]);
    barrier_local();
  }
  return found[0];
}

// Stores in firsts[group] the position of the first record in the group's part that sorts after its
// successor; n if there is none.
KERNEL(WG) void sorted_parts(GLOBAL const ukey_t* keys, GLOBAL u64* firsts, u64 n, u64 part) {
  LOCAL_ARRAY(u64, found, WG);
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n - 1 ? begin + part : n - 1;
  u64 first = n;
  for (u64 i = begin + local_id(); i < end; i += WG)
    if (key_rank(keys[i + 1]) < key_rank(keys[i])) first = min(first, i);
  first = least_of_group(found, first);
  if (local_id() == 0) firsts[group_id()] = first;
}

// Stores the minimum of `firsts` in *result: the position of the first record that is out of order;
// n if there is none.
KERNEL(WG) void sorted_whole(GLOBAL const u64* firsts, GLOBAL u64* result, u64 parts, u64 n) {
  LOCAL_ARRAY(u64, found, WG);
  u64 first = n;
  for (u64 i = local_id(); i < parts; i += WG) first = min(first, firsts[i]);
  first = least_of_group(found, first);
  if (local_id() == 0) *result = first;
}

// Returns 1 if a run begins with record i.
INLINE u32 is_head(GLOBAL const ukey_t* keys, u64 i) {
  return i == 0 || key_rank(keys[i]) != key_rank(keys[i == 0 ? 0 : i - 1]) ? 1u : 0u;
}

// Stores in counts[group] how many runs begin in the group's part, and 0 in counts[groups].
KERNEL(WG) void unique_tally(GLOBAL const ukey_t* keys, GLOBAL index_t* counts, u64 n, u64 part) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  index_t heads = 0, all;
  for (u64 i = begin + local_id(); i < end; i += WG) heads += is_head(keys, i);
  wg_scan_add(scratch, WG, heads, &all);
  if (local_id() == 0) {
    counts[group_id()] = all;
    if (group_id() == 0) counts[group_count()] = 0;
  }
}

// Gathers the first record of each run, in order, and stores each one's position in `starts`.
// `counts` must have been scanned: it holds prefix sums, and its last entry is the number of runs.
KERNEL(WG)
void unique_gather(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                   GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                   GLOBAL index_t* starts, GLOBAL const index_t* counts, GLOBAL u64* runs, u64 n,
                   u64 part) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  LOCAL_ARRAY(u32, heads, TILE);  // places in the tile of the records that begin runs, in order
  const u32 t = local_id();
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  u64 next = counts[group_id()];
  if (group_id() == 0 && t == 0) *runs = counts[group_count()];
  for (u64 tile = begin; tile < end; tile += TILE) {
    u32 head[ITEMS], found = 0;
    for (u32 i = 0; i < ITEMS; ++i) {
      const u64 wanted = tile + t * ITEMS + i, at = min(wanted, end - 1);
      head[i] = is_head(keys_in, at) & (wanted == at ? 1u : 0u);
      found += head[i];
    }
    index_t all;
    u32 place = (u32)wg_scan_add(scratch, WG, found, &all);
    for (u32 i = 0; i < ITEMS; ++i)
      if (head[i]) heads[place++] = t * ITEMS + i;
    barrier_local();

    // Neighbouring work-items write neighbouring records. Each has ITEMS rounds, because PoCL 3.1
    // makes a loop endless that some work-items do not enter.
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 run = i * WG + t;
      if (run < all) {
        const u64 first = tile + heads[run];
        store_record(keys_out, values_out, next + run, load_record(keys_in, values_in, first));
        if (starts) starts[next + run] = (index_t)first;
      }
    }
    next += all;  // the next scan's barriers come before other places are stored in `heads`
  }
}

#if COUNT_BYTES == 8
typedef u64 count_t;
#else
typedef u32 count_t;
#endif

// Stores the length of each run: the distance between its position and the next run's.
KERNEL(WG)
void unique_lengths(GLOBAL const index_t* starts, GLOBAL count_t* lengths, GLOBAL const u64* runs,
                    u64 n) {
  const u64 count = *runs;
  for (u64 i = (u64)group_id() * WG + local_id(); i < count; i += (u64)group_count() * WG)
    lengths[i] = (count_t)((i + 1 < count ? starts[min(i + 1, count - 1)] : n) - starts[i]);
}

// Returns how many of the first `diagonal` records of the merged order come from a. Ties: records
// of a come before those of b.
#define DEFINE_CUT(name, SPACE)                                                                    \
  INLINE u64 name(SPACE const ukey_t* a, u64 a_count, SPACE const ukey_t* b, u64 b_count,          \
                  u64 diagonal) {                                                                  \
    u64 low = 0, high = min(diagonal, a_count);                                                    \
    while (low < high) {                                                                           \
      const u64 middle = (low + high) / 2, other = diagonal - 1 - middle;                          \
      const u32 a_first = other >= b_count || key_rank(a[middle]) <= key_rank(b[other]) ? 1u : 0u; \
      low = a_first ? middle + 1 : low;                                                            \
      high = a_first ? high : middle;                                                              \
    }                                                                                              \
    return low;                                                                                    \
  }
DEFINE_CUT(cut_in_global, GLOBAL)
DEFINE_CUT(cut_in_local, LOCAL)

// Stores in cuts[tile] how many records of a come before the tile.
KERNEL(WG)
void merge_cuts(GLOBAL const ukey_t* a, GLOBAL const ukey_t* b, GLOBAL u64* cuts, u64 a_count,
                u64 b_count, u64 tiles) {
  const u64 tile = (u64)group_id() * WG + local_id();
  if (tile <= tiles)
    cuts[tile] = cut_in_global(a, a_count, b, b_count, min(tile * TILE, a_count + b_count));
}

// Each work-group merges one tile of the output. It loads the tile's pieces of a and b into local
// memory, and each work-item merges ITEMS records of them.
KERNEL(WG)
void merge_two(GLOBAL const ukey_t* a, GLOBAL const ukey_t* b, GLOBAL ukey_t* keys_out,
               GLOBAL const value_t* a_values, GLOBAL const value_t* b_values,
               GLOBAL value_t* values_out, GLOBAL const u64* cuts, u64 a_count, u64 b_count) {
  LOCAL_ARRAY(ukey_t, keys, TILE);
  LOCAL_ARRAY(u32, source, TILE);
  const u32 t = local_id();
  const u64 tile = (u64)group_id() * TILE;
  const u64 first_a = cuts[group_id()], first_b = tile - first_a;
  const u32 count = (u32)min((u64)TILE, a_count + b_count - tile);
  const u32 in_a = (u32)(cuts[group_id() + 1] - first_a), in_b = count - in_a;

  // Load: a's piece, and b's behind it.
  for (u32 i = t; i < count; i += WG) keys[i] = i < in_a ? a[first_a + i] : b[first_b + (i - in_a)];
  barrier_local();

  // Merge: find the source of each record of the work-item's own piece of the output.
  const u32 from = min(t * ITEMS, count), to = min(from + ITEMS, count);
  u32 left = (u32)cut_in_local(keys, in_a, keys + in_a, in_b, from), right = in_a + (from - left);
  for (u32 p = from; p < to; ++p) {
    const ukey_t of_left = key_rank(keys[min(left, count - 1)]),
                 of_right = key_rank(keys[min(right, count - 1)]);
    const u32 take_left = left < in_a && (right >= count || of_left <= of_right) ? 1u : 0u;
    source[p] = take_left ? left : right;
    left += take_left;
    right += 1 - take_left;
  }
  barrier_local();

  // Store: neighbouring work-items write neighbouring records.
  for (u32 p = t; p < count; p += WG) {
    const u32 i = source[p];
    keys_out[tile + p] = keys[i];
#if VALUE_BYTES
    values_out[tile + p] = i < in_a ? a_values[first_a + i] : b_values[first_b + (i - in_a)];
#endif
  }
}

// Stores for each needle how many of the n sorted keys come before it. If `upper` is 1, keys equal
// to the needle are counted, too.
KERNEL(WG)
void search_places(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* needles, GLOBAL value_t* places,
                   u64 n, u64 needle_count, u32 upper) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < needle_count; i += (u64)group_count() * WG)
    places[i] = (value_t)rank_in_global_run(keys, (index_t)n, key_rank(needles[i]), upper);
}
