// Short segments, sorted in the registers of a few lanes each by Batcher's bitonic network: a lane has ROW neighbouring
// records, and a segment of class c has 2^c lanes.
// Parameters: WG, COMPOSITE, WIDE, SORT_BITS, GATHER_KEYS, and segmented_lists'.

// What is sorted. COMPOSITE: the bits that decide, then the record's position in the segment, so that no two are equal.
// WIDE: both together are more than 64 bits, and the position is kept beside. Else the key's order itself.
#if SORT_BITS == 64
typedef u64 sort_t;
#else
typedef u32 sort_t;
#endif
#define SORT_LAST ((sort_t)(~(sort_t)0))
#define POSITION_BITS 8  // a sub-group holds 32 * ROW records

#if WIDE
#define BEFORE(i, other, place) (item[i] < other || (item[i] == other && position[i] < place))
#define ORDER_PAIR(i, j)                          \
  if (!BEFORE(i, item[j], position[j])) {         \
    const sort_t x = item[i];                     \
    const u32 p = position[i];                    \
    item[i] = item[j];                            \
    position[i] = position[j];                    \
    item[j] = x;                                  \
    position[j] = p;                              \
  }
#else
#define ORDER_PAIR(i, j)                   \
  {                                        \
    const sort_t x = item[i], y = item[j]; \
    item[i] = min(x, y);                   \
    item[j] = max(x, y);                   \
  }
#endif

// The pairs of a merge whose partners are `distance` apart and less, all of them in the lane.
#define MERGE_ROW(distance)                             \
  UNROLL for (u32 d = distance; d > 0; d /= 2)          \
    UNROLL for (u32 i = 0; i < ROW; ++i)                \
      if ((i & d) == 0) ORDER_PAIR(i, i ^ d)

#define SPREAD(place) ((place) + (place) / 32)  // so that rows begin in different banks

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

// tasks: the lists of all classes. The bits of a key's order that decide: rank_mask, after begin_bit. keys_work: keys_out,
// or what stands in for it where no keys are wanted.
KERNEL(WG) void segmented_tiny(GLOBAL const ukey_t *keys_in, GLOBAL const ukey_t *keys_spare, GLOBAL const ukey_t *keys_work,
                               GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in, GLOBAL const value_t *values_spare,
                               GLOBAL value_t *values_out, GLOBAL const task_t *tasks, GLOBAL const u32 *counters, u64 n,
                               u64 most, u32 begin_bit, u64 rank_mask) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(sort_t, exchange, SPREAD(WG * ROW));
#if WIDE
  LOCAL_ARRAY(u32, exchange_positions, SPREAD(WG * ROW));
#endif
  const u32 t = local_id();
  u64 list = 0;
  for (u32 c = 0; c < TINY_CLASSES; ++c) {
    const u32 lanes = 1u << c, lane = t & (lanes - 1), together = WG >> c;
    const u64 length = counters[c];
    for (u64 base = (u64)group_id() * together; base < length; base += (u64)group_count() * together) {
      // Load. Neighbouring lanes read neighbouring records; which is in which place does not matter yet.
      const u64 mine = base + (t >> c);
      const task_t task = tasks[list + min(mine, length - 1)];
      const u64 begin = task.begin;
      const u32 count = mine < length ? TASK_COUNT(task) : 0;
      GLOBAL const ukey_t *keys = FROM_PLACE(TASK_PLACE(task), keys_in, keys_spare, keys_work);
      sort_t item[ROW];
#if WIDE
      u32 position[ROW];
#endif
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
        item[i] = SORT_LAST;
#if WIDE
        position[i] = at;
#endif
        if (at < count) {
          const ukey_t order = key_order(keys[begin + at]);
#if WIDE
          item[i] = (sort_t)(order >> begin_bit) & rank_mask;
#elif COMPOSITE
          item[i] = ((sort_t)(order >> begin_bit) & (sort_t)rank_mask) << POSITION_BITS | at;
#else
          item[i] = order;
#endif
        }
      }

      // Sort the lane's row; then merge lanes by twos, fours, … Every merge begins with a mirrored step, so that all
      // comparators put the smaller one first, and what is missing stays at the end.
      UNROLL for (u32 width = 2; width <= ROW; width *= 2) {
        UNROLL for (u32 i = 0; i < ROW; ++i)
          if ((i & (width / 2)) == 0) ORDER_PAIR(i, i ^ (width - 1))
        MERGE_ROW(width / 4)
      }
      for (u32 width = 2; width <= lanes; width *= 2) {
        MEET(sg_lane() ^ (width - 1), (lane & (width / 2)) != 0, 1)
        for (u32 distance = width / 4; distance > 0; distance /= 2)
          MEET(sg_lane() ^ distance, (lane & distance) != 0, 0)
        MERGE_ROW(ROW / 2)
      }

      // Exchange: from rows to places that neighbouring lanes can write together.
      UNROLL for (u32 i = 0; i < ROW; ++i) exchange[SPREAD(t * ROW + i)] = item[i];
#if WIDE
      UNROLL for (u32 i = 0; i < ROW; ++i) exchange_positions[SPREAD(t * ROW + i)] = position[i];
#endif
      sg_barrier();
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 from = (t - lane) * ROW + i * lanes + lane;
        item[i] = exchange[SPREAD(from)];
#if WIDE
        position[i] = exchange_positions[SPREAD(from)];
#endif
      }

      // Fetch what an item does not say, all of it before anything is written: the output may be the input.
      ukey_t key[ROW];
      value_t value[ROW];
#if VALUE_BYTES
      GLOBAL const value_t *values = FROM_PLACE(TASK_PLACE(task), values_in, values_spare, values_out);
#endif
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 there = i * lanes + lane < count;
#if WIDE
        const u64 from = begin + position[i];
#else
        const u64 from = begin + ((u32)item[i] & ((1u << POSITION_BITS) - 1));
#endif
        key[i] = 0;
        value[i] = 0;
#if GATHER_KEYS
        if (there) key[i] = keys[from];
#elif COMPOSITE
        key[i] = key_of_order((ukey_t)(item[i] >> POSITION_BITS));
#else
        key[i] = key_of_order((ukey_t)item[i]);
#endif
#if VALUE_BYTES
        if (there) value[i] = values ? values[from] : (value_t)from;
#endif
      }
#if COMPOSITE
      barrier_all();
#else
      sg_barrier();  // for what comes next to be exchanged
#endif
      UNROLL for (u32 i = 0; i < ROW; ++i) {
        const u32 at = i * lanes + lane;
        if (at < count) {
          if (keys_out) keys_out[begin + at] = key[i];
#if VALUE_BYTES
          values_out[begin + at] = value[i];
#endif
        }
      }
    }
    list += list_room(c, n, most);
  }
}
