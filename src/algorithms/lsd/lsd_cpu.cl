// LSD radix sort shaped for CPUs: a work-group is one work-item, with a long contiguous part of the records and
// private counters; there are no barriers, no atomics and no local memory. Records are scattered by way of a line for
// each digit that stays in the first-level cache, and written a whole line at a time: single records would each touch a
// line of their own, and lines of all digits easily share a few of the cache's sets. A pass whose digit all keys share is
// left out (see moves_before). Parameter: DIGIT_BITS.

#define RADIX (1u << DIGIT_BITS)
#define LINE (64u / sizeof(ukey_t))  // records of a line
#define NO_KEYS (!write_keys)        // an argsort's last pass may not want them

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

// counts[digit * parts + part]. The first pass clears left_out.
KERNEL(1) void lsd_cpu_count(GLOBAL const ukey_t *keys_in, GLOBAL const ukey_t *keys_a, GLOBAL const ukey_t *keys_b,
                             GLOBAL index_t *counts, GLOBAL u32 *left_out, u64 n, u64 part, u32 pass, u32 passes, u32 shift,
                             u32 mask) {
  const u32 moves = moves_before(left_out, pass);
  GLOBAL const ukey_t *keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  if (pass == 0 && group_id() == 0)
    for (u32 p = 0; p < passes; ++p) left_out[p] = 0;
  index_t bins[RADIX];
  for (u32 b = 0; b < RADIX; ++b) bins[b] = 0;
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u64 i = begin; i < end; ++i) ++bins[key_digit(keys[i], shift, mask)];
  for (u32 b = 0; b < RADIX; ++b) counts[b * group_count() + group_id()] = bins[b];
}

KERNEL(1) void lsd_cpu_scatter(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_a, GLOBAL ukey_t *keys_b,
                               GLOBAL const value_t *values_in, GLOBAL value_t *values_a, GLOBAL value_t *values_b,
                               GLOBAL const index_t *counts, GLOBAL u32 *left_out, u64 n, u64 part, u32 pass, u32 shift,
                               u32 mask, u32 write_keys, u32 values_are_positions) {
  const u32 moves = moves_before(left_out, pass);
  GLOBAL const ukey_t *from_keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  GLOBAL ukey_t *keys_out = moves % 2 ? keys_b : keys_a;
#if VALUE_BYTES
  GLOBAL const value_t *from_values = AFTER_MOVES(moves, values_in, values_a, values_b);
  GLOBAL value_t *values_out = moves % 2 ? values_b : values_a;
  const u32 positions = values_are_positions && moves == 0;
#endif
  // Scan: few parts, so every part scans the whole table for itself.
  index_t first[RADIX], next[RADIX];
  index_t sum = 0;
  u32 shared = 0;
  for (u32 b = 0; b < RADIX; ++b) {
    const index_t before = sum;
    for (u32 g = 0; g < group_count(); ++g) {
      if (g == group_id()) first[b] = next[b] = sum;
      sum += counts[b * group_count() + g];
    }
    shared |= sum - before == n ? 1u : 0u;
  }
  if (shared) {
    if (group_id() == 0) left_out[pass] = 1;
    return;
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
    const ukey_t key = from_keys[i];
    const u32 digit = key_digit(key, shift, mask);
    const index_t out = next[digit]++;
    const u32 line = digit * LINE, place = PLACE(out);
    keys[line + place] = key;
#if VALUE_BYTES
    values[line + place] = positions ? (value_t)i : from_values[i];
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
