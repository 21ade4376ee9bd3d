// In-place merging of neighbouring runs (SymMerge). A segment holds two sorted runs; `bounds` has
// the position where its second run begins. A split divides a segment in the middle and exchanges
// the records that belong in the other half. Each half is then a segment of half the length, again
// with two sorted runs. Splits continue until a segment fits local memory, where it is merged. Only
// the bounds depend on the keys, so the host can enqueue all launches in advance.

PARAMETER(WG)    // work-items of a work-group
PARAMETER(TILE)  // records of a segment that is merged in local memory, a power of two

// Segment s of `length` records: its first record, and the end of the segment.
#define SEGMENT(s)                   \
  const u64 begin = (u64)(s)*length; \
  const u64 end = min(begin + length, n);

// Fills in the values of an argsort: every record's position.
KERNEL(WG) void merge_in_place_positions(GLOBAL value_t* values, u64 n) {
  const u64 i = (u64)group_id() * WG + local_id();
#if VALUE_BYTES
  if (i < n) values[i] = (value_t)i;
#endif
}

// Computes `halves`: for each segment, the bounds of its two halves after the split. To perform the
// split, the records between these two positions must be rotated about the segment's own bound. In
// the first split there are no bounds yet, and `run` is the length of the runs; in later splits
// `run` is 0.
KERNEL(WG)
void merge_in_place_split(GLOBAL const ukey_t* keys, GLOBAL index_t* bounds, GLOBAL index_t* halves,
                          u64 n, u64 length, u64 run) {
  const u64 s = (u64)group_id() * WG + local_id();
  SEGMENT(s)
  if (begin >= n) return;
  const u64 bound = run != 0 ? min(begin + run, n) : bounds[s], middle = begin + length / 2;
  if (run != 0) bounds[s] = (index_t)bound;
  if (middle >= end) {  // there is no second half
    halves[2 * s] = halves[2 * s + 1] = (index_t)bound;
    return;
  }

  // Binary search for the number of records of the first run that belong in the first half: where
  // the merge path crosses the diagonal.
  const u64 wanted = middle - begin;
  u64 low = 0, high = min(wanted, bound - begin);
  while (low < high) {
    const u64 left = (low + high) / 2, right = bound + (wanted - 1 - left);
    if (right >= end || key_rank(keys[begin + left]) <= key_rank(keys[right]))
      low = left + 1;
    else
      high = left;
  }
  halves[2 * s] = (index_t)(begin + low);
  halves[2 * s + 1] = (index_t)(bound + (wanted - low));
}

// Rotates the records [from, to) about `bound`, so that the record at `bound` comes first, by three
// reversals in two launches. The first (`whole` is 0) reverses each side of `bound`; the second
// (`whole` is 1) reverses [from, to). Each work-item exchanges one pair of records.
KERNEL(WG)
void merge_in_place_reverse(GLOBAL ukey_t* keys, GLOBAL value_t* values,
                            GLOBAL const index_t* bounds, GLOBAL const index_t* halves, u64 n,
                            u64 length, u32 whole) {
  const u64 i = (u64)group_id() * WG + local_id(), s = i / length;
  if (i >= n) return;
  const u64 from = halves[2 * s], bound = bounds[s], to = halves[2 * s + 1];
  if (i < from || i >= to) return;
  const u64 mirror = (whole ? from + to : i < bound ? from + bound : bound + to) - 1 - i;
  if (i >= mirror) return;
  const ukey_t key = keys[i];
  keys[i] = keys[mirror];
  keys[mirror] = key;
#if VALUE_BYTES
  const value_t value = values[i];
  values[i] = values[mirror];
  values[mirror] = value;
#endif
}

// A work-group merges a segment of TILE records in local memory. A record's position is its index
// in its own run plus the number of records before it in the other run.
KERNEL(WG)
void merge_in_place_tile(GLOBAL ukey_t* keys, GLOBAL value_t* values, GLOBAL const index_t* bounds,
                         u64 n) {
  LOCAL_RECORDS(tile, TILE);
  const u64 length = TILE;
  SEGMENT(group_id())
  const u32 count = begin < n ? (u32)(end - begin) : 0,
            left = begin < n ? (u32)(bounds[group_id()] - begin) : 0;
  for (u32 i = local_id(); i < count; i += WG)
    put_record(tile_keys, tile_values, i, load_record(keys, values, begin + i));
  barrier_all();
  for (u32 i = local_id(); i < count; i += WG) {
    const record_t mine = get_record(tile_keys, tile_values, i);
    const u32 is_left = i < left;
    const u32 before =
        (u32)rank_in_local_run(tile_keys + (is_left ? left : 0), is_left ? count - left : left,
                               key_rank(mine.key), !is_left);
    store_record(keys, values, begin + (is_left ? i : i - left) + before, mine);
  }
}
