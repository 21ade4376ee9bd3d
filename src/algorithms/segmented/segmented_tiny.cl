// segmented, short segments: a few lanes sort a segment in registers by Batcher's bitonic network.
// A lane has ROW consecutive records, and 2^c lanes sort a segment of class c. segmented_lists.cl
// and segmented_items.cl come before this file.

// Parameters in addition to those of these files:
PARAMETER(WG)     // work-items of a work-group
PARAMETER(DROPS)  // 1: items have 32 bits. If more bits differ than fit beside the position, items
                  // omit the lowest ones. A segment whose order these bits would change is put on
                  // another list, for a kernel without DROPS

INLINE ukey_t shuffle_rank(sub_group_t sg, ukey_t rank, u32 lane) {
  ukey_t out = (ukey_t)sg_shuffle(sg, (u32)rank, lane);
#if KEY_BITS == 64
  out |= (ukey_t)sg_shuffle(sg, (u32)(rank >> 32), lane) << 32;
#endif
  return out;
}

// Sets other[i] (and place[i]) to item i of the row of lane `partner` or, if `mirrored` is 1, to
// its item ROW - 1 - i. Without native sub-groups, the whole row goes through local memory at once,
// because every shuffle of a single word would need a barrier.
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
  UNROLL                               \
  for (u32 i = 0; i < ROW; ++i)        \
    other[i] = shuffle_item(sg, item[mirrored ? ROW - 1 - i : i], partner);
#define FETCH_POSITIONS(partner, mirrored) \
  UNROLL                                   \
  for (u32 i = 0; i < ROW; ++i)            \
    place[i] = sg_shuffle(sg, position[mirrored ? ROW - 1 - i : i], partner);
#else
#define FETCH(to, from, space, partner, mirrored)                                            \
  for (u32 i = 0; i < ROW; ++i) space[SPREAD(t * ROW + i)] = from[i];                        \
  barrier_local();                                                                           \
  for (u32 i = 0; i < ROW; ++i)                                                              \
    to[i] = space[SPREAD((t - sg_lane() + (partner)) * ROW + (mirrored ? ROW - 1 - i : i))]; \
  barrier_local();
#define FETCH_ITEMS(partner, mirrored) FETCH(other, item, exchange, partner, mirrored)
#define FETCH_POSITIONS(partner, mirrored) \
  FETCH(place, position, exchange_positions, partner, mirrored)
#endif

// Compares every item with that of the partner lane. The smaller one goes to the lower lane.
#if WIDE
#define MEET(partner, upper, mirrored)                                     \
  {                                                                        \
    sort_t other[ROW];                                                     \
    u32 place[ROW];                                                        \
    FETCH_ITEMS(partner, mirrored)                                         \
    FETCH_POSITIONS(partner, mirrored)                                     \
    UNROLL                                                                 \
    for (u32 i = 0; i < ROW; ++i) {                                        \
      const u32 keep = BEFORE(i, other[i], place[i]) ? !(upper) : (upper); \
      item[i] = keep ? item[i] : other[i];                                 \
      position[i] = keep ? position[i] : place[i];                         \
    }                                                                      \
  }
#else
#define MEET(partner, upper, mirrored)                                     \
  {                                                                        \
    sort_t other[ROW];                                                     \
    FETCH_ITEMS(partner, mirrored)                                         \
    UNROLL                                                                 \
    for (u32 i = 0; i < ROW; ++i)                                          \
      item[i] = (upper) ? max(item[i], other[i]) : min(item[i], other[i]); \
  }
#endif

//   keys_in, keys_spare, keys_work, values_…  in: the records; a task says which. keys_work is
//                   keys_out, or memory that replaces it if no keys are wanted
//   keys_out, values_out  out: the sorted segments
//   tasks           in: the lists of all classes; `counters` has their lengths
//   again           out, DROPS: the lists of segments that this kernel does not sort;
//                   again_counters (0 at first) has the lengths of these lists
//   n, segments, pieces  parameters of list_capacity
//   begin_bit, rank_mask  parameters of RANK
KERNEL(WG)
void segmented_tiny(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_spare,
                    GLOBAL const ukey_t* keys_work, GLOBAL ukey_t* keys_out,
                    GLOBAL const value_t* values_in, GLOBAL const value_t* values_spare,
                    GLOBAL value_t* values_out, GLOBAL const task_t* tasks,
                    GLOBAL const u32* counters, GLOBAL task_t* again, GLOBAL u32* again_counters,
                    u64 n, u64 segments, u64 pieces, u32 begin_bit, u64 rank_mask) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(sort_t, exchange, SPREAD(WG * ROW));
#if WIDE
  LOCAL_ARRAY(u32, exchange_positions, SPREAD(WG * ROW));
#endif
#if GATHER_KEYS
  LOCAL_ARRAY(ukey_t, local_keys, SPREAD(WG * ROW));  // in the order of the input
#endif
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, local_values, SPREAD(WG * ROW));
#endif
  const u32 t = local_id();
#if SG_NATIVE  // else every work-item must reach the barriers
  u32 any = 0;
  UNROLL
  for (u32 c = 0; c < TINY_CLASSES; ++c) any |= counters[c];
  if (any == 0) return;  // often: before the lists are looked at one after the other
#endif
  u64 list = 0;
  for (u32 c = 0; c < TINY_CLASSES; ++c) {
    const u32 lanes = 1u << c, lane = t & (lanes - 1), together = WG >> c;
    const u32 own = (t - lane) * ROW;  // index of the segment's first record in local memory
    const u32 position_bits = highest_bit32(ROW) + c;
    const u64 length = counters[c];
    for (u64 base = (u64)group_id() * together; base < length;
         base += (u64)group_count() * together) {
      // Load. Neighbouring lanes read neighbouring records; which lane gets which record does not
      // matter yet. A lane reads only records at indices that it will write, because the output may
      // be the input.
      const u64 mine = base + (t >> c);
      const task_t task = tasks[list + min(mine, length - 1)];
      const u64 begin = task.begin;
      const u32 count = mine < length ? TASK_COUNT(task) : 0;
      GLOBAL const ukey_t* keys = FROM_PLACE(TASK_PLACE(task), keys_in, keys_spare, keys_work);
#if VALUE_BYTES
      GLOBAL const value_t* values =
          FROM_PLACE(TASK_PLACE(task), values_in, values_spare, values_out);
#endif
      ukey_t rank[ROW];
      UNROLL
      for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
        rank[i] = 0;
        if (at < count) {
          const ukey_t key = keys[begin + at];
          rank[i] = RANK(key);
#if GATHER_KEYS
          local_keys[SPREAD(own + at)] = key;
#endif
#if VALUE_BYTES
          local_values[SPREAD(own + at)] = values ? values[begin + at] : (value_t)(begin + at);
#endif
        }
      }

      // Make items. Items without a record sort last.
#if DROPS
      const ukey_t first = shuffle_rank(sg, rank[0], sg_lane() - lane);
      ukey_t differ = 0;
      UNROLL
      for (u32 i = 0; i < ROW; ++i) differ |= i * lanes + lane < count ? rank[i] ^ first : 0;
      for (u32 distance = 1; distance < lanes; distance *= 2)
        differ |= shuffle_rank(sg, differ, sg_lane() ^ distance);
      const u32 open = differ != 0 ? highest_bit(differ) + 1 : 0;
      const u32 drop = max(open + position_bits, (u32)SORT_BITS) - SORT_BITS;
#endif
      sort_t item[ROW];
#if WIDE
      u32 position[ROW];
#endif
      UNROLL
      for (u32 i = 0; i < ROW; ++i) {
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

      // Sort the lane's row. Then merge the rows of 2, 4, ... lanes in the same way.
      SORT_ROW(ROW)
      for (u32 width = 2; width <= lanes; width *= 2) {
        MEET(sg_lane() ^ (width - 1), (lane & (width / 2)) != 0, 1)
        for (u32 distance = width / 4; distance > 0; distance /= 2)
          MEET(sg_lane() ^ distance, (lane & distance) != 0, 0)
        MERGE_ROW(ROW, ROW / 2)
      }

      // Exchange items through local memory, so that neighbouring lanes store neighbouring records.
      UNROLL
      for (u32 i = 0; i < ROW; ++i) exchange[SPREAD(t * ROW + i)] = item[i];
#if WIDE
      UNROLL
      for (u32 i = 0; i < ROW; ++i) exchange_positions[SPREAD(t * ROW + i)] = position[i];
#endif
      sg_barrier();
      UNROLL
      for (u32 i = 0; i < ROW; ++i) {
        const u32 from = SPREAD(own + i * lanes + lane);
        item[i] = exchange[from];
#if WIDE
        position[i] = exchange_positions[from];
#endif
      }
#if WIDE
#define POSITION_OF(i) position[i]
#else
#define POSITION(item) ((u32)(item) & ((1u << position_bits) - 1))
#define POSITION_OF(i) POSITION(item[i])
#endif

      // Check whether the omitted bits change the order of neighbouring items. No record of the
      // segment has been stored yet.
      u32 sorted = count;
#if DROPS
      u32 wrong = 0;
      UNROLL
      for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
        if (drop != 0 && at + 1 < count) {
          const sort_t next = exchange[SPREAD(own + at + 1)];
          if (item[i] >> position_bits == next >> position_bits &&
              RANK(local_keys[SPREAD(own + POSITION(item[i]))]) >
                  RANK(local_keys[SPREAD(own + POSITION(next))]))
            wrong = 1;
        }
      }
      const u32 of_segment = ((1u << (lanes - 1)) * 2 - 1) << (sg_lane() - lane);
      wrong = sg_ballot(sg, wrong) & of_segment;
      sorted = wrong != 0 ? 0 : count;
      if (wrong != 0 && lane == 0) again[list + global_add(&again_counters[c], 1u)] = task;
#endif

      // Store.
      UNROLL
      for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
        if (at < sorted) {
#if GATHER_KEYS
          if (keys_out) keys_out[begin + at] = local_keys[SPREAD(own + POSITION_OF(i))];
#elif COMPOSITE
          if (keys_out) keys_out[begin + at] = key_of_order((ukey_t)(item[i] >> position_bits));
#else
          keys_out[begin + at] = key_of_order((ukey_t)item[i]);
#endif
#if VALUE_BYTES
          values_out[begin + at] = local_values[SPREAD(own + POSITION_OF(i))];
#endif
        }
      }
      sg_barrier();  // before the next segment's exchange
    }
    list += list_capacity(c, n, segments, pieces);
  }
}
