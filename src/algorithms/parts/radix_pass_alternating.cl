// sort_tiles for devices with little local memory: sorts one tile after the other. A tile's keys
// and values use the same local memory one after the other, so tiles can be larger and need fewer
// registers. While one work-group waits, another one on the same compute unit works.
// radix_pass_tiles.cl, which comes before this file, has the parameters and the steps.

// WRITE_KEY and then WRITE_VALUE write the record in slot `at` of the sorted tile, which is record
// i of this work-item, to the output. digit_of keeps the key's digit for the value.
#define WRITE_KEY(i, at)                                                        \
  {                                                                             \
    const ukey_t k = mine->tile.keys[at];                                       \
    const u32 d = DIGIT_AT(at, k);                                              \
    const u64 out = (index_t)(mine->to_out[d] + (at));                          \
    if (p.to) p.to[out] = KEY_OUT(k);                                           \
    digit_of[(i) / 4] = (i) % 4 ? digit_of[(i) / 4] | d << (8 * ((i) % 4)) : d; \
  }
#define WRITE_VALUE(i, at)                                                                  \
  p.values_to[(index_t)(mine->to_out[digit_of[(i) / 4] >> (8 * ((i) % 4)) & 255] + (at))] = \
      mine->tile.values[at];

// Sorts all tiles of a pass for which this work-group takes a ticket. *turn_ counts its tickets
// over all passes; the first ticket has been taken. Returns the number of tiles that it sorted.
INLINE u32 sort_tiles(LOCAL onesweep_memory_t* mine, sub_group_t sg, pass_t p, u32* turn_) {
  const u32 t = local_id();
  LOCAL u32* my_ranks = MY_RANKS;
  u32 turn = *turn_, taken = 0, next = mine->tiles[turn % 4].number;
  ukey_t key[ITEMS];
  if (next < p.tiles) load_keys(p, &mine->tiles[turn % 4], key);
  while (next < p.tiles) {
    u32 place[(ITEMS + 1) / 2], digits[(ITEMS + 3) / 4], digit_of[(ITEMS + 3) / 4];
    value_t value[ITEMS];
    index_t start;
    LOCAL const tile_t *tile = &mine->tiles[turn % 4], *after = &mine->tiles[(turn + 1) % 4];
    const u32 count = tile->count;

    // Rank, publish.
    if (t == 0) TAKE_TILE(turn + 1);
    look_up_digits(mine, p, tile, key, digits);
    rank_keys(mine, sg, p, key, digits, place);
    barrier_local();
    const index_t total = count_tile(mine, p, tile, &start);
    barrier_local();

    // Scatter the keys into local memory, sorted by digit. Values are loaded while this work-group
    // looks back.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) {
      const u32 at = PLACE(i);
      mine->tile.keys[at] = key[i];
      KEEP_DIGIT(i, at)
      place[i / 2] = i % 2 ? (place[i / 2] & 0xffff) | at << 16 : (place[i / 2] & 0xffff0000u) | at;
    }
    load_values(p, tile, value);
    if (t < RADIX) find_digit(mine, p, tile, total, start);
    barrier_local();

    // Write the keys. Neighbouring work-items write neighbouring records of a run.
    if (count == TILE) {
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) WRITE_KEY(i, t + i * WG)
    } else {
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i)
        if (t + i * WG < count) WRITE_KEY(i, t + i * WG)
    }
    for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
    const u32 following = after->number;
    barrier_local();

    // Move the values in the same way, while the next tile's keys are loaded.
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      mine->tile.values[place[i / 2] >> (16 * (i % 2)) & 0xffff] = value[i];
    if (following < p.tiles) load_keys(p, after, key);
    barrier_local();
    if (count == TILE) {
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) WRITE_VALUE(i, t + i * WG)
    } else {
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i)
        if (t + i * WG < count) WRITE_VALUE(i, t + i * WG)
    }
    next = following;
    ++taken;
    ++turn;
    barrier_local();
  }
  *turn_ = turn;
  return taken;
}
