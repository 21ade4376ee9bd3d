// Radix passes with decoupled look-back: the steps for one tile. A tile is loaded and ranked by the
// pass's digit, its digit counts are published, and a look-back at earlier tiles finds the
// positions of its records.
//
// Joined from: key_map.cl, equalize.cl, stretch.cl, columns.cl, this file, radix_settle.cl, then
// radix_pass_pipelined.cl or radix_pass_alternating.cl (the order in which a work-group's tiles go
// through these steps), then radix_passes.cl (the kernel, its inputs and outputs). The passes of
// short lists (radix_rows.cl) take the same steps without look-back.

PARAMETER(WG)          // work-items of a work-group, a power of two from 256 on
PARAMETER(ITEMS)       // records of a work-item in a tile, odd
PARAMETER(RESIDENT)    // work-groups that share a compute unit
PARAMETER(PASSES)      // digits of a key; with SEGMENTED always 2, the most that are possible
PARAMETER(COUNT_BITS)  // width of a count in the look-back table, in bits
PARAMETER(
    LONG_COUNTS)   // 1: the list has at least 2^COUNT_BITS records, so there is a table of marks
PARAMETER(COPIES)  // copies of each histogram in local memory, a power of two up to 32
PARAMETER(ALTERNATING)  // 1: a tile's keys and values use the same local memory one after the other
PARAMETER(COMMON_SHARE)  // a digit is common if more than one record in this many has it
PARAMETER(LOOKS_BACK)    // 0: a table has the digit counts of all tiles (radix_rows.cl)
PARAMETER(SEGMENTED)  // 1: one or two passes from the leading digit on; the second pass partitions
                      // each segment (the records with one value of the first digit). 0: all
                      // passes, the least significant digit first
PARAMETER(CODES)      // 1: between passes, keys of floats are codes (below)
PARAMETER(ALL_BITS)   // 1: all bits of the keys are compared; used with CODES
PARAMETER(LISTED)     // 1: only the listed parts of the list are sorted (radix_passes.cl)
PARAMETER(SPREAD_BITS)  // used with SEGMENTED and CODES: width of a lead (msd_count.cl) in bits; 0:
                        // no spread orders
PARAMETER(CLASS_DIGITS)  // used with SPREAD_BITS: see class_lead()
PARAMETER(MAP_LOCAL)     // 1: the map is copied to local memory; used if MAP_CELLS is not 0

// With MAP_CELLS, which needs SEGMENTED, a digit consists of some bits of the number of the key's
// bucket (key_map.cl). Each digit is looked up once. In the pipelined order, local memory keeps it.
// With EQUALIZES, which needs SEGMENTED, too, it always does: the first pass equalizes keys
// (equalize.cl), which lack some bits of its digit.
#define MAPS (MAP_CELLS != 0)
#define KEEPS_DIGITS (EQUALIZES || (MAPS && !ALTERNATING))

// CODES, for floats: the first pass turns keys into codes, and the last one turns them back. A
// code's digits cost no more than an integer's. Codes cannot represent ties, so the work-groups
// look for keys that need them (needs_ties) while they count: "keys tie" means that there is one.
// Then they set `ties` and make no passes, and a second launch sorts without codes. With SEGMENTED,
// the caller has already checked for ties; codes are spread orders (SPREAD_BITS), and the last pass
// does not change them.
#if CODES
#define DIGIT(key) ((u32)((key) >> p.shift) & p.mask)
#define PADDING ((ukey_t) ~(ukey_t)0)
#elif MAPS
#define DIGIT(key) LOOK_UP(key, p.window.pivots)
#define LOOK_UP(key, pivots) (bucket_of_key(mine, p, key, pivots) >> p.shift & p.mask)
#define PADDING KEY_LAST
#else
#define DIGIT(key) key_digit(key, p.shift, p.mask)
#define PADDING KEY_LAST
#endif
// CODE_OF(key): the number whose bits are the key's digits. KEY_OUT(code): the key again.
// DIGIT_FLIP: digits are in ascending order of (digit ^ DIGIT_FLIP).
#if CODES && !SEGMENTED
// Float codes (key_order.h). A pass writes codes, the last pass keys.
#define CODE_MASK ((ukey_t)float_code_mask(KEY_BITS))
#define CODE_OF(key) ((ukey_t)float_code(key, CODE_MASK, KEY_BITS))
#define KEY_OUT(code) ((ukey_t)float_code(code, p.decode, KEY_BITS))
#define DIGIT_FLIP(shift, mask) float_code_flip(shift, mask, KEY_BITS, KEY_DESCENDING)
#else
#define CODE_OF(key) (CODES ? untied_order(key) : key_order(key))
#define KEY_OUT(code) (code)
#define DIGIT_FLIP(shift, mask) 0u
#endif

#define TILE (WG * ITEMS)
#define NO_TILE 0xffffffffu
#define NO_RECORDS ((index_t) ~(index_t)0)
// A run is the records of one digit in a tile. A sector of memory that is filled by two stores is
// written twice. ROTATED: the lanes first store the records of a run from its first record at a
// sector boundary of the output (an output index divisible by SECTOR). The records before it are
// stored last.
#define ROTATED (VALUE_BYTES && !ALTERNATING && LOOKS_BACK)
#define SECTOR 8u  // keys or values of 4 bytes

// A word of the look-back table has the lower COUNT_BITS of a digit's count and, above them, a
// kind. LOOK_OWN: the count of this tile. LOOK_ALL: the count of this tile and all tiles before it.
// Even and odd passes use different kinds, so one table serves all passes: a word that is left from
// the initial fill or the previous pass has neither of the two kinds.
#define LOOK_COUNT ((1u << COUNT_BITS) - 1)
#define LOOK_OWN (p.number % 2 ? 0u : 2u)
#define LOOK_ALL (LOOK_OWN + 1)

// A tile: `count` records from index `begin`. `first` is 1 if it is the first tile of its
// list or segment.
typedef struct {
  u64 begin;
  u32 number, count, first, segment;
} tile_t;

// fixed_local_bytes() in radix_passes.cpp computes its size without keys and values.
typedef struct {
  u32 skipped;    // one bit for each pass: 1 if all keys have the same digit
  u32 common[2];  // the two most common digits of the pass; RADIX: there is none
  tile_t
      tiles[4];   // a ring: the tile that is written out, the tile that is ranked, and the next one
  u32 most;       // the passes to make have the numbers from `first_pass` to `most` - 1
  u32 digits[8];  // the DIGIT_WORD of each pass, from `first_pass` on
  u32 first_pass;
  u32 odd;       // 1: an odd number of passes is skipped
  u32 low_bits;  // number of bits to settle after the last pass (radix_settle.cl)
  u32 first_tile, next_tile, differ, is_left;  // radix_rows.cl
  u32 padding[20];  // pads to HEAD_BYTES. Samples, histograms and lists of groups begin behind it
#if ALTERNATING
  union {
    ukey_t keys[TILE];
    value_t values[TILE];
  } tile;  // the current tile, sorted by digit: its keys, then its values
#else
  ukey_t keys[TILE];  // the current tile, sorted by digit
#if VALUE_BYTES
  value_t values[TILE];
#endif
#endif
#if SEGMENTED
  index_t segments[RADIX + 1];  // index of the first record of each segment
  u32 first_tiles[RADIX +
                  1];  // number of the first tile of each segment, counted over all segments
#else
  index_t first[RADIX];  // output index where each digit's records begin, or NO_RECORDS
#endif
#if ROTATED
  u32 runs[RADIX];  // for each digit: the length of its run (15 bits), the run's end in the sorted
                    // tile (15 bits), and RUN_IS_LONG
#endif
  index_t to_out[RADIX];  // slot in the sorted tile + to_out = output index
  index_t scratch[SCAN_WORDS(RADIX)];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
#if MAP_LOCAL
  map_t map;
#endif
#if KEEPS_DIGITS
  u8 digit_of_slot[TILE];  // of the current tile's keys
#endif
#if EQUALIZES
  u32 entries[EQUALIZER_ENTRIES];
#endif
} onesweep_memory_t;
#define HEAD_BYTES 256u

// The arguments of a pass.
typedef struct {
  GLOBAL const ukey_t* from;
  GLOBAL ukey_t* to;  // null if the last pass writes no keys (argsort)
  GLOBAL const value_t* values_from;
  GLOBAL value_t* values_to;
  GLOBAL const u32* starts;  // SEGMENTED: output index where each bucket begins; see the kernel
  GLOBAL u32 *look, *marks;  // the look-back table and, with LONG_COUNTS, the marks
  GLOBAL u32* ticket;
#if MAPS
  GLOBAL const u32* map;
  window_t window;
#endif
#if EQUALIZES
  cells_t cells;
#endif
  GLOBAL const u32* spread;
#if STRETCHES
  GLOBAL const u32* stretch;
  u32 is_stretched;
#endif
  u64 n;
#ifdef CODE_MASK
  ukey_t decode;  // CODE_MASK in the last pass, else 0
#endif
  u32 number, last, shift, mask, tiles;
  u32 encodes;      // CODES: 1: this pass reads keys, not codes
  u32 positions;    // 1: values are positions, which are computed instead of read
  u32 segments;     // SEGMENTED: the number of segments of this pass
  u32 digits;       // SEGMENTED: the number of values of the digit
  u32 start_shift;  // SEGMENTED: log2 of the buckets in one value of the digit
} pass_t;

#if MAPS
INLINE u32 bucket_of_key(LOCAL const onesweep_memory_t* mine, pass_t p, ukey_t key, u32 pivots) {
#if MAP_LOCAL
  return bucket_of_order(&mine->map, p.window, key_order(key), pivots);
#else
  return bucket_by_global_map(p.map, p.window, key_order(key), pivots);
#endif
}
#endif

#if LOOKS_BACK
// Look-back: returns the count of a digit in all tiles before `tile`, which must not be the first
// tile. Goes backwards from the previous tile to the first word of kind `all`, and loads
// LOOK_WINDOW words at a time.
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
      wait |= kind != own && kind != all;  // not published yet: load from here again
      if (!wait && !done) {
        before += word[k] & LOOK_COUNT;
        done = kind == all;
        --at;
      }
    }
  }
  return before & LOOK_COUNT;
}
#endif

#if LONG_COUNTS
// Counts of more than COUNT_BITS bits (LONG_COUNTS). Every tile whose number is a multiple of
// MARK_TILES publishes a mark for each digit: 1 + the number of records of the digit in all earlier
// tiles, divided by 2^(COUNT_BITS - 1). MARK_TILES tiles have at most that many records. So a tile
// can complete its count from its lower bits and the latest mark before it. whole_count returns the
// full count of `tile` from its `lower` bits. `first` is the first tile of the tile's list or
// segment.
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

// Called by one work-item: takes a ticket and describes its tile. If the tile's number is past the
// last tile, there is no tile, and the other members have no meaning.
#if SEGMENTED
// Tiles are numbered over all segments, and every segment begins with a new tile.
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

// ---- The steps of a tile ----
#define FIRST_OF_LANE (sg_index() * (SG_LANES * ITEMS) + sg_lane())
#define MY_RANKS (mine->ranks + sg_index() * RANK_WORDS)
#define TAKE_TILE(turn) take_tile(mine, &mine->tiles[(turn) % 4], p.ticket, p.n, p.segments)

// Load. Each sub-group loads a contiguous piece of the tile, and neighbouring lanes load
// neighbouring records. Keys past the end are PADDING, which sorts after all keys and is never
// written out.
INLINE void load_keys(pass_t p, LOCAL const tile_t* tile, ukey_t* key) {
  const u32 first = FIRST_OF_LANE;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    key[i] = p.from[tile->begin + min(first + i * SG_LANES, tile->count - 1)];
#if STRETCHES
  if (p.number == 0 && p.is_stretched) {
    stretch_t stretch;
    load_stretch(p.stretch, &stretch);
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) key[i] = stretched_key(stretch, key[i]);
  }
#endif
#if CODES && SPREAD_BITS
  if (p.encodes) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = spread_key(key[i], p.spread);
#elif CODES
  if (p.encodes) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = CODE_OF(key[i]);
#endif
  if (tile->count < TILE) UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = first + i * SG_LANES < tile->count ? key[i] : PADDING;
}

#if EQUALIZES
// Equalizes the key. Returns the bucket's number, in the lower 16 bits, and other bits.
INLINE u32 equalize_key(LOCAL const u32* entries, cells_t cells, ukey_t* key) {
  const u32 order = key_order(*key), entry = entries[entry_of_order(cells, order)],
            bucket = bucket_by_entry(entry, order);
  *key = key_of_order(KEY_IN_BUCKET(bucket) | distance_by_entry(entry, order));
  return bucket;
}
#endif

// Digits, with MAPS or EQUALIZES: digits[i / 4] has those of the work-item's keys i to i + 3, a
// byte each. The last digit is that of keys past the end. With EQUALIZES, the first pass turns keys
// into places.
INLINE void look_up_digits(LOCAL const onesweep_memory_t* mine, pass_t p, LOCAL const tile_t* tile,
                           ukey_t* key, u32* digits) {
#if MAPS || EQUALIZES
  const u32 first = FIRST_OF_LANE, count = tile->count;
#define KEEP_DIGITS(of_key)                                                    \
  UNROLL                                                                       \
  for (u32 i = 0; i < ITEMS; ++i) {                                            \
    const u32 digit = first + i * SG_LANES < count ? (of_key) : p.mask;        \
    digits[i / 4] = i % 4 != 0 ? digits[i / 4] | digit << 8 * (i % 4) : digit; \
  }
#endif
#if EQUALIZES
  if (p.number == 0)
    KEEP_DIGITS(equalize_key(mine->entries, p.cells, &key[i]) >> p.shift & p.mask)
  else
    KEEP_DIGITS(DIGIT(key[i]))
#elif MAPS
  if (p.window.pivots)
    KEEP_DIGITS(LOOK_UP(key[i], 1))
  else
    KEEP_DIGITS(LOOK_UP(key[i], 0))
#endif
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

// Rank. place[i / 2] has the ranks of records i and i + 1, each 16 bits: the number of records
// before it in the sub-group's records with the same digit, in the order of the input. RANK_TILE
// ranks all records of the tile.
#if MAPS || EQUALIZES
#define DIGIT_OF(i) (digits[(i) / 4] >> 8 * ((i) % 4) & 255)
#else
#define DIGIT_OF(i) DIGIT(key[i])
#endif
// The digit of the key in slot `at` of the sorted tile, which is `key`.
#if KEEPS_DIGITS
#define DIGIT_AT(at, key) mine->digit_of_slot[at]
#define KEEP_DIGIT(i, at) mine->digit_of_slot[at] = (u8)DIGIT_OF(i);
#else
#define DIGIT_AT(at, key) DIGIT(key)
#define KEEP_DIGIT(i, at)
#endif
#define PUT_PLACE(i, rank) place[(i) / 2] = (i) % 2 ? place[(i) / 2] | (rank) << 16 : (rank);
#define RANK_TILE(rank_record)                                  \
  UNROLL                                                        \
  for (u32 i = 0; i < ITEMS; ++i) {                             \
    const u32 rank = rank_record(my_ranks, RADIX, DIGIT_OF(i)); \
    PUT_PLACE(i, rank)                                          \
  }

#if ORDERED_LOCAL_ATOMICS && !LOOKS_BACK
// Guesses the two most common digits of a sub-group's records from its first row. *one is RADIX if
// no digit is common, and *two if no other one is.
INLINE void guess_common(sub_group_t sg, u32 digit, u32* one, u32* two) {
  u32 most = SG_LANES / COMMON_SHARE, second = most;
  *one = *two = RADIX;
  UNROLL
  for (u32 lane = 0; lane < SG_LANES; lane += SG_LANES / 4) {
    const u32 d = sg_shuffle(sg, digit, lane), share = popcount32(sg_ballot(sg, digit == d));
    if (share > most) {
      if (d != *one) second = most, *two = *one;
      most = share, *one = d;
    } else if (share > second && d != *one) {
      second = share, *two = d;
    }
  }
}
#endif

INLINE void rank_keys(LOCAL onesweep_memory_t* mine, sub_group_t sg, pass_t p, const ukey_t* key,
                      const u32* digits, u32* place) {
  LOCAL u32* my_ranks = MY_RANKS;
#if ORDERED_LOCAL_ATOMICS
  // Additions of lanes with the same digit are serialised. The digits of the first row of keys show
  // whether many lanes share one. If all keys of the sub-group have one digit, their ranks are
  // consecutive numbers.
  const u32 probe = sg_shuffle(sg, DIGIT_OF(0), 0);
  if (sg_ballot(sg, DIGIT_OF(0) != probe) != 0) {
#if !SEGMENTED
#if LOOKS_BACK
    const u32 one = mine->common[0], two = mine->common[1];
#else
    u32 one, two;
    guess_common(sg, DIGIT_OF(0), &one, &two);
#endif
    if (one != RADIX)
      SG_RANK_COMMON(ITEMS, my_ranks, RADIX, DIGIT_OF, one, two, PUT_PLACE)
    else
#endif
      RANK_TILE(sg_rank)
  } else {
    u32 others = 0;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) others |= DIGIT_OF(i) ^ probe;
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
// The slot of record i in the sorted tile; valid after count_tile.
#define PLACE(i) ((place[(i) / 2] >> (16 * ((i) % 2)) & 0xffff) + my_ranks[DIGIT_OF(i)])

#if LOOKS_BACK
// Count and publish. Adds up the counts of the sub-groups, publishes the tile's count of each
// digit, and scans over digits. `ranks` then has the slot where each sub-group's records of each
// digit begin. Work-item t < RADIX handles digit t: it returns the digit's count, and stores in
// *start the digit's first slot in the sorted tile. A barrier must come before and after the call.
INLINE index_t count_tile(LOCAL onesweep_memory_t* mine, pass_t p, LOCAL const tile_t* tile,
                          index_t* start) {
  const u32 t = local_id();
  u32 before;
  index_t total = sum_digit(mine->ranks, mine->sums, &before), all;
  const index_t with_padding = total;
  if (t % RADIX == p.mask) total -= TILE - tile->count;
  if (t < RADIX)
    ((volatile GLOBAL u32*)p.look)[(u64)tile->number * RADIX + t] =
        (tile->first ? LOOK_ALL : LOOK_OWN) << COUNT_BITS | (u32)total;
#if SEGMENTED
  // The second pass may have up to RADIX tiles more than the first. Its look-back would mistake the
  // initial fill of their words for counts. So the first pass writes its own kind there.
  if (t < RADIX && p.number == 0)
    for (u32 more = p.tiles + tile->number; more < p.tiles + RADIX; more += p.tiles)
      p.look[(u64)more * RADIX + t] = LOOK_OWN << COUNT_BITS;
#endif
  *start = wg_scan_add(mine->scratch, RADIX, with_padding, &all);
  place_digit(mine->ranks, mine->sums, (u32)*start, before);
  return total;
}

#define RUN_IS_LONG 0x80000000u  // longer than the records that may come last
// Skip digits with no keys: no later tile reads their prefix. (Not for small tiles with values,
// which are slower with it: 2 distinct keys, 2^28 records: 5.41 -> 5.47 ms.)
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

// Look back. Work-item t < RADIX finds the output index of the tile's records with digit t, and
// sets to_out[t]. `total` and `start` are the results of count_tile.
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
#endif
