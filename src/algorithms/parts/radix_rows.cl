// Radix passes over a short list: each work-group keeps its tile for all passes. It ranks its keys,
// stores the tile's digit counts as a row of a table, and adds them to the counts of its group of
// tiles. When all work-groups have done so, it adds up the counts of the groups and the rows of its
// own group. This tells where its records go. There is no look-back, and the digits of all passes
// need not be counted first.
//
// There are as many work-groups as tiles. If not all of them run at the same time, those that run
// also take the remaining tiles. So a work-group waits only for running ones.
//
// Joined from: key_map.cl, equalize.cl, stretch.cl, columns.cl, radix_pass_tiles.cl (the steps
// for one tile), this file.

PARAMETER(WG)             // work-items of a work-group
PARAMETER(RESIDENT)       // work-groups that share a compute unit
PARAMETER(PASSES)         // digits of a key
PARAMETER(TRIES_LEADING)  // 1: partitions by the leading digit, if it spreads

// The words of `state`.
#define ROWS_TICKET 0u                           // number of tiles that are taken
#define ROWS_DIFFER 1u                           // bit d: keys differ in digit d
#define ROWS_STORED(phase) (2 + (phase))         // number of rows that are stored
#define ROWS_DONE(phase) (3 + PASSES + (phase))  // number of tiles that are written

// Tiles of a group. Without groups, each work-group would add up the rows of all tiles, and read
// four times as much.
#define ROW_GROUP 16u
#define ROW_GROUPS(tiles) (((tiles) + ROW_GROUP - 1) / ROW_GROUP)

// Work-item t < RADIX returns the number of all records with digit t, and stores in *before the
// number of those in tiles before `tile`.
#define GROUPS_AT_ONCE 8u
INLINE u32 sum_rows(GLOBAL const u32* groups, GLOBAL const u16* rows, u32 tiles, u32 tile,
                    u32* before) {
  const u32 t = local_id() % RADIX, own = tile / ROW_GROUP, end = ROW_GROUPS(tiles);
  u32 all = 0, earlier = 0, row[ROW_GROUP - 1];
  UNROLL
  for (u32 i = 0; i < ROW_GROUP - 1; ++i)
    row[i] = rows[min(own * ROW_GROUP + i, tiles - 1) * RADIX + t];
  for (u32 base = 0; base < end; base += GROUPS_AT_ONCE) {
    u32 count[GROUPS_AT_ONCE];
    UNROLL
    for (u32 i = 0; i < GROUPS_AT_ONCE; ++i) count[i] = groups[min(base + i, end - 1) * RADIX + t];
    UNROLL
    for (u32 i = 0; i < GROUPS_AT_ONCE; ++i) {
      all += base + i < end ? count[i] : 0;
      earlier += base + i < own ? count[i] : 0;
    }
  }
  UNROLL
  for (u32 i = 0; i < ROW_GROUP - 1; ++i) earlier += own * ROW_GROUP + i < tile ? row[i] : 0;
  *before = earlier;
  return all;
}

// How often a work-group looks at the ticket before it takes a second tile: work-groups that are
// just beginning should get theirs.
#define PATIENCE 64

// Takes another tile, and returns its number. If none is left, that is the number of tiles.
INLINE u32 take_another(LOCAL onesweep_memory_t* mine, GLOBAL u32* ticket, u32 tiles) {
  if (local_id() == 0) {
    u32 is_left = mine->is_left;
    for (u32 i = 0; i < PATIENCE && is_left; ++i) is_left = load_relaxed(ticket) < tiles;
    mine->next_tile = is_left ? global_add(ticket, 1u) : tiles;
  }
  barrier_local();
  return min(mine->next_tile, tiles);
}

// Sets bit d of mine->differ if one of the work-item's keys and `one` differ in digit d, and bit
// PASSES if codes may not sort the list (needs_ties). A barrier must follow.
INLINE void compare_keys(LOCAL onesweep_memory_t* mine, const ukey_t* key, ukey_t one, u32 first,
                         u32 count, u64 shifts, u64 widths) {
  ukey_t other = 0;
  u32 digits = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    if (first + i * SG_LANES >= count) continue;
#if CODES
    other |= key[i] ^ one;
    digits |= needs_ties(CODE_OF(key[i]), ALL_BITS) ? 1u << PASSES : 0;  // a code's code is the key
#else
    other |= CODE_OF(key[i]) ^ one;
#endif
  }
  for (u32 d = 0; d < PASSES; ++d) {
    const u32 shift = (u32)(shifts >> (8 * d)) & 255, width = (u32)(widths >> (8 * d)) & 255;
    if (((u32)(other >> shift) & ((1u << width) - 1)) != 0) digits |= 1u << d;
  }
  wg_or(&mine->differ, digits);
}

// Stores in `mine` which passes to make: one for each digit in which keys differ. At least one pass
// is made, because it writes the output. If `in_place` is 1, the first pass may read the memory to
// which the last one writes, so an even number of passes is skipped. If keys tie, no pass is made.
// Ends with a barrier.
OUTLINE void choose_digits(LOCAL onesweep_memory_t* mine, u32 differ, u64 shifts, u64 widths,
                           u32 in_place) {
  KNOWN_LOCAL(mine);
  if (local_id() == 0) {
    const u32 all = (1u << PASSES) - 1;
    u32 skipped = ~differ & all;
    if (skipped == all) skipped &= skipped - 1;
    if (in_place && popcount32(skipped) % 2 != 0) skipped &= skipped - 1;
    u32 count = 0;
    for (u32 d = 0; d < PASSES; ++d)
      if ((skipped >> d & 1) == 0)
        mine->digits[count++] =
            ((u32)(shifts >> (8 * d)) & 255) | ((1u << ((u32)(widths >> (8 * d)) & 255)) - 1) << 8;
    mine->most = differ >> PASSES != 0 ? 0 : count;
    mine->odd = popcount32(skipped) % 2;
  }
  barrier_local();
}

// Passes read and write as those of radix_passes.cl: the parameters have the same meaning, except:
//   counts    work space, 0 at first: for each phase RADIX words for each group of tiles. There are
//             up to PASSES + 1 phases
//   table     work space: two rows of 16-bit counts for each tile, one for even and one for odd
//             phases. Behind all rows a word for each tile: 1 + the number of its work-group
//   state     work space, 0 at first: 2 * PASSES + 4 words
//   lead      TRIES_LEADING: shift of the leading digit, of 8 bits. If no value of it has more than
//             `capacity` records, the records are partitioned by it, from `in` to `a`, and *skewed
//             becomes 0; otherwise they are sorted, and it becomes 1
//   starts    out, TRIES_LEADING: the output index where each value of that digit begins, then n
KERNEL_RESIDENT(WG, RESIDENT)
void radix_rows(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
                GLOBAL const value_t* values_in, GLOBAL value_t* values_a, GLOBAL value_t* values_b,
                GLOBAL u32* counts, GLOBAL u32* table, GLOBAL u32* state, u32 in_place, u64 n,
                u64 shifts, u64 widths, u32 values_are_positions, u32 last_keys, GLOBAL u32* ties,
                GLOBAL const u32* gate, u32 gate_least, u32 gate_most, u32 lead, u32 capacity,
                GLOBAL u32* starts, GLOBAL u32* skewed) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(onesweep_memory_t, mine);
  if (gate && (*gate < gate_least || *gate > gate_most)) return;
  const u32 t = local_id(), tiles = (u32)((n + TILE - 1) / TILE);
  const u32 group_words = ROW_GROUPS(tiles) * RADIX;
  GLOBAL u32* owners = table + tiles * RADIX;
  LOCAL u32* my_ranks = MY_RANKS;
  if (t == 0) {
    mine->differ = 0;
    // If keys tie, nothing is sorted. One work-item looks, because others may set `ties` meanwhile.
    mine->first_tile =
        CODES && load_relaxed(ties) != 0 ? tiles : global_add(&state[ROWS_TICKET], 1u);
  }
  barrier_local();
  if (mine->first_tile >= tiles) return;

  u32 owned = 0, pass = 0;
  for (u32 phase = 0;; ++phase) {
    // The first phase takes tiles. It is also the first pass, unless its digit does not spread
    // (TRIES_LEADING) or is the same in all keys: then its ranks are not used.
    const u32 takes = phase == 0;
    pass_t p;
    p.shift = takes ? (TRIES_LEADING ? lead : (u32)shifts & 255) : mine->digits[pass] & 255;
    p.mask = takes ? (TRIES_LEADING ? RADIX - 1 : (1u << ((u32)widths & 255)) - 1)
                   : mine->digits[pass] >> 8;
    p.encodes = pass == 0;
    const u32 from_a = (pass + mine->odd) % 2;
    p.from = pass == 0 ? keys_in : from_a ? keys_a : keys_b;
    p.values_from = pass == 0 ? values_in : from_a ? values_a : values_b;
    p.positions = values_are_positions && pass == 0;
    GLOBAL u32* groups = counts + phase * group_words;
    GLOBAL u16* rows = (GLOBAL u16*)(table + phase % 2 * (tiles * (RADIX / 2)));

    u32 number = mine->first_tile, stored = 0, moved = 0, moving = 0;
    for (;;) {
      // Load, rank, count.
      LOCAL tile_t* tile = &mine->tiles[0];
      if (t == 0) {
        tile->begin = (u64)number * TILE;
        tile->count = (u32)min((u64)TILE, n - tile->begin);
      }
      for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
      barrier_local();
      ukey_t key[ITEMS];
      u32 place[(ITEMS + 1) / 2], digits[1];
      load_keys(p, tile, key);
      const u32 count = tile->count;
      if (takes && t == 0) mine->is_left = load_relaxed(&state[ROWS_TICKET]) < tiles;
      if (takes && !moving)
        compare_keys(mine, key, CODE_OF(keys_in[0]), FIRST_OF_LANE, count, shifts, widths);
      rank_keys(mine, sg, p, key, digits, place);
      barrier_local();
      u32 in_teams;
      const u32 with_padding = sum_digit(mine->ranks, mine->sums, &in_teams);

      if (!moving) {
        if (t < RADIX) {
          const u32 of_tile = with_padding - (t == p.mask ? TILE - count : 0);
          rows[number * RADIX + t] = (u16)of_tile;
          global_add(&groups[number / ROW_GROUP * RADIX + t], of_tile);
        }
        if (takes && t == 0) owners[number] = group_id() + 1;
        ++stored;
        u32 next = tiles;
        if (takes)
          next = take_another(mine, &state[ROWS_TICKET], tiles);
        else if (stored < owned)
          for (next = number + 1; owners[next] != group_id() + 1;) ++next;
        if (next < tiles) {
          number = next;
          barrier_local();
          continue;
        }
        if (takes) {
          owned = stored;
          if (t == 0 && mine->differ != 0) global_or(&state[ROWS_DIFFER], mine->differ);
        }
        barrier_all();
        if (t == 0) global_add_release(&state[ROWS_STORED(phase)], owned);
        if (owned > 1) {  // all tiles are loaded again
          wait_for(&state[ROWS_STORED(phase)], tiles);
          moving = 1;
          number = mine->first_tile;
          continue;
        }
      }

      // Sort the tile in local memory, while other work-groups still store rows.
#if VALUE_BYTES
      value_t value[ITEMS];
      load_values(p, tile, value);
#endif
      index_t all;
      const u32 start = (u32)wg_scan_add(mine->scratch, RADIX, with_padding, &all);
      place_digit(mine->ranks, mine->sums, start, in_teams);
      barrier_local();
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) {
        const u32 at = PLACE(i);
        mine->keys[at] = key[i];
#if VALUE_BYTES
        mine->values[at] = value[i];
#endif
      }

      // Find where each digit of the list begins, and where this tile's records of it go.
      if (!moving) wait_for(&state[ROWS_STORED(phase)], tiles);
      moving = 1;
      u32 in_earlier;
      const u32 in_all = sum_rows(groups, rows, tiles, number, &in_earlier);
      const u32 partitions = takes && TRIES_LEADING;
      if (takes && moved == 0) {
        choose_digits(mine, load_relaxed(&state[ROWS_DIFFER]), shifts, widths, in_place);
        if (t == 0) mine->skipped = 0;
        barrier_local();
#if TRIES_LEADING
        if (t < RADIX && in_all > capacity) local_or(&mine->skipped, 1u);
#else
        if (t == 0 && (mine->most == 0 || mine->digits[0] != (p.shift | p.mask << 8)))
          mine->skipped = 1;
#endif
        barrier_local();
        if (number == 0 && t == 0 && TRIES_LEADING) *skewed = mine->skipped;
        if (mine->skipped) break;
      }
      const u32 flipped = t ^ DIGIT_FLIP(p.shift, p.mask);
#if CODES
      if (t < RADIX) mine->first[t] = in_all;
      barrier_local();
      const index_t of_digit = t < RADIX ? mine->first[flipped] : 0;
#else
      const index_t of_digit = in_all;
#endif
      const index_t begin = wg_scan_add(mine->scratch, RADIX, of_digit, &all);
      if (t < RADIX) mine->first[flipped] = begin;
      barrier_local();
      if (t < RADIX) mine->to_out[t] = mine->first[t] + in_earlier - start;
      if (partitions && number == 0 && t < RADIX) {
        starts[t] = (u32)begin;
        if (t == 0) starts[RADIX] = (u32)n;
      }
      barrier_local();

      // Write out.
      p.last = !partitions && pass + 1 == mine->most;
#ifdef CODE_MASK
      p.decode = p.last ? CODE_MASK : 0;
#endif
      const u32 to_b = partitions ? 0 : (pass + mine->odd) % 2;
      p.to = p.last && !last_keys ? 0 : to_b ? keys_b : keys_a;
      p.values_to = to_b ? values_b : values_a;
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) {
        const u32 at = i * WG + t;
        if (at >= count) continue;
        const ukey_t k = mine->keys[at];
        const index_t out = mine->to_out[DIGIT(k)] + at;
        if (p.to) p.to[out] = KEY_OUT(k);
#if VALUE_BYTES
        p.values_to[out] = mine->values[at];
#endif
      }
      if (++moved == owned) break;
      barrier_local();
      for (++number; owners[number] != group_id() + 1;) ++number;
    }

    if (mine->most == 0) {  // keys tie
      if (t == 0) *ties = 1;
      return;
    }
    if (moved != 0) {
      if (takes && TRIES_LEADING) return;
      if (++pass == mine->most) return;
      barrier_all();
      if (t == 0) global_add_release(&state[ROWS_DONE(phase)], owned);
      wait_for(&state[ROWS_DONE(phase)], tiles);
    }
    barrier_local();
  }
}
