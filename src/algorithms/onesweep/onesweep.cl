// One-sweep radix sort: a pass reads every record once and writes it once. Each work-group takes
// tiles by ticket, publishes its tile's digit counts, and learns where its digits begin by looking
// back at the counts of the tiles before. All passes are one launch. A work-group goes on to the
// next pass when all tiles of the last one are written. It never waits for a work-group that has
// not begun: whoever has taken a ticket runs, and needs only what earlier tickets do. Passes whose
// digit is one and the same in all keys are left out. onesweep_tiles.cl and what sorts the tiles
// stand in front of this.

// Until `done` tiles have been written by whichever work-groups.
INLINE void wait_for(GLOBAL u32* done, u32 tiles) {
  if (local_id() == 0)
    while (load_acquire(done) < tiles) {
    }
  barrier_all();
}

// Pass p's number, mask and shift. Which passes there are is read from local memory as such a word,
// and not as a number, from which compilers seem to work out shift and mask again at every use
// (NVIDIA's OpenCL: u64 keys took a fifth longer).
#define DIGIT_WORD(p)                                                  \
  ((p) << 16 | ((1u << ((u32)(widths >> (8 * (p))) & 255)) - 1) << 8 | \
   ((u32)(shifts >> (8 * (p))) & 255))

#if !SEGMENTED
// What comes before passes, like the count, is out of line: registers are what the passes' loop has
// least of, and compilers do better with it alone (pairs that fall back on an H200: 3 to 5 %).

// Which passes are made, in local memory: those whose digit is the same in all keys are left out by
// twos, so that the last one still writes the output; not all of them, for that must be written.
// None where codes tie (CODES): to return there would cost the passes registers.
OUTLINE void choose_passes(LOCAL onesweep_memory_t* mine, GLOBAL u32* starts, GLOBAL u32* ties,
                           u64 n, u64 shifts, u64 widths) {
  const u32 t = local_id();
  if (t == 0) mine->left_out = 0;
  barrier_local();
  if (t < RADIX) {
    index_t count[PASSES];
    UNROLL
    for (u32 p = 0; p < PASSES; ++p) count[p] = keys_of_digit(starts, p, t);
    UNROLL
    for (u32 p = 0; p < PASSES; ++p)
      if (count[p] == n) local_or(&mine->left_out, 1u << p);
  }
  barrier_local();
  if (t == 0) {
    u32 left_out = mine->left_out, most = 0;
    if (popcount32(left_out) % 2 != 0) left_out &= left_out - 1;
    if (popcount32(left_out) == PASSES) left_out &= left_out - 1, left_out &= left_out - 1;
    for (u32 p = 0; p < PASSES; ++p)
      if ((left_out >> p & 1) == 0) mine->digits[most++] = DIGIT_WORD(p);
    mine->most = CODES && load_relaxed(ties) != 0 ? 0 : most;
  }
  barrier_local();
}

// Where the pass's digits begin; and the two most common ones, if they are common: the largest of
// count and digit, as one word. A barrier has to follow.
OUTLINE void begin_pass(LOCAL onesweep_memory_t* mine, GLOBAL u32* starts, u32 digit_word, u64 n) {
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

// Passes go from keys_in to keys_a, to keys_b, to keys_a … Byte p of `shifts` and `widths` is pass
// p's digit. `starts`: the passes' histograms, still 0, and with indices of 64 bits their upper
// words. SEGMENTED: where each bucket, a value of the last pass's digit below the first one's,
// begins in the output, and the end. `passes`: SEGMENTED, 1 or 2; else they are PASSES. `state`:
// tickets and counts of tiles that are done for each pass, 0 at first; the look-back table, and the
// marks (LONG_COUNTS) of each pass, too. `ties`: 0 at first; see CODES. `spread`: the table, with
// SPREAD_BITS. `gate`: null, or a word that decides on the device whether the launch does anything:
// only if it is from gate_least to gate_most.
#define STATE_DONE (PASSES + 1)
KERNEL_RESIDENT(WG, RESIDENT)
void onesweep(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
              GLOBAL const value_t* values_in, GLOBAL value_t* values_a, GLOBAL value_t* values_b,
              GLOBAL u32* starts, GLOBAL u32* look, GLOBAL u32* marks, GLOBAL u32* state, u64 n,
              u64 shifts, u64 widths, u32 passes, u32 values_are_positions, u32 last_keys,
              GLOBAL u32* ties, GLOBAL const u32* spread, GLOBAL const u32* gate, u32 gate_least,
              u32 gate_most) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(onesweep_memory_t, mine);
  if (gate && (*gate < gate_least || *gate > gate_most)) return;
  const u32 t = local_id();
  u32 turn = 0;  // tiles so far

#if SEGMENTED
  u32 tiles = 0;
#define MOST passes
#define DIGIT_OF_PASS DIGIT_WORD(pass)
#else
#define MOST mine->most  // in local memory, for registers are what the passes have least of
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
    p.spread = spread;
    p.n = n;
    p.segments = 1;
    p.digits = p.start_shift = 0;

#if SEGMENTED
    // Where segments begin, once the pass before is done.
    if (pass != 0) wait_for(&state[STATE_DONE + pass - 1], tiles);
    p.digits = p.mask + 1;
    p.segments = pass == 0 ? 1 : 1u << ((u32)widths & 255);
    p.start_shift = p.last ? 0 : (u32)(widths >> 8) & 255;
    index_t segment_begin = 0, segment_end = 0, all;
    if (t < p.segments) {
      segment_begin = starts[(u64)t * p.digits << p.start_shift];
      segment_end = starts[(u64)(t + 1) * p.digits << p.start_shift];
    }
    const u32 first_tile = (u32)wg_scan_add(mine->scratch, RADIX,
                                            (segment_end - segment_begin + TILE - 1) / TILE, &all);
    if (t < p.segments) {
      if (t == 0) mine->segments[0] = segment_begin;
      mine->segments[t + 1] = segment_end;
      mine->first_tiles[t] = first_tile;
    }
    tiles = (u32)all;
    barrier_local();
#else
    // Where digits begin, while others still write what the pass before has left.
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
}
