// Short segments, sorted in the registers of a few lanes each by Batcher's bitonic network: a lane has ROW neighbouring
// records, and a segment of class c has 2^c lanes.
// Parameters: WG, DROPS, and those of segmented_lists and segmented_items, which stand in front of this.
// DROPS: where more bits differ than there is room for beside the position, the lowest are left out; a segment whose order
// they would have changed goes to another list, for a kernel that leaves out none.

INLINE ukey_t shuffle_rank(sub_group_t sg, ukey_t rank, u32 lane) {
  ukey_t out = (ukey_t)sg_shuffle(sg, (u32)rank, lane);
#if KEY_BITS == 64
  out |= (ukey_t)sg_shuffle(sg, (u32)(rank >> 32), lane) << 32;
#endif
  return out;
}

// other[i] (and place[i]) gets what lane `partner` has in the same place of its row or, with `mirrored`, in that counted
// from the row's end. Without native sub-groups, a barrier for each word would be many: the whole row goes through local
// memory at once.
#if SG_NATIVE
INLINE sort_t shuffle_item(sub_group_t sg, sort_t item, u32 lane) {
#if SORT_BITS == 64
  const u32 low = sg_shuffle(sg, (u32)item, lane);
  return low | (sort_t)sg_shuffle(sg, (u32)(item >> 32), lane) << 32;
#else
  return sg_shuffle(sg, item, lane);
#endif
}
#define FETCH_ITEMS(partner, mirrored) \
  UNROLL for (u32 i = 0; i < ROW; ++i) other[i] = shuffle_item(sg, item[mirrored ? ROW - 1 - i : i], partner);
#define FETCH_POSITIONS(partner, mirrored) \
  UNROLL for (u32 i = 0; i < ROW; ++i) place[i] = sg_shuffle(sg, position[mirrored ? ROW - 1 - i : i], partner);
#else
#define FETCH(to, from, space, partner, mirrored)                                                         \
  for (u32 i = 0; i < ROW; ++i) space[SPREAD(t * ROW + i)] = from[i];                                     \
  barrier_local();                                                                                        \
  for (u32 i = 0; i < ROW; ++i)                                                                           \
    to[i] = space[SPREAD((t - sg_lane() + (partner)) * ROW + (mirrored ? ROW - 1 - i : i))];              \
  barrier_local();
#define FETCH_ITEMS(partner, mirrored) FETCH(other, item, exchange, partner, mirrored)
#define FETCH_POSITIONS(partner, mirrored) FETCH(place, position, exchange_positions, partner, mirrored)
#endif

// Every record meets its partner, and the smaller one goes to the lower lane.
#if WIDE
#define MEET(partner, upper, mirrored)                                     \
  {                                                                        \
    sort_t other[ROW];                                                     \
    u32 place[ROW];                                                        \
    FETCH_ITEMS(partner, mirrored)                                         \
    FETCH_POSITIONS(partner, mirrored)                                     \
    UNROLL for (u32 i = 0; i < ROW; ++i) {                                 \
      const u32 keep = BEFORE(i, other[i], place[i]) ? !(upper) : (upper); \
      item[i] = keep ? item[i] : other[i];                                 \
      position[i] = keep ? position[i] : place[i];                         \
    }                                                                      \
  }
#else
#define MEET(partner, upper, mirrored)                                                                        \
  {                                                                                                           \
    sort_t other[ROW];                                                                                        \
    FETCH_ITEMS(partner, mirrored)                                                                            \
    UNROLL for (u32 i = 0; i < ROW; ++i) item[i] = (upper) ? max(item[i], other[i]) : min(item[i], other[i]); \
  }
#endif

// The places of a sub-group's segments in memory, one after the other, taken by rows of neighbours: whole transactions, where
// a lane's own segment would be read and written a few bytes at a time. A lane writes those places that it has read, and
// no others: the output may be the input.
INLINE index_t shuffle_index(sub_group_t sg, index_t index, u32 lane) {
  index_t out = sg_shuffle(sg, (u32)index, lane);
#if INDEX_BITS == 64
  out |= (index_t)sg_shuffle(sg, (u32)(index >> 32), lane) << 32;
#endif
  return out;
}

// tasks: the lists of all classes. keys_work: keys_out, or what stands in for it where no keys are wanted. again and
// again_counters: tasks of the same classes that are left to another kernel, and how many they are; 0 before.
KERNEL(WG) void segmented_tiny(GLOBAL const ukey_t *keys_in, GLOBAL const ukey_t *keys_spare, GLOBAL const ukey_t *keys_work,
                               GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in, GLOBAL const value_t *values_spare,
                               GLOBAL value_t *values_out, GLOBAL const task_t *tasks, GLOBAL const u32 *counters,
                               GLOBAL task_t *again, GLOBAL u32 *again_counters, u64 n, u64 segments, u64 pieces,
                               u32 begin_bit, u64 rank_mask) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(sort_t, exchange, SPREAD(WG * ROW));
#if WIDE
  LOCAL_ARRAY(u32, exchange_positions, SPREAD(WG * ROW));
#endif
#if GATHER_KEYS
  LOCAL_ARRAY(ukey_t, local_keys, SPREAD(WG * ROW));  // as they came
#endif
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, local_values, SPREAD(WG * ROW));
#endif
  const u32 t = local_id();
  u64 list = 0;
  for (u32 c = 0; c < TINY_CLASSES; ++c) {
    const u32 lanes = 1u << c, lane = t & (lanes - 1), together = WG >> c;
    const u32 own = (t - lane) * ROW, of_sub_group = (t - sg_lane()) * ROW;  // first places in local memory
    const u32 position_bits = highest_bit32(ROW) + c;
    const u64 length = counters[c];
    for (u64 base = (u64)group_id() * together; base < length; base += (u64)group_count() * together) {
      // Load, by places.
      const u64 mine = base + (t >> c);
      const task_t task = tasks[list + min(mine, length - 1)];
      const u32 count = mine < length ? TASK_COUNT(task) : 0;
      index_t record[ROW];  // of each place
      u32 there[ROW];       // whether there is one
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 place = i * SG_LANES + sg_lane(), owner = place / ROW & ~(lanes - 1), at = place - owner * ROW;
        record[i] = shuffle_index(sg, task.begin, owner) + at;
        there[i] = at < sg_shuffle(sg, count, owner) ? 1 : 0;
        const u32 from = sg_shuffle(sg, TASK_PLACE(task), owner);
        if (there[i]) {
          const ukey_t key = FROM_PLACE(from, keys_in, keys_spare, keys_work)[record[i]];
#if GATHER_KEYS
          local_keys[SPREAD(of_sub_group + place)] = key;
#else
          exchange[SPREAD(of_sub_group + place)] = RANK(key);
#endif
#if VALUE_BYTES
          GLOBAL const value_t *values = FROM_PLACE(from, values_in, values_spare, values_out);
          local_values[SPREAD(of_sub_group + place)] = values ? values[record[i]] : (value_t)record[i];
#endif
        }
      }
      sg_barrier();
      ukey_t rank[ROW];
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 at = SPREAD(own + i * lanes + lane);
#if GATHER_KEYS
        rank[i] = i * lanes + lane < count ? RANK(local_keys[at]) : 0;
#else
        rank[i] = i * lanes + lane < count ? (ukey_t)exchange[at] : 0;
#endif
      }
      sg_barrier();

      // Items. What is not there sorts last.
#if DROPS
      const ukey_t first = shuffle_rank(sg, rank[0], sg_lane() - lane);
      ukey_t differ = 0;
      UNROLL for (u32 i = 0; i < ROW; ++i) differ |= i * lanes + lane < count ? rank[i] ^ first : 0;
      for (u32 distance = 1; distance < lanes; distance *= 2) differ |= shuffle_rank(sg, differ, sg_lane() ^ distance);
      const u32 open = differ != 0 ? highest_bit(differ) + 1 : 0;
      const u32 drop = max(open + position_bits, (u32)SORT_BITS) - SORT_BITS;
#endif
      sort_t item[ROW];
#if WIDE
      u32 position[ROW];
#endif
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
#if WIDE
        item[i] = rank[i];
        position[i] = at;
#elif DROPS
        item[i] = (sort_t)(rank[i] >> drop) << position_bits | at;
#elif COMPOSITE
        item[i] = (sort_t)rank[i] << position_bits | at;
#else
        item[i] = rank[i];
#endif
        item[i] = at < count ? item[i] : SORT_LAST;
      }

      // Sort the lane's row; then merge lanes by twos, fours, … Every merge begins with a mirrored step, so that all
      // comparators put the smaller one first, and what is missing stays at the end.
      SORT_ROW(ROW)
      for (u32 width = 2; width <= lanes; width *= 2) {
        MEET(sg_lane() ^ (width - 1), (lane & (width / 2)) != 0, 1)
        for (u32 distance = width / 4; distance > 0; distance /= 2)
          MEET(sg_lane() ^ distance, (lane & distance) != 0, 0)
        MERGE_ROW(ROW, ROW / 2)
      }

      // Exchange: from rows to places that neighbouring lanes can write together.
      UNROLL for (u32 i = 0; i < ROW; ++i) exchange[SPREAD(t * ROW + i)] = item[i];
#if WIDE
      UNROLL for (u32 i = 0; i < ROW; ++i) exchange_positions[SPREAD(t * ROW + i)] = position[i];
#endif
      sg_barrier();
#define POSITION(item) ((u32)(item) & ((1u << position_bits) - 1))

      // Neighbours that tie but for what was left out. Nothing of their segment has been written.
#if DROPS
      u32 wrong = 0;
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
        if (drop != 0 && at + 1 < count) {
          const sort_t x = exchange[SPREAD(own + at)], y = exchange[SPREAD(own + at + 1)];
          if (x >> position_bits == y >> position_bits &&
              RANK(local_keys[SPREAD(own + POSITION(x))]) > RANK(local_keys[SPREAD(own + POSITION(y))]))
            wrong = 1;
        }
      }
      const u32 of_segment = ((1u << (lanes - 1)) * 2 - 1) << (sg_lane() - lane);
      wrong = sg_ballot(sg, wrong) & of_segment;
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 of_owner = (i * SG_LANES + sg_lane()) / ROW & ~(lanes - 1);
        there[i] &= sg_shuffle(sg, wrong, of_owner) == 0 ? 1u : 0u;
      }
      if (wrong != 0 && lane == 0) again[list + global_add(&again_counters[c], 1u)] = task;
#endif

      // Store, by places.
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 place = i * SG_LANES + sg_lane(), at = SPREAD(of_sub_group + place);
        if (there[i]) {
          const sort_t sorted = exchange[at];
#if WIDE
          const u32 from = exchange_positions[at];
#else
          const u32 from = POSITION(sorted);
#endif
          const u32 source = SPREAD(of_sub_group + (place / ROW & ~(lanes - 1)) * ROW + from);
#if GATHER_KEYS
          if (keys_out) keys_out[record[i]] = local_keys[source];
#elif COMPOSITE
          if (keys_out) keys_out[record[i]] = key_of_order((ukey_t)(sorted >> position_bits));
#else
          keys_out[record[i]] = key_of_order((ukey_t)sorted);
#endif
#if VALUE_BYTES
          values_out[record[i]] = local_values[source];
#endif
        }
      }
      sg_barrier();  // for what comes next to be exchanged
    }
    list += list_room(c, n, segments, pieces);
  }
}
