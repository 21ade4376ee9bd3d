// Selection inside each work-group: a work-item counts the records of its group's WG that come
// before its own, and writes its record to that position in the group's run.

PARAMETER(WG)  // work-items of a work-group

KERNEL(WG)
void selection_local(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                     GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n) {
  LOCAL_ARRAY(ukey_t, ranks, WG);
  const u32 t = local_id();
  const u64 begin = (u64)group_id() * WG;
  const u32 count = (u32)min(n - begin, (u64)WG);

  // Load. Past the end of the list, load the last record again.
  const record_t mine = load_record(keys_in, values_in, begin + min(t, count - 1));
  ranks[t] = key_rank(mine.key);
  barrier_all();  // the output may be the input: all reads come before the first write

  // Count, and store.
  const u32 place = count_before(ranks, min(t, count), count, ranks[t]);
  if (t < count) store_record(keys_out, values_out, begin + place, mine);
}
