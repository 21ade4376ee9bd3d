// First records by a sample. Records are ordered by their keys' ranks, and equal ranks by position,
// so no two are equal. The bound is a record of a random sample, chosen such that between k and
// `capacity` records do not come after it, almost certainly. One reading of the keys marks these
// records, and another launch copies them in the order of the input. If the bound turns out to be
// wrong, one work-group finds the k-th record of all and marks again.

PARAMETER(WG)      // work-items of a work-group
PARAMETER(WG_ONE)  // work-items of the work-group that finds the bound
PARAMETER(WORDS)   // words of marks for each work-item of a tile; a word marks 32 records
PARAMETER(HELD)    // samples of a work-item that finds the bound; 0: more than its registers hold
PARAMETER(DIGIT_BITS)  // bits of a digit

#define TILE_WORDS (WG * WORDS)  // a tile is the share of one work-group
#define TILE (TILE_WORDS * 32u)
#define RADIX (1u << DIGIT_BITS)
#define LISTED (WG * 8u)  // marked records that a work-group copies at once

// The last record that is marked. In global memory: bound[0] is its rank, bound[1] its position.
typedef struct {
  ukey_t rank;
  index_t position;
} bound_t;

INLINE bound_t load_bound(GLOBAL const u64* bound) {
  bound_t b;
  b.rank = (ukey_t)bound[0];
  b.position = (index_t)bound[1];
  return b;
}

INLINE u32 is_marked(ukey_t rank, index_t at, bound_t bound) {
  return rank < bound.rank || (rank == bound.rank && at <= bound.position) ? 1u : 0u;
}

// Returns an order that is less than untied_order() only of keys whose records come after the
// bound.
INLINE ukey_t last_order(bound_t bound) {
#if ORDER_SHIFT + ORDER_BITS < KEY_BITS
  return (ukey_t) ~(ukey_t)0;
#else
  ukey_t last = (ukey_t)(bound.rank << ORDER_SHIFT) | (ukey_t)(((ukey_t)1 << ORDER_SHIFT) - 1);
#if KEY_FLOAT && KEY_NAN == NAN_FIRST
  if (bound.rank == 0) last = (ukey_t) ~(ukey_t)0;
#endif
#if KEY_FLOAT && KEY_ZEROS == ZEROS_TIED
  const ukey_t zero = untied_order(0), other = untied_order(KEY_SIGN);
  if (last >= key_order(0)) {
    last = zero > last ? zero : last;
    last = other > last ? other : last;
  }
#endif
  return last;
#endif
}

// Returns the marks of 32 records from `first` on.
INLINE u32 marks_from(GLOBAL const ukey_t* keys, u64 first, u64 n, bound_t bound) {
  u32 marks = 0;
  for (u32 i = 0; i < 32; ++i)
    if (first + i < n)
      marks |= is_marked(key_rank(keys[first + i]), (index_t)(first + i), bound) << i;
  return marks;
}

// Returns the position of a sample: one of each `stride` records, at random.
INLINE u64 position_of_sample(u32 sample, u32 stride) {
  u32 x = (sample + 1) * 0x9e3779b9u;
  x = (x ^ x >> 16) * 0x85ebca6bu;
  x = (x ^ x >> 13) * 0xc2b2ae35u;
  x ^= x >> 16;
  return (u64)sample * stride + ((u64)x * stride >> 32);
}

// Copies the samples' keys.
KERNEL(WG)
void topk_sample(GLOBAL const ukey_t* keys, GLOBAL ukey_t* samples, u32 count, u32 stride) {
  const u32 i = group_id() * WG + local_id();
  if (i < count) samples[i] = keys[position_of_sample(i, stride)];
}

#define BIN_WORDS (INDEX_BITS / 32)  // of a bin's count; the upper word is RADIX words behind
typedef struct {
  u32 bins[RADIX * BIN_WORDS];
  index_t scratch[SCAN_WORDS(WG_ONE)];
  index_t skip, left;  // records before the wanted record's digit; records with that digit
  index_t position;
  u32 digit;
} topk_bound_memory_t;

INLINE void count_in_bin(LOCAL topk_bound_memory_t* own, u32 digit) {
#if INDEX_BITS == 64
  if (local_add(&own->bins[digit], 1u) == 0xffffffffu) local_add(&own->bins[RADIX + digit], 1u);
#else
  local_add(&own->bins[digit], 1u);
#endif
}
INLINE index_t count_of_bin(LOCAL const topk_bound_memory_t* own, u32 digit) {
  index_t count = own->bins[digit];
#if INDEX_BITS == 64
  count |= (index_t)own->bins[RADIX + digit] << 32;
#endif
  return count;
}

// Finds the digit of record number `wanted` among the counted ones. A barrier is at the end.
INLINE void pick_digit(LOCAL topk_bound_memory_t* own, index_t wanted) {
  const u32 t = local_id(), share = (RADIX + WG_ONE - 1) / WG_ONE;
  index_t sum = 0, all;
  for (u32 b = t * share; b < min((t + 1) * share, RADIX); ++b) sum += count_of_bin(own, b);
  index_t before = wg_scan_add(own->scratch, WG_ONE, sum, &all);
  for (u32 b = t * share; b < min((t + 1) * share, RADIX); ++b) {
    const index_t here = count_of_bin(own, b);
    if (before <= wanted && wanted - before < here) {
      own->digit = b;
      own->skip = before;
      own->left = here;
    }
    before += here;
  }
  barrier_local();
}

// The digits of a record that are known: those of its rank, then, if ranks are equal, of its
// position.
typedef struct {
  ukey_t rank;
  index_t position;
  u32 rank_open, position_open;  // bits that are not known
} found_t;

// Returns 1 if a record has the digits that are known.
INLINE u32 has_digits(ukey_t rank, index_t position, found_t found) {
  if (found.rank_open > 0)
    return (u64)(rank ^ found.rank) >> (found.rank_open - 1) >> 1 == 0 ? 1 : 0;
  const index_t position_differs = position ^ found.position;
  return rank == found.rank && (found.position_open == 0
                                    ? position_differs == 0
                                    : position_differs >> (found.position_open - 1) >> 1 == 0)
             ? 1
             : 0;
}

// Makes `action` for each record: its position is `at`, its rank `its`. With `is_held` 1, a
// work-item has its records' ranks in `held`.
#define FOR_EACH(action)                             \
  if (is_held) {                                     \
    UNROLL                                           \
    for (u32 k = 0; k < HELD; ++k) {                 \
      const index_t at = t + k * WG_ONE;             \
      const ukey_t its = held[k];                    \
      if (at < count) action                         \
    }                                                \
  } else {                                           \
    for (index_t at = t; at < count; at += WG_ONE) { \
      const ukey_t its = key_rank(keys[at]);         \
      action                                         \
    }                                                \
  }

// Stores in `bound` record number `wanted` (from 0) of the sorted order of `count` keys, with its
// position among the keys: a radix select by the ranks, and by the positions of equal ranks.
INLINE void find_record(LOCAL topk_bound_memory_t* own, GLOBAL const ukey_t* keys, index_t count,
                        index_t wanted, u32 is_held, bound_t* bound) {
  const u32 t = local_id();
  ukey_t held[HELD > 0 ? HELD : 1];
  if (is_held) {
    UNROLL
    for (u32 k = 0; k < HELD; ++k) held[k] = keys[min(t + k * WG_ONE, (u32)count - 1)];
    UNROLL
    for (u32 k = 0; k < HELD; ++k) held[k] = key_rank(held[k]);
  }
  found_t found;
  found.rank = 0;
  found.position = 0;
  found.rank_open = ORDER_BITS;
  found.position_open = highest_bit(count | 1) + 1;
  index_t left = count;
  while (found.position_open > 0 && left > 1) {
    for (u32 b = t; b < RADIX * BIN_WORDS; b += WG_ONE) own->bins[b] = 0;
    barrier_local();
    const u32 by_rank = found.rank_open > 0 ? 1 : 0;
    const u32 open = by_rank ? found.rank_open : found.position_open;
    const u32 shift = max(open, (u32)DIGIT_BITS) - DIGIT_BITS;
    FOR_EACH({
      const u32 digit = (by_rank ? (u32)(its >> shift) : (u32)(at >> shift)) & (RADIX - 1);
      if (has_digits(its, at, found)) count_in_bin(own, digit);
    })
    barrier_local();
    pick_digit(own, wanted);
    wanted -= own->skip;
    left = own->left;
    if (by_rank) {
      found.rank |= (ukey_t)own->digit << shift;
      found.rank_open = shift;
    } else {
      found.position |= (index_t)own->digit << shift;
      found.position_open = shift;
    }
    barrier_local();
  }
  // One record has these digits.
  FOR_EACH({
    if (has_digits(its, at, found)) own->position = at;
  })
  barrier_local();
  bound->position = own->position;
  bound->rank = key_rank(keys[own->position]);
}

// One work-group stores the bound: record number `wanted` of the samples.
KERNEL(WG_ONE)
void topk_bound(GLOBAL const ukey_t* samples, GLOBAL u64* bound, u32 count, u32 stride,
                u32 wanted) {
  LOCAL_ARRAY(topk_bound_memory_t, own, 1);
  bound_t sample;
  find_record(own, samples, count, wanted, HELD > 0 ? 1 : 0, &sample);
  if (local_id() == 0) {
    bound[0] = sample.rank;
    bound[1] = position_of_sample((u32)sample.position, stride);
  }
}

// Marks the records that do not come after the bound: bit i of marks[w] is record 32 * w + i.
// Stores in counts[group] how many records of the work-group's tile are marked.
KERNEL(WG)
void topk_mark(GLOBAL const ukey_t* keys, GLOBAL u32* marks, GLOBAL u32* counts,
               GLOBAL const u64* bound, u64 n) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(u32, all, 1);
  const u32 t = local_id();
  const bound_t b = load_bound(bound);
  const u64 words = (n + 31) / 32, begin = (u64)group_id() * TILE_WORDS;
  if (t == 0) all[0] = 0;
  barrier_local();

  u32 count = 0;
#if SG_NATIVE && SG_LANES == 32
  // Neighbouring lanes load neighbouring keys, and a ballot makes the word of 32 keys. Most words
  // are 0, which a comparison of the orders shows.
  const ukey_t last = last_order(b);
  UNROLL
  for (u32 k = 0; k < WORDS; ++k) {
    const u64 first = begin + (sg_index() * WORDS + k) * 32;
    u32 mine = 0;
    if ((first + 32) * 32 <= n) {
      for (u32 row = 0; row < 32; row += 8) {
        ukey_t key[8], order[8], least = (ukey_t) ~(ukey_t)0;
        UNROLL
        for (u32 i = 0; i < 8; ++i) key[i] = keys[(first + row + i) * 32 + sg_lane()];
        UNROLL
        for (u32 i = 0; i < 8; ++i) {
          order[i] = untied_order(key[i]);
          least = order[i] < least ? order[i] : least;
        }
        const u32 any = sg_ballot(sg, least <= last);
        if (any != 0) {
          UNROLL
          for (u32 i = 0; i < 8; ++i) {
            u32 word = sg_ballot(sg, order[i] <= last);
            if (word != 0) {
              const index_t at = (index_t)(first + row + i) * 32 + sg_lane();
              word = sg_ballot(sg, is_marked(key_rank(key[i]), at, b));
              mine = sg_lane() == row + i ? word : mine;
            }
          }
        }
      }
    } else if (first + sg_lane() < words) {
      mine = marks_from(keys, (first + sg_lane()) * 32, n, b);
    }
    if (first + sg_lane() < words) marks[first + sg_lane()] = mine;
    count += popcount32(mine);
  }
#else
  for (u32 k = 0; k < WORDS; ++k) {
    const u64 word = begin + k * WG + t;
    if (word < words) {
      const u32 mine = marks_from(keys, word * 32, n, b);
      marks[word] = mine;
      count += popcount32(mine);
    }
  }
#endif
  if (count != 0) local_add(&all[0], count);
  barrier_local();
  if (t == 0) counts[group_id()] = all[0];
}

// Replaces each tile's count by the number of marked records before the tile, and stores the number
// of all in counts[tiles]. Returns that number.
INLINE index_t scan_counts(LOCAL topk_bound_memory_t* own, GLOBAL const u32* counts,
                           GLOBAL index_t* starts, u32 tiles) {
  const u32 t = local_id(), share = (tiles + WG_ONE - 1) / WG_ONE;
  const u32 begin = min(t * share, tiles), end = min(begin + share, tiles);
  index_t sum = 0, all;
  for (u32 i = begin; i < end; ++i) sum += counts[i];
  index_t before = wg_scan_add(own->scratch, WG_ONE, sum, &all);
  for (u32 i = begin; i < end; ++i) {
    starts[i] = before;
    before += counts[i];
  }
  if (t == 0) starts[tiles] = all;
  barrier_local();
  return all;
}

// One work-group scans the tiles' counts. If the number of marked records is not between k and
// `capacity`, it finds the k-th record of all and marks again.
KERNEL(WG_ONE)
void topk_check(GLOBAL const ukey_t* keys, GLOBAL u32* marks, GLOBAL u32* counts,
                GLOBAL index_t* starts, GLOBAL u64* bound, u64 n, u64 k, u64 capacity, u32 tiles) {
  LOCAL_ARRAY(topk_bound_memory_t, own, 1);
  const u32 t = local_id();
  const index_t marked = scan_counts(own, counts, starts, tiles);
  const u32 repairs = marked < k || marked > capacity ? 1 : 0;
  for (u32 once = 0; once < repairs; ++once) {
    bound_t kth;
    find_record(own, keys, (index_t)n, (index_t)(k - 1), 0, &kth);
    if (t == 0) bound[0] = kth.rank;
    for (u32 tile = 0; tile < tiles; ++tile) {
      u32 count = 0;
      for (u32 word = tile * TILE_WORDS + t; word < (tile + 1) * TILE_WORDS; word += WG_ONE) {
        if ((u64)word * 32 < n) {
          marks[word] = marks_from(keys, (u64)word * 32, n, kth);
          count += popcount32(marks[word]);
        }
      }
      index_t all;
      wg_scan_add(own->scratch, WG_ONE, count, &all);
      if (t == 0) counts[tile] = (u32)all;
    }
    barrier_all();
    scan_counts(own, counts, starts, tiles);
  }
}

typedef struct {
  index_t scratch[SCAN_WORDS(WG)];
  u16 places[LISTED];  // places in the tile of some marked records
} topk_collect_memory_t;

// Returns a key of this rank, if ranks contain the highest bits of orders, or else the last key.
// Of the rank's keys it is the last one: others may be a NaN or a zero, whose order is another one.
INLINE ukey_t key_of_rank(ukey_t rank) {
#if ORDER_SHIFT + ORDER_BITS < KEY_BITS
  return KEY_LAST;
#else
  return key_of_order((ukey_t)(rank << ORDER_SHIFT) | (ukey_t)(((ukey_t)1 << ORDER_SHIFT) - 1));
#endif
}

// Fills the output from `begin` to `end`: records that do not come before the bound. Their ranks
// are spread evenly, because equal keys would slow down a sort by leading bits.
INLINE void fill(GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 begin, u64 end,
                 ukey_t bound) {
  const ukey_t last = (ukey_t)(~(u64)0 >> (64 - ORDER_BITS));
  const u64 step = (u64)(ukey_t)(last - bound) / max(end - begin, (u64)1);
  for (u64 i = (u64)group_id() * WG + local_id(); i < end - begin; i += (u64)group_count() * WG) {
    record_t r;
    r.key = key_of_rank((ukey_t)(bound + i * step));
    r.value = 0;
    store_record(keys_out, values_out, begin + i, r);
  }
}

// Copies the marked records to the front of the output, in the order of the input. Fills the rest,
// up to `capacity` records.
KERNEL(WG)
void topk_collect(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                  GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                  GLOBAL const u32* marks, GLOBAL const index_t* starts, GLOBAL const u64* bound,
                  u64 n, u64 capacity) {
  LOCAL_ARRAY(topk_collect_memory_t, own, 1);
  const u32 t = local_id(), tile = group_id(), tiles = group_count();
  const u64 words = (n + 31) / 32, begin = (u64)tile * TILE_WORDS;

  const u64 marked = starts[tiles];
  if (marked < capacity) fill(keys_out, values_out, marked, capacity, (ukey_t)bound[0]);

  // Rank the marked records.
  const index_t start = starts[tile];
  const u32 all = (u32)(starts[tile + 1] - start);
  u32 mine[WORDS], count = 0;
  UNROLL
  for (u32 k = 0; k < WORDS; ++k) {
    const u64 word = begin + t * WORDS + k;
    mine[k] = 0;
    if (all != 0 && word < words) mine[k] = marks[word];
    count += popcount32(mine[k]);
  }
  index_t total;
  const u32 before = (u32)wg_scan_add(own->scratch, WG, count, &total);

  // List them by rank, LISTED at a time, and copy them.
  for (u32 first = 0; first < all; first += LISTED) {
    u32 rank = before;
    UNROLL
    for (u32 k = 0; k < WORDS; ++k)
      for (u32 open = mine[k]; open != 0; open &= open - 1) {
        if (rank - first < LISTED)
          own->places[rank - first] =
              (u16)((t * WORDS + k) * 32 + highest_bit32(open & (0 - open)));
        ++rank;
      }
    barrier_local();
    const u32 listed = min(all - first, LISTED);
    for (u32 i = t; i < listed; i += WG)
      store_record(keys_out, values_out, (u64)start + first + i,
                   load_record(keys_in, values_in, begin * 32 + own->places[i]));
    barrier_local();
  }
}
