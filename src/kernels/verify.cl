// Checks that records are sorted, and computes a checksum of them that does not depend on their
// order.

PARAMETER(WG)          // work-items of a work-group
PARAMETER(CHECK_TIES)  // 1: the values of ties must ascend

INLINE u64 mixed(u64 x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdUL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53UL;
  return x ^ (x >> 33);
}

// Work-item t of T checks records t, t + T, … against the next record. Stores in results[3 * t] the
// number of pairs out of order, then the position of the first such pair, then the checksum.
// Records are sorted in runs of `run`; 0: all are one run.
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
