// segmented, short neighbouring segments: if all segments of a work-group are short, it sorts them
// at once. It reads their records, which are contiguous, into local memory; one lane or a few lanes
// sort each segment in registers; then the work-group writes the records. segmented_lists.cl and
// segmented_items.cl come before this file.

// Parameters in addition to those of these files:
PARAMETER(WG)  // work-items of a work-group, more than CLASSES + 1; each work-item has one segment
PARAMETER(
    SHORT)  // the most records that a lane sorts in registers: 32; 0: this launch sorts no segments
PARAMETER(LANES)  // the most lanes that sort a segment: a power of two, at most 4

// An item is the key's order bits or, with COMPOSITE, 32 bits: the highest bits in which the
// segment's keys differ, followed by the record's position in the segment. If records seem to tie
// by these bits, their whole ranks are compared. Floats without values are sorted by their order
// bits. A segment with a key that may tie with a key of different bits (NaN, -0) is not sorted here
// but put on a list.
#define UNTIED_FLOATS (KEY_FLOAT && !COMPOSITE)

// neighbours_bytes() in segmented_shape.cpp computes its size.
typedef struct {
#if SHORT
  ukey_t keys[SPREAD(WG * SHORT)];  // with COMPOSITE the keys, else their order bits
#if VALUE_BYTES
  value_t values[SPREAD(WG * SHORT)];
#endif
#if COMPOSITE
  u8 positions[SPREAD(WG *
                      SHORT)];  // for each place of the sorted segment, the position of its record
#endif
  u32 begins[WG + 1];  // index where each segment begins among the work-group's records
#endif
  u32 longest;
  u32 tied;  // bit r: round r's segments are not sorted, because some of their keys may tie
  u64 starts[WG];
  u32 here[WG], before[WG];
} segmented_classify_memory_t;

#if SHORT

typedef struct {  // a segment in local memory, and the number of this work-item's lane in it
  u32 own, count, lane, lanes;
} neighbour_t;

// Loads `all` records. Returns 1 if this work-item has loaded a key that may tie with a key of
// different bits.
INLINE u32 load_neighbours(LOCAL segmented_classify_memory_t* mine, u64 base, u32 all, u32 row,
                           GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                           u32 begin_bit, u64 rank_mask) {
  u32 ties = 0;
  UNROLL
  for (u32 k = 0; k < row; ++k) {
    const u32 at = local_id() + k * WG;
    if (at < all) {
      const ukey_t key = keys_in[base + at];
#if COMPOSITE
      mine->keys[SPREAD(at)] = key;
#elif UNTIED_FLOATS
      mine->keys[SPREAD(at)] = untied_order(key);
      ties |= key_ties(key);
#else
      mine->keys[SPREAD(at)] = RANK(key);
#endif
#if VALUE_BYTES
      mine->values[SPREAD(at)] = values_in ? values_in[base + at] : (value_t)(base + at);
#endif
    }
  }
  return ties;
}

INLINE void store_neighbours(LOCAL segmented_classify_memory_t* mine, u64 base, u32 all, u32 row,
                             GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out) {
  UNROLL
  for (u32 k = 0; k < row; ++k) {
    const u32 at = local_id() + k * WG;
    if (at < all) {
#if COMPOSITE
      if (keys_out) keys_out[base + at] = mine->keys[SPREAD(at)];
#else
      keys_out[base + at] = key_of_order(mine->keys[SPREAD(at)]);
#endif
#if VALUE_BYTES
      values_out[base + at] = mine->values[SPREAD(at)];
#endif
    }
  }
}

// Returns the bits in which the ranks of the segment's records differ.
INLINE ukey_t differing_bits(sub_group_t sg, neighbour_t s, const ukey_t* rank, ukey_t first,
                             u32 row) {
  ukey_t differ = 0;
  UNROLL
  for (u32 i = 0; i < row; ++i) differ |= i * s.lanes + s.lane < s.count ? rank[i] ^ first : 0;
  for (u32 distance = 1; distance < s.lanes; distance *= 2) {
    ukey_t other = (ukey_t)sg_shuffle(sg, (u32)differ, sg_lane() ^ distance);
#if KEY_BITS == 64
    other |= (ukey_t)sg_shuffle(sg, (u32)(differ >> 32), sg_lane() ^ distance) << 32;
#endif
    differ |= other;
  }
  return differ;
}

// Makes the lane's items, from the segment's records lane, lane + lanes, ... Items without a record
// sort last. Returns how many of the differing bits the items omit.
INLINE u32 make_items(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, neighbour_t s,
                      u32 position_bits, u32 row, sort_t* item, u32 begin_bit, u64 rank_mask) {
#if COMPOSITE
  ukey_t rank[SHORT];
  UNROLL
  for (u32 i = 0; i < row; ++i) {
    const u32 at = i * s.lanes + s.lane;
    rank[i] = 0;
    if (at < s.count) rank[i] = RANK(mine->keys[SPREAD(s.own + at)]);
  }
  const ukey_t first = RANK(mine->keys[SPREAD(min(s.own, (u32)(WG * SHORT - 1)))]);
  const ukey_t differ = differing_bits(sg, s, rank, first, row);
  const u32 open = differ != 0 ? highest_bit(differ) + 1 : 0;
  const u32 drop = max(open + position_bits, (u32)SORT_BITS) - SORT_BITS;
  UNROLL
  for (u32 i = 0; i < row; ++i) {
    const u32 at = i * s.lanes + s.lane;
    item[i] = at < s.count ? (sort_t)(rank[i] >> drop) << position_bits | at : SORT_LAST;
  }
  return drop;
#else
  UNROLL
  for (u32 i = 0; i < row; ++i) {
    const u32 at = i * s.lanes + s.lane;
    item[i] = SORT_LAST;
    if (at < s.count) item[i] = mine->keys[SPREAD(s.own + at)];
  }
  return 0;
#endif
}

// Merges the sorted rows of a segment's lanes, first of 2 lanes, then of 4. Of two items, the
// smaller one goes to the lower lane.
INLINE void merge_lanes(sub_group_t sg, neighbour_t s, sort_t* item) {
  for (u32 width = 2; width <= s.lanes; width *= 2) {
    u32 partner = sg_lane() ^ (width - 1), upper = s.lane & (width / 2);
    UNROLL
    for (u32 i = 0; i < SHORT / 2; ++i) {  // mirrored: the other row is read from its end
      const sort_t a = sg_shuffle(sg, item[SHORT - 1 - i], partner);
      const sort_t b = sg_shuffle(sg, item[i], partner);
      item[i] = upper ? max(item[i], a) : min(item[i], a);
      item[SHORT - 1 - i] = upper ? max(item[SHORT - 1 - i], b) : min(item[SHORT - 1 - i], b);
    }
    for (u32 distance = width / 4; distance > 0; distance /= 2) {
      partner = sg_lane() ^ distance;
      upper = s.lane & distance;
      UNROLL
      for (u32 i = 0; i < SHORT; ++i) {
        const sort_t a = sg_shuffle(sg, item[i], partner);
        item[i] = upper ? max(item[i], a) : min(item[i], a);
      }
    }
    MERGE_ROW(SHORT, SHORT / 2)
  }
}

#if COMPOSITE
// Returns the rank of the record at index `place` of the segment's sorted order.
INLINE ukey_t rank_at(LOCAL const segmented_classify_memory_t* mine, neighbour_t s, u32 place,
                      u32 begin_bit, u64 rank_mask) {
  return RANK(mine->keys[SPREAD(s.own + mine->positions[SPREAD(s.own + place)])]);
}

// Sorts the segment's positions by the whole ranks of their records, by insertion sort. Before the
// call they are sorted only by the bits of the ranks that the items hold.
INLINE void insert_positions(LOCAL segmented_classify_memory_t* mine, neighbour_t s, u32 begin_bit,
                             u64 rank_mask) {
  ROLLED
  for (u32 i = 1; i < s.count; ++i) {
    const u8 position = mine->positions[SPREAD(s.own + i)];
    const ukey_t rank = RANK(mine->keys[SPREAD(s.own + position)]);
    u32 to = i;
    ROLLED
    while (to > 0 && rank_at(mine, s, to - 1, begin_bit, rank_mask) > rank) {
      mine->positions[SPREAD(s.own + to)] = mine->positions[SPREAD(s.own + to - 1)];
      --to;
    }
    mine->positions[SPREAD(s.own + to)] = position;
  }
}

// Stores the positions of the sorted items. If the items omit `drop` bits and two of them seem to
// tie, compares the keys, and sorts the segment again if the order is wrong.
INLINE void put_positions(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, neighbour_t s,
                          u32 position_bits, u32 drop, u32 row, const sort_t* item, u32 begin_bit,
                          u64 rank_mask) {
  const u32 first = s.lane * row, end = min(s.count, first + row);
  const sort_t next = sg_shuffle(sg, item[0], sg_lane() + (s.lane + 1 < s.lanes ? 1 : 0));
  u32 ties = 0;
  UNROLL
  for (u32 i = 0; i < row; ++i) {
    const sort_t after = i + 1 < row ? item[i + 1] : next;
    if (first + i + 1 < s.count && item[i] >> position_bits == after >> position_bits) ties = 1;
    if (first + i < s.count)
      mine->positions[SPREAD(s.own + first + i)] = (u8)(item[i] & ((1u << position_bits) - 1));
  }
  sg_barrier();
  u32 wrong = 0;
  if (drop != 0 && ties != 0) {
    ROLLED
    for (u32 place = first; place < end && place + 1 < s.count; ++place)
      wrong |= rank_at(mine, s, place, begin_bit, rank_mask) >
                       rank_at(mine, s, place + 1, begin_bit, rank_mask)
                   ? 1
                   : 0;
  }
  const u32 of_segment = ((1u << s.lanes) - 1) << (sg_lane() - s.lane);
  wrong = sg_ballot(sg, wrong) & of_segment;
  if (wrong != 0 && s.lane == 0) insert_positions(mine, s, begin_bit, rank_mask);
  sg_barrier();
}

#define MOVE(type, records)                                                   \
  {                                                                           \
    type moved[SHORT];                                                        \
    UNROLL                                                                    \
    for (u32 i = 0; i < row; ++i)                                             \
      if (first + i < s.count) {                                              \
        const u32 position = mine->positions[SPREAD(s.own + first + i)];      \
        moved[i] = records[SPREAD(s.own + position)];                         \
      }                                                                       \
    sg_barrier();                                                             \
    UNROLL                                                                    \
    for (u32 i = 0; i < row; ++i)                                             \
      if (first + i < s.count) records[SPREAD(s.own + first + i)] = moved[i]; \
  }
#endif

// Sorts the segment in local memory. Each of its lanes sorts `row` records.
INLINE void sort_neighbour(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, neighbour_t s,
                           u32 row, u32 begin_bit, u64 rank_mask) {
  const u32 first = s.lane * row, position_bits = highest_bit32(row) + highest_bit32(s.lanes);
  sort_t item[SHORT];
  const u32 drop = make_items(mine, sg, s, position_bits, row, item, begin_bit, rank_mask);
  SORT_ROW(row)
  if (row == SHORT) merge_lanes(sg, s, item);
#if COMPOSITE
  put_positions(mine, sg, s, position_bits, drop, row, item, begin_bit, rank_mask);
  MOVE(ukey_t, mine->keys)
#if VALUE_BYTES
  MOVE(value_t, mine->values)
#endif
#else
  sg_barrier();  // all lanes have loaded their items
  UNROLL
  for (u32 i = 0; i < row; ++i)
    if (first + i < s.count) mine->keys[SPREAD(s.own + first + i)] = item[i];
#endif
}

// Sorts the work-group's segments, which have at most row * lanes records each, in `rounds` rounds.
// `rounds` is `lanes`, or 0 to sort nothing. mine->begins must be set.
INLINE void sort_neighbours(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, u64 base,
                            u32 row, u32 lanes, u32 rounds, GLOBAL const ukey_t* keys_in,
                            GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                            GLOBAL value_t* values_out, u32 begin_bit, u64 rank_mask) {
  const u32 t = local_id(), together = WG / lanes;
  ROLLED
  for (u32 round = 0; round < rounds; ++round) {
    const u32 first = mine->begins[round * together];
    const u32 loaded = mine->begins[(round + 1) * together] - first;
    const u32 ties =
        load_neighbours(mine, base + first, loaded, row, keys_in, values_in, begin_bit, rank_mask);
    if (ties != 0) local_or(&mine->tied, 1u << round);
    barrier_local();
    const u32 all = (mine->tied >> round & 1) == 0 ? loaded : 0;
    const u32 own = round * together + t / lanes;
    neighbour_t s;
    s.own = mine->begins[own] - first;
    s.count = all != 0 ? mine->begins[own + 1] - mine->begins[own] : 0;
    s.lanes = lanes;
    s.lane = t & (lanes - 1);
    sort_neighbour(mine, sg, s, row, begin_bit, rank_mask);
    barrier_local();
    store_neighbours(mine, base + first, all, row, keys_out, values_out);
    barrier_local();
  }
}

// Sorts the work-group's segments if all of them are short. Returns 1 if this work-item's segment
// (`count` records from index `begin`) is then sorted, and 0 if it must be put on a list.
INLINE u32 sort_short(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, u64 base, u64 end,
                      u64 begin, u64 count, GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u32 begin_bit,
                      u64 rank_mask) {
  const u32 t = local_id();
  if (t == 0) mine->longest = mine->tied = 0;
  barrier_local();
  local_max(&mine->longest, (u32)min(count, (u64)(LANES * SHORT + 1)));
  mine->begins[t] = (u32)(begin - base);
  if (t == 0) mine->begins[WG] = (u32)(end - base);
  barrier_local();
  const u32 longest = mine->longest, very_short = longest <= SHORT / 2 ? 1 : 0;
  u32 lanes = 1;
  while (lanes < LANES && longest > lanes * SHORT) lanes *= 2;
  const u32 at_once = longest <= LANES * SHORT ? 1 : 0;
  sort_neighbours(mine, sg, base, SHORT / 2, 1, very_short, keys_in, keys_out, values_in,
                  values_out, begin_bit, rank_mask);
  sort_neighbours(mine, sg, base, SHORT, lanes, at_once && !very_short ? lanes : 0, keys_in,
                  keys_out, values_in, values_out, begin_bit, rank_mask);
  return at_once && (mine->tied >> t * lanes / WG & 1) == 0 ? 1 : 0;
}
#endif
