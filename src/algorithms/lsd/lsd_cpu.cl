// LSD radix sort shaped for CPUs: a work-group is one work-item, with a long contiguous part of the records and
// private counters; there are no barriers, no atomics and no local memory. Records are scattered by way of a line for
// each digit that stays in the first-level cache, and written a whole line at a time: single records would each touch a
// line of their own, and lines of all digits easily share a few of the cache's sets. Parameter: DIGIT_BITS.

#define RADIX (1u << DIGIT_BITS)
#define LINE (64u / sizeof(ukey_t))  // records of a line
#define NO_KEYS (!keys_out)          // an argsort's last pass may not want them

// Past the caches, where the compiler can: a line that is written whole need not be read first. `to` is on a boundary of
// so many bytes.
INLINE void store_line(GLOBAL uint8 *to, const uint8 *from, u32 bytes) {
  for (u32 i = 0; i < bytes / 32; ++i) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
    __builtin_nontemporal_store(from[i], to + i);
    continue;
#endif
#endif
    to[i] = from[i];
  }
}

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
  index_t first[RADIX], next[RADIX];
  index_t sum = 0;
  for (u32 b = 0; b < RADIX; ++b)
    for (u32 g = 0; g < group_count(); ++g) {
      if (g == group_id()) first[b] = next[b] = sum;
      sum += counts[b * group_count() + g];
    }

  // Scatter in the order of the input. Record p of the output is in its digit's line at PLACE(p): lines are memory's own.
  ukey_t keys[RADIX * LINE] __attribute__((aligned(64)));
#if VALUE_BYTES
  value_t values[RADIX * LINE] __attribute__((aligned(64)));
#endif
  const u32 phase = (u32)((u64)keys_out / sizeof(ukey_t)) % LINE;
#define PLACE(p) ((u32)((p) + phase) % LINE)
#if VALUE_BYTES
  const u32 values_fit = ((u64)values_out - (u64)phase * VALUE_BYTES) % 32 == 0;  // whole lines of keys are lines of values
#endif
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u64 i = begin; i < end; ++i) {
    const ukey_t key = keys_in[i];
    const u32 digit = key_digit(key, shift, mask);
    const index_t out = next[digit]++;
    const u32 line = digit * LINE, place = PLACE(out);
    keys[line + place] = key;
#if VALUE_BYTES
    values[line + place] = values_are_positions ? (value_t)i : values_in[i];
#endif
    if (place != LINE - 1) continue;
    if (out >= first[digit] + (LINE - 1)) {
      const index_t from = out - (LINE - 1);
      if (!NO_KEYS) store_line((GLOBAL uint8 *)(keys_out + from), (const uint8 *)(keys + line), 64);
#if VALUE_BYTES
      if (values_fit) store_line((GLOBAL uint8 *)(values_out + from), (const uint8 *)(values + line), LINE * VALUE_BYTES);
      else for (u32 k = 0; k < LINE; ++k) values_out[from + k] = values[line + k];
#endif
    } else {  // a digit's first line, whose beginning is another digit's or part's
      for (index_t p = first[digit]; p <= out; ++p) {
        if (!NO_KEYS) keys_out[p] = keys[line + PLACE(p)];
#if VALUE_BYTES
        values_out[p] = values[line + PLACE(p)];
#endif
      }
    }
  }

  // Lines that are not full.
  for (u32 b = 0; b < RADIX; ++b) {
    const u32 open = PLACE(next[b]);
    for (index_t p = next[b] - first[b] > open ? next[b] - open : first[b]; p < next[b]; ++p) {
      if (!NO_KEYS) keys_out[p] = keys[b * LINE + PLACE(p)];
#if VALUE_BYTES
      values_out[p] = values[b * LINE + PLACE(p)];
#endif
    }
  }
}
