// msd, keys without values whose equal keys have equal bits: partitions keys into buckets by one or
// two passes from the leading digit on. The second pass partitions each segment that the first one
// made: the keys with one value of the leading digit. Not stable: a work-group sorts a tile by
// digit in local memory and reserves output for each digit by one addition to a shared count, which
// needs no look-back.
//
// The keys of a digit are written in whole chunks, which fill sectors of memory, because writing a
// part of a sector costs as much as the whole. The remaining keys of a digit, fewer than a chunk,
// are carried to the next tile. After the last tile of a ticket or segment they are written one by
// one.
//
// A digit consists of some bits of the number of the key's bucket. The number is the key's leading
// bits, comes from a map (key_map.cl), or is that of an equalized key (equalize.cl). These files,
// msd_set_aside.cl and stretch.cl come before this one.
//
// Both passes are one launch. A work-group gets RUN consecutive tiles with each ticket, and begins
// the second pass when all tiles of the first are written. Work-groups wait only for work-groups
// that have taken a ticket and so are running.

PARAMETER(WG)            // work-items of a work-group
PARAMETER(ITEMS)         // keys that a work-item has in a tile
PARAMETER(RESIDENT)      // work-groups that share a compute unit
PARAMETER(RUN)           // consecutive tiles that a work-group gets with one ticket
PARAMETER(SECTOR_BYTES)  // the device writes memory in units of this many bytes
PARAMETER(SPREAD_BITS)   // not 0: keys are floats that the first pass turns into spread orders;
                         // width of a lead in bits. Not with MAP_CELLS
PARAMETER(SETS_ASIDE)    // with SPREAD_BITS: see msd_set_aside.cl
// STRETCHES (stretch.cl) is 0 with MAP_CELLS, EQUALIZES or SPREAD_BITS. If it is 1, the first pass
// stretches keys if msd_count has chosen that.
PARAMETER(MAP_LOCAL)       // 1: the map is copied to local memory; used if MAP_CELLS is not 0
PARAMETER(VERDICT_MAPPED)  // value of *skewed if keys are mapped; see msd_count
PARAMETER(VERDICT_LISTED)  // the same if some buckets are listed, too

#define RADIX 256u
#define TILE ((u32)(WG * ITEMS))
#define CHUNK ((u32)(SECTOR_BYTES / sizeof(ukey_t)))
#define QUAD ((u32)(16 / sizeof(ukey_t)))  // keys that are moved by one 16-byte access
#define CARRY_QUADS (CHUNK / QUAD)
// In addition to a tile's keys, less than a chunk of each digit is carried, and less than a quad of
// slots of each digit stays empty.
#define SLOTS (TILE + RADIX * (CHUNK + QUAD))
#define MAPS (MAP_CELLS != 0)
#if SPREAD_BITS
#define DIGIT(key) ((u32)((key) >> p.shift) & p.mask)
#elif MAPS
#define DIGIT(key) LOOK_UP(key, p.window.pivots)
#define LOOK_UP(key, pivots) (bucket_of_key(mine, p.map, p.window, key, pivots) >> p.shift & p.mask)
#else
#define DIGIT(key) key_digit(key, p.shift, p.mask)
#endif
// DIGIT_OF(i) is the digit of the work-item's key i. The digit of a mapped key is looked up once; a
// word keeps four digits. DIGIT_OF_QUAD is the digit of a quad's first key in local memory.
//
// EQUALIZES: `equalized`, a compile-time constant, is 1 in the first pass, which equalizes keys.
// An equalized key lacks the upper HIDDEN_BITS of that pass's digit. In registers, they lie above
// the key's rank. In local memory, the quad's slot tells them: ranks[d] is the first slot of digit
// d. (Their terms are masks and sums, because the simulator Oclgrind has no funnel shift.)
#if EQUALIZES
#define LOW_DIGIT_BITS (8 - HIDDEN_BITS)
#define RANK_BITS (16 - HIDDEN_BITS)
STATIC_ASSERT(TILE <= 1u << RANK_BITS, a_rank_has_more_bits);
#define LOW_DIGIT(key) (key_order(key) >> (32 - LOW_DIGIT_BITS))
#define HIDDEN_OF(i) (place[(i) / 2] >> (16 * ((i) % 2) + 8) & (256u - (1u << LOW_DIGIT_BITS)))
#define DIGIT_OF(i) (equalized ? LOW_DIGIT(key[i]) + HIDDEN_OF(i) : DIGIT(key[i]))
#elif MAPS
#define DIGIT_OF(i) (digits[(i) / 4] >> 8 * ((i) % 4) & 255)
#else
#define DIGIT_OF(i) DIGIT(key[i])
#endif
#if MAP_LOCAL
#define NOTE_DIGIT(slot, d) \
  if ((slot) % QUAD == 0) mine->digit_of_quad[(slot) / QUAD] = (u8)(d);
#define DIGIT_OF_QUAD(at, quad) mine->digit_of_quad[(at) / QUAD]
#elif EQUALIZES
#define NOTE_DIGIT(slot, d)
#define HIDDEN_AT(at)                                                 \
  (((at) >= ranks[64] ? 64u : 0u) + ((at) >= ranks[128] ? 64u : 0u) + \
   ((at) >= ranks[192] ? 64u : 0u))
#define DIGIT_OF_QUAD(at, quad) \
  (equalized ? LOW_DIGIT(FIRST_OF(quad)) + HIDDEN_AT(at) : DIGIT(FIRST_OF(quad)))
#else
#define NOTE_DIGIT(slot, d)
#define DIGIT_OF_QUAD(at, quad) DIGIT(FIRST_OF(quad))
#endif

// A tile: `count` keys of a segment, from index `begin` + `skip`. The work-group always loads TILE
// keys, from index `begin`.
typedef struct {
  u32 begin, skip, number, count, segment;
#if SETS_ASIDE
  aside_places_t places;  // output indices of the keys that the first pass sets aside
  u32 members;            // how many keys of the tile are set aside
#endif
} tile_t;

// The keys of a digit in the tile that fill whole chunks: `count` slots of the sorted tile, from
// `slot`. The key in slot s goes to output index s + to_out. The digit's other keys are carried or
// written one by one.
typedef struct {
  u32 to_out;
  u16 slot, count;
} run_t;

// fixed_partition_bytes() in msd_shape.cpp computes its size without the tile's keys.
typedef struct {
  ukey_t keys[SLOTS];  // the current tile sorted by digit; a digit begins at a quad's first slot
  u32 segments[RADIX + 1];  // index of the first key of each segment
  u32 first_tiles[RADIX +
                  1];   // number of the first tile of each segment, counted over all segments
  u32 ranks[2][RADIX];  // of even and odd tiles: each digit's count, later its first slot
  run_t runs[RADIX];
  tile_t tiles[3];  // a ring: the current tile, the next one and the one after it
  index_t scratch[SCAN_WORDS(RADIX)];
#if MAP_LOCAL
  map_t map;
  u8 digit_of_quad[SLOTS / QUAD];
#endif
#if EQUALIZES
  u32 entries[EQUALIZER_ENTRIES];
#endif
#if SETS_ASIDE
  u32 set_aside[WG / SG_LANES];  // how many of each sub-group's keys of the tile are set aside
  aside_head_t aside;            // for the second pass
#endif
} msd_partition_memory_t;

#if MAPS
INLINE u32 bucket_of_key(LOCAL const msd_partition_memory_t* mine, GLOBAL const u32* map,
                         window_t window, ukey_t key, u32 pivots) {
#if MAP_LOCAL
  return bucket_of_order(&mine->map, window, key_order(key), pivots);
#else
  return bucket_by_global_map(map, window, key_order(key), pivots);
#endif
}
#endif

// Called by one work-item. Describes the next tile of the work-group: the tile after `number` if
// its ticket has more tiles, else the first tile of a new ticket. If tile->number is past the last
// tile, there is no tile, and the other members have no meaning. `aside` is null if the pass sets
// no keys aside.
INLINE void take_tile(LOCAL msd_partition_memory_t* mine, LOCAL tile_t* tile, GLOBAL u32* ticket,
                      u32 number, u32 segments, u32 n, GLOBAL const u32* aside) {
  number = (number + 1) % RUN != 0 ? number + 1 : global_add(ticket, 1u) * RUN;
  tile->number = number;
  u32 low = 0, high = segments;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (mine->first_tiles[middle] <= number)
      low = middle;
    else
      high = middle;
  }
  const u32 begin = mine->segments[low] + (number - mine->first_tiles[low]) * TILE;
  tile->begin = min(begin, n - TILE);
  tile->skip = begin - tile->begin;
  tile->count = min(TILE, mine->segments[low + 1] - begin);
  tile->segment = low;
#if SETS_ASIDE
  if (aside && number < mine->first_tiles[segments])
    tile->places = places_of_tile(aside, number, n, &tile->members);
#endif
}

#define LOAD_TILE(tile)                                         \
  {                                                             \
    GLOBAL const ukey_t* own = p.from + (tile)->begin + first;  \
    UNROLL                                                      \
    for (u32 i = 0; i < ITEMS; ++i) key[i] = own[i * SG_LANES]; \
  }
// Prepares the keys of a tile for ranking: turns them into spread orders or equalized keys, or
// looks up the digits of mapped keys.
#if EQUALIZES
#define PREPARE_KEYS \
  if (equalized) equalize_keys(mine->entries, p.cells, key, place);
#elif SPREAD_BITS
#define PREPARE_KEYS        \
  if (p.number == 0) UNROLL \
  for (u32 i = 0; i < ITEMS; ++i) key[i] = spread_key(key[i], p.spread);
#elif MAPS
#define LOOK_UP_DIGITS(pivots)                                  \
  UNROLL                                                        \
  for (u32 i = 0; i < ITEMS; ++i) {                             \
    const u32 digit = LOOK_UP(key[i], pivots) << 8 * (i % 4);   \
    digits[i / 4] = i % 4 != 0 ? digits[i / 4] | digit : digit; \
  }
#define PREPARE_KEYS \
  if (p.window.pivots) LOOK_UP_DIGITS(1) else LOOK_UP_DIGITS(0)
#elif STRETCHES
#define PREPARE_KEYS                                                         \
  if (p.number == 0 && p.is_stretched) {                                     \
    stretch_t stretch;                                                       \
    load_stretch(p.stretch, &stretch);                                       \
    UNROLL                                                                   \
    for (u32 i = 0; i < ITEMS; ++i) key[i] = stretched_key(stretch, key[i]); \
  }
#else
#define PREPARE_KEYS
#endif
#define FIRST_OF_LANE (sg_index() * (SG_LANES * ITEMS) + sg_lane())
#define IN_TILE(i) (first + (i)*SG_LANES - skip < count)
#if EQUALIZES
#define RANK_TILE(rank_of)                                                         \
  UNROLL                                                                           \
  for (u32 i = 0; i < ITEMS; ++i) {                                                \
    const u32 rank = rank_of, before = equalized || i % 2 != 0 ? place[i / 2] : 0; \
    place[i / 2] = before | rank << 16 * (i % 2);                                  \
  }
#else
#define RANK_TILE(rank_of)                                   \
  UNROLL                                                     \
  for (u32 i = 0; i < ITEMS; ++i) {                          \
    const u32 rank = rank_of;                                \
    place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank; \
  }
#endif
#if MAPS
#define SCATTER(i)                                               \
  {                                                              \
    const u32 d = DIGIT_OF(i), to_slot = PLACE_OF(i) + ranks[d]; \
    mine->keys[to_slot] = key[i];                                \
    NOTE_DIGIT(to_slot, d)                                       \
  }
#else
#define SCATTER(i) mine->keys[PLACE_OF(i) + ranks[DIGIT_OF(i)]] = key[i];
#endif

#if EQUALIZES
#define PLACE_OF(i) (place[(i) / 2] >> (16 * ((i) % 2)) & ((1u << RANK_BITS) - 1))
#else
#define PLACE_OF(i) (place[(i) / 2] >> (16 * ((i) % 2)) & 0xffff)
#endif

#if KEY_BITS == 64
#define FIRST_OF(quad) ((ukey_t)(quad).y << 32 | (quad).x)
#else
#define FIRST_OF(quad) (quad).x
#endif

// Returns the rank of a key with `digit`. Additions to one count are serialised, so if all lanes
// have the same digit, one lane adds for all.
INLINE u32 rank_alike(LOCAL u32* ranks, u32 digit) {
#if SG_NATIVE
  if (sg_ballot(0, digit != sg_shuffle(0, digit, 0)) == 0) {
    u32 before = 0;
    if (sg_lane() == 0) before = local_add(&ranks[digit], SG_LANES);
    return sg_shuffle(0, before, 0) + sg_lane();
  }
#endif
  return local_add(&ranks[digit], 1u);
}

// A bucket's range of the output, from index `begin` to `end`. `chunks` whole chunks begin at
// `first`. The keys before and after the chunks are written one by one.
typedef struct {
  u32 begin, end, first, chunks;
} bucket_t;
// `lead` is the distance in keys from a sector boundary to the output's first key.
INLINE bucket_t make_bucket(u32 begin, u32 end, u32 lead) {
  bucket_t b;
  const u32 count = end - begin, before = (CHUNK - (begin + lead) % CHUNK) % CHUNK;
  b.begin = begin;
  b.end = end;
  b.chunks = count < before ? 0 : (count - before) / CHUNK;
  b.first = b.chunks == 0 ? end : begin + before;
  return b;
}
// Returns the output index of the i-th key that is written alone: first the places before the
// chunks, then those after them. If there are more such keys, some chunks will not be reserved; the
// keys take these places, backwards from the end of the last chunk.
INLINE u32 single_place(bucket_t b, u32 i) {
  const u32 before = b.first - b.begin, singles = b.end - b.begin - b.chunks * CHUNK,
            behind = b.first + b.chunks * CHUNK;
  return i < before    ? b.begin + i
         : i < singles ? behind + (i - before)
                       : behind - 1 - (i - singles);
}

// ---- The phases of a pass ----

// The arguments of a pass.
typedef struct {
  GLOBAL const ukey_t* from;
  GLOBAL ukey_t* to;
  GLOBAL const u32 *starts, *map, *spread, *aside;
  GLOBAL u32 *reserved, *ticket;
#if MAPS
  window_t window;
#endif
#if EQUALIZES
  cells_t cells;
#endif
#if STRETCHES
  GLOBAL const u32* stretch;
  u32 is_stretched;
#endif
  u32 number, shift, mask, start_shift, segments, tiles, n;
  u32 lead;  // distance in keys from a sector boundary to the output's first key
} pass_t;

#if SETS_ASIDE
#define SET_ASIDE (p.number == 0 ? p.aside : 0)
#else
#define SET_ASIDE 0
#endif

// Finds the segments and their tiles and takes the first ticket, while other work-groups still
// write tiles of the previous pass. Returns the number of tiles.
INLINE u32 begin_pass(LOCAL msd_partition_memory_t* mine, pass_t p, u32 turn) {
  const u32 t = local_id();
  u32 begin = 0, end = 0;
  index_t all;
  if (t < p.segments) {
    begin = p.starts[(t * (p.mask + 1)) << p.start_shift];
    end = p.starts[((t + 1) * (p.mask + 1)) << p.start_shift];
  }
#if SETS_ASIDE
  if (p.number == 0 && t == 0) end = p.n;  // `starts` is without what is set aside
#endif
  u32 moved = end - begin;
#if SPREAD_BITS && CLASS_DIGITS
  // The members of a class stay in the output of the first pass.
  if (p.number != 0 && is_class_digit(p.spread, t)) moved = 0;
#endif
  const u32 first_tile = (u32)wg_scan_add(mine->scratch, RADIX, (moved + TILE - 1) / TILE, &all);
  if (t < p.segments) {
    if (t == 0) mine->segments[0] = begin;
    mine->segments[t + 1] = end;
    mine->first_tiles[t] = first_tile;
  }
#if SETS_ASIDE
  if (t == 0) mine->first_tiles[p.segments] = (u32)all, mine->aside = load_aside(p.aside);
#endif
  if (t < RADIX) mine->ranks[turn % 2][t] = 0;
  barrier_local();
  if (t == 0)
    take_tile(mine, &mine->tiles[turn % 3], p.ticket, RUN - 1, p.segments, p.n, SET_ASIDE);
  return (u32)all;
}

#if EQUALIZES
// Equalizes keys, and stores the hidden bits of their digits above their ranks.
INLINE void equalize_keys(LOCAL const u32* entries, cells_t cells, ukey_t* key, u32* place) {
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 order = key_order(key[i]), entry = entries[entry_of_order(cells, order)],
              bucket = bucket_by_entry(entry, order),
              hidden = (bucket >> (EQUALIZED_BITS - HIDDEN_BITS) & 3) << (RANK_BITS + 16 * (i % 2));
    place[i / 2] = i % 2 != 0 ? place[i / 2] | hidden : hidden;
    key[i] = key_of_order(KEY_IN_BUCKET(bucket) | distance_by_entry(entry, order));
  }
}
#endif

// Rank. The keys that were carried to this tile come first in their digit.
INLINE void rank_tile(LOCAL u32* ranks, sub_group_t sg, pass_t p, LOCAL const tile_t* tile,
                      const ukey_t* key, const u32* digits, u32* place, u32 equalized) {
  const u32 first = FIRST_OF_LANE, count = tile->count, skip = tile->skip;
  if (count < TILE) {
    RANK_TILE(IN_TILE(i) ? local_add(&ranks[DIGIT_OF(i)], 1u) : 0u)
  } else if (sg_ballot(sg, DIGIT_OF(0) != sg_shuffle(sg, DIGIT_OF(0), 0)) != 0) {
    RANK_TILE(local_add(&ranks[DIGIT_OF(i)], 1u))
  } else {
    RANK_TILE(rank_alike(ranks, DIGIT_OF(i)))
  }
}

#if SETS_ASIDE
// Rank of a slot whose key is not in the tile; true ranks have fewer bits.
#define ABSENT 0x4000u
STATIC_ASSERT(TILE <= ABSENT, a_rank_has_more_bits);
// Like rank_tile, for a tile of a first pass that sets keys aside. Keys that are set aside keep
// their bits and get the rank that rank_aside returns. All other keys become spread orders.
INLINE void rank_and_set_aside(LOCAL msd_partition_memory_t* mine, LOCAL u32* ranks, sub_group_t sg,
                               pass_t p, LOCAL const tile_t* tile, ukey_t* key, u32* place) {
  const u32 first = FIRST_OF_LANE, count = tile->count, skip = tile->skip;
  u32 seen = 0;
  RANK_TILE(IN_TILE(i) || count == TILE ? 0u : ABSENT)
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    place[i / 2] |= rank_aside(sg, key[i], !(PLACE_OF(i) & ABSENT) && has_class(key[i]), &seen)
                    << 16 * (i % 2);
  if (sg_lane() == 0) mine->set_aside[sg_index()] = seen;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    key[i] = PLACE_OF(i) & ASIDE ? key[i] : spread_key(key[i], p.spread);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (!(PLACE_OF(i) & (ASIDE | ABSENT)))
      place[i / 2] |= local_add(&ranks[DIGIT(key[i])], 1u) << 16 * (i % 2);
}
#endif

// Scatter into local memory.
INLINE void scatter_tile(LOCAL msd_partition_memory_t* mine, LOCAL const u32* ranks, pass_t p,
                         LOCAL const tile_t* tile, const ukey_t* key, const u32* digits,
                         const u32* place, u32 equalized) {
  const u32 first = FIRST_OF_LANE, count = tile->count, skip = tile->skip;
  if (count == TILE) {
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) SCATTER(i)
  } else {
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (IN_TILE(i)) SCATTER(i)
  }
}

#if SETS_ASIDE
// Like scatter_tile, but writes the keys that are set aside to the output.
INLINE void scatter_and_set_aside(LOCAL msd_partition_memory_t* mine, LOCAL const u32* ranks,
                                  pass_t p, LOCAL const tile_t* tile, const ukey_t* key,
                                  const u32* place) {
  const aside_places_t places = places_of_sub_group(tile->places, mine->set_aside);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    if (PLACE_OF(i) & ASIDE)
      p.to[place_aside(places, key[i], PLACE_OF(i))] = key[i];
    else if (!(PLACE_OF(i) & ABSENT))
      SCATTER(i)
  }
}
#endif

// Puts the keys carried from the previous tile into the first slots of their digit.
INLINE void put_carried(LOCAL msd_partition_memory_t* mine, u32 slot, u32 carried,
                        const uint4* carry) {
  UNROLL
  for (u32 q = 0; q < CARRY_QUADS; ++q)
    if (q * QUAD < carried) {
      *(LOCAL uint4*)&mine->keys[slot + q * QUAD] = carry[q];
      NOTE_DIGIT(slot + q * QUAD, local_id())
    }
}

// Returns the output range of bucket `number` of the pass.
INLINE bucket_t bucket_of_pass(LOCAL const msd_partition_memory_t* mine, pass_t p, u32 number) {
  u32 before = 0;
#if SETS_ASIDE
  if (p.number != 0) before = aside_before(mine->aside, number);
#endif
  return make_bucket(p.starts[number << p.start_shift] + before,
                     p.starts[(number + 1) << p.start_shift] + before, p.lead);
}

// Write the whole chunks. Empty slots and slots with carried keys lie outside the range of slots in
// mine->runs, so they are not written, whatever digit their content seems to have.
INLINE void write_chunks(LOCAL const msd_partition_memory_t* mine, LOCAL const u32* ranks, pass_t p,
                         u32 slots, u32 equalized) {
  const u32 t = local_id();
  UNROLL
  for (u32 i = 0; i < (SLOTS + WG * QUAD - 1) / (WG * QUAD); ++i) {
    const u32 at = (i * WG + t) * QUAD;
    if (at >= slots) continue;
    const uint4 quad = *(LOCAL const uint4*)&mine->keys[at];
    const run_t run = mine->runs[DIGIT_OF_QUAD(at, quad)];
    if (at - run.slot < run.count) *(GLOBAL uint4*)&p.to[(index_t)(run.to_out + at)] = quad;
  }
}

// Carry the digit's remaining keys: the slots from `rest`. The keys in the slots from `written` to
// `end` are written one by one, at the end of a segment or if no chunk of the bucket is left for
// them. `singles` counts the bucket's keys that are written in this way.
INLINE void carry_rest(LOCAL const msd_partition_memory_t* mine, pass_t p, bucket_t bucket,
                       GLOBAL u32* singles, u32 written, u32 rest, u32 end, uint4* carry) {
  const u32 count = end - written, single = count != 0 ? global_add(singles, count) : 0;
  for (u32 i = 0; i < count; ++i) p.to[single_place(bucket, single + i)] = mine->keys[written + i];
  UNROLL
  for (u32 q = 0; q < CARRY_QUADS; ++q)
    carry[q] = *(LOCAL const uint4*)&mine->keys[rest + q * QUAD];
}

// Partitions all tiles of a pass for which this work-group takes a ticket. *turn_ counts the tiles
// that it has taken over all passes; the first one has been taken. Returns the number of tiles.
// `sets_aside` and `equalized`, compile-time constants, are 1 if the pass sets keys aside or
// equalizes them.
INLINE u32 partition_tiles(LOCAL msd_partition_memory_t* mine, sub_group_t sg, pass_t p, u32* turn_,
                           u32 sets_aside, u32 equalized) {
  const u32 t = local_id(), first = FIRST_OF_LANE;
  u32 turn = *turn_, taken = 0, carried = 0;
  index_t all;
  uint4 carry[CARRY_QUADS];  // work-item t has the carried keys of digit t
  ukey_t key[ITEMS];
  u32 place[(ITEMS + 1) / 2];   // two ranks in a word
  u32 digits[(ITEMS + 3) / 4];  // MAPS: four digits in a word
  if (mine->tiles[turn % 3].number < p.tiles) {
    LOAD_TILE(&mine->tiles[turn % 3])
  }
  for (;; ++turn, ++taken) {
    LOCAL tile_t *tile = &mine->tiles[turn % 3], *next = &mine->tiles[(turn + 1) % 3];
    LOCAL u32* ranks = mine->ranks[turn % 2];
    const u32 number = tile->number, segment = tile->segment;
    if (number >= p.tiles) break;
    if (t == 0) take_tile(mine, next, p.ticket, number, p.segments, p.n, sets_aside ? p.aside : 0);
#if SETS_ASIDE
    if (sets_aside)
      rank_and_set_aside(mine, ranks, sg, p, tile, key, place);
    else
#endif
    {
      PREPARE_KEYS
      rank_tile(ranks, sg, p, tile, key, digits, place, equalized);
    }
    barrier_local();

    // Reserve output chunks for each digit, and scan over digits.
    const u32 more = next->number < p.tiles,
              ends = next->number != number + 1 || !more || next->segment != segment;
    const u32 of_digit = t < RADIX ? ranks[t] : 0, left = of_digit % CHUNK;
    const u32 number_of_bucket = segment * (p.mask + 1) + min(t, p.mask);
    u32 chunks = of_digit / CHUNK, chunk = 0;
    if (chunks != 0) chunk = global_add(&p.reserved[2 * number_of_bucket], chunks);
    const u32 slot =
        (u32)wg_scan_add(mine->scratch, RADIX, (of_digit + QUAD - 1) / QUAD * QUAD, &all);
    if (t < RADIX) {
      ranks[t] = slot;
      mine->ranks[(turn + 1) % 2][t] = ends ? 0 : left;
      put_carried(mine, slot, carried, carry);
    }
    barrier_local();
#if SETS_ASIDE
    if (sets_aside)
      scatter_and_set_aside(mine, ranks, p, tile, key, place);
    else
#endif
      scatter_tile(mine, ranks, p, tile, key, digits, place, equalized);
    if (more) LOAD_TILE(next)
    bucket_t bucket;
    if (t < RADIX) {
      bucket = bucket_of_pass(mine, p, number_of_bucket);
      chunks = min(chunk + chunks, bucket.chunks) - min(chunk, bucket.chunks);
      mine->runs[t].to_out = bucket.first + chunk * CHUNK - slot;
      mine->runs[t].slot = (u16)slot;
      mine->runs[t].count = (u16)(chunks * CHUNK);
    }
    barrier_local();
    write_chunks(mine, ranks, p, (u32)all, equalized);
    if (t < RADIX) {
      carried = ends ? 0 : left;
      carry_rest(mine, p, bucket, &p.reserved[2 * number_of_bucket + 1], slot + chunks * CHUNK,
                 slot + of_digit - left, slot + of_digit - carried, carry);
    }
  }
  *turn_ = turn;
  return taken;
}

//   keys_in   in: n keys; n is at least TILE
//   keys_a    out, first pass: n keys. If SPREAD_BITS is not 0, these are spread orders; if
//             EQUALIZES is 1, equalized keys
//   keys_b    out, second pass: n keys; not used with one pass
//   starts    in: the output index where each bucket (a value of all digits together) begins, then
//             the end
//   reserved  work space, 0 at first: two counts for each of the first pass's 256 digits, then for
//             each bucket of the second pass: chunks that are reserved, and keys written one by one
//   state     work space, 0 at first: a ticket for each pass, then the number of tiles that are
//             done
//   skewed    in: a word. The launch does nothing unless it is 0 or, if MAP_CELLS or EQUALIZES is
//   not
//             0, says that keys are mapped or are equalized
//   passes, shifts, widths   the number of passes; byte p of the others: shift and width in bits of
//             pass p's digit in a key or, if MAP_CELLS is not 0, in the number of its bucket.
//             EQUALIZES: the shift of the first pass's digit is not used
//   map       in, MAP_CELLS: from msd_count
//   entries   in, EQUALIZES: from msd_count, with their head (equalize.cl)
//   spread    in, SPREAD_BITS: the table of spread orders
//   stretch   in, STRETCHES: from msd_count (stretch.cl)
//   aside     null, or the memory described in msd_set_aside.cl. If the list has keys to set aside,
//             only the launch with SETS_ASIDE does something, else only the one without. The second
//             pass leaves the places of these keys in the output free
KERNEL_RESIDENT(WG, RESIDENT)
void msd_partition(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
                   GLOBAL const u32* starts, GLOBAL u32* reserved, GLOBAL u32* state,
                   GLOBAL const u32* skewed, u64 n, u32 passes, u32 shifts, u32 widths,
                   GLOBAL const u32* map, GLOBAL const u32* entries, GLOBAL const u32* spread,
                   GLOBAL const u32* stretch, GLOBAL const u32* aside) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_partition_memory_t, mine);
#if MAPS
  const u32 verdict = *skewed;
  if (verdict != VERDICT_MAPPED && verdict != VERDICT_LISTED) return;
  const window_t window = load_window(map);
#elif EQUALIZES
  if (*skewed != VERDICT_MAPPED) return;
  for (u32 i = local_id(); i < EQUALIZER_ENTRIES; i += WG)
    mine->entries[i] = entries[EQUALIZER_HEAD + i];
#else
  if (*skewed != 0) return;
#endif
#if !MAPS
  // Lists with keys that are set aside have a launch of their own, because it needs more registers.
  if (aside && (aside[ASIDE_FOUND] == FOUND_ASIDE) != (SETS_ASIDE != 0)) return;
#endif
#if MAP_LOCAL
  copy_map(&mine->map, map, WG);
#endif
#if STRETCHES
  const u32 is_stretched = stretch[0];  // stretch_t::is
#endif
  const u32 t = local_id();
  u32 turn = 0, tiles = 0;
  for (u32 pass = 0; pass < passes; ++pass) {
    pass_t p;
    p.number = pass;
    p.shift = shifts >> 8 * pass & 255;
    p.mask = (1u << (widths >> 8 * pass & 255)) - 1;
    p.start_shift = pass + 1 == passes ? 0 : widths >> 8 & 255;
#if STRETCHES
    p.stretch = stretch;
    p.is_stretched = is_stretched;
#endif
    p.from = pass == 0 ? keys_in : keys_a;
    p.to = pass == 0 ? keys_a : keys_b;
    p.lead = (u32)((u64)p.to / sizeof(ukey_t)) % CHUNK;
    p.starts = starts, p.map = map, p.spread = spread, p.aside = aside;
#if MAPS
    p.window = window;
#endif
#if EQUALIZES
    p.cells = load_cells(entries);
#endif
    p.reserved = reserved + (pass != 0 ? 2 * RADIX : 0);
    p.ticket = &state[pass];
    p.segments = pass == 0 ? 1 : 1u << (widths & 255);
    p.n = (u32)n;
    const u32 tiles_before = tiles;
    tiles = p.tiles = begin_pass(mine, p, turn);
    if (t == 0 && pass != 0)  // the previous pass must be complete before its output is read
      while (load_acquire(&state[2]) < tiles_before) {
      }
    barrier_all();
    u32 taken;
#if SETS_ASIDE
    if (pass == 0)
      taken = partition_tiles(mine, sg, p, &turn, 1, 0);
    else
#endif
#if EQUALIZES
        if (pass == 0)
      taken = partition_tiles(mine, sg, p, &turn, 0, 1);
    else
#endif
      taken = partition_tiles(mine, sg, p, &turn, 0, 0);
    barrier_all();
    if (t == 0 && taken != 0) global_add_release(&state[2], taken);
  }
}
