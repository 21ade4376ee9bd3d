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

// Pass p's number, digit mask and shift in one word, which is kept in local memory. If only the
// number is kept, compilers compute shift and mask again at every use (NVIDIA's OpenCL: sorts of
// u64 keys took a fifth longer).
#define DIGIT_WORD(p)                                                  \
  ((p) << 16 | ((1u << ((u32)(widths >> (8 * (p))) & 255)) - 1) << 8 | \
   ((u32)(shifts >> (8 * (p))) & 255))

#if !SEGMENTED
// The functions called before the passes are OUTLINE: the loop over passes needs many registers,
// and compilers allocate them better if the loop is compiled on its own (records that do not
// spread, on an H200: 3 to 5 % faster).

// Chooses the passes and stores them in mine->digits and mine->most. Passes over a digit that all
// keys share are skipped in pairs, so that the last pass still writes the output. At least one or
// two passes remain, because the output must be written. With CODES and keys that tie, there are no
// passes. (A return from the kernel in that case would cost the passes registers.)
OUTLINE void choose_passes(LOCAL onesweep_memory_t* mine, GLOBAL u32* starts, GLOBAL u32* ties,
                           u64 n, u64 shifts, u64 widths) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  if (t == 0) mine->skipped = 0;
  barrier_local();
  if (t < RADIX) {
    index_t count[PASSES];
    UNROLL
    for (u32 p = 0; p < PASSES; ++p) count[p] = keys_of_digit(starts, p, t);
    UNROLL
    for (u32 p = 0; p < PASSES; ++p)
      if (count[p] == n) local_or(&mine->skipped, 1u << p);
  }
  barrier_local();
  if (t == 0) {
    u32 skipped = mine->skipped, most = 0;
    if (popcount32(skipped) % 2 != 0) skipped &= skipped - 1;
    if (popcount32(skipped) == PASSES) skipped &= skipped - 1, skipped &= skipped - 1;
    for (u32 p = 0; p < PASSES; ++p)
      if ((skipped >> p & 1) == 0) mine->digits[most++] = DIGIT_WORD(p);
    mine->most = CODES && load_relaxed(ties) != 0 ? 0 : most;
  }
  barrier_local();
}

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
  const u32 first_tile =
      (u32)wg_scan_add(mine->scratch, RADIX, (segment_end - segment_begin + TILE - 1) / TILE, &all);
  if (t < p.segments) {
    if (t == 0) mine->segments[0] = segment_begin;
    mine->segments[t + 1] = segment_end;
    mine->first_tiles[t] = first_tile;
  }
  barrier_local();
  return (u32)all;
}
#endif

// Pass 0 reads keys_in and values_in and writes keys_a and values_a; later passes alternate between
// a and b. n is the number of records. With SEGMENTED, a bucket is a value of all digits together.
//
//   keys_in, keys_a, keys_b        n keys each
//   values_in, values_a, values_b  n values each; not used without values
//   starts        SEGMENTED: in: the output index where each bucket begins, then the end. Otherwise
//                 work space, 0 at first: PASSES histograms of 256 counts. If indices have 64 bits,
//                 a second array of the same length has the upper words of the counts
//   look          work space: the look-back table, 256 words a tile, 0 at first
//   marks         work space, LONG_COUNTS: MARK_ROWS(n) * 256 words a pass, 0 at first
//   state         work space, 0 at first: a ticket for each of the PHASES, then for each of them
//                 the number of tiles that are done
//   shifts, widths   byte p: shift and width in bits of pass p's digit
//   passes        SEGMENTED: 1 or 2. Otherwise not used: there are PASSES passes
//   values_are_positions  1: pass 0 computes positions instead of reading values
//   last_keys     0: the last pass writes no keys
//   ties          CODES: a word, 0 unless keys are known to tie; becomes not 0 if keys tie: then
//                 nothing has been sorted
//   map           in, MAP_CELLS: see key_map.cl
//   entries       in, EQUALIZES: the entries and their head (equalize.cl)
//   spread        SPREAD_BITS: the table of spread orders
//   stretch       in, STRETCHES (with SEGMENTED): how keys are stretched (stretch.cl). The last
//   digit
//                 then has `more` bits more
//   gate          null, or a word: the launch does nothing unless gate_least <= *gate <= gate_most
//   list          in, LISTED: the parts of keys_b and values_b to sort, each in its place. They
//   have
//                 at most half of the records. keys_a and values_a are work space
#define PHASES (PASSES + 1 + LISTED)  // passes, the count, and gathering
#define STATE_DONE PHASES
KERNEL_RESIDENT(WG, RESIDENT)
void onesweep(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
              GLOBAL const value_t* values_in, GLOBAL value_t* values_a, GLOBAL value_t* values_b,
              GLOBAL u32* starts, GLOBAL u32* look, GLOBAL u32* marks, GLOBAL u32* state, u64 n,
              u64 shifts, u64 widths, u32 passes, u32 values_are_positions, u32 last_keys,
              GLOBAL u32* ties, GLOBAL const u32* map, GLOBAL const u32* entries,
              GLOBAL const u32* spread, GLOBAL const u32* stretch, GLOBAL const u32* gate,
              u32 gate_least, u32 gate_most, GLOBAL const u32* list) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(onesweep_memory_t, mine);
  if (gate && (*gate < gate_least || *gate > gate_most)) return;
#if CODES && !SEGMENTED
  if (load_relaxed(ties) != 0) return;
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
  stretch_t stretch_of_keys;
  load_stretch(stretch, &stretch_of_keys);
#endif
  const u32 t = local_id();
  u32 turn = 0;  // number of tickets that this work-group has taken

#if LISTED
  parts_t parts;
  parts.keys = keys_b, parts.keys_together = keys_a;
  parts.values = values_b, parts.values_together = values_a;
  gather_listed(mine, list, parts, &state[PASSES + 1], &state[STATE_DONE + PASSES + 1]);
  n = list[1];
  const u32 listed = ((u32)n + SECTOR - 1) / SECTOR * SECTOR;
  keys_in = keys_b = keys_a;
  keys_a += listed;
  values_in = values_b = values_a;
  values_a += listed;
#endif
#if SEGMENTED
  u32 tiles = 0;
#define MOST passes
#define DIGIT_OF_PASS DIGIT_WORD(pass)
#else
#define MOST mine->most  // in local memory: the passes are short of registers
#define DIGIT_OF_PASS mine->digits[pass]
  const u32 tiles = (u32)((n + TILE - 1) / TILE);
  const u32 counted = count_digits(mine, keys_in, starts, &state[PASSES], ties, n, shifts, widths);
  if (t == 0 && counted != 0) global_add_release(&state[STATE_DONE + PASSES], counted);
  wait_for(&state[STATE_DONE + PASSES], COUNT_TILES(n));
  choose_passes(mine, starts, ties, n, shifts, widths);
#endif
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;

  for (u32 pass = 0; pass < MOST; ++pass) {
    const u32 digit_word = DIGIT_OF_PASS;
    pass_t p;
    p.number = pass;
    p.last = pass + 1 == MOST;
#ifdef CODE_MASK
    p.decode = p.last ? CODE_MASK : 0;
#endif
    p.shift = digit_word & 255;
    p.mask = digit_word >> 8 & 255;
    p.from = pass == 0 ? keys_in : pass % 2 ? keys_a : keys_b;
    p.to = p.last && !last_keys ? 0 : pass % 2 ? keys_b : keys_a;
    p.values_from = pass == 0 ? values_in : pass % 2 ? values_a : values_b;
    p.values_to = pass % 2 ? values_b : values_a;
    p.positions = values_are_positions && pass == 0;
    p.starts = starts;
    p.look = look;
#if LONG_COUNTS
    p.marks = marks + (u64)pass * MARK_ROWS(n) * RADIX;
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
    p.is_stretched = stretch_of_keys.is;
    if (p.last) {
      p.shift -= stretch_of_keys.more;
      p.mask = ((p.mask + 1) << stretch_of_keys.more) - 1;
    }
#endif
    p.n = n;
    p.segments = 1;
    p.digits = p.start_shift = 0;

#if SEGMENTED
    // Find where each segment begins, after the previous pass has written all tiles. Segments are
    // the values of pass 0's digit; pass 0 itself has one segment.
    if (pass != 0) wait_for(&state[STATE_DONE + pass - 1], tiles);
    p.digits = p.mask + 1;
    p.segments = pass == 0 ? 1 : 1u << ((u32)widths & 255);
    p.start_shift = p.last ? 0 : (u32)(widths >> 8) & 255;
#if STRETCHES
    p.start_shift += p.last ? 0 : stretch_of_keys.more;
#endif
    tiles = find_segments(mine, starts, p);
#else
    // Find where each digit begins, while other work-groups still write tiles of the previous pass.
    begin_pass(mine, starts, digit_word, n);
    if (pass != 0) wait_for(&state[STATE_DONE + pass - 1], tiles);
#endif
    p.tiles = tiles;
    if (t == 0) TAKE_TILE(turn);
    barrier_local();

    const u32 taken = sort_tiles(mine, sg, p, &turn);
    barrier_all();
    if (t == 0 && taken != 0) global_add_release(&state[STATE_DONE + pass], taken);
  }
#if LISTED
  wait_for(&state[STATE_DONE + MOST - 1], tiles);
  for (u32 tile = group_id(); tile < tiles; tile += group_count())
    move_listed(list, parts, tile, 1);
#endif
}
