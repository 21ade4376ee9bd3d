// One-sweep radix sort: what its passes do with a tile. columns.cl stands in front of it; behind
// it, onesweep_pipelined.cl or onesweep_turns.cl, which say in which order a work-group's tiles go
// through it, and onesweep.cl, the kernel. Parameters: WG, ITEMS, RESIDENT (work-groups of a
// compute unit), PASSES, COUNT_BITS, LONG_COUNTS (there are 2^COUNT_BITS records or more), COPIES,
// TURNS (keys and values take turns in local memory), COMMON_SHARE, SEGMENTED (for msd: one or two
// passes, from the leading digit on; the second sorts each of the first one's digits as a segment
// of its own), CODES, SPREAD_BITS.

// CODES, for floats: from the first pass's reading to the last one's writing, keys are codes, whose
// digits cost no more than an integer's. That would lose what ties, so the work-groups look for
// such keys while they count: where there is one, they say so in `ties` and make no passes, and a
// second launch sorts without codes. SEGMENTED, it is msd that has looked; codes are spread orders
// (SPREAD_BITS), which the last pass leaves as they are.
#if CODES
#define DIGIT(key) ((u32)((key) >> p.shift) & p.mask)
#define PADDING ((ukey_t) ~(ukey_t)0)
#else
#define DIGIT(key) key_digit(key, p.shift, p.mask)
#define PADDING KEY_LAST
#endif
// CODE_OF: what a key's digits are taken from. DIGIT_FLIP: a digit comes where (digit ^ this) says.
#if CODES && !SEGMENTED
// The code is a number in two's complement, which the same mask makes of a key, and a key of it.
// What its sign and descending order ask for, digits are given.
#define CODE_MASK ((ukey_t)(KEY_SIGN - 1))
#define MASK_NEGATIVE(key, mask) \
  ((ukey_t)((key) ^ ((ukey_t)(0 - ((key) >> (KEY_BITS - 1))) & (mask))))
#define CODE_OF(key) MASK_NEGATIVE(key, CODE_MASK)
#define KEY_OUT(code) MASK_NEGATIVE(code, p.decode)
#define HAS_SIGN(shift, mask) ((u64)(mask) << (shift) >> (KEY_BITS - 1) != 0)
#define DIGIT_FLIP(shift, mask) \
  ((KEY_DESCENDING ? (mask) : 0u) ^ (HAS_SIGN(shift, mask) ? ((mask) + 1) / 2 : 0u))
#else
#define CODE_OF(key) (CODES ? untied_order(key) : key_order(key))
#define KEY_OUT(code) (code)
#define DIGIT_FLIP(shift, mask) 0u
#endif

#define TILE (WG * ITEMS)
#define NO_TILE 0xffffffffu
#define NO_RECORDS ((index_t) ~(index_t)0)
// A sector of memory that two stores fill is written twice. So a row of lanes takes the records of
// a run, which are a digit's, from the first one on whose place in the output is a multiple of
// SECTOR; those before it come last.
#define ROTATED (VALUE_BYTES && !TURNS)
#define SECTOR 8u  // keys or values of 4 bytes

// A word of the look-back table: the lower COUNT_BITS of a digit's count, and what is known of it.
#define LOOK_COUNT ((1u << COUNT_BITS) - 1)
// Above the count stands LOOK_OWN, if it is of the tile alone, or LOOK_ALL, of the tile and all
// before it. Passes take turns with two of each, so that one table does for all: what the pass
// before has left, or the fill, is as good as nothing.
#define LOOK_OWN (p.number % 2 ? 0u : 2u)
#define LOOK_ALL (LOOK_OWN + 1)

// A tile: `count` records from `begin`; it is the first of its list or segment, or has others
// before it.
typedef struct {
  u64 begin;
  u32 number, count, first, segment;
} tile_t;

typedef struct {
  u32 left_out;         // passes, a bit each
  u32 common[2];        // digits that many records have; RADIX: none
  tile_t tiles[4];      // by turns: the one that is written out, the one that is ranked, the next
  u32 most, digits[8];  // how many there are of the others, and of each its number, mask and shift
                        // (see DIGIT_WORD)
  u32 padding[27];      // to HEAD_BYTES; what follows is also the room for histograms
#if TURNS
  union {
    ukey_t keys[TILE];
    value_t values[TILE];
  } tile;  // the one at hand, sorted by digit: its keys, then its values
#else
  ukey_t keys[TILE];  // the tile at hand, sorted by digit
#if VALUE_BYTES
  value_t values[TILE];
#endif
#endif
#if SEGMENTED
  index_t segments[RADIX + 1];  // where they begin
  u32 first_tiles[RADIX + 1];   // and their first tiles, counted over all segments
#else
  index_t first[RADIX];  // where the digit's records begin in the output, or NO_RECORDS
#endif
#if ROTATED
  u32 runs[RADIX];  // of the digit's records in the sorted tile: how many there are in 15 bits,
                    // where they end in 15 more, and RUN_IS_LONG
#endif
  index_t to_out[RADIX];  // place in the sorted tile + this = place in the output
  index_t scratch[SCAN_WORDS(RADIX)];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
} onesweep_memory_t;
#define HEAD_BYTES 256u

// A pass, as all that is done with its tiles has to know it.
typedef struct {
  GLOBAL const ukey_t* from;
  GLOBAL ukey_t* to;  // null: an argsort does not want the keys
  GLOBAL const value_t* values_from;
  GLOBAL value_t* values_to;
  GLOBAL const u32* starts;  // SEGMENTED: see the kernel
  GLOBAL u32 *look, *marks;
  GLOBAL u32* ticket;
  GLOBAL const u32* spread;
  u64 n;
#ifdef CODE_MASK
  ukey_t decode;  // CODE_MASK in the last pass, else 0
#endif
  u32 number, last, shift, mask, tiles;
  u32 positions;                      // values are positions, and not read
  u32 segments, digits, start_shift;  // SEGMENTED
} pass_t;

// Counts of the digit in all tiles before `tile`, which is not the first. The walk ends at the
// first tile that knows all before it; several words are on their way at a time.
#define LOOK_WINDOW 4
INLINE u32 look_back(volatile GLOBAL u32* column, u32 tile, u32 own, u32 all) {
  u32 before = 0;
  u32 at = tile, done = 0;
  while (!done) {
    u32 word[LOOK_WINDOW];
    UNROLL
    for (u32 k = 0; k < LOOK_WINDOW; ++k)
      word[k] = at > k ? column[(u64)(at - 1 - k) * RADIX] : all << COUNT_BITS;
    u32 wait = 0;
    UNROLL
    for (u32 k = 0; k < LOOK_WINDOW; ++k) {
      const u32 kind = word[k] >> COUNT_BITS;
      wait |= kind != own && kind != all;  // not yet published: from here again
      if (!wait && !done) {
        before += word[k] & LOOK_COUNT;
        done = kind == all;
        --at;
      }
    }
  }
  return before & LOOK_COUNT;
}

#if LONG_COUNTS
// A tile in MARK_TILES, which have half as many records as COUNT_BITS count, says for each digit
// how many such halves are before it, and one more. So the tiles up to the next that does so know
// all of a count whose lower bits they have found. `first`: of the tile's list or segment.
#define MARK_TILES ((1u << (COUNT_BITS - 1)) / TILE)
#define MARK_ROWS(n) ((u32)(((n) + TILE - 1) / TILE + RADIX) / MARK_TILES + 1)
INLINE index_t whole_count(volatile GLOBAL u32* marks, u32 lower, u32 tile, u32 first) {
  const u32 row = (tile - 1) / MARK_TILES;
  u32 mark = 1;
  if (row * MARK_TILES > first) do
      mark = marks[(u64)row * RADIX];
    while (mark == 0);
  const index_t least = (index_t)(mark - 1) << (COUNT_BITS - 1);
  return least + ((lower - (u32)least) & LOOK_COUNT);
}
#endif

// By one work-item: the next ticket's tile. One past the last is none, whatever the rest of it
// says.
#if SEGMENTED
// Tiles are numbered through all segments, and each segment begins a new one.
INLINE void take_tile(LOCAL onesweep_memory_t* mine, LOCAL tile_t* tile, GLOBAL u32* ticket, u64 n,
                      u32 segments) {
  const u32 number = tile->number = global_add(ticket, 1u);
  u32 low = 0, high = segments;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (mine->first_tiles[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  const u32 within = number - mine->first_tiles[low];
  const u64 begin = (u64)mine->segments[low] + (u64)within * TILE;
  tile->begin = begin;
  tile->count = (u32)min((u64)TILE, (u64)mine->segments[low + 1] - begin);
  tile->first = within == 0;
  tile->segment = low;
}
#else
INLINE void take_tile(LOCAL onesweep_memory_t* mine, LOCAL tile_t* tile, GLOBAL u32* ticket, u64 n,
                      u32 segments) {
  const u32 number = tile->number = global_add(ticket, 1u);
  const u64 begin = (u64)number * TILE;
  tile->begin = begin;
  tile->count = (u32)min((u64)TILE, n - begin);
  tile->first = begin == 0;
}
#endif

#if !SEGMENTED
// How many keys have the digit, once all are counted.
INLINE index_t keys_of_digit(GLOBAL u32* histograms, u32 pass, u32 digit) {
  return READ_COUNT(load_relaxed, &histograms[pass * RADIX + digit], PASSES * RADIX);
}

// Counts a key's digits, of all passes. Gives whether it ties, which only CODES have to know: then
// the counts are not wanted.
INLINE u32 count_key(LOCAL u32* bins, ukey_t key, u64 shifts, u64 widths) {
  const ukey_t ordered = CODE_OF(key);
  UNROLL
  for (u32 p = 0; p < PASSES; ++p) {
    const u32 shift = (u32)(shifts >> (8 * p)) & 255, width = (u32)(widths >> (8 * p)) & 255;
    local_add(&bins[(p * RADIX + ((u32)(ordered >> shift) & ((1u << width) - 1))) * COPIES], 1u);
  }
#if CODES
  return key_ties(key);
#else
  return 0;
#endif
}

// Histograms of all passes' digits in one reading, by tiles or halves of them, so that short lists,
// of which each work-group sorts one, are counted as evenly. Lanes count in COPIES of their own, in
// banks of their own, so that they seldom wait for each other. Gives how many such this work-group
// has counted.
#define COUNT_ITEMS (ITEMS > 24 ? (ITEMS + 1) / 2 : ITEMS)
#define COUNT_TILE (WG * COUNT_ITEMS)
#define COUNT_TILES(n) ((u32)(((n) + COUNT_TILE - 1) / COUNT_TILE))
OUTLINE u32 count_digits(LOCAL onesweep_memory_t* mine, GLOBAL const ukey_t* keys,
                         GLOBAL u32* histograms, GLOBAL u32* ticket, GLOBAL u32* ties, u64 n,
                         u64 shifts, u64 widths) {
  const u32 t = local_id(), tiles = COUNT_TILES(n);
  u32 seen = 0, counted = 0;
  LOCAL u32* words = (LOCAL u32*)mine;
  const u32 bins = HEAD_BYTES / 4;
  LOCAL u32* my_bins = words + (bins + t % COPIES);
  if (t == 0) mine->tiles[0].number = global_add(ticket, 1u);
  for (u32 b = t; b < PASSES * RADIX * COPIES; b += WG) words[bins + b] = 0;
  barrier_local();
  for (;; ++counted) {
    const u32 tile = mine->tiles[counted % 2].number;
    if (tile >= tiles) break;
    if (t == 0) mine->tiles[(counted + 1) % 2].number = global_add(ticket, 1u);
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
  return counted;
}
#endif

// The steps of a tile.
#define FIRST_OF_LANE (sg_index() * (SG_LANES * ITEMS) + sg_lane())
#define MY_RANKS (mine->ranks + sg_index() * RANK_WORDS)
#define TAKE_TILE(turn) take_tile(mine, &mine->tiles[(turn) % 4], p.ticket, p.n, p.segments)

// Load. Each sub-group has a contiguous piece of the tile, its lanes are neighbours. What stands in
// for keys past the end sorts after them all, and is never written out.
INLINE void load_keys(pass_t p, LOCAL const tile_t* tile, ukey_t* key) {
  const u32 first = FIRST_OF_LANE;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    key[i] = p.from[tile->begin + min(first + i * SG_LANES, tile->count - 1)];
#if CODES
  if (p.number == 0) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    key[i] = CODE_OF(key[i]);
#ifdef SPREAD_BITS
    key[i] = spread_order(key[i], p.spread[spread_index(key[i])]);
#endif
  }
#endif
  if (tile->count < TILE) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = first + i * SG_LANES < tile->count ? key[i] : PADDING;
}

#if VALUE_BYTES
INLINE void load_values(pass_t p, LOCAL const tile_t* tile, value_t* value) {
  const u32 first = FIRST_OF_LANE;
  if (p.positions) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) value[i] = (value_t)(tile->begin + first + i * SG_LANES);
  else if (tile->count == TILE) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) value[i] = p.values_from[tile->begin + first + i * SG_LANES];
  else UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    value[i] = p.values_from[tile->begin + min(first + i * SG_LANES, tile->count - 1)];
}
#endif

// Ranks in the sub-group, in the order of the input. Two places a word.
#define DIGIT_OF(i) DIGIT(key[i])
#define PUT_PLACE(i, rank) place[(i) / 2] = (i) % 2 ? place[(i) / 2] | (rank) << 16 : (rank);
#define RANK_TILE(rank_record)                                  \
  UNROLL                                                        \
  for (u32 i = 0; i < ITEMS; ++i) {                             \
    const u32 rank = rank_record(my_ranks, RADIX, DIGIT_OF(i)); \
    PUT_PLACE(i, rank)                                          \
  }

INLINE void rank_keys(LOCAL onesweep_memory_t* mine, sub_group_t sg, pass_t p, const ukey_t* key,
                      u32* place) {
  LOCAL u32* my_ranks = MY_RANKS;
#if ORDERED_LOCAL_ATOMICS
  // Lanes with the same digit wait for each other: the first keys tell whether there are many.
  // Where the sub-group has only one digit, places count up.
  const u32 probe = sg_shuffle(sg, DIGIT(key[0]), 0);
  if (sg_ballot(sg, DIGIT(key[0]) != probe) != 0) {
#if !SEGMENTED
    const u32 one = mine->common[0],
              two = mine->common[1];  // 1 in COMMON_SHARE of all records each, or more
    if (one != RADIX)
      SG_RANK_COMMON(ITEMS, my_ranks, RADIX, DIGIT_OF, one, two, PUT_PLACE)
    else
#endif
      RANK_TILE(sg_rank)
  } else {
    u32 others = 0;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) others |= DIGIT(key[i]) ^ probe;
    if (sg_ballot(sg, others) == 0) {
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) {
        const u32 rank = i * SG_LANES + sg_lane();
        PUT_PLACE(i, rank)
      }
      if (sg_lane() == 0) my_ranks[probe] = ITEMS * SG_LANES;
    } else {
      RANK_TILE(sg_rank_alike)
    }
  }
#else
  RANK_TILE(sg_rank)
#endif
}
#define PLACE(i) ((place[(i) / 2] >> (16 * ((i) % 2)) & 0xffff) + my_ranks[DIGIT(key[i])])

// Sums over sub-groups, publishes, scans over digits; ranks' counts become the places where
// sub-groups' digits begin. Gives the digit's count and where it begins in the sorted tile. Begins
// after a barrier, and ends before one.
INLINE index_t count_tile(LOCAL onesweep_memory_t* mine, pass_t p, LOCAL const tile_t* tile,
                          index_t* start) {
  const u32 t = local_id();
  u32 before;
  index_t total = sum_digit(mine->ranks, mine->sums, &before), all;
  const index_t with_past = total;  // counts what stands in for keys, too
  if (t % RADIX == p.mask) total -= TILE - tile->count;
  if (t < RADIX)
    ((volatile GLOBAL u32*)p.look)[(u64)tile->number * RADIX + t] =
        (tile->first ? LOOK_ALL : LOOK_OWN) << COUNT_BITS | (u32)total;
#if SEGMENTED
  if (t < RADIX &&
      p.number ==
          0)  // of these tiles the fill would be taken for something: the next pass may have more
    for (u32 more = p.tiles + tile->number; more < p.tiles + RADIX; more += p.tiles)
      p.look[(u64)more * RADIX + t] = LOOK_OWN << COUNT_BITS;
#endif
  *start = wg_scan_add(mine->scratch, RADIX, with_past, &all);
  place_digit(mine->ranks, mine->sums, (u32)*start, before);
  return total;
}

#define RUN_IS_LONG 0x80000000u  // more than the records that come last may be
// Of a digit that no key has nobody wants to know anything. (Small tiles with values are slower for
// it: 2 distinct keys, 2^28, 5.41 and 5.47 ms.)
#if SEGMENTED || (VALUE_BYTES && RESIDENT > 1)
#define HAS_DIGIT 1
#else
#define HAS_DIGIT (begin != NO_RECORDS)
#endif
#if SEGMENTED
#define FIRST_TILE(tile) mine->first_tiles[(tile)->segment]
#else
#define FIRST_TILE(tile) 0
#endif

// Looks back, by t < RADIX: where the digit's records of the tile go. `total` and `start` are
// count_tile's.
INLINE void find_digit(LOCAL onesweep_memory_t* mine, pass_t p, LOCAL const tile_t* tile,
                       index_t total, index_t start) {
  const u32 t = local_id();
#if SEGMENTED
  index_t begin = p.starts[((u64)tile->segment * p.digits + min(t, p.mask)) << p.start_shift];
#else
  index_t begin = mine->first[t];
#endif
  index_t of_others = 0;
  if (!tile->first && HAS_DIGIT) {
    of_others = look_back(p.look + t, tile->number, LOOK_OWN, LOOK_ALL);
    ((volatile GLOBAL u32*)p.look)[(u64)tile->number * RADIX + t] =
        LOOK_ALL << COUNT_BITS | ((u32)(of_others + total) & LOOK_COUNT);
#if LONG_COUNTS
    of_others = whole_count(p.marks + t, (u32)of_others, tile->number, FIRST_TILE(tile));
#endif
  }
#if LONG_COUNTS
  if (tile->number % MARK_TILES == 0)
    ((volatile GLOBAL u32*)p.marks)[(u64)(tile->number / MARK_TILES) * RADIX + t] =
        (u32)(of_others >> (COUNT_BITS - 1)) + 1;
#endif
  begin += of_others;
  mine->to_out[t] = begin - start;
#if ROTATED
  mine->runs[t] = (u32)(start + total) << 15 | (u32)total | (total >= SECTOR ? RUN_IS_LONG : 0);
#endif
}
