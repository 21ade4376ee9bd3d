// Document 000's merge sort of a block in local memory: WG records, one for each work-item. Runs of
// 1, 2, 4 … WG/2 records are merged in pairs. A record's position in the merged run is its index in
// its own run plus the number of records before it in the sibling run, found by binary search.
//

PARAMETER(WG)  // work-items of a work-group, a power of two

KERNEL(WG)
void merge_local(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                 GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n) {
  LOCAL_ARRAY(ukey_t, keys, WG);
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, values, WG);
#endif
  const u32 i = local_id();
  const u64 block = (u64)group_id() * WG;
  const u32 count = (u32)min((u64)WG, n - block);

  // Load the block. Past the end of the list, work-items load the last record again; it is never
  // used. In place, no record is overwritten before all are loaded.
  record_t mine = load_record(keys_in, values_in, min(block + i, n - 1));
  keys[i] = mine.key;
#if VALUE_BYTES
  values[i] = mine.value;
#endif
  barrier_all();

  for (u32 length = 1; length < WG; length *= 2) {
    // Rank. At the end of the list, the sibling run may be short or empty.
    const u32 own = i & ~(length - 1), sibling = own ^ length;
    const u32 sibling_count = sibling < count ? min(length, count - sibling) : 0;
    mine.key = keys[i];
#if VALUE_BYTES
    mine.value = values[i];
#endif
    const u32 before =
        (u32)rank_in_local_run(keys + sibling, sibling_count, key_rank(mine.key), sibling < own);
    const u32 to = i < count ? min(own, sibling) + (i - own) + before : i;
    barrier_local();

    // Move.
    keys[to] = mine.key;
#if VALUE_BYTES
    values[to] = mine.value;
#endif
    barrier_local();
  }

  // Store.
  mine.key = keys[i];
#if VALUE_BYTES
  mine.value = values[i];
#endif
  if (i < count) store_record(keys_out, values_out, block + i, mine);
}
