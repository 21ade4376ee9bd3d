// Tests what primitives.cl does with keys and records. The host builds one SAY_… part at a time.
//
PARAMETER(WG)               // work-items of a work-group
PARAMETER(SAY_KEYS)         // 1: this part is built
PARAMETER(SAY_RECORDS)      // the same
PARAMETER(SAY_COMPARISONS)  // the same

#if SAY_KEYS
KERNEL(WG)
void say_key_order(GLOBAL const ukey_t* keys, GLOBAL ukey_t* orders, GLOBAL ukey_t* ranks,
                   GLOBAL u32* digits, GLOBAL ukey_t* untied, GLOBAL ukey_t* back, GLOBAL u32* ties,
                   u64 n) {
  const u64 i = (u64)group_id() * WG + local_id();
  if (i >= n) return;
  orders[i] = key_order(keys[i]);
  ranks[i] = key_rank(keys[i]);
  digits[i] = key_digit(keys[i], KEY_BITS - 7, 0x7f);
  untied[i] = untied_order(keys[i]);
  back[i] = key_of_order(orders[i]);
#if KEY_FLOAT
  ties[i] = key_ties(keys[i]);
#else
  ties[i] = 0;
#endif
  if (i == n - 1) ranks[n] = key_order(KEY_LAST);
}
#endif

#if SAY_RECORDS
// Copies records through registers and local memory, in reverse order.
KERNEL(WG)
void say_records(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                 GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n) {
  LOCAL_RECORDS(tile, WG);
  const u64 begin = (u64)group_id() * WG;
  const u32 count = n - begin < WG ? (u32)(n - begin) : WG, t = local_id();
  if (t < count) put_record(tile_keys, tile_values, t, load_record(keys_in, values_in, begin + t));
  barrier_local();
  if (t < count)
    store_record(keys_out, values_out, n - 1 - begin - t, get_record(tile_keys, tile_values, t));
}
#endif

#if SAY_COMPARISONS
// Exchanges neighbours that are out of order. Odd work-groups use the opposite order.
KERNEL(WG)
void say_compare_exchange(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                          GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out,
                          GLOBAL const u32* both_there) {
  const u64 i = 2 * ((u64)group_id() * WG + local_id());
  record_t a = load_record(keys_in, values_in, i), b = load_record(keys_in, values_in, i + 1);
  compare_exchange(&a, &b, group_id() % 2, both_there[i / 2]);
  store_record(keys_out, values_out, i, a);
  store_record(keys_out, values_out, i + 1, b);
}

// Stores the position of each key of `keys` in the sorted `run` of n: before its equals, and after
// them.
KERNEL(WG)
void say_rank_in_run(GLOBAL const ukey_t* run, GLOBAL const ukey_t* keys, GLOBAL index_t* out,
                     u32 n) {
  LOCAL_ARRAY(ukey_t, local_run, WG);
  const u32 t = local_id(), i = group_id() * WG + t;
  local_run[t] = run[t < n ? t : 0];
  barrier_local();
  const ukey_t rank = key_rank(keys[i]);
  out[4 * i] = rank_in_global_run(run, n, rank, 0);
  out[4 * i + 1] = rank_in_global_run(run, n, rank, 1);
  out[4 * i + 2] = rank_in_local_run(local_run, n, rank, 0);
  out[4 * i + 3] = rank_in_local_run(local_run, n, rank, 1);
}
#endif
