// Operations on sorted records: check that they are sorted, keep the first of each run of equal
// keys, merge two sorted ranges, search in a sorted range. Keys are equal if their ranks (key_rank)
// are.

PARAMETER(WG)  // work-items of a work-group, a power of two
PARAMETER(
    ITEMS)  // records of a work-item in a tile: neighbours in a merge, one of each row in unique
PARAMETER(COUNT_BYTES)  // bytes of a run's length: 4 or 8

// A work-group's part is the range of `part` records that begins at group_id() * part. The host
// launches so many work-groups that each part has a record.
#define TILE (WG * ITEMS)
#if ITEMS <= 32
#define UNROLL_ITEMS UNROLL
#else
#define UNROLL_ITEMS
#endif

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

// unique. A tile has a block for each sub-group. A block has ITEMS rows, each of ROW neighbouring
// records: one for each lane. A work-group of one work-item is a sub-group, too.
#if WG == 1
#define ROW 1
#define SUB_GROUP_OF_ROWS const sub_group_t sg = 0
#else
#define ROW SG_LANES
#define SUB_GROUP_OF_ROWS SUB_GROUP(WG)
#endif
#define BLOCK (ITEMS * ROW)
#define BLOCKS (WG / ROW)

// Loads the block whose first record is `first`, of a part that ends before record `end`. Sets bit
// l of heads[i] if a run begins with record l of row i. If the block reaches past the end, the last
// key is loaded again and again: it equals the one before, so no run begins there.
INLINE void find_heads(sub_group_t sg, GLOBAL const ukey_t* keys, u64 first, u64 end, ukey_t* key,
                       u32* heads) {
  const u32 lane = local_id() % ROW;
  if (first + BLOCK <= end) {
    GLOBAL const ukey_t* from = keys + first + lane;
    UNROLL_ITEMS
    for (u32 i = 0; i < ITEMS; ++i) key[i] = from[i * ROW];
  } else {
    UNROLL_ITEMS
    for (u32 i = 0; i < ITEMS; ++i) key[i] = keys[min(first + i * ROW + lane, end - 1)];
  }
  ukey_t last = key_rank(keys[min(first - (first == 0 ? 0 : 1), end - 1)]);  // of the row before
  UNROLL_ITEMS
  for (u32 i = 0; i < ITEMS; ++i) {
    const ukey_t rank = key_rank(key[i]);
#if WG == 1
    heads[i] = rank != last ? 1u : 0u;
#else
    // A lane needs the rank of the record before its own: the lane before it has that. The first
    // lane needs the last record of the row before, whose rank the last lane still has.
    const ukey_t passed = lane == SG_LANES - 1 ? last : rank;
    const u32 from = (lane - 1) % SG_LANES;
    ukey_t other = (ukey_t)sg_shuffle(sg, (u32)passed, from);
#if KEY_BITS == 64
    other |= (ukey_t)sg_shuffle(sg, (u32)(passed >> 32), from) << 32;
#endif
    heads[i] = sg_ballot(sg, rank != other ? 1u : 0u);
#endif
    last = rank;
  }
  if (first == 0) heads[0] |= 1;
}

// Returns how many runs begin in earlier blocks of the tile, and stores in *all how many begin in
// the tile. `heads` is what find_heads set.
INLINE u32 runs_of_blocks(const u32* heads, LOCAL u32* of_block, u32* all) {
  const u32 block = local_id() / ROW;
  u32 mine = 0, before = 0, sum = 0;
  UNROLL_ITEMS
  for (u32 i = 0; i < ITEMS; ++i) mine += popcount32(heads[i]);
  if (local_id() % ROW == 0) of_block[block] = mine;
  barrier_local();
  for (u32 b = 0; b < BLOCKS; ++b) {
    const u32 runs = of_block[b];
    before += b < block ? runs : 0;
    sum += runs;
  }
  *all = sum;
  return before;
}

// Stores the records of the block that begin runs; the first of them becomes record `to`.
INLINE void store_heads(GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                        GLOBAL value_t* values_out, GLOBAL index_t* starts, const ukey_t* key,
                        const u32* heads, u64 first, u64 to) {
  const u32 lane = local_id() % ROW;
  u32 place[ITEMS], runs = 0;
  UNROLL_ITEMS
  for (u32 i = 0; i < ITEMS; ++i) {
    place[i] = runs + popcount32(heads[i] & ((1u << lane) - 1));
    runs += popcount32(heads[i]);
  }
  if (keys_out) {
    GLOBAL ukey_t* out = keys_out + to;
    UNROLL_ITEMS
    for (u32 i = 0; i < ITEMS; ++i)
      if (heads[i] >> lane & 1) out[place[i]] = key[i];
  }
#if VALUE_BYTES
  // All values are loaded before one is stored: the compiler would not move a load above a store.
  GLOBAL value_t* out = values_out + to;
  value_t value[ITEMS];
  UNROLL_ITEMS
  for (u32 i = 0; i < ITEMS; ++i) {
    const u64 from = first + i * ROW + lane;
    value[i] = (value_t)from;
    if (values_in && heads[i] >> lane & 1) value[i] = values_in[from];
  }
  UNROLL_ITEMS
  for (u32 i = 0; i < ITEMS; ++i)
    if (heads[i] >> lane & 1) out[place[i]] = value[i];
#endif
  if (starts) {
    UNROLL_ITEMS
    for (u32 i = 0; i < ITEMS; ++i)
      if (heads[i] >> lane & 1) starts[to + place[i]] = (index_t)(first + i * ROW + lane);
  }
}

// Stores in counts[group] how many runs begin in the group's part.
KERNEL(WG) void unique_tally(GLOBAL const ukey_t* keys, GLOBAL index_t* counts, u64 n, u64 part) {
  SUB_GROUP_OF_ROWS;
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u32 block = local_id() / ROW * BLOCK;
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  index_t found = 0, all;
  for (u64 tile = begin; tile < end; tile += TILE) {
    ukey_t key[ITEMS];
    u32 heads[ITEMS];
    find_heads(sg, keys, tile + block, end, key, heads);
    UNROLL_ITEMS
    for (u32 i = 0; i < ITEMS; ++i) found += popcount32(heads[i]);
  }
  wg_scan_add(scratch, WG, local_id() % ROW == 0 ? found : 0, &all);
  if (local_id() == 0) counts[group_id()] = all;
}

// Gathers the first record of each run, in order, and stores the number of runs in *runs. Keys are
// not stored if keys_out is null; positions are stored in `starts` if it is not. If values_in is
// null, values are positions. `counts` holds what unique_tally stored for all groups.
KERNEL(WG)
void unique_gather(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                   GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                   GLOBAL index_t* starts, GLOBAL const index_t* counts, GLOBAL u64* runs, u64 n,
                   u64 part) {
  SUB_GROUP_OF_ROWS;
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  LOCAL_ARRAY(u32, of_block, BLOCKS);
  const u32 t = local_id(), block = t / ROW * BLOCK;
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  index_t earlier = 0, sum;
  for (u32 g = t; g < group_id(); g += WG) earlier += counts[g];
  wg_scan_add(scratch, WG, earlier, &sum);
  u64 next = (u64)sum + counts[group_id()];
  if (group_id() == group_count() - 1 && t == 0) *runs = next;

  // Go from the last tile to the first. The device's cache may still have the tiles that
  // unique_tally read last.
  for (u64 tile = begin + (end - begin - 1) / TILE * TILE;; tile -= TILE) {
    ukey_t key[ITEMS];
    u32 heads[ITEMS], all;
    find_heads(sg, keys_in, tile + block, end, key, heads);
    const u32 before = runs_of_blocks(heads, of_block, &all);
    next -= all;
    store_heads(keys_out, values_in, values_out, starts, key, heads, tile + block, next + before);
    if (tile == begin) break;
    barrier_local();  // the next tile overwrites of_block
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
#if VALUE_BYTES
  LOCAL_ARRAY(u16, source, TILE);
#endif
  const u32 t = local_id();
  const u64 tile = (u64)group_id() * TILE;
  const u64 first_a = cuts[group_id()], first_b = tile - first_a;
  const u32 count = (u32)min((u64)TILE, a_count + b_count - tile);
  const u32 in_a = (u32)(cuts[group_id() + 1] - first_a), in_b = count - in_a;

  // Load: a's piece, and b's behind it.
  GLOBAL const ukey_t *of_a = a + first_a, *of_b = b + first_b;
  UNROLL_ITEMS
  for (u32 k = 0; k < ITEMS; ++k) {
    const u32 i = k * WG + t;
    if (i < count) keys[i] = i < in_a ? of_a[i] : of_b[i - in_a];
  }
  barrier_local();

  // Merge: each work-item finds ITEMS records of the output. Registers hold the next record of a,
  // the next record of b, and the ranks of both.
  const u32 begin = min(t * ITEMS, count);
  u32 left = (u32)cut_in_local(keys, in_a, keys + in_a, in_b, begin), right = in_a + begin - left;
  ukey_t next_left = keys[min(left, count - 1)], next_right = keys[min(right, count - 1)];
  ukey_t of_left = key_rank(next_left), of_right = key_rank(next_right);
  ukey_t merged[ITEMS];
  UNROLL_ITEMS
  for (u32 k = 0; k < ITEMS; ++k) {
    const u32 take_left = left < in_a && (right >= count || of_left <= of_right) ? 1u : 0u;
    merged[k] = take_left ? next_left : next_right;
#if VALUE_BYTES
    if (begin + k < count) source[begin + k] = (u16)(take_left ? left : right);
#endif
    left += take_left;
    right += 1 - take_left;
    const ukey_t after = keys[min(take_left ? left : right, count - 1)];
    const ukey_t of_after = key_rank(after);
    next_left = take_left ? after : next_left;
    next_right = take_left ? next_right : after;
    of_left = take_left ? of_after : of_left;
    of_right = take_left ? of_right : of_after;
  }
  barrier_local();
  UNROLL_ITEMS
  for (u32 k = 0; k < ITEMS; ++k)
    if (begin + k < count) keys[begin + k] = merged[k];
  barrier_local();

  // Store: neighbouring work-items write neighbouring records.
  UNROLL_ITEMS
  for (u32 k = 0; k < ITEMS; ++k) {
    const u32 p = k * WG + t;
    if (p < count) {
      keys_out[tile + p] = keys[p];
#if VALUE_BYTES
      const u32 i = source[p];
      values_out[tile + p] = i < in_a ? a_values[first_a + i] : b_values[first_b + (i - in_a)];
#endif
    }
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
