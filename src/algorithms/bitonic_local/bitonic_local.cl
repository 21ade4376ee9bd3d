// Batcher's bitonic network inside each work-group, which sorts WG neighbouring records (the last
// work-group sorts the rest). A work-item keeps one record in a register. Both work-items of a
// comparator compare, and each keeps one of the two records.

PARAMETER(WG)  // work-items of a work-group, a power of two

KERNEL(WG)
void bitonic_local(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                   GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n) {
  // Two halves in turn: a step writes one while slower work-items still read the other.
  LOCAL_RECORDS(tile, 2 * WG);
  const u32 t = local_id();
  const u64 begin = (u64)group_id() * WG;
  const u32 count = (u32)min(n - begin, (u64)WG);
  u32 side = 0;

  // Load. Past the end of the list, load the last record again. In place, no record may be
  // overwritten before all work-items have loaded theirs.
  record_t mine = load_record(keys_in, values_in, begin + min(t, count - 1));
  barrier_all();

  for (u32 length = 2; length <= WG; length *= 2)
    for (u32 distance = length / 2; distance > 0; distance /= 2) {
      // Store this work-item's record where others can read it.
      put_record(tile_keys, tile_values, side + t, mine);
      barrier_local();

      // Compare, and keep one of the two.
      const u32 partner = t ^ distance;
      const record_t other = get_record(tile_keys, tile_values, side + partner);
      const u32 is_low = t < partner ? 1 : 0;
      record_t low = is_low ? mine : other, high = is_low ? other : mine;
      compare_exchange(&low, &high, bitonic_reverse(t, count, length), max(t, partner) < count);
      mine = is_low ? low : high;
      side ^= WG;
    }

  if (t < count) store_record(keys_out, values_out, begin + t, mine);
}
