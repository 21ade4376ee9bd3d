// Parameters: WG, CHECK_TIES.

INLINE u64 mixed(u64 x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdUL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53UL;
  return x ^ (x >> 33);
}

// Work-item t of T looks at records t, t + T, …; results[3 t]: neighbours out of order, the first
// of them, checksum.
KERNEL(WG)
void verify_records(GLOBAL const ukey_t* keys, GLOBAL const value_t* values, GLOBAL u64* results,
                    u64 n, u64 run) {
  const u64 t = (u64)group_id() * WG + local_id();
  const u64 items = (u64)group_count() * WG;
  u64 unsorted = 0, first = n, checksum = 0;
  for (u64 i = t; i < n; i += items) {
    const record_t a = load_record(keys, values, i);
    checksum += mixed(mixed(a.key + 1) + a.value);
    if (i + 1 < n && (run == 0 || (i + 1) % run != 0)) {
      const record_t b = load_record(keys, values, i + 1);
      const ukey_t x = key_rank(a.key), y = key_rank(b.key);
      if (CHECK_TIES ? x > y || (x == y && a.value >= b.value) : x > y) {
        if (unsorted == 0) first = i;
        ++unsorted;
      }
    }
  }
  results[3 * t] = unsorted;
  results[3 * t + 1] = first;
  results[3 * t + 2] = checksum;
}
