// segmented on CPUs through OpenCL. A work-group is one work-item. It sorts a segment of up to
// BLOCK_LEAST records, or processes a part of a long segment for one digit. No barriers, no
// atomics, no local memory. segmented_lists.cl comes before this file. In all kernels, lengths[0]
// is the number of long segments and lengths[1] the number of their parts.

PARAMETER(BLOCK_LEAST)  // records of the longest segment that one work-item sorts

#define RADIX 256u
#define FEW 32u  // insertion sort up to this many records

INLINE void copy_records(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                         GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 begin,
                         u32 count) {
  for (u64 i = begin; i < begin + count; ++i)
    store_record(keys_out, values_out, i, load_record(keys_in, values_in, i));
}

// Returns the key's digit p; byte p of `shifts` and `widths` is its shift and width in bits.
INLINE u32 digit_of(ukey_t key, u64 shifts, u64 widths, u32 p) {
  return key_digit(key, (u32)(shifts >> (8 * p)) & 255,
                   (1u << ((u32)(widths >> (8 * p)) & 255)) - 1);
}

// Sorts the *length segments of the list `tasks`. Passes alternate between spare memory and the
// output; before the last pass, keys_work replaces keys_out (they differ if no keys are wanted).
// With in_place, the output is the input.
KERNEL(1)
void segmented_cpu_sort(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                        GLOBAL ukey_t* keys_work, GLOBAL ukey_t* keys_spare,
                        GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                        GLOBAL value_t* values_spare, GLOBAL const task_t* tasks,
                        GLOBAL const u32* length, u32 begin_bit, u64 rank_mask, u64 shifts,
                        u64 widths, u32 digits, u32 in_place) {
  const u64 segments = *length;
  for (u64 s = group_id(); s < segments; s += group_count()) {
    const u64 begin = tasks[s].begin;
    const u32 count = TASK_COUNT(tasks[s]);

    if (count <= FEW) {
      record_t sorted[FEW];
      ukey_t rank[FEW];
      for (u32 i = 0; i < count; ++i) {
        const record_t r = load_record(keys_in, values_in, begin + i);
        const ukey_t mine = RANK(r.key);
        u32 at = i;
        for (; at > 0 && rank[at - 1] > mine; --at) {
          sorted[at] = sorted[at - 1];
          rank[at] = rank[at - 1];
        }
        sorted[at] = r;
        rank[at] = mine;
      }
      for (u32 i = 0; i < count; ++i) store_record(keys_out, values_out, begin + i, sorted[i]);
      continue;
    }

    // Count all digits in one loop. A digit that all records share needs no pass.
    u32 bins[8][RADIX];
    for (u32 p = 0; p < digits; ++p)
      for (u32 b = 0; b < RADIX; ++b) bins[p][b] = 0;
    for (u64 i = begin; i < begin + count; ++i) {
      const ukey_t key = keys_in[i];
      for (u32 p = 0; p < digits; ++p) ++bins[p][digit_of(key, shifts, widths, p)];
    }
    const ukey_t first = keys_in[begin];
    u32 passes = 0;
    for (u32 p = 0; p < digits; ++p) passes += bins[p][digit_of(first, shifts, widths, p)] != count;

    GLOBAL const ukey_t* from = keys_in;
    GLOBAL const value_t* values_from = values_in;
    if (in_place && passes % 2 == 1) {
      copy_records(keys_in, keys_spare, values_in, values_spare, begin, count);
      from = keys_spare;
      values_from = values_spare;
    }
    if (passes == 0) {
      copy_records(keys_in, keys_out, values_in, values_out, begin, count);
      continue;
    }
    for (u32 p = 0; p < digits; ++p) {
      if (bins[p][digit_of(first, shifts, widths, p)] == count) continue;
      --passes;
      GLOBAL ukey_t* to = passes % 2 == 0 ? keys_work : keys_spare;
      GLOBAL value_t* values_to = passes % 2 == 0 ? values_out : values_spare;
      u64 next = begin;
      u64 places[RADIX];
      for (u32 b = 0; b < RADIX; ++b) {
        places[b] = next;
        next += bins[p][b];
      }
      for (u64 i = begin; i < begin + count; ++i) {
        const record_t r = load_record(from, values_from, i);
        store_record(to, values_to, places[digit_of(r.key, shifts, widths, p)]++, r);
      }
      from = to;
      values_from = values_to;
    }
  }
}

// Writes to counts[p * RADIX + digit] how many records of part p have the digit.
KERNEL(1)
void segmented_cpu_count(GLOBAL const ukey_t* keys, GLOBAL const part_t* parts,
                         GLOBAL const u32* lengths, GLOBAL index_t* counts, u32 shift, u32 mask) {
  for (u64 p = group_id(); p < lengths[1]; p += group_count()) {
    const u64 begin = parts[p].begin, end = begin + parts[p].count;
    index_t bins[RADIX];
    for (u32 b = 0; b < RADIX; ++b) bins[b] = 0;
    for (u64 i = begin; i < end; ++i) ++bins[key_digit(keys[i], shift, mask)];
    for (u32 b = 0; b < RADIX; ++b) counts[p * RADIX + b] = bins[b];
  }
}

// Replaces the counts of each long segment's parts by the start positions of the parts' records.
KERNEL(1)
void segmented_cpu_scan(GLOBAL const long_t* longs, GLOBAL const u32* lengths,
                        GLOBAL index_t* counts) {
  for (u64 s = group_id(); s < lengths[0]; s += group_count()) {
    GLOBAL index_t* mine = counts + (u64)longs[s].first * RADIX;
    index_t next = longs[s].begin;
    for (u32 b = 0; b < RADIX; ++b)
      for (u32 p = 0; p < longs[s].parts; ++p) {
        const index_t count = mine[(u64)p * RADIX + b];
        mine[(u64)p * RADIX + b] = next;
        next += count;
      }
  }
}

// Moves the records of each part to the positions in `counts`. Stable.
KERNEL(1)
void segmented_cpu_scatter(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                           GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                           GLOBAL const part_t* parts, GLOBAL const u32* lengths,
                           GLOBAL const index_t* counts, u32 shift, u32 mask,
                           u32 values_are_positions) {
  for (u64 p = group_id(); p < lengths[1]; p += group_count()) {
    const u64 begin = parts[p].begin, end = begin + parts[p].count;
    index_t places[RADIX];
    for (u32 b = 0; b < RADIX; ++b) places[b] = counts[p * RADIX + b];
    for (u64 i = begin; i < end; ++i) {
      const record_t r = load_record(keys_in, values_are_positions ? 0 : values_in, i);
      store_record(keys_out, values_out, places[key_digit(r.key, shift, mask)]++, r);
    }
  }
}
