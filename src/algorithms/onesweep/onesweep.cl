// One-sweep radix sort: a pass reads every record once and writes it once. Each work-group takes tiles by ticket,
// publishes its tile's digit counts, and learns where its digits begin by looking back at the counts of the tiles before.
// Software-pipelined: a tile's counts are published before the tile before it looks back and is written out, so that
// neighbours seldom wait.
// All passes are one launch. A work-group goes on to the next pass when all tiles of the last one are written. It never
// waits for a work-group that has not begun: whoever has taken a ticket runs, and needs only what earlier tickets do.
// Passes whose digit is one and the same in all keys are left out.
// Parameters: WG, ITEMS, RESIDENT (work-groups of a compute unit), PASSES, LOOK_BITS, COPIES, SEGMENTED (for msd: one or two
// passes, from the leading digit on; the second sorts each of the first one's digits as a segment of its own), COUNTED (then: one
// pass, and `table` has the counts of all tiles), CODES, SPREAD_BITS.

// CODES, for floats: from the first pass's reading to the last one's writing, keys are their orders, whose digits cost no
// more than an integer's. That would lose what ties, so the work-groups look for such keys while they count: where there
// is one, they say so in `ties` and sort nothing, and a second launch does it without codes.
// With SPREAD_BITS it is msd that has looked; codes are spread orders, which the last pass leaves as they are.
#if CODES
#define DIGIT(key) ((u32)((key) >> shift) & mask)
#define PADDING ((ukey_t)~(ukey_t)0)
#else
#define DIGIT(key) key_digit(key, shift, mask)
#define PADDING KEY_LAST
#endif

#define RADIX 256u
#define TILE (WG * ITEMS)
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
#define TEAMS (WG / RADIX)  // work-items of a digit, when columns of counts are summed
#define TEAM_ROWS (SUB_GROUPS / TEAMS)
#define NO_TILE 0xffffffffu

// A word of the look-back table: what is known of a digit's count, and the count.
#if LOOK_BITS == 64
typedef u64 look_t;
#else
typedef u32 look_t;
#endif
#define LOOK_SHIFT (LOOK_BITS - 2)
#define LOOK_COUNT (((look_t)1 << LOOK_SHIFT) - 1)
// Above the count stands LOOK_OWN, if it is of the tile alone, or LOOK_ALL, of the tile and all before it. Passes take turns
// with two of each, so that one table does for all: what the pass before has left, or the fill, is as good as nothing.
#define LOOK_OWN (pass % 2 ? 0u : 2u)
#define LOOK_ALL (LOOK_OWN + 1)

// A tile: `count` records from `begin`; it is the first of its list or segment, or has others before it.
typedef struct {
  u64 begin;
  u32 number, count, first, segment;
} tile_t;

typedef struct {
  u32 common_count, common[2];  // digits that many records have
  tile_t tiles[4];              // by turns: the one that is written out, the one that is ranked, the next
  u32 left_out;                 // passes, a bit each
  u32 most, digits[8];          // how many there are of the others, and of each its number, mask and shift (see DIGIT_WORD)
  u32 padding[26];              // to HEAD_BYTES; what follows is also the room for histograms
  ukey_t keys[TILE];  // the tile at hand, sorted by digit
#if VALUE_BYTES
  value_t values[TILE];
#endif
#if SEGMENTED
  index_t segments[RADIX + 1];     // where they begin
  u32 first_tiles[RADIX + 1];      // and their first tiles, counted over all segments
#else
  index_t first[RADIX];   // where the digit's records begin in the output
#endif
  index_t to_out[RADIX];  // place in the sorted tile + this = place in the output
  index_t scratch[2 * RADIX];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
} onesweep_memory_t;
#define HEAD_BYTES 256u

// Counts of the digit in all tiles before `tile`, which is not the first. The walk ends at the first tile that knows all before it; several
// words are on their way at a time.
#define LOOK_WINDOW 4
INLINE index_t look_back(volatile GLOBAL look_t *column, u32 tile, u32 own, u32 all) {
  index_t before = 0;
  u32 at = tile, done = 0;
  while (!done) {
    look_t word[LOOK_WINDOW];
    UNROLL for (u32 k = 0; k < LOOK_WINDOW; ++k) word[k] = at > k ? column[(u64)(at - 1 - k) * RADIX] : (look_t)all << LOOK_SHIFT;
    u32 wait = 0;
    UNROLL for (u32 k = 0; k < LOOK_WINDOW; ++k) {
      const u32 kind = (u32)(word[k] >> LOOK_SHIFT);
      wait |= kind != own && kind != all;  // not yet published: from here again
      if (!wait && !done) {
        before += (index_t)(word[k] & LOOK_COUNT);
        done = kind == all;
        --at;
      }
    }
  }
  return before;
}

#define RANK_TILE(rank_record)                                                            \
  {                                                                                       \
    UNROLL for (u32 i = 0; i < ITEMS; ++i) {                                              \
      const u32 rank = rank_record(my_ranks, RADIX, DIGIT(key[i]));                       \
      place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank;                            \
    }                                                                                     \
  }
// The same where one or two digits are a large part of all (1 in COMMON_SHARE each): their lanes, who would wait for each
// other at one counter, are counted by ballots, and the others add as ever.
#define COMMON_SHARE 8
#define RANK_TILE_COMMON                                                                  \
  {                                                                                       \
    const u32 below = (1u << lane) - 1, one = mine->common[0], two = mine->common[1];     \
    u32 ones = 0, twos = 0;                                                               \
    UNROLL for (u32 i = 0; i < ITEMS; ++i) {                                              \
      const u32 d = DIGIT(key[i]);                                                        \
      const u32 with_one = sg_ballot(sg, d == one), with_two = sg_ballot(sg, d == two);   \
      u32 rank = d == one ? ones + popcount32(with_one & below)                           \
                          : twos + popcount32(with_two & below);                          \
      if (d != one && d != two) rank = local_add(&my_ranks[d], 1u);                       \
      ones += popcount32(with_one);                                                       \
      twos += popcount32(with_two);                                                       \
      place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank;                            \
    }                                                                                     \
    if (lane == 0) my_ranks[one] = ones;                                                  \
    if (lane == 0 && two != RADIX) my_ranks[two] = twos;                                  \
  }

// Record p of the tile goes where its digit's run is.
#if VALUE_BYTES
#define WRITE_VALUE(p) values_to[out] = mine->values[p];
#else
#define WRITE_VALUE(p)
#endif
#define WRITE_RECORD(p)                                                          \
  {                                                                              \
    const ukey_t k = mine->keys[p];                                              \
    const u64 out = (index_t)(mine->to_out[DIGIT(k)] + (p));                     \
    if (to) to[out] = CODES && !SEGMENTED && last ? key_of_order(k) : k; /* an argsort may not want them */ \
    WRITE_VALUE(p)                                                               \
  }

// By one work-item: the next ticket's tile. One past the last is none, whatever the rest of it says.
#if SEGMENTED
// Tiles are numbered through all segments, and each segment begins a new one.
INLINE void take_tile(LOCAL onesweep_memory_t *mine, LOCAL tile_t *tile, GLOBAL u32 *ticket, u32 segments) {
  const u32 number = tile->number = global_add(ticket, 1u);
  u32 low = 0, high = segments;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (mine->first_tiles[middle] <= number) low = middle;
    else high = middle;
  }
  const u32 within = number - mine->first_tiles[low];
  const u64 begin = (u64)mine->segments[low] + (u64)within * TILE;
  tile->begin = begin;
  tile->count = (u32)min((u64)TILE, (u64)mine->segments[low + 1] - begin);
  tile->first = within == 0;
  tile->segment = low;
}
#else
INLINE void take_tile(LOCAL tile_t *tile, GLOBAL u32 *ticket, u64 n) {
  const u32 number = tile->number = global_add(ticket, 1u);
  const u64 begin = (u64)number * TILE;
  tile->begin = begin;
  tile->count = (u32)min((u64)TILE, n - begin);
  tile->first = begin == 0;
}
#endif

#if !SEGMENTED
// Histograms of all passes' digits in one reading. Lanes count in COPIES of their own, in banks of their own, so that they
// seldom wait for each other. Gives how many tiles this work-group has counted.
INLINE u32 count_digits(LOCAL onesweep_memory_t *mine, GLOBAL const ukey_t *keys, GLOBAL u32 *histograms,
                        GLOBAL u32 *ticket, GLOBAL u32 *ties, u32 tiles, u64 n, u64 shifts, u64 widths) {
  const u32 t = local_id();
  u32 seen = 0;
  LOCAL u32 *words = (LOCAL u32 *)mine;
  const u32 bins = HEAD_BYTES / 4;
  LOCAL u32 *my_bins = words + (bins + t % COPIES);
  for (u32 b = t; b < PASSES * RADIX * COPIES; b += WG) words[bins + b] = 0;
  u32 counted = 0;
  for (;; ++counted) {
    LOCAL tile_t *tile = &mine->tiles[counted % 2];  // by turns: the next is not written while the last is still read
    if (t == 0) take_tile(tile, ticket, n);
    barrier_local();
    if (tile->number >= tiles) break;
    GLOBAL const ukey_t *tile_keys = keys + tile->begin;
    for (u32 at = t; at < tile->count; at += 16 * WG) {
      ukey_t key[16];
      UNROLL for (u32 i = 0; i < 16; ++i) key[i] = tile_keys[min(at + i * WG, tile->count - 1)];
      UNROLL for (u32 i = 0; i < 16; ++i) {
        if (at + i * WG >= tile->count) continue;
        const ukey_t ordered = key_order(key[i]);
#if CODES
        seen |= key_ties(key[i]);
#endif
        UNROLL for (u32 p = 0; p < PASSES; ++p) {
          const u32 shift = (u32)(shifts >> (8 * p)) & 255, width = (u32)(widths >> (8 * p)) & 255;
          local_add(&my_bins[(p * RADIX + ((u32)(ordered >> shift) & ((1u << width) - 1))) * COPIES], 1u);
        }
      }
    }
  }
  for (u32 b = t; b < PASSES * RADIX; b += WG) {
    u32 sum = 0;
    UNROLL for (u32 c = 0; c < COPIES; ++c) sum += words[bins + b * COPIES + (c + t) % COPIES];
    if (sum != 0) global_add(&histograms[b], sum);
  }
  if (seen) global_add(ties, 1u);
  barrier_all();
  return counted;
}
#endif

#if COUNTED
typedef struct {
  u32 before, all;  // of a digit, in the tiles before and in all tiles
} column_t;
// Adds up the tiles' counts, for digit t; of work-items above, nothing is to be used. Begins and ends with a barrier.
INLINE column_t sum_column(LOCAL onesweep_memory_t *mine, GLOBAL const u32 *counts, u32 tiles, u32 tile) {
  const u32 t = local_id(), digit = t % RADIX, team = t / RADIX, rows = (tiles + TEAMS - 1) / TEAMS;
  const u32 end = min((team + 1) * rows, tiles);
  column_t sum;
  sum.before = sum.all = 0;
  for (u32 row = team * rows; row < end; row += 16) {
    u32 count[16];
    UNROLL for (u32 i = 0; i < 16; ++i) count[i] = counts[(u64)min(row + i, end - 1) * RADIX + digit];
    UNROLL for (u32 i = 0; i < 16; ++i) {
      sum.all += row + i < end ? count[i] : 0;
      sum.before += row + i < min(tile, end) ? count[i] : 0;
    }
  }
  barrier_local();
  mine->sums[t] = sum.all;
  barrier_local();
  UNROLL for (u32 q = 1; q < TEAMS; ++q) sum.all += t < RADIX ? mine->sums[q * RADIX + t] : 0;
  barrier_local();
  mine->sums[t] = sum.before;
  barrier_local();
  UNROLL for (u32 q = 1; q < TEAMS; ++q) sum.before += t < RADIX ? mine->sums[q * RADIX + t] : 0;
  barrier_local();
  return sum;
}
#endif

// Until `done` tiles have been written by whichever work-groups.
INLINE void wait_for(GLOBAL u32 *done, u32 tiles) {
  if (local_id() == 0)
    while (load_acquire(done) < tiles) {
    }
  barrier_all();
}

// Passes go from keys_in to keys_a, to keys_b, to keys_a … Byte p of `shifts` and `widths` is pass p's digit.
// `starts`: the passes' histograms, still 0. SEGMENTED: where each bucket, a value of the last pass's digit below the
// first one's, begins in the output, and the end.
// `state`: tickets and counts of tiles that are done for each pass, 0 at first; the look-back table, too.
// `ties`: 0 at first; see CODES. `spread`: the table, with SPREAD_BITS.
// `gate`: null, or a word that decides on the device whether the launch does anything: only if it is from gate_least to gate_most.
// COUNTED: `table` has the tiles' counts, `starts` is written, and *gate, 0 at first, becomes 1, and nothing else is done, where a digit has more than
// `capacity` records.
#define STATE_DONE (PASSES + 1)
// Pass p's number, mask and shift. Which passes there are is read from local memory as such a word, and not as a number, from
// which compilers seem to work out shift and mask again at every use (NVIDIA's OpenCL: u64 keys took a fifth longer).
#define DIGIT_WORD(p) \
  ((p) << 16 | ((1u << ((u32)(widths >> (8 * (p))) & 255)) - 1) << 8 | ((u32)(shifts >> (8 * (p))) & 255))
KERNEL_RESIDENT(WG, RESIDENT)
void onesweep(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_a, GLOBAL ukey_t *keys_b, GLOBAL const value_t *values_in,
              GLOBAL value_t *values_a, GLOBAL value_t *values_b, GLOBAL u32 *starts, GLOBAL look_t *look,
              GLOBAL const u32 *table, GLOBAL u32 *state, u64 n, u64 shifts, u64 widths, u32 passes,
              u32 values_are_positions, u32 last_keys, GLOBAL u32 *ties, GLOBAL const u32 *spread, GLOBAL u32 *gate,
              u32 gate_least, u32 gate_most, u32 capacity) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(onesweep_memory_t, mine);
#if !COUNTED
  if (gate && (*gate < gate_least || *gate > gate_most)) return;
#endif
  const u32 t = local_id(), lane = sg_lane();
  const u32 digit = t % RADIX, team = t / RADIX;
  LOCAL u32 *my_ranks = mine->ranks + sg_index() * RANK_WORDS;
  const u32 first = sg_index() * (SG_LANES * ITEMS) + lane;
  index_t all;
  u32 turn = 0;  // tiles so far

#if SEGMENTED
  u32 tiles = 0;
#define MOST passes
#define DIGIT_OF_PASS DIGIT_WORD(pass)
#else
#define MOST mine->most  // in local memory, for registers are what the passes have least of
#define DIGIT_OF_PASS mine->digits[pass]
  const u32 tiles = (u32)((n + TILE - 1) / TILE);
  const u32 counted = count_digits(mine, keys_in, starts, &state[PASSES], ties, tiles, n, shifts, widths);
  if (t == 0 && counted != 0) global_add_release(&state[STATE_DONE + PASSES], counted);
  if (t == 0) mine->left_out = 0;
  wait_for(&state[STATE_DONE + PASSES], tiles);
#if CODES
  if (load_acquire(ties) != 0) return;
#endif

  // Leave out passes by twos, so that the last one still writes the output; not all of them, for that must be written.
  if (t < RADIX)
    for (u32 p = 0; p < passes; ++p)
      if (load_acquire(&starts[p * RADIX + t]) == n) local_or(&mine->left_out, 1u << p);
  barrier_local();
  if (t == 0) {
    u32 left_out = mine->left_out, most = 0;
    if (popcount32(left_out) % 2 != 0) left_out &= left_out - 1;
    if (popcount32(left_out) == passes) left_out &= left_out - 1, left_out &= left_out - 1;
    for (u32 p = 0; p < passes; ++p)
      if ((left_out >> p & 1) == 0) mine->digits[most++] = DIGIT_WORD(p);
    mine->most = most;
  }
  barrier_local();
#endif
  for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;

  for (u32 pass = 0; pass < MOST; ++pass) {
    const u32 digit_word = DIGIT_OF_PASS, shift = digit_word & 255, mask = digit_word >> 8 & 255;
    GLOBAL const ukey_t *from = pass == 0 ? keys_in : pass % 2 ? keys_a : keys_b;
    GLOBAL ukey_t *to = pass + 1 == MOST && !last_keys ? 0 : pass % 2 ? keys_b : keys_a;
#if VALUE_BYTES
    GLOBAL const value_t *values_from = pass == 0 ? values_in : pass % 2 ? values_a : values_b;
    GLOBAL value_t *values_to = pass % 2 ? values_b : values_a;
    const u32 positions = values_are_positions && pass == 0;
#endif

    // Where digits or segments begin, once the pass before is done; the first ticket.
    if (pass != 0) wait_for(&state[STATE_DONE + pass - 1], tiles);
#if COUNTED
    const u32 segments = 1;
    tiles = (u32)((n + TILE - 1) / TILE);
    if (t == 0) {
      mine->segments[0] = 0;
      mine->segments[1] = (index_t)n;
      mine->first_tiles[0] = 0;
    }
#elif SEGMENTED
    const u32 digits = mask + 1, segments = pass == 0 ? 1 : 1u << ((u32)widths & 255);
    const u32 start_shift = pass + 1 == passes ? 0 : (u32)(widths >> 8) & 255;
    index_t segment_begin = 0, segment_end = 0;
    if (t < segments) {
      segment_begin = starts[(u64)t * digits << start_shift];
      segment_end = starts[(u64)(t + 1) * digits << start_shift];
    }
    const u32 first_tile = (u32)wg_scan_add(mine->scratch, RADIX, (segment_end - segment_begin + TILE - 1) / TILE, &all);
    if (t < segments) {
      if (t == 0) mine->segments[0] = segment_begin;
      mine->segments[t + 1] = segment_end;
      mine->first_tiles[t] = first_tile;
    }
    tiles = (u32)all;
#else
    if (t == 0) mine->common_count = 0;
    if (t < 2) mine->common[t] = RADIX;  // none
    barrier_local();
    const u32 of_digit = t < RADIX ? load_acquire(&starts[(digit_word >> 16) * RADIX + t]) : 0;
    if (of_digit > n / COMMON_SHARE) {
      const u32 slot = local_add(&mine->common_count, 1u);
      if (slot < 2) mine->common[slot] = t;
    }
    const index_t start_of_digit = wg_scan_add(mine->scratch, RADIX, of_digit, &all);
    if (t < RADIX) mine->first[t] = start_of_digit;
#endif
#if SEGMENTED
#define TAKE_TILE(turn) take_tile(mine, &mine->tiles[(turn) % 4], &state[pass], segments)
    barrier_local();
#else
#define TAKE_TILE(turn) take_tile(&mine->tiles[(turn) % 4], &state[pass], n)
#endif
    if (t == 0) TAKE_TILE(turn);
    barrier_local();

    u32 next = mine->tiles[turn % 4].number, current = NO_TILE;
    index_t total = 0, start = 0;  // of this work-item's digit in the tile at hand
    u32 taken = 0;                 // tiles
#if COUNTED
    // Where digits begin, and whether any has too many records.
    column_t column = sum_column(mine, table, tiles, next);
    const index_t digit_first = wg_scan_add(mine->scratch, RADIX, t < RADIX ? column.all : 0, &all);
    if (t == 0) mine->left_out = 0;
    barrier_local();
    if (t < RADIX && column.all > capacity) local_or(&mine->left_out, 1u);
    if (next == 0 && t < RADIX) starts[t] = (u32)digit_first;
    if (next == 0 && t == 0) starts[RADIX] = (u32)n;
    barrier_local();
    if (mine->left_out) {
      if (next == 0 && t == 0) *gate = 1;
      return;
    }
#endif

    for (;;) {
      ukey_t key[ITEMS];
      u32 place[(ITEMS + 1) / 2];  // two places a word
#if VALUE_BYTES
      value_t value[ITEMS];
#endif
      index_t next_total = 0, next_start = 0;
      u32 following = NO_TILE;

      if (next < tiles) {
        LOCAL const tile_t *tile = &mine->tiles[turn % 4];
        // Load. Each sub-group has a contiguous piece of the tile, its lanes are neighbours.
        UNROLL for (u32 i = 0; i < ITEMS; ++i)
          key[i] = from[tile->begin + min(first + i * SG_LANES, tile->count - 1)];
#if CODES
        if (pass == 0)
          UNROLL for (u32 i = 0; i < ITEMS; ++i) {
            key[i] = untied_order(key[i]);
#ifdef SPREAD_BITS
            key[i] = spread_order(key[i], spread[spread_index(key[i])]);
#endif
          }
#endif
        if (tile->count < TILE)  // what stands in for keys past the end sorts after them all, and is never written out
          UNROLL for (u32 i = 0; i < ITEMS; ++i) key[i] = first + i * SG_LANES < tile->count ? key[i] : PADDING;
        if (t == 0) TAKE_TILE(turn + 1);

        // Rank in the sub-group, in the order of the input.
#if ORDERED_LOCAL_ATOMICS
        // Lanes with the same digit wait for each other: the first keys tell whether there are many. Where the sub-group
        // has only one digit, places count up.
        const u32 probe = sg_shuffle(sg, DIGIT(key[0]), 0);
        if (sg_ballot(sg, DIGIT(key[0]) != probe) != 0) {
#if !SEGMENTED
          if (mine->common_count != 0) RANK_TILE_COMMON
          else
#endif
            RANK_TILE(sg_rank)
        } else {
          u32 others = 0;
          UNROLL for (u32 i = 0; i < ITEMS; ++i) others |= DIGIT(key[i]) ^ probe;
          if (sg_ballot(sg, others) == 0) {
            UNROLL for (u32 i = 0; i < ITEMS; ++i) {
              const u32 rank = i * SG_LANES + lane;
              place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank;
            }
            if (lane == 0) my_ranks[probe] = ITEMS * SG_LANES;
          } else {
            RANK_TILE(sg_rank_alike)
          }
        }
#else
        RANK_TILE(sg_rank)
#endif
        barrier_local();
        following = mine->tiles[(turn + 1) % 4].number;

        // Values: on their way while this work-group sums, scans and looks back.
#if VALUE_BYTES
        if (positions)
          UNROLL for (u32 i = 0; i < ITEMS; ++i) value[i] = (value_t)(tile->begin + first + i * SG_LANES);
        else if (tile->count == TILE)
          UNROLL for (u32 i = 0; i < ITEMS; ++i) value[i] = values_from[tile->begin + first + i * SG_LANES];
        else
          UNROLL for (u32 i = 0; i < ITEMS; ++i)
            value[i] = values_from[tile->begin + min(first + i * SG_LANES, tile->count - 1)];
#endif

        // Sum over sub-groups, publish, scan over digits.
        u32 sum = 0;
        UNROLL for (u32 s = 0; s < TEAM_ROWS; ++s) sum += mine->ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
        mine->sums[t] = sum;
        barrier_local();
        u32 before = 0;
        UNROLL for (u32 q = 0; q < TEAMS; ++q) {
          const u32 c = mine->sums[q * RADIX + digit];
          before += q < team ? c : 0;
          next_total += c;
        }
        const index_t with_past = next_total;  // counts what stands in for keys, too
        if (digit == mask) next_total -= TILE - tile->count;
#if !COUNTED
        if (t < RADIX)
          ((volatile GLOBAL look_t *)look)[(u64)next * RADIX + t] =
              (look_t)(tile->first ? LOOK_ALL : LOOK_OWN) << LOOK_SHIFT | next_total;
#if SEGMENTED
        if (t < RADIX && pass == 0)  // of these tiles the fill would be taken for something: the next pass may have more
          for (u32 more = tiles + next; more < tiles + RADIX; more += tiles)
            look[(u64)more * RADIX + t] = (look_t)LOOK_OWN << LOOK_SHIFT;
#endif
#endif
        next_start = wg_scan_add(mine->scratch, RADIX, with_past, &all);
        if (t < RADIX) mine->sums[t] = (u32)next_start;
        barrier_local();
        u32 at = mine->sums[digit] + before;
        UNROLL for (u32 s = 0; s < TEAM_ROWS; ++s) {
          LOCAL u32 *c = &mine->ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
          const u32 in_row = *c;
          *c = at;
          at += in_row;
        }
      }

      if (current != NO_TILE) {
        LOCAL const tile_t *tile = &mine->tiles[(turn - 1) % 4];
        // Look back, then write out: neighbouring work-items write neighbouring records of a digit's run.
#if COUNTED
        if (taken != 1) column = sum_column(mine, table, tiles, current);
#endif
        if (t < RADIX) {
#if COUNTED
          const index_t before = column.before;
#else
#if SEGMENTED
          const index_t digit_first = starts[((u64)tile->segment * digits + min(t, mask)) << start_shift];
#else
          const index_t digit_first = mine->first[t];
#endif
          index_t before = 0;
          if (!tile->first) {
            before = look_back(look + t, current, LOOK_OWN, LOOK_ALL);
            ((volatile GLOBAL look_t *)look)[(u64)current * RADIX + t] = (look_t)LOOK_ALL << LOOK_SHIFT | (before + total);
          }
#endif
          mine->to_out[t] = digit_first + before - start;
        }
        barrier_local();
        const u32 last = pass + 1 == MOST;
        if (tile->count == TILE) {
          UNROLL for (u32 i = 0; i < ITEMS; ++i) WRITE_RECORD(t + i * WG)
        } else {
          for (u32 p = t; p < tile->count; p += WG) WRITE_RECORD(p)
        }
      }
      if (next >= tiles) break;
      barrier_local();
      ++taken;

      // Scatter into local memory: the tile is now sorted by digit.
      UNROLL for (u32 i = 0; i < ITEMS; ++i) {
        const u32 p = (place[i / 2] >> (16 * (i % 2)) & 0xffff) + my_ranks[DIGIT(key[i])];
        mine->keys[p] = key[i];
#if VALUE_BYTES
        mine->values[p] = value[i];
#endif
      }
      barrier_local();
      for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
      current = next;
      total = next_total;
      start = next_start;
      next = following;
      ++turn;
      barrier_local();
    }
    barrier_all();
    if (t == 0 && taken != 0) global_add_release(&state[STATE_DONE + pass], taken);
  }
}
