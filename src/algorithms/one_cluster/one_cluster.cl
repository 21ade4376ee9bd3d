// The work-groups of one cluster sort the whole list in their local memories together: all passes of an LSD radix sort in
// one launch. Each has a tile of the list, in the order of their numbers.
// Parameters: WG, ITEMS, GROUPS.

#define RADIX 256u
#define TILE (WG * ITEMS)
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
#define TEAMS (WG / RADIX)  // work-items of a digit, when columns of counts are summed
#define TEAM_ROWS (SUB_GROUPS / TEAMS)

// What can be sent has 4, 8 or 16 bytes; a small key and its value go together.
#if KEY_BITS < 32
typedef u32 tile_key_t;
#else
typedef ukey_t tile_key_t;
#endif
#if VALUE_BYTES == 4 && KEY_BITS <= 32
#define PAIRED 1
typedef u64 tile_item_t;
#else
typedef tile_key_t tile_item_t;
#endif

typedef struct {
  tile_item_t items[TILE];  // keys, or pairs
#if VALUE_BYTES && !PAIRED
  value_t values[TILE];
#endif
} tile_t;

typedef struct {
  u16 totals[RADIX];              // of this tile's digits
  u16 counts[2][GROUPS * RADIX];  // each tile's totals, by turns: some work-groups may be a pass ahead
  async_copy_t counts_come[2], tile_comes;
  tile_t tile, by_digit;  // and sorted by this pass's digit
  index_t scratch[2 * RADIX];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
  u32 moves[RADIX];  // from a digit's place in this tile, sorted, to its place in the list
} one_cluster_memory_t;

INLINE tile_item_t tile_item(record_t r) {
#if PAIRED
  return (u64)r.value << 32 | r.key;
#else
  return r.key;
#endif
}
INLINE record_t tile_record(LOCAL const tile_t *tile, u32 at) {
  record_t r;
  r.key = (ukey_t)tile->items[at];
#if PAIRED
  r.value = (u32)(tile->items[at] >> 32);
#elif VALUE_BYTES
  r.value = tile->values[at];
#endif
  return r;
}

// Pass p's digit: shift is byte p of `shifts`, width that of `widths`.
KERNEL(WG) void one_cluster_sort(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                                 GLOBAL value_t *values_out, u64 n, u64 shifts, u64 widths, u32 passes) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(one_cluster_memory_t, mine);
  const u32 t = local_id(), group = group_id(), count = (u32)n;
  const u32 digit = t % RADIX, team = t / RADIX;
  LOCAL u32 *my_ranks = mine->ranks + sg_index() * RANK_WORDS;
  const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();

  if (t == 0) {
    async_copy_init(&mine->tile_comes);
    async_copy_init(&mine->counts_come[0]);
    async_copy_init(&mine->counts_come[1]);
  }
  cluster_arrive();

  // Load. What stands in for records past the end sorts after them all, stays there, and is never written out.
  record_t record[ITEMS];
  UNROLL for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = group * TILE + first + i * SG_LANES;
    record[i] = load_record(keys_in, values_in, min(at, count - 1));
    record[i].key = at < count ? record[i].key : KEY_LAST;
  }
  cluster_wait();  // all have begun

  for (u32 pass = 0; pass < passes; ++pass) {
    const u32 shift = (u32)(shifts >> (8 * pass)) & 255;
    const u32 mask = (1u << ((u32)(widths >> (8 * pass)) & 255)) - 1;
    for (u32 i = sg_lane(); i < RANK_WORDS; i += SG_LANES) my_ranks[i] = 0;
    sg_barrier();

    // Rank in the sub-group, in the order of the list.
    u32 place[ITEMS];
    UNROLL for (u32 i = 0; i < ITEMS; ++i) place[i] = sg_rank(my_ranks, RADIX, key_digit(record[i].key, shift, mask));
    barrier_local();

    // Sum over sub-groups, tell all work-groups, scan over digits.
    u32 sum = 0;
    UNROLL for (u32 s = 0; s < TEAM_ROWS; ++s) sum += mine->ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
    u32 before = 0, total = sum;
#if TEAMS > 1
    mine->sums[t] = sum;
    barrier_local();
    total = 0;
    UNROLL for (u32 q = 0; q < TEAMS; ++q) {
      const u32 c = mine->sums[q * RADIX + digit];
      before += q < team ? c : 0;
      total += c;
    }
#endif
    if (t < RADIX) mine->totals[t] = (u16)total;
    if (t == 0) {
      async_expect(&mine->counts_come[pass % 2], sizeof mine->counts[0]);
      if (pass + 1 < passes) async_expect(&mine->tile_comes, sizeof(tile_t));
    }
    index_t all;
    const u32 start = (u32)wg_scan_add(mine->scratch, RADIX, total, &all);  // with a barrier for the totals, too
    for (u32 other = sg_index(); other < GROUPS; other += SUB_GROUPS)
      cluster_send16(&mine->counts[pass % 2][group * RADIX + 8 * sg_lane()], other, &mine->totals[8 * sg_lane()],
                     &mine->counts_come[pass % 2]);
    u32 at = start + before;
#if TEAMS > 1
    if (t < RADIX) mine->moves[t] = start;
    barrier_local();
    at = mine->moves[digit] + before;
#endif
    UNROLL for (u32 s = 0; s < TEAM_ROWS; ++s) {
      LOCAL u32 *c = &mine->ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
      const u32 in_row = *c;
      *c = at;
      at += in_row;
    }
    barrier_local();

    // Sort the tile, so that what goes to another work-group goes there in runs.
    UNROLL for (u32 i = 0; i < ITEMS; ++i) {
      const u32 to = place[i] + my_ranks[key_digit(record[i].key, shift, mask)];
      mine->by_digit.items[to] = tile_item(record[i]);
#if VALUE_BYTES && !PAIRED
      mine->by_digit.values[to] = record[i].value;
#endif
    }
    barrier_local();
    UNROLL for (u32 i = 0; i < ITEMS; ++i) record[i] = tile_record(&mine->by_digit, first + i * SG_LANES);

    // Where this tile's digits begin in the list: after all smaller ones, and the same of the tiles before.
    async_copy_wait(&mine->counts_come[pass % 2], pass / 2);
    u32 in_list = 0, in_tiles_before = 0;
    if (t < RADIX)
      UNROLL for (u32 g = 0; g < GROUPS; ++g) {
        const u32 c = mine->counts[pass % 2][g * RADIX + t];
        in_list += c;
        in_tiles_before += g < group ? c : 0;
      }
    const u32 start_in_list = (u32)wg_scan_add(mine->scratch, RADIX, in_list, &all);
    if (t < RADIX) mine->moves[t] = start_in_list + in_tiles_before - start;
    barrier_local();

    // Scatter: to all tiles, or at last to the output.
    UNROLL for (u32 i = 0; i < ITEMS; ++i) {
      const u32 to = first + i * SG_LANES + mine->moves[key_digit(record[i].key, shift, mask)];
      if (pass + 1 < passes) {
        cluster_send(&mine->tile.items[to % TILE], to / TILE, tile_item(record[i]), &mine->tile_comes);
#if VALUE_BYTES && !PAIRED
        cluster_send(&mine->tile.values[to % TILE], to / TILE, record[i].value, &mine->tile_comes);
#endif
      } else if (to < count) {
        store_record(keys_out, values_out, to, record[i]);
      }
    }
    if (pass + 1 == passes) break;
    async_copy_wait(&mine->tile_comes, pass);
    UNROLL for (u32 i = 0; i < ITEMS; ++i) record[i] = tile_record(&mine->tile, first + i * SG_LANES);
  }
}
