// LSD radix sort for CPUs. A work-group is one work-item with a long contiguous part of the records
// and private counters: no barriers, no atomics, no local memory.
//
// Each digit has a buffer of one cache line. Records are collected in these buffers and written to
// memory a whole line at a time. Without buffers, neighbouring records would be written to
// different lines, and the lines of all digits may compete for a few sets of the cache. A pass is
// skipped if all keys have the same digit (see moves_before).

PARAMETER(DIGIT_BITS)  // bits of a digit

#define RADIX (1u << DIGIT_BITS)
#define LINE (64u / sizeof(ukey_t))  // records of a line
#define VALUE_LINE (64u / sizeof(value_t))
#define COPIES 4u              // tables of counts of a part
#define NO_KEYS (!write_keys)  // the last pass of an argsort without keys_out

// Stores a line. Bypasses the caches if the compiler supports it, so that the processor does not
// read the line before it overwrites it.
INLINE void store_line(GLOBAL uint16* to, const uint16* from) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
  __builtin_nontemporal_store(*from, to);
  return;
#endif
#endif
  *to = *from;
}

// Appends `what`, which goes to position `out` of the output, to the buffer of its digit. Writes
// the buffer to memory when it is full.
#define PUT(lines, LENGTH, phase, to, what, wanted)                                             \
  {                                                                                             \
    const u32 line = digit * LENGTH, place = (u32)(out + phase) % LENGTH;                       \
    lines[line + place] = what;                                                                 \
    if (place == LENGTH - 1 && wanted) {                                                        \
      if (out >= first[digit] + (LENGTH - 1)) {                                                 \
        store_line((GLOBAL uint16*)(to + (out - (LENGTH - 1))), (const uint16*)(lines + line)); \
      } else { /* a digit's first line: another digit or part writes its beginning   */         \
        for (index_t p = first[digit]; p <= out; ++p)                                           \
          to[p] = lines[line + (u32)(p + phase) % LENGTH];                                      \
      }                                                                                         \
    }                                                                                           \
  }
#define PUT_REST(lines, LENGTH, phase, to, wanted)                                           \
  {                                                                                          \
    const index_t begin_of = first[digit], end_of = next[digit];                             \
    const u32 open = (u32)(end_of + phase) % LENGTH;                                         \
    if (wanted)                                                                              \
      for (index_t p = end_of - begin_of > open ? end_of - open : begin_of; p < end_of; ++p) \
        to[p] = lines[digit * LENGTH + (u32)(p + phase) % LENGTH];                           \
  }

// Stores in counts[digit * parts + part] how many records of the part have the digit. The first
// pass also clears left_out.
KERNEL(1)
void lsd_cpu_count(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_a,
                   GLOBAL const ukey_t* keys_b, GLOBAL index_t* counts, GLOBAL u32* left_out, u64 n,
                   u64 part, u32 pass, u32 passes, u32 shift, u32 mask) {
  const u32 moves = moves_before(left_out, pass);
  GLOBAL const ukey_t* keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  if (pass == 0 && group_id() == 0)
    for (u32 p = 0; p < passes; ++p) left_out[p] = 0;
  // Uses COPIES tables in turn: reading a counter right after writing it is slow.
  index_t bins[COPIES * RADIX];
  for (u32 b = 0; b < COPIES * RADIX; ++b) bins[b] = 0;
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  u64 i = begin;
  for (; i + COPIES <= end; i += COPIES) UNROLL
  for (u32 c = 0; c < COPIES; ++c) ++bins[c * RADIX + key_digit(keys[i + c], shift, mask)];
  for (; i < end; ++i) ++bins[key_digit(keys[i], shift, mask)];
  for (u32 b = 0; b < RADIX; ++b) {
    index_t count = 0;
    for (u32 c = 0; c < COPIES; ++c) count += bins[c * RADIX + b];
    counts[b * group_count() + group_id()] = count;
  }
}

KERNEL(1)
void lsd_cpu_scatter(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
                     GLOBAL const value_t* values_in, GLOBAL value_t* values_a,
                     GLOBAL value_t* values_b, GLOBAL const index_t* counts, GLOBAL u32* left_out,
                     u64 n, u64 part, u32 pass, u32 shift, u32 mask, u32 write_keys,
                     u32 values_are_positions) {
  const u32 moves = moves_before(left_out, pass);
  GLOBAL const ukey_t* from_keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  GLOBAL ukey_t* keys_out = moves % 2 ? keys_b : keys_a;
#if VALUE_BYTES
  GLOBAL const value_t* from_values = AFTER_MOVES(moves, values_in, values_a, values_b);
  GLOBAL value_t* values_out = moves % 2 ? values_b : values_a;
  const u32 positions = values_are_positions && moves == 0;
#endif
  // Scan. There are few parts, so each work-item scans the whole table by itself.
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

  // Scatter in the order of the input. Keys and values have separate buffers. A buffer has the same
  // alignment as the output's cache lines (`phase`).
  ukey_t keys[RADIX * LINE] __attribute__((aligned(64)));
  const u32 key_phase = (u32)((u64)keys_out / sizeof(ukey_t)) % LINE;
#if VALUE_BYTES
  value_t values[RADIX * VALUE_LINE] __attribute__((aligned(64)));
  const u32 value_phase = (u32)((u64)values_out / sizeof(value_t)) % VALUE_LINE;
#endif
  const u64 begin = group_id() * part;
  const u64 end = begin + part < n ? begin + part : n;
  for (u64 i = begin; i < end; ++i) {
    const ukey_t key = from_keys[i];
    const u32 digit = key_digit(key, shift, mask);
    const index_t out = next[digit]++;
    PUT(keys, LINE, key_phase, keys_out, key, !NO_KEYS)
#if VALUE_BYTES
    PUT(values, VALUE_LINE, value_phase, values_out, positions ? (value_t)i : from_values[i], 1)
#endif
  }

  // Write the lines that are not full.
  for (u32 digit = 0; digit < RADIX; ++digit) {
    PUT_REST(keys, LINE, key_phase, keys_out, !NO_KEYS)
#if VALUE_BYTES
    PUT_REST(values, VALUE_LINE, value_phase, values_out, 1)
#endif
  }
}
