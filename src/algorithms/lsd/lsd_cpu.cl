// LSD radix sort shaped for CPUs: a work-group is one work-item, with a long contiguous part of the records and
// private counters; there are no barriers, no atomics and no local memory. Parameter: DIGIT_BITS.

#define RADIX (1u << DIGIT_BITS)

// counts[digit * parts + part]
KERNEL(1) void lsd_cpu_count(GLOBAL const ukey_t *keys, GLOBAL index_t *counts, u64 n, u64 part, u32 shift, u32 mask) {
  index_t bins[RADIX];
  for (u32 b = 0; b < RADIX; ++b) bins[b] = 0;
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u64 i = begin; i < end; ++i) ++bins[key_digit(keys[i], shift, mask)];
  for (u32 b = 0; b < RADIX; ++b) counts[b * group_count() + group_id()] = bins[b];
}

KERNEL(1) void lsd_cpu_scatter(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                               GLOBAL value_t *values_out, GLOBAL const index_t *counts, u64 n, u64 part, u32 shift,
                               u32 mask, u32 values_are_positions) {
  // Scan: few parts, so every part scans the whole table for itself.
  index_t next[RADIX];
  index_t sum = 0;
  for (u32 b = 0; b < RADIX; ++b)
    for (u32 g = 0; g < group_count(); ++g) {
      if (g == group_id()) next[b] = sum;
      sum += counts[b * group_count() + g];
    }

  // Scatter in the order of the input.
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u64 i = begin; i < end; ++i) {
    const ukey_t key = keys_in[i];
    const u64 out = next[key_digit(key, shift, mask)]++;
    if (keys_out) keys_out[out] = key;  // an argsort's last pass may not want them
#if VALUE_BYTES
    values_out[out] = values_are_positions ? (value_t)i : values_in[i];
#endif
  }
}
