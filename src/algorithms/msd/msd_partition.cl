// Parts keys whose ties nobody can tell apart among buckets: one or two passes from the leading
// digit on, the second within each of the first one's segments. A work-group sorts a tile by digit
// in local memory and reserves each digit's place in the output by one addition to a count of all,
// so that nobody waits for the tiles before, as onesweep's passes do; the keys of a bucket come in
// any order. What is written are whole chunks, which fill sectors of memory: a part of one would
// cost as much. What is left of a digit is carried to the next tile, and after the last one of a
// run, or of a segment, written key by key. Both passes are one launch. Work-groups take runs of
// tiles by ticket, and go on when all tiles of the first pass are written; whom they wait for has
// begun. Parameters: WG, ITEMS, RESIDENT (work-groups of a compute unit), RUN (tiles of a ticket),
// SECTOR_BYTES, SPREAD_BITS (the first pass makes spread orders).

#define RADIX 256u
#define TILE ((u32)(WG * ITEMS))
#define CHUNK ((u32)(SECTOR_BYTES / sizeof(ukey_t)))
#define QUAD ((u32)(16 / sizeof(ukey_t)))  // keys that are moved together
#define CARRY_QUADS (CHUNK / QUAD)
#define SLOTS   \
  (TILE +       \
   RADIX *      \
       (CHUNK + \
        QUAD))  // with less than a chunk of each digit carried, and less than a quad left empty
#ifdef SPREAD_BITS
#define DIGIT(key) ((u32)((key) >> shift) & mask)
#else
#define DIGIT(key) key_digit(key, shift, mask)
#endif

// A tile: `count` keys from `begin` + `skip` on, of a segment. Always TILE keys from `begin` on are
// read.
typedef struct {
  u32 begin, skip, number, count, segment;
} tile_t;

// What is written of a digit: `count` slots from `slot` on, each to its number + to_out.
typedef struct {
  u32 to_out;
  u16 slot, count;
} run_t;

typedef struct {
  ukey_t keys[SLOTS];       // the tile at hand, sorted by digit, each from a quad's first slot on
  u32 segments[RADIX + 1];  // where they begin
  u32 first_tiles[RADIX + 1];  // and their first tiles, counted over all segments
  u32 ranks[2][RADIX];         // by turns: counts of the tile's digits, then where they begin in it
  run_t runs[RADIX];
  tile_t tiles[3];  // by turns
  index_t scratch[SCAN_WORDS(RADIX)];
} msd_partition_memory_t;

// By one work-item: the tile after `number` of its ticket's run, or the next ticket's first. One
// past the last is none, whatever the rest of it says.
INLINE void take_tile(LOCAL msd_partition_memory_t* mine, LOCAL tile_t* tile, GLOBAL u32* ticket,
                      u32 number, u32 segments, u32 n) {
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
}

#define LOAD_TILE(tile)                                         \
  {                                                             \
    GLOBAL const ukey_t* own = from + (tile)->begin + first;    \
    UNROLL                                                      \
    for (u32 i = 0; i < ITEMS; ++i) key[i] = own[i * SG_LANES]; \
  }
#define IN_TILE(i) (first + (i)*SG_LANES - skip < count)
#define RANK_TILE(rank_of)                                   \
  UNROLL                                                     \
  for (u32 i = 0; i < ITEMS; ++i) {                          \
    const u32 rank = rank_of;                                \
    place[i / 2] = i % 2 ? place[i / 2] | rank << 16 : rank; \
  }
#define SCATTER(i) \
  mine->keys[(place[(i) / 2] >> (16 * ((i) % 2)) & 0xffff) + ranks[DIGIT(key[i])]] = key[i];

#if KEY_BITS == 64
#define FIRST_OF(quad) ((ukey_t)(quad).y << 32 | (quad).x)
#else
#define FIRST_OF(quad) (quad).x
#endif

// The lanes' adds to one count wait for each other: where a row of them agrees, one adds for all.
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

// A bucket's part of the output, from `begin` to `end`: `chunks` whole chunks from `first` on, and
// what lies before and after.
typedef struct {
  u32 begin, end, first, chunks;
} bucket_t;
// `lead`: what the output's first key is behind a sector's boundary.
INLINE bucket_t make_bucket(u32 begin, u32 end, u32 lead) {
  bucket_t b;
  const u32 count = end - begin, before = (CHUNK - (begin + lead) % CHUNK) % CHUNK;
  b.begin = begin;
  b.end = end;
  b.chunks = count < before ? 0 : (count - before) / CHUNK;
  b.first = b.chunks == 0 ? end : begin + before;
  return b;
}
// Where the i-th key goes that is written by itself: before the chunks, then behind them, then into
// the last ones, which so many keys will not come for.
INLINE u32 single_place(bucket_t b, u32 i) {
  const u32 before = b.first - b.begin, singles = b.end - b.begin - b.chunks * CHUNK,
            behind = b.first + b.chunks * CHUNK;
  return i < before    ? b.begin + i
         : i < singles ? behind + (i - before)
                       : behind - 1 - (i - singles);
}

// From keys_in to keys_a, and if there are two passes to keys_b. Byte p of `shifts` and `widths` is
// pass p's digit. `starts`: where each bucket, a value of all digits together, begins in the
// output, and the end. `reserved`: for each pass two numbers for each of its buckets, 0 at first:
// chunks, and keys that are written by themselves. `state`: tickets and how many tiles are done, 0
// at first. Nothing is done if *overfull != 0.
KERNEL_RESIDENT(WG, RESIDENT)
void msd_partition(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
                   GLOBAL const u32* starts, GLOBAL u32* reserved, GLOBAL u32* state,
                   GLOBAL const u32* overfull, u64 n, u32 passes, u32 shifts, u32 widths,
                   GLOBAL const u32* spread) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_partition_memory_t, mine);
  if (*overfull != 0) return;
  const u32 t = local_id(), first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
  u32 turn = 0, tiles = 0;
  index_t all;

  for (u32 pass = 0; pass < passes; ++pass) {
    const u32 shift = shifts >> 8 * pass & 255, mask = (1u << (widths >> 8 * pass & 255)) - 1;
    const u32 last = pass + 1 == passes, start_shift = last ? 0 : widths >> 8 & 255;
    GLOBAL const ukey_t* from = pass == 0 ? keys_in : keys_a;
    GLOBAL ukey_t* to = pass == 0 ? keys_a : keys_b;
    const u32 lead = (u32)((u64)to / sizeof(ukey_t)) % CHUNK;

    // The segments and their tiles, and the first ticket: while other work-groups still write what
    // the pass before has left.
    if (pass != 0) reserved += 2 * RADIX;
    const u32 tiles_before = tiles;
    const u32 segments = pass == 0 ? 1 : 1u << (widths & 255);
    u32 begin = 0, end = 0;
    if (t < segments) {
      begin = starts[(t * (mask + 1)) << start_shift];
      end = starts[((t + 1) * (mask + 1)) << start_shift];
    }
    const u32 first_tile =
        (u32)wg_scan_add(mine->scratch, RADIX, (end - begin + TILE - 1) / TILE, &all);
    if (t < segments) {
      if (t == 0) mine->segments[0] = begin;
      mine->segments[t + 1] = end;
      mine->first_tiles[t] = first_tile;
    }
    tiles = (u32)all;
    if (t < RADIX) mine->ranks[turn % 2][t] = 0;
    barrier_local();
    if (t == 0) take_tile(mine, &mine->tiles[turn % 3], &state[pass], RUN - 1, segments, (u32)n);
    if (t == 0 && pass != 0)  // the pass before has to be done, though, before its keys are read
      while (load_acquire(&state[2]) < tiles_before) {
      }
    barrier_all();

    u32 taken = 0, carried = 0;
    uint4 carry[CARRY_QUADS];  // of digit t, by work-item t
    ukey_t key[ITEMS];
    u32 place[(ITEMS + 1) / 2];  // two places a word
    if (mine->tiles[turn % 3].number < tiles) {
      LOAD_TILE(&mine->tiles[turn % 3])
    }
    for (;; ++turn, ++taken) {
      LOCAL tile_t *tile = &mine->tiles[turn % 3], *next = &mine->tiles[(turn + 1) % 3];
      LOCAL u32* ranks = mine->ranks[turn % 2];
      const u32 number = tile->number, count = tile->count, skip = tile->skip,
                segment = tile->segment;
      if (number >= tiles) break;
#ifdef SPREAD_BITS
      if (pass == 0) UNROLL
      for (u32 i = 0; i < ITEMS; ++i) {
        const ukey_t order = untied_order(key[i]);
        key[i] = spread_order(order, spread[spread_index(order)]);
      }
#endif
      if (t == 0) take_tile(mine, next, &state[pass], number, segments, (u32)n);

      // Rank, behind what is carried.
      if (count < TILE) {
        RANK_TILE(IN_TILE(i) ? local_add(&ranks[DIGIT(key[i])], 1u) : 0u)
      } else if (sg_ballot(sg, DIGIT(key[0]) != sg_shuffle(sg, DIGIT(key[0]), 0)) != 0) {
        RANK_TILE(local_add(&ranks[DIGIT(key[i])], 1u))
      } else {
        RANK_TILE(rank_alike(ranks, DIGIT(key[i])))
      }
      barrier_local();

      // Reserve each digit's chunks; scan, each digit from a chunk's first slot on.
      const u32 more = next->number < tiles,
                ends = next->number != number + 1 || !more || next->segment != segment;
      const u32 of_digit = t < RADIX ? ranks[t] : 0, left = of_digit % CHUNK;
      const u32 number_of_bucket = segment * (mask + 1) + min(t, mask);
      u32 chunks = of_digit / CHUNK, chunk = 0;
      if (chunks != 0) chunk = global_add(&reserved[2 * number_of_bucket], chunks);
      const u32 slot =
          (u32)wg_scan_add(mine->scratch, RADIX, (of_digit + QUAD - 1) / QUAD * QUAD, &all);
      if (t < RADIX) {
        ranks[t] = slot;
        mine->ranks[(turn + 1) % 2][t] = ends ? 0 : left;
        UNROLL
        for (u32 q = 0; q < CARRY_QUADS; ++q)
          if (q * QUAD < carried) *(LOCAL uint4*)&mine->keys[slot + q * QUAD] = carry[q];
      }
      barrier_local();

      // Scatter into local memory.
      if (count == TILE) {
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i) SCATTER(i)
      } else {
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i)
          if (IN_TILE(i)) SCATTER(i)
      }
      if (more) LOAD_TILE(next)
      bucket_t bucket;
      if (t < RADIX) {
        bucket = make_bucket(starts[number_of_bucket << start_shift],
                             starts[(number_of_bucket + 1) << start_shift], lead);
        chunks = min(chunk + chunks, bucket.chunks) - min(chunk, bucket.chunks);
        mine->runs[t].to_out = bucket.first + chunk * CHUNK - slot;
        mine->runs[t].slot = (u16)slot;
        mine->runs[t].count = (u16)(chunks * CHUNK);
      }
      barrier_local();

      // Write out what is whole. A slot that is empty, or carried, lies in no digit's run, whatever
      // key it seems to have.
      UNROLL
      for (u32 i = 0; i < (SLOTS + WG * QUAD - 1) / (WG * QUAD); ++i) {
        const u32 p = (i * WG + t) * QUAD;
        if (p >= (u32)all) continue;
        const uint4 quad = *(LOCAL const uint4*)&mine->keys[p];
        const run_t run = mine->runs[DIGIT(FIRST_OF(quad))];
        if (p - run.slot < run.count) *(GLOBAL uint4*)&to[(index_t)(run.to_out + p)] = quad;
      }
      // Carry what is left. A bucket's last chunk may find no room as such, and is written key by
      // key, too.
      if (t < RADIX) {
        const u32 written = chunks * CHUNK;
        carried = ends ? 0 : left;
        const u32 singles = of_digit - written - carried;
        const u32 single =
            singles != 0 ? global_add(&reserved[2 * number_of_bucket + 1], singles) : 0;
        for (u32 i = 0; i < singles; ++i)
          to[single_place(bucket, single + i)] = mine->keys[slot + written + i];
        UNROLL
        for (u32 q = 0; q < CARRY_QUADS; ++q)
          carry[q] = *(LOCAL const uint4*)&mine->keys[slot + of_digit - left + q * QUAD];
      }
    }
    barrier_all();
    if (t == 0 && taken != 0) global_add_release(&state[2], taken);
  }
}
