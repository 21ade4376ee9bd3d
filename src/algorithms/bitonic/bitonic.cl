// Batcher's bitonic network in global memory and registers. A stage merges neighbouring sorted
// sequences into sequences of `length` records. It compares records at the distances length/2,
// length/4 … 1. A launch handles one or several of these distances. The first launch reads the
// input and writes the output.

PARAMETER(WG)    // work-items of a work-group
PARAMETER(MOST)  // most distances that a launch of a B kernel handles; 0: schedule A

#if MOST == 0
// Schedule A: two work-items share a comparator. Each compares both records and writes one of them.
KERNEL(WG)
void bitonic_a(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
               GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u64 length,
               u64 distance) {
  const u64 i = (u64)group_id() * WG + local_id();
  if (i >= n) return;
  const u64 partner = i ^ distance;
  const u32 i_is_low = i < partner ? 1 : 0;

  // Load the pair. A record without a partner is its own partner.
  record_t low = load_record(keys_in, values_in, i_is_low ? i : partner);
  record_t high = load_record(keys_in, values_in, i_is_low && partner < n ? partner : i);

  compare_exchange(&low, &high, bitonic_reverse(i, n, length), partner < n);
  store_record(keys_out, values_out, i, i_is_low ? low : high);
}
#endif

// Schedules B: a work-item loads R records that are `distance` apart into registers. It performs
// all comparisons among them, at the distances R/2 * distance … distance. No other work-item
// accesses these records, so the kernel may work in place.
#define BITONIC_B(R)                                                                               \
  const u64 t = (u64)group_id() * WG + local_id();                                                 \
  const u64 low = t & (distance - 1);                                                              \
  const u64 i = (t - low) * R + low;                                                               \
  if (i >= n) return;                                                                              \
  const u64 after = (n - 1 - i) / distance;                                                        \
  const u32 last = after < R - 1 ? (u32)after : R - 1; /* index of its last record */              \
                                                                                                   \
  /* Load. Past the end of the list, load the last record again. */                                \
  record_t x[R];                                                                                   \
  UNROLL                                                                                           \
  for (u32 k = 0; k < R; ++k) x[k] = load_record(keys_in, values_in, i + min(k, last) * distance); \
                                                                                                   \
  /* Compare at falling distances: if bit d of k is clear, its partner is k + d. */                \
  const u32 reverse = bitonic_reverse(i, n, length);                                               \
  UNROLL                                                                                           \
  for (u32 d = R / 2; d > 0; d /= 2) UNROLL                                                        \
  for (u32 k = 0; k < R; ++k)                                                                      \
    if ((k & d) == 0) compare_exchange(&x[k], &x[k + d], reverse, k + d <= last);                  \
                                                                                                   \
  UNROLL                                                                                           \
  for (u32 k = 0; k < R; ++k)                                                                      \
    if (k <= last) store_record(keys_out, values_out, i + k * distance, x[k]);

#if MOST >= 1
KERNEL(WG)
void bitonic_b2(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u64 length,
                u64 distance) {
  BITONIC_B(2);
}
#endif
#if MOST >= 2
KERNEL(WG)
void bitonic_b4(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u64 length,
                u64 distance) {
  BITONIC_B(4);
}
#endif
#if MOST >= 3
KERNEL(WG)
void bitonic_b8(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u64 length,
                u64 distance) {
  BITONIC_B(8);
}
#endif
#if MOST >= 4
KERNEL(WG)
void bitonic_b16(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                 GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u64 length,
                 u64 distance) {
  BITONIC_B(16);
}
#endif
