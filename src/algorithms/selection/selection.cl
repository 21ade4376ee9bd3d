// Selection sorts: each work-item counts the records that come before its own, and writes its
// record to that position. Among ties, the earlier record of the input comes first, so no two
// records get the same position.

PARAMETER(WG)     // work-items of a work-group
PARAMETER(BLOCK)  // ranks that selection_blocks loads into local memory at a time

// Reads the keys from global memory. A launch places the records [first, end).
KERNEL(WG)
void selection_global(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u64 first,
                      u64 end) {
  const index_t i = (index_t)first + group_id() * WG + local_id(), all = (index_t)n;
  if (i >= end) return;
  const record_t mine = load_record(keys_in, values_in, i);
  const ukey_t rank = key_rank(mine.key);
  index_t place = 0;
  for (index_t j = 0; j < i; ++j) place += key_rank(keys_in[j]) <= rank ? 1u : 0u;
  for (index_t j = i; j < all; ++j) place += key_rank(keys_in[j]) < rank ? 1u : 0u;
  store_record(keys_out, values_out, place, mine);
}

// As selection_global, but with local memory: a work-group loads the ranks of BLOCK records at a
// time, and each of its work-items compares its own record with all of them.
KERNEL(WG)
void selection_blocks(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u64 first,
                      u64 end) {
  LOCAL_ARRAY(ukey_t, ranks, BLOCK);
  const u64 i = first + (u64)group_id() * WG + local_id();
  const record_t mine = load_record(keys_in, values_in, min(i, n - 1));
  const ukey_t rank = key_rank(mine.key);
  index_t place = 0;
  for (u64 block = 0; block < n; block += BLOCK) {
    // Load. Past the end of the list, load the last record again; it is not counted.
    UNROLL
    for (u32 b = 0; b < BLOCK; b += WG)
      ranks[b + local_id()] = key_rank(keys_in[min(block + b + local_id(), n - 1)]);
    barrier_local();

    // Count.
    const u32 count = (u32)min(n - block, (u64)BLOCK);
    const u32 earlier = i > block ? (u32)min(i - block, (u64)count) : 0u;
    place += count_before(ranks, earlier, count, rank);
    barrier_local();
  }
  if (i < end) store_record(keys_out, values_out, place, mine);
}
