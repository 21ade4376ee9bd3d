// Radix passes with decoupled look-back ("one sweep"): the kernel. A pass reads every record once
// and writes it once. All passes are one launch. Work-groups take tiles by ticket. A work-group
// publishes the digit counts of its tile and looks back at the counts of earlier tiles to find the
// output indices of its records. It begins the next pass when all tiles of the current one are
// written. It waits only for work-groups that have taken earlier tickets and so are running. Passes
// over a digit that all keys share are skipped.
//
// This file is the last of the joined files; radix_pass_tiles.cl says more about the parameters.

PARAMETER(WG)            // work-items of a work-group
PARAMETER(RESIDENT)      // work-groups that share a compute unit
PARAMETER(PASSES)        // digits of a key
PARAMETER(COMMON_SHARE)  // a digit is common if more than one record in this many has it
PARAMETER(SEGMENTED)     // 1: one or two passes from the leading digit on. 0: all passes
PARAMETER(LISTED)        // 1: only the listed parts of the list are sorted, each in its place
PARAMETER(RESTS)         // 1: perhaps only the rest without the frequent keys (msd_frequent.cl)
PARAMETER(BETWEEN)       // 1: values are exchanged if there is no rest (RadixPassOptions::between)
PARAMETER(SAMPLES)       // not 0: low digits may be left out (radix_settle.cl)

// Tickets: for each pass, the count, gathering, and two for settling. After settling, there may be
// passes over all digits. The passes over a rest begin with number 1.
#define MOST_PASSES ((SETTLES ? 2 * PASSES : PASSES) + RESTS)
#define PHASE_COUNT MOST_PASSES
#define PHASE_GATHER (PHASE_COUNT + 1)
#define PHASE_SETTLE (PHASE_GATHER + LISTED)
#define PHASES (PHASE_SETTLE + (SETTLES ? 2 : 0))

// Pass p's number, digit mask and shift in one word, which is kept in local memory. If only the
// number is kept, compilers compute shift and mask again at every use (NVIDIA's OpenCL: sorts of
// u64 keys took a fifth longer).
#define DIGIT_WORD(p)                                                  \
  ((p) << 16 | ((1u << ((u32)(widths >> (8 * (p))) & 255)) - 1) << 8 | \
   ((u32)(shifts >> (8 * (p))) & 255))

#if !SEGMENTED
// Returns the number of keys with the digit. Call it when all keys have been counted.
INLINE index_t keys_of_digit(GLOBAL u32* histograms, u32 pass, u32 digit) {
  return READ_COUNT(load_relaxed, &histograms[pass * RADIX + digit], PASSES * RADIX);
}

// Counts the digits of a key for all passes. With CODES, returns 1 if codes may not sort the
// list (needs_ties); the caller then discards the counts.
INLINE u32 count_key(LOCAL u32* bins, ukey_t key, u64 shifts, u64 widths) {
  const ukey_t ordered = CODE_OF(key);
  UNROLL
  for (u32 p = 0; p < PASSES; ++p) {
    const u32 shift = (u32)(shifts >> (8 * p)) & 255, width = (u32)(widths >> (8 * p)) & 255;
    local_add(&bins[(p * RADIX + ((u32)(ordered >> shift) & ((1u << width) - 1))) * COPIES], 1u);
  }
#if CODES
  return needs_ties(key, ALL_BITS);
#else
  return 0;
#endif
}

// Adds the digit counts of all passes to `histograms`; reads the keys once. Returns the number of
// tickets that this work-group has used. Each is for a count tile: a tile or half of one. Halves
// are shared more evenly if each work-group has only one tile to sort. With SETTLES, the first
// tickets are for samples, because no key moves before all tickets are done. Lanes count in COPIES
// copies of a histogram, which lie in different banks, so that lanes seldom wait for each other.
#define COUNT_ITEMS (ITEMS > 24 || SETTLES ? (ITEMS + 1) / 2 : ITEMS)
#define COUNT_TILE (WG * COUNT_ITEMS)
#define COUNT_TILES(n) ((u32)(((n) + COUNT_TILE - 1) / COUNT_TILE))
#if SETTLES
#define SAMPLED(n) ((n) >= LEAST_SAMPLED ? SAMPLE_TICKETS : 0u)
#else
#define SAMPLED(n) 0u
#endif
#define COUNT_TICKETS(n) (SAMPLED(n) + COUNT_TILES(n))
OUTLINE u32 count_digits(LOCAL onesweep_memory_t* mine, GLOBAL const ukey_t* keys,
                         GLOBAL u32* histograms, GLOBAL u32* ticket, GLOBAL samples_t* tell,
                         GLOBAL u32* ties, u64 n, u64 shifts, u64 widths) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id(), tickets = COUNT_TICKETS(n);
  u32 seen = 0, counted = 0;
  LOCAL u32* words = (LOCAL u32*)mine;
  const u32 bins = HEAD_BYTES / 4;
  LOCAL u32* my_bins = words + (bins + t % COPIES);
  if (t == 0) mine->tiles[0].number = global_add(ticket, 1u);
#if SETTLES
  u32 compared = 0;
  barrier_local();
  for (; mine->tiles[0].number < SAMPLED(n); ++compared) {
    compare_samples(mine, keys, tell, mine->tiles[0].number, n, shifts, widths);
    if (t == 0) mine->tiles[0].number = global_add(ticket, 1u);
    barrier_local();
  }
#endif
  for (u32 b = t; b < PASSES * RADIX * COPIES; b += WG) words[bins + b] = 0;
  barrier_local();
  for (;; ++counted) {
    const u32 number = mine->tiles[counted % 2].number;
    if (number >= tickets) break;
    if (t == 0) mine->tiles[(counted + 1) % 2].number = global_add(ticket, 1u);
    const u32 tile = number - SAMPLED(n);
    GLOBAL const ukey_t* own = keys + (u64)tile * COUNT_TILE;
    const u32 count = (u32)min((u64)COUNT_TILE, n - (u64)tile * COUNT_TILE);
    ukey_t key[COUNT_ITEMS];
    if (count == COUNT_TILE) {
      UNROLL
      for (u32 i = 0; i < COUNT_ITEMS; ++i) key[i] = own[i * WG + t];
      UNROLL
      for (u32 i = 0; i < COUNT_ITEMS; ++i) seen |= count_key(my_bins, key[i], shifts, widths);
    } else {
      UNROLL
      for (u32 i = 0; i < COUNT_ITEMS; ++i) key[i] = own[min(i * WG + t, count - 1)];
      UNROLL
      for (u32 i = 0; i < COUNT_ITEMS; ++i)
        if (i * WG + t < count) seen |= count_key(my_bins, key[i], shifts, widths);
    }
    barrier_local();
  }
  for (u32 b = t; b < PASSES * RADIX; b += WG) {
    u32 sum = 0;
    UNROLL
    for (u32 c = 0; c < COPIES; ++c) sum += words[bins + b * COPIES + (c + t) % COPIES];
    if (sum != 0) add_to_count(&histograms[b], PASSES * RADIX, sum);
  }
  if (seen) global_add(ties, 1u);
  barrier_all();
#if SETTLES
  counted += compared;
#endif
  return counted;
}

// The functions called before the passes are OUTLINE: the loop over passes needs many registers,
// and compilers allocate them better if the loop is compiled on its own (records that do not
// spread, on an H200: 3 to 5 % faster).

// Stores in `mine` the passes to make over the digits that are not in `skipped`, from pass
// `first_pass` on.
INLINE void set_passes(LOCAL onesweep_memory_t* mine, u32 skipped, u32 first_pass, u64 shifts,
                       u64 widths) {
  u32 count = 0;
  for (u32 p = 0; p < PASSES; ++p)
    if ((skipped >> p & 1) == 0) mine->digits[count++] = DIGIT_WORD(p);
  mine->first_pass = first_pass;
  mine->most = first_pass + count;
  mine->low_bits = 0;
}

// Returns a mask of the digits that lie in the lowest `bits` bits, without the last digit.
INLINE u32 low_digits(u32 bits, u64 widths) {
  u32 mask = 0, end = 0;
  ROLLED
  for (u32 p = 0; p + 1 < PASSES; ++p) {
    end += (u32)(widths >> (8 * p)) & 255;
    if (end <= bits) mask |= 1u << p;
  }
  return mask;
}

// Chooses the passes and stores them in `mine`. A pass is skipped if all keys have the same digit,
// or if the samples tell that its low digit may be left out. The first pass has the number `first`.
// At least one pass remains, because the output must be written. If `even` is 1, the first pass may
// read the memory to which the last one writes. Then an even number of passes is skipped, and at
// least two are made. No passes are made if the rest is empty, or with CODES if keys tie. (If the
// kernel returned instead, fewer registers would be left for the passes.)
OUTLINE void choose_passes(LOCAL onesweep_memory_t* mine, GLOBAL u32* starts,
                           GLOBAL samples_t* tell, GLOBAL u32* ties, u64 n, u64 shifts, u64 widths,
                           u32 even, u32 first) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  if (t == 0) mine->skipped = 0;
  if (t < 2) mine->common[t] = 0;
  barrier_local();
  if (t < RADIX) {
    index_t count[PASSES];
    UNROLL
    for (u32 p = 0; p < PASSES; ++p) count[p] = keys_of_digit(starts, p, t);
    UNROLL
    for (u32 p = 0; p < PASSES; ++p)
      if (count[p] == n) local_or(&mine->skipped, 1u << p);
  }
  u32 bits = 0;
#if SETTLES
  if (SAMPLED(n)) bits = bits_to_leave_out(mine, tell, &mine->common[0], (u32)n);
#endif
  barrier_local();
  if (t == 0) {
    const u32 same = mine->skipped, low = low_digits(bits, widths) & ~same;
    u32 skipped = same | low;
    if (even && popcount32(skipped) % 2 != 0)  // keep the highest low digit, or any other
      skipped ^= low != 0 ? 1u << highest_bit32(low) : skipped & (0u - skipped);
    if (popcount32(skipped) == PASSES) {
      skipped &= skipped - 1;
      if (even) skipped &= skipped - 1;
    }
    set_passes(mine, skipped, first, shifts, widths);
    mine->odd = popcount32(skipped) % 2;
    u32 end = 0;
    ROLLED
    for (u32 p = 0; p < PASSES; ++p) {
      end += (u32)(widths >> (8 * p)) & 255;
      if ((skipped & low) >> p & 1) mine->low_bits = end;
    }
    if ((CODES && load_relaxed(ties) != 0) || (RESTS && n == 0)) mine->most = mine->low_bits = 0;
  }
  barrier_local();
}

#if SETTLES
// Called after the passes, if they have left the lowest bits unsorted: puts the records in order,
// or sets up passes over all digits, from pass `pass` on. Their number is even, so that they write
// where the records are now. `groups`: work space as long as the keys.
OUTLINE void settle(LOCAL onesweep_memory_t* mine, sub_group_t sg, GLOBAL ukey_t* keys,
                    GLOBAL value_t* values, GLOBAL u32* groups, GLOBAL u32* state, u32 n, u32 pass,
                    u64 shifts, u64 widths) {
  KNOWN_LOCAL(mine);
  settle_t s;
  s.keys = keys;
  s.values = values;
  s.groups = groups;
  s.count = state + 2 * PHASES + SAMPLE_WORDS;
  s.large_count = s.count + 1;
  s.too_large = s.count + 2;
  s.n = n;
  s.low = mine->low_bits;
  s.bits = sorted_bits(shifts, widths);
  GLOBAL u32* done = state + PHASES + PHASE_SETTLE;
  const u32 examined = find_groups(mine, sg, s, &state[PHASE_SETTLE]);
  if (local_id() == 0 && examined != 0) global_add_release(&done[0], examined);
  wait_for(&done[0], (s.n + FIND_TILE - 1) / FIND_TILE);
  const u32 too_large = load_relaxed(s.too_large);
  if (!too_large) {
    const u32 used = settle_groups(mine, s, &state[PHASE_SETTLE + 1]);
    if (local_id() == 0 && used != 0) global_add_release(&done[1], used);
#if LISTED
    wait_for(&done[1], SETTLE_TICKETS);
#endif
  } else if (local_id() == 0) {
    set_passes(mine, mine->skipped, pass, shifts, widths);
    if ((mine->most - mine->first_pass) % 2 != 0) {
      for (u32 i = mine->most - mine->first_pass; i != 0; --i)
        mine->digits[i] = mine->digits[i - 1];  // the first one twice
      ++mine->most;
    }
  }
  barrier_local();
  for (u32 i = local_id(); i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
  barrier_local();
}
#endif

// Finds the output index where each digit of the pass begins (mine->first) and the two most common
// digits (mine->common). The most common one is the maximum of words with the count in the upper
// and the digit in the lower bits. A barrier must follow.
OUTLINE void begin_pass(LOCAL onesweep_memory_t* mine, GLOBAL u32* starts, u32 digit_word, u64 n) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id(), digit = t ^ DIGIT_FLIP(digit_word & 255, digit_word >> 8 & 255);
  index_t all;
  const index_t of_digit = t < RADIX ? keys_of_digit(starts, digit_word >> 16, digit) : 0;
  const index_t start_of_digit = wg_scan_add(mine->scratch, RADIX, of_digit, &all);
  if (t < RADIX) mine->first[digit] = of_digit != 0 ? start_of_digit : NO_RECORDS;
  if (t < 2) mine->common[t] = 0;
  barrier_local();
  const u32 share = of_digit > n / COMMON_SHARE ? (u32)(of_digit >> (INDEX_BITS == 64 ? 24
                                                                     : n >> 24 != 0   ? 8
                                                                                      : 0))
                                                          << 8 |
                                                      digit
                                                : 0;
  if (share != 0) local_max(&mine->common[0], share);
  barrier_local();
  if (share != 0 && share != mine->common[0]) local_max(&mine->common[1], share);
  barrier_local();
  if (t < 2) mine->common[t] = mine->common[t] != 0 ? mine->common[t] % RADIX : RADIX;
}
#endif

#if LISTED
// ---- Listed parts ----
// The records of all listed parts are sorted as one list. They are gathered into scratch memory,
// sorted, and copied back into the parts, one part after the other. The result is right because no
// key of a part sorts after a key of a later part. `list` has the number m of parts; the number of
// records in all parts; the index of the first record of each part (m words); the number of records
// in the parts before each part (m words).

// Where the records are: in their parts, and together in scratch memory.
typedef struct {
  GLOBAL ukey_t *keys, *keys_together;
  GLOBAL value_t *values, *values_together;
} parts_t;

// Copies the records of tile `tile` from their parts to where they are together; if `back` is 1,
// copies them back.
INLINE void move_listed(GLOBAL const u32* list, parts_t parts, u32 tile, u32 back) {
  GLOBAL const u32 *begins = list + 2, *before = begins + list[0];
  const u32 begin = tile * TILE, end = (u32)min((u64)begin + TILE, (u64)list[1]);
  u32 part = 0, high = list[0];
  while (high - part > 1) {
    const u32 middle = (part + high) / 2;
    if (before[middle] <= begin)
      part = middle;
    else
      high = middle;
  }
  for (u32 at = begin + local_id(); at < end; at += WG) {
    while (part + 1 < list[0] && before[part + 1] <= at) ++part;
    const u32 place = begins[part] + (at - before[part]);
    if (back) {
      parts.keys[place] = parts.keys_together[at];
#if VALUE_BYTES
      parts.values[place] = parts.values_together[at];
#endif
    } else {
      parts.keys_together[at] = parts.keys[place];
#if VALUE_BYTES
      parts.values_together[at] = parts.values[place];
#endif
    }
  }
}

// Gathers the listed parts, and waits until all work-groups are done. `ticket` and `done` are words
// that must be 0 at first.
OUTLINE void gather_listed(LOCAL onesweep_memory_t* mine, GLOBAL const u32* list, parts_t parts,
                           GLOBAL u32* ticket, GLOBAL u32* done) {
  KNOWN_LOCAL(mine);
  const u32 tiles = (list[1] + TILE - 1) / TILE;
  u32 moved = 0;
  for (;; ++moved) {
    if (local_id() == 0) mine->tiles[0].number = global_add(ticket, 1u);
    barrier_local();
    const u32 tile = mine->tiles[0].number;
    barrier_local();
    if (tile >= tiles) break;
    move_listed(list, parts, tile, 0);
  }
  barrier_all();
  if (local_id() == 0 && moved != 0) global_add_release(done, moved);
  wait_for(done, tiles);
}
#endif

#if SEGMENTED
// Finds where the segments of the pass and their first tiles begin; stores this in mine->segments
// and mine->first_tiles. Returns the number of tiles.
INLINE u32 find_segments(LOCAL onesweep_memory_t* mine, GLOBAL const u32* starts, pass_t p) {
  const u32 t = local_id();
  index_t segment_begin = 0, segment_end = 0, all;
  if (t < p.segments) {
    segment_begin = starts[(u64)t * p.digits << p.start_shift];
    segment_end = starts[(u64)(t + 1) * p.digits << p.start_shift];
  }
  index_t moved = segment_end - segment_begin;
#if SPREAD_BITS && CLASS_DIGITS
  // A class needs no second digit. Its members stay in the output of the first pass.
  if (p.number != 0 && is_class_digit(p.spread, t)) moved = 0;
#endif
  const u32 first_tile = (u32)wg_scan_add(mine->scratch, RADIX, (moved + TILE - 1) / TILE, &all);
  if (t < p.segments) {
    if (t == 0) mine->segments[0] = segment_begin;
    mine->segments[t + 1] = segment_end;
    mine->first_tiles[t] = first_tile;
  }
  barrier_local();
  return (u32)all;
}
#endif

// Pass 0 reads keys_in and values_in. Passes write in turn to keys_a and values_a, and to keys_b
// and values_b. The last pass writes to keys_b and values_b if PASSES is even, else to keys_a and
// values_a. If only a rest is sorted, PASSES is even, and the last pass writes to keys_a. n is the
// number of records. With SEGMENTED, a bucket is a value of all digits together.
//
//   keys_in, keys_a, keys_b        n keys each
//   values_in, values_a, values_b  n values each; not used without values
//   starts        SEGMENTED: in: the output index where each bucket begins, then the end. Otherwise
//                 work space, 0 at first: PASSES histograms of 256 counts. If indices have 64 bits,
//                 a second array of the same length has the upper words of the counts
//   look          work space: the look-back table, 256 words a tile, 0 at first
//   marks         work space, LONG_COUNTS: MARK_ROWS(n) * 256 words a pass, 0 at first
//   state         work space, 0 at first: a ticket for each of the PHASES, then for each of them
//                 the number of tiles that are done. SETTLES: then a samples_t, the numbers of
//                 listed groups (two words), and whether a group is too large
//   in_place      1: keys_in may be keys_b. Not used with SEGMENTED or LISTED
//   rest_state    RESTS: two words. If the first is not 0, only a rest of the list is sorted. The
//                 second word is its number of keys. Before and after, keys_a begins with them, and
//                 values_a ends with their values. BETWEEN: if the second word is 0, values_a and
//                 values_b are exchanged
//   shifts, widths   byte p: shift and width in bits of pass p's digit
//   passes        SEGMENTED: 1 or 2. Otherwise not used: there are PASSES passes
//   values_are_positions  1: pass 0 computes positions instead of reading values
//   last_keys     0: the last pass writes no keys, except those of a rest
//   ties          CODES: a word, 0 unless keys are known to tie; becomes not 0 if keys tie: then
//                 nothing has been sorted
//   map           in, MAP_CELLS: see key_map.cl
//   entries       in, EQUALIZES: the entries and their head (equalize.cl)
//   spread        SPREAD_BITS: the table of spread orders
//   stretch       in, STRETCHES (with SEGMENTED): how keys are stretched (stretch.cl)
//   gate          null, or a word: the launch does nothing unless gate_least <= *gate <= gate_most
//   list          in, LISTED: the parts of keys_b and values_b to sort, each in its place. They
//                 have at most half of the records. keys_a and values_a are work space
KERNEL_RESIDENT(WG, RESIDENT)
void onesweep(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
              GLOBAL const value_t* values_in, GLOBAL value_t* values_a, GLOBAL value_t* values_b,
              GLOBAL u32* starts, GLOBAL u32* look, GLOBAL u32* marks, GLOBAL u32* state,
              u32 in_place, u64 n, u64 shifts, u64 widths, u32 passes, u32 values_are_positions,
              u32 last_keys, GLOBAL u32* ties, GLOBAL const u32* map, GLOBAL const u32* entries,
              GLOBAL const u32* spread, GLOBAL const u32* stretch, GLOBAL const u32* gate,
              u32 gate_least, u32 gate_most, GLOBAL const u32* list, GLOBAL const u32* rest_state) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(onesweep_memory_t, mine);
  if (gate && (*gate < gate_least || *gate > gate_most)) return;
#if CODES && !SEGMENTED
  // One work-item looks, because others may set `ties` meanwhile.
  if (local_id() == 0) mine->skipped = load_relaxed(ties);
  barrier_local();
  if (mine->skipped != 0) return;
#endif
#if MAPS
  const window_t window = load_window(map);
#endif
#if MAP_LOCAL
  copy_map(&mine->map, map, WG);
#endif
#if EQUALIZES
  for (u32 i = local_id(); i < EQUALIZER_ENTRIES; i += WG)
    mine->entries[i] = entries[EQUALIZER_HEAD + i];
#endif
#if STRETCHES
  const u32 is_stretched = stretch[0];  // stretch_t::is
#endif
  const u32 t = local_id();
  u32 turn = 0;  // number of tickets that this work-group has taken

#if LISTED
  parts_t parts;
  parts.keys = keys_b, parts.keys_together = keys_a;
  parts.values = values_b, parts.values_together = values_a;
  gather_listed(mine, list, parts, &state[PHASE_GATHER], &state[PHASES + PHASE_GATHER]);
  n = list[1];
  const u32 listed = ((u32)n + SECTOR - 1) / SECTOR * SECTOR;
  keys_in = keys_b = keys_a;
  keys_a += listed;
  values_in = values_b = values_a;
  values_a += listed;
#endif
#if RESTS
  // The rest is in keys_a, as if pass 0 had written it. So the first pass has the number 1.
  const u32 is_rest = rest_state[0] != 0 ? 1 : 0;
  if (is_rest) {
#if VALUE_BYTES
    values_a += n - rest_state[1];
#endif
    n = rest_state[1];
    last_keys = 1;  // msd_insert_frequent needs them
  }
#else
  const u32 is_rest = 0;
#endif
#if BETWEEN
  if (rest_state[1] == 0) {
    GLOBAL value_t* const first = values_a;
    values_a = values_b;
    values_b = first;
  }
#endif
#if SEGMENTED
  u32 tiles = 0;
#define MOST passes
#define FIRST_PASS 0
#define DIGIT_OF_PASS DIGIT_WORD(pass)
#define SHIFTED 0
#define SETTLES_LATER 0
#else
#define MOST mine->most  // in local memory: the passes are short of registers
// All lanes of a sub-group read the same number x. After a shuffle, the compiler knows this, and
// keeps pointers that depend on x once for the sub-group instead of once for each lane. This saves
// registers for values. Without values, passes have enough registers, and the shuffle costs 2 %.
#if VALUE_BYTES
#define UNIFORM(x) sg_shuffle(sg, x, 0)
#else
#define UNIFORM(x) (x)
#endif
#define FIRST_PASS UNIFORM(mine->first_pass)
#define DIGIT_OF_PASS mine->digits[pass - FIRST_PASS]
#define SHIFTED UNIFORM(mine->odd)
#define SETTLES_LATER (mine->low_bits != 0)
  GLOBAL samples_t* tell = (GLOBAL samples_t*)(state + 2 * PHASES);
  const u32 tiles = (u32)((n + TILE - 1) / TILE);
  const u32 counted = count_digits(mine, is_rest ? keys_a : keys_in, starts, &state[PHASE_COUNT],
                                   tell, ties, n, shifts, widths);
  if (t == 0 && counted != 0) global_add_release(&state[PHASES + PHASE_COUNT], counted);
  wait_for(&state[PHASES + PHASE_COUNT], COUNT_TICKETS(n));
  choose_passes(mine, starts, tell, ties, n, shifts, widths, LISTED || in_place || is_rest,
                is_rest);
#endif
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;

  u32 pass = is_rest;
  do {
    for (; pass < MOST; ++pass) {
      const u32 digit_word = DIGIT_OF_PASS;
      pass_t p;
      // The first pass has the number 0 here. With an odd number, look-back words that are still 0
      // would look like counts (LOOK_OWN).
      p.number = pass - is_rest;
      p.last = pass + 1 == MOST;
#ifdef CODE_MASK
      p.decode = p.last ? CODE_MASK : 0;
#endif
      p.shift = digit_word & 255;
      p.mask = digit_word >> 8 & 255;
      const u32 to_b = (pass + SHIFTED) % 2;
      p.encodes = pass == FIRST_PASS;
      p.to = p.last && !last_keys && !SETTLES_LATER ? 0 : to_b ? keys_b : keys_a;
      p.from = pass == 0 ? keys_in : to_b ? keys_a : keys_b;
      p.values_from = pass == 0 ? values_in : to_b ? values_a : values_b;
      p.values_to = to_b ? values_b : values_a;
      p.positions = values_are_positions && pass == 0;
      p.starts = starts;
      p.look = look;
#if LONG_COUNTS
      p.marks = marks + (u64)p.number * MARK_ROWS(n) * RADIX;
#endif
      p.ticket = &state[pass];
#if MAPS
      p.map = map;
      p.window = window;
#endif
#if EQUALIZES
      p.cells = load_cells(entries);
#endif
      p.spread = spread;
#if STRETCHES
      p.stretch = stretch;
      p.is_stretched = is_stretched;
#endif
      p.n = n;
      p.segments = 1;
      p.digits = p.start_shift = 0;

#if SEGMENTED
      // Find where each segment begins, after the previous pass has written all tiles. Segments are
      // the values of pass 0's digit; pass 0 itself has one segment.
      if (pass != 0) wait_for(&state[PHASES + pass - 1], tiles);
      p.digits = p.mask + 1;
      p.segments = pass == 0 ? 1 : 1u << ((u32)widths & 255);
      p.start_shift = p.last ? 0 : (u32)(widths >> 8) & 255;
      tiles = find_segments(mine, starts, p);
#else
      // Find where each digit begins, while other work-groups still write tiles of the previous
      // pass.
      begin_pass(mine, starts, digit_word, n);
      if (pass != is_rest) wait_for(&state[PHASES + pass - 1], tiles);
#endif
      p.tiles = tiles;
      if (t == 0) TAKE_TILE(turn);
      barrier_local();

      const u32 taken = sort_tiles(mine, sg, p, &turn);
      barrier_all();
      if (t == 0 && taken != 0) global_add_release(&state[PHASES + pass], taken);
    }
#if SETTLES
    if (SETTLES_LATER) {
      wait_for(&state[PHASES + pass - 1], tiles);
      const u32 in_b = (PASSES + is_rest) % 2 == 0;
      settle(mine, sg, in_b ? keys_b : keys_a, in_b ? values_b : values_a,
             (GLOBAL u32*)(in_b ? keys_a : keys_b), state, (u32)n, pass, shifts, widths);
    }
#endif
  } while (SETTLES && pass < MOST);
#if LISTED
  wait_for(&state[PHASES + MOST - 1], tiles);
  for (u32 tile = group_id(); tile < tiles; tile += group_count())
    move_listed(list, parts, tile, 1);
#endif
}
