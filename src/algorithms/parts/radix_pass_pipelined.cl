// sort_tiles, software-pipelined: a work-group processes two tiles at a time. It loads and ranks
// the next tile and publishes its digit counts before it looks back for the current tile and writes
// that out. So a look-back seldom waits. radix_pass_tiles.cl, which comes before this file, has the
// parameters and the steps.

// For records of up to 8 bytes, the next tile's values are loaded only after the look-back of the
// current tile, which would otherwise wait for these loads. Values of wider records are loaded
// earlier, because registers are scarce.
#define VALUES_LATE (KEY_BITS / 8 + VALUE_BYTES <= 8)

// Writes one record to the output. `at` is a slot of the sorted tile; its run is the tile's records
// with the same digit. Without ROTATED, writes the record in slot `at`. With ROTATED, the slots of
// a long run are rotated, so that stores begin at a sector: TAKEN_FROM sets `from` to the slot of
// the record to write, which is in the same run. Every record is written once.
#if VALUE_BYTES
#define WRITE_VALUE(from) p.values_to[out] = mine->values[from];
#else
#define WRITE_VALUE(from)
#endif
#if ROTATED
#define TAKEN_FROM(at, d)                                                        \
  const u32 run = mine->runs[d];                                                 \
  u32 from = (at) + ((0u - (u32)to_out) & (run & RUN_IS_LONG ? SECTOR - 1 : 0)); \
  if (from >= (run >> 15 & 0x7fff)) from -= run & 0x7fff;
#else
#define TAKEN_FROM(at, d) const u32 from = (at);
#endif
#define WRITE_RECORD(at)                        \
  {                                             \
    const u32 d = DIGIT_AT(at, mine->keys[at]); \
    const index_t to_out = mine->to_out[d];     \
    TAKEN_FROM(at, d)                           \
    const ukey_t k = mine->keys[from];          \
    const u64 out = (index_t)(to_out + from);   \
    if (p.to) p.to[out] = KEY_OUT(k);           \
    WRITE_VALUE(from)                           \
  }

// Sorts all tiles of a pass for which this work-group takes a ticket. *turn_ counts its tickets
// over all passes; the first ticket has been taken. Returns the number of tiles that it sorted.
INLINE u32 sort_tiles(LOCAL onesweep_memory_t* mine, sub_group_t sg, pass_t p, u32* turn_) {
  const u32 t = local_id();
  LOCAL u32* my_ranks = MY_RANKS;
  u32 turn = *turn_, next = mine->tiles[turn % 4].number, current = NO_TILE, taken = 0;
  index_t total = 0,
          start = 0;  // count and first slot of this work-item's digit in the current tile
  for (;;) {
    ukey_t key[ITEMS];
    u32 place[(ITEMS + 1) / 2], digits[(ITEMS + 3) / 4];
#if VALUE_BYTES
    value_t value[ITEMS];
#endif
    index_t next_total = 0, next_start = 0;
    u32 following = NO_TILE;

    // The next tile: load, rank, publish. Its values are loaded while the current one is written.
    if (next < p.tiles) {
      LOCAL const tile_t* tile = &mine->tiles[turn % 4];
      load_keys(p, tile, key);
      if (t == 0) TAKE_TILE(turn + 1);
      look_up_digits(mine, p, tile, key, digits);
      rank_keys(mine, sg, p, key, digits, place);
      barrier_local();
      following = mine->tiles[(turn + 1) % 4].number;
#if VALUE_BYTES && !VALUES_LATE
      load_values(p, tile, value);
#endif
      next_total = count_tile(mine, p, tile, &next_start);
    }

    // The current tile: look back, then write out. Neighbouring work-items write neighbouring
    // records of a run.
    if (current != NO_TILE && t < RADIX)
      find_digit(mine, p, &mine->tiles[(turn - 1) % 4], total, start);
#if VALUE_BYTES && VALUES_LATE
    if (next < p.tiles) load_values(p, &mine->tiles[turn % 4], value);
#endif
    if (current != NO_TILE) {
      LOCAL const tile_t* tile = &mine->tiles[(turn - 1) % 4];
      barrier_local();
      if (tile->count == TILE) {
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i) WRITE_RECORD(t + i * WG)
      } else {
        for (u32 at = t; at < tile->count; at += WG) WRITE_RECORD(at)
      }
    }
    if (next >= p.tiles) break;
    barrier_local();
    ++taken;

    // Scatter into local memory, sorted by digit: the next tile becomes the current one.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 at = PLACE(i);
      mine->keys[at] = key[i];
      KEEP_DIGIT(i, at)
#if VALUE_BYTES
      mine->values[at] = value[i];
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
  *turn_ = turn;
  return taken;
}
