// segmented, short neighbouring segments: a sub-group sorts the segments of its lanes at once,
// except long ones. Rounds take the next segments, as many as fit the lanes: the sub-group reads
// their records, which are contiguous, into local memory; one lane or a few lanes sort each segment
// in registers; then the sub-group writes the records. If no lane's segment has more than FEW
// records, each lane loads and stores its own ones instead. segmented_lists.cl, segmented_ranks.cl
// and segmented_items.cl come before this file.

// Parameters in addition to those of these files:
PARAMETER(WG)  // work-items of a work-group, more than CLASSES + 1; each work-item has one segment
PARAMETER(SHORT)  // the most records that a lane sorts in registers: 16 or 32; 0: this launch sorts
                  // no segments
PARAMETER(LANES)  // the most lanes that sort a segment: a power of two, at most 4

// An item is the key's order bits or, with COMPOSITE, 32 bits: the highest bits in which the
// round's keys differ, followed by the record's position in the segment. If records seem to tie by
// these bits, their whole ranks are compared. A round of floats with a key that ties with a key of
// different bits (NaN, -0) is not sorted here: its segments are put on lists.

#define ROUND (SG_LANES * (u32)SHORT)  // the most records of a round
#define NO_SEGMENT 0xffu
// The place of record first + k * SG_LANES.
#if SG_LANES == 32
#define ROW_PLACE(first, k) (SPREAD(first) + (k)*SPREAD(32u))
#else
#define ROW_PLACE(first, k) SPREAD((first) + (k)*SG_LANES)
#endif

// neighbours_bytes() in segmented_shape.cpp computes the sizes.
#if SHORT
typedef struct {               // a round
  ukey_t keys[SPREAD(ROUND)];  // the keys' order bits, which differ if the keys do
#if VALUE_BYTES
  value_t values[SPREAD(ROUND)];
#endif
#if COMPOSITE
  u16 sources[SPREAD(ROUND)];  // for each place of the sorted segments, where its record is
#endif
  u8 segment_of[SG_LANES];  // the segment that each lane sorts, or NO_SEGMENT
} round_t;
#endif
typedef struct {
#if SHORT
  round_t rounds[WG / SG_LANES];  // of each sub-group
#endif
  u32 more;      // not 0: a sub-group has another round
  u32 unsorted;  // not 0: a segment is not sorted here
  u64 starts[WG];
  u32 here[WG], before[WG];
} segmented_classify_memory_t;

#if SHORT

// A segment in local memory: the index of its first record, their number, the lanes that sort it,
// and the number of this lane among them.
typedef struct {
  u32 own, count, lane, lanes;
} neighbour_t;

// Loads `all` records.
#define TOGETHER (VALUE_BYTES ? 8u : 16u)  // records of a lane that are loaded at once
#define STEP 4u                            // and that are stored in local memory at once
INLINE seen_t load_neighbours(LOCAL round_t* mine, u64 base, u32 all, GLOBAL const ukey_t* keys_in,
                              GLOBAL const value_t* values_in) {
  seen_t seen;
  seen.first = seen.differ = seen.suspect = 0;
  if (COMPOSITE && all != 0) seen.first = untied_order(keys_in[base]);
  ROLLED
  for (u32 row = 0; row * SG_LANES < all; row += TOGETHER) {
    const u32 first = row * SG_LANES + sg_lane();
    const u64 from = base + first;
    record_t record[TOGETHER];
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      record[k].key = 1;  // not suspect
      record[k].value = 0;
      if (first + k * SG_LANES < all)
        record[k] = load_record(keys_in, values_in, from + k * SG_LANES);
    }
    // Places behind the last record are written, too: a branch for each would cost more.
    UNROLL
    for (u32 step = 0; step < TOGETHER; step += STEP)
      if ((row + step) * SG_LANES < all) {
        UNROLL
        for (u32 k = step; k < step + STEP; ++k) {
          const u32 place = ROW_PLACE(first, k);
          const ukey_t order = untied_order(record[k].key);
          mine->keys[place] = order;
#if COMPOSITE
          if (first + k * SG_LANES < all) seen.differ |= order ^ seen.first;
#endif
#if KEY_FLOAT
          const ukey_t suspect = (ukey_t)(2 * record[k].key - 1);
          seen.suspect = suspect > seen.suspect ? suspect : seen.suspect;
#endif
#if VALUE_BYTES
          mine->values[place] = record[k].value;
#endif
        }
      }
  }
  return seen;
}

// Returns 1 if a key of the round may tie with a key of different bits. If `excepts_nan` is 1,
// PLACED_NAN does not count. `suspect` is of this lane.
INLINE u32 has_ties(LOCAL const round_t* mine, sub_group_t sg, u32 all, ukey_t suspect,
                    u32 excepts_nan) {
#if KEY_FLOAT
  u32 ties = suspect > (ukey_t)(2 * (ukey_t)KEY_INFINITY - 1) ? 1 : 0;
  sg_barrier();
  if (ties != 0) {  // zeros may all be +0
    ties = 0;
    ROLLED
    for (u32 at = sg_lane(); at < all; at += SG_LANES)
      ties |= needs_ties(key_of_order(mine->keys[SPREAD(at)]), excepts_nan);
  }
  return sg_ballot(sg, ties) != 0 ? 1 : 0;
#else
  return 0;
#endif
}

INLINE void store_neighbours(LOCAL const round_t* mine, u64 base, u32 all, GLOBAL ukey_t* keys_out,
                             GLOBAL value_t* values_out) {
  ROLLED
  for (u32 row = 0; row * SG_LANES < all; row += STEP) {
    const u32 first = row * SG_LANES + sg_lane();
    const u64 to = base + first;
    record_t record[STEP];
    UNROLL
    for (u32 k = 0; k < STEP; ++k) {
      const u32 place = ROW_PLACE(first, k);
      record[k].value = 0;
#if COMPOSITE
      const u32 source = SPREAD(min((u32)mine->sources[place], ROUND - 1));
      record[k].key = key_of_order(mine->keys[source]);
#if VALUE_BYTES
      record[k].value = mine->values[source];
#endif
#else
      record[k].key = key_of_order(mine->keys[place]);
#endif
    }
    UNROLL
    for (u32 k = 0; k < STEP; ++k)
      if (first + k * SG_LANES < all)
        store_record(keys_out, values_out, to + k * SG_LANES, record[k]);
  }
}

#if COMPOSITE
// The compared bits of the order of the record at index `at`.
INLINE ukey_t rank_of(LOCAL const round_t* mine, u32 at, u32 begin_bit, u64 rank_mask) {
  return (mine->keys[SPREAD(at)] >> begin_bit) & (ukey_t)rank_mask;
}
#endif

// Makes the lane's items, from the segment's records lane, lane + lanes, ... Items without a record
// sort last. With COMPOSITE, items omit the lowest `drop` bits of the ranks.
INLINE void make_items(LOCAL const round_t* mine, neighbour_t s, u32 position_bits, u32 drop,
                       sort_t* item, u32 begin_bit, u64 rank_mask) {
#if COMPOSITE
  const u32 shift = begin_bit + drop, mask = (u32)((ukey_t)rank_mask >> drop);
#endif
  // All loads are unconditional: branches would make each wait for the one before.
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    const u32 at = i * s.lanes + s.lane;
    const ukey_t order = mine->keys[SPREAD(min(s.own + at, ROUND - 1))];
#if COMPOSITE
    const sort_t of_record = (sort_t)((u32)(order >> shift) & mask) << position_bits | at;
#else
    const sort_t of_record = order;
#endif
    item[i] = at < s.count ? of_record : SORT_LAST;
  }
}

// Merges the sorted rows of a segment's lanes, first of 2 lanes, then of 4. Of two items, the
// smaller one goes to the lower lane. Lanes whose segment is sorted compare with themselves. No
// segment has more than `most` lanes.
INLINE void merge_lanes(sub_group_t sg, neighbour_t s, u32 most, sort_t* item) {
  for (u32 width = 2; width <= most; width *= 2) {
    const u32 merges = width <= s.lanes ? 1 : 0;
    u32 partner = sg_lane() ^ (merges ? width - 1 : 0);
    u32 upper = (s.lane & width / 2) != 0 ? merges : 0;
    const u32 upper_half = merges ? upper : 1;
    UNROLL
    for (u32 i = 0; i < SHORT / 2; ++i) {  // mirrored: the other row is read from its end
      const sort_t a = sg_shuffle(sg, item[SHORT - 1 - i], partner);
      const sort_t b = sg_shuffle(sg, item[i], partner);
      item[i] = upper ? max(item[i], a) : min(item[i], a);
      item[SHORT - 1 - i] = upper_half ? max(item[SHORT - 1 - i], b) : min(item[SHORT - 1 - i], b);
    }
    for (u32 distance = width / 4; distance > 0; distance /= 2) {
      partner = sg_lane() ^ (merges ? distance : 0);
      upper = (s.lane & distance) != 0 ? merges : 0;
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
// Sorts the segment's sources by the whole ranks of their records, by insertion sort. Before the
// call they are sorted only by the bits of the ranks that the items hold.
INLINE void insert_sources(LOCAL round_t* mine, neighbour_t s, u32 begin_bit, u64 rank_mask) {
  ROLLED
  for (u32 i = 1; i < s.count; ++i) {
    const u16 source = mine->sources[SPREAD(s.own + i)];
    const ukey_t rank = rank_of(mine, source, begin_bit, rank_mask);
    u32 to = s.own + i;
    ROLLED
    while (to > s.own &&
           rank_of(mine, mine->sources[SPREAD(to - 1)], begin_bit, rank_mask) > rank) {
      mine->sources[SPREAD(to)] = mine->sources[SPREAD(to - 1)];
      --to;
    }
    mine->sources[SPREAD(to)] = source;
  }
}

// Stores the sources of the sorted items. If the items omit `drop` bits and two of them seem to
// tie, compares the keys, and sorts the segment again if the order is wrong.
INLINE void put_sources(LOCAL round_t* mine, sub_group_t sg, neighbour_t s, u32 position_bits,
                        u32 drop, const sort_t* item, u32 begin_bit, u64 rank_mask) {
  const u32 first = s.lane * SHORT, mask = (1u << position_bits) - 1;
  const sort_t next = sg_shuffle(sg, item[0], sg_lane() + (s.lane + 1 < s.lanes ? 1 : 0));
  u32 ties = 0;
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    const sort_t after = i + 1 < SHORT ? item[i + 1] : next;
    if (first + i < s.count)
      mine->sources[SPREAD(s.own + first + i)] = (u16)(s.own + (u32)(item[i] & mask));
    if (first + i + 1 < s.count) ties |= (item[i] ^ after) <= mask ? 1 : 0;
  }
  sg_barrier();
  u32 wrong = 0;
  if (drop != 0 && ties != 0) {
    ROLLED
    for (u32 i = s.own + first; i < s.own + first + SHORT && i + 1 < s.own + s.count; ++i)
      wrong |= rank_of(mine, mine->sources[SPREAD(i)], begin_bit, rank_mask) >
                       rank_of(mine, mine->sources[SPREAD(i + 1)], begin_bit, rank_mask)
                   ? 1
                   : 0;
  }
  wrong = sg_ballot(sg, wrong) >> (sg_lane() - s.lane) & ((1u << s.lanes) - 1);
  if (wrong != 0 && s.lane == 0) insert_sources(mine, s, begin_bit, rank_mask);
}
#endif

// Sorts the segment in local memory. Each of its lanes sorts SHORT records. No segment has more
// than `most` lanes. `differ` has the bits in which the ranks of the round differ.
INLINE void sort_neighbour(LOCAL round_t* mine, sub_group_t sg, neighbour_t s, u32 most,
                           ukey_t differ, u32 begin_bit, u64 rank_mask) {
  sort_t item[SHORT];
#if COMPOSITE
  const u32 position_bits = highest_bit32((u32)SHORT) + highest_bit32(s.lanes);
  const u32 open = differ != 0 ? highest_bit(differ) + 1 : 0;
  const u32 drop = max(open + position_bits, (u32)SORT_BITS) - SORT_BITS;
#else
  const u32 position_bits = 0, drop = 0;
#endif
  make_items(mine, s, position_bits, drop, item, begin_bit, rank_mask);
  SORT_ROW(SHORT)
  merge_lanes(sg, s, most, item);
#if COMPOSITE
  put_sources(mine, sg, s, position_bits, drop, item, begin_bit, rank_mask);
#else
  const u32 first = s.lane * SHORT;
  sg_barrier();  // all lanes have loaded their items
  UNROLL
  for (u32 i = 0; i < SHORT; ++i)
    if (first + i < s.count) mine->keys[SPREAD(s.own + first + i)] = item[i];
#endif
}

// Returns 1 if a lane's `more` is not 0. Without native sub-groups, a lane of the work-group:
// barriers must be in uniform flow.
INLINE u32 any_lane(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, u32 more) {
#if SG_NATIVE
  return sg_ballot(sg, more) != 0 ? 1 : 0;
#else
  barrier_local();
  if (local_id() == 0) mine->more = 0;
  barrier_local();
  if (more) local_or(&mine->more, 1u);
  barrier_local();
  return mine->more;
#endif
}

// Assigns lanes to the segments that are `in` the round: first to those of 4 lanes, then of 2, then
// of 1. Returns this lane's segment, which has `count` records from index `own` on; count is 0 if
// the lane has none.
INLINE neighbour_t assign_lanes(LOCAL round_t* mine, sub_group_t sg, u32 in, u32 own, u32 count,
                                u32 lanes) {
  const u32 t = sg_lane(), below = (1u << t) - 1;
  u32 start = 0, smaller = 0;
  UNROLL
  for (u32 of = LANES; of > 0; of /= 2) {
    const u32 here = sg_ballot(sg, in && lanes == of);
    if (lanes == of) start = smaller + of * popcount32(here & below);
    smaller += of * popcount32(here);
  }
  mine->segment_of[t] = NO_SEGMENT;
  sg_barrier();
  if (in)
    for (u32 i = 0; i < lanes; ++i) mine->segment_of[start + i] = (u8)t;
  sg_barrier();
  const u32 its = mine->segment_of[t], is_there = its != NO_SEGMENT ? 1 : 0;
  const u32 segment = is_there ? its : 0;
  neighbour_t s;
  s.own = sg_shuffle(sg, own, segment);
  s.count = sg_shuffle(sg, count, segment);
  s.lanes = sg_shuffle(sg, lanes, segment);
  s.lane = t - sg_shuffle(sg, start, segment);
  s.own = is_there ? s.own : 0;
  s.count = is_there ? s.count : 0;
  s.lanes = is_there ? s.lanes : 1;
  s.lane = is_there ? s.lane : 0;
  return s;
}

#define FEW 8u

// Sorts this lane's segment of up to `most` records, by exchanges of neighbours in alternating
// directions. These keep ties in order. `most` is a constant, at most FEW.
INLINE void sort_few(u32 most, u64 begin, u32 count, GLOBAL const ukey_t* keys_in,
                     GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                     GLOBAL value_t* values_out, u32 begin_bit, u64 rank_mask) {
  record_t record[FEW];
  ukey_t rank[FEW];
  UNROLL
  for (u32 i = 0; i < most; ++i) {
    rank[i] = (ukey_t) ~(ukey_t)0;
    record[i].key = 0;
    if (i < count) record[i] = load_record(keys_in, values_in, begin + i);
    if (i < count) rank[i] = RANK(record[i].key);
  }
  UNROLL
  for (u32 round = 0; round < most; ++round) UNROLL
  for (u32 i = round % 2; i + 1 < most; i += 2)
    if (rank[i] > rank[i + 1]) {
      const ukey_t r = rank[i];
      const record_t x = record[i];
      rank[i] = rank[i + 1];
      record[i] = record[i + 1];
      rank[i + 1] = r;
      record[i + 1] = x;
    }
  UNROLL
  for (u32 i = 0; i < most; ++i)
    if (i < count) store_record(keys_out, values_out, begin + i, record[i]);
}

// Sorts the sub-group's segments of up to LANES * SHORT records. This lane's segment has `count`
// records from index `begin` on. Returns 1 if it is then sorted, and 0 if it must be put on a list.
INLINE u32 sort_short(LOCAL segmented_classify_memory_t* mine, sub_group_t sg, u64 begin, u64 count,
                      GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u32 begin_bit,
                      u64 rank_mask) {
  LOCAL round_t* round = &mine->rounds[sg_index()];
  if (any_lane(mine, sg, count > FEW) == 0) {
    if (any_lane(mine, sg, count > 2) == 0)
      sort_few(2, begin, (u32)count, keys_in, keys_out, values_in, values_out, begin_bit,
               rank_mask);
    else if (any_lane(mine, sg, count > 4) == 0)
      sort_few(4, begin, (u32)count, keys_in, keys_out, values_in, values_out, begin_bit,
               rank_mask);
    else
      sort_few(FEW, begin, (u32)count, keys_in, keys_out, values_in, values_out, begin_bit,
               rank_mask);
    return count != 0 ? 1 : 0;
  }
#if SG_NATIVE
  const u32 alone = sg_ballot(sg, count > SHORT) == 0 ? 1 : 0;  // a lane for each segment
#else
  const u32 alone = 0;
#endif
  u32 lanes = count > LANES * SHORT ? SG_LANES + 1 : count != 0 ? 1 : 0;
  for (u32 of = 1; of < LANES; of *= 2)
    if (count > of * SHORT && lanes <= LANES) lanes = 2 * of;
  lanes = alone ? 1 : lanes;
  u32 end = sg_lane() + 1;  // lanes of the segments up to this one
  if (!alone) end = (u32)sg_scan_add(sg, lanes);
  u32 is_open = lanes != 0 && lanes <= LANES ? 1 : 0, is_sorted = 0;
  while (any_lane(mine, sg, is_open) != 0) {
    // Take the next segments, up to one that is too long.
    const u32 open = sg_ballot(sg, is_open);
    const u32 first = open != 0 ? highest_bit32(open & (0 - open)) : 0;
    const u32 taken = sg_shuffle(sg, end - lanes, first);
    const u32 in = is_open && end - taken <= SG_LANES ? 1 : 0, taking = sg_ballot(sg, in);
    const u32 last = taking != 0 ? highest_bit32(taking) : first;
    u64 base = sg_shuffle(sg, (u32)begin, first);
    base |= (u64)sg_shuffle(sg, (u32)(begin >> 32), first) << 32;
    u32 all = sg_shuffle(sg, (u32)(begin + count), last) - (u32)base;
    all = taking != 0 ? all : 0;

    seen_t seen = load_neighbours(round, base, all, keys_in, values_in);
    const u32 sorts = has_ties(round, sg, all, seen.suspect, COMPARES_ALL_BITS) ? 0 : 1;
#if COMPOSITE
    seen.differ = differing_bits(sg, seen.differ, begin_bit, rank_mask);
#endif
    neighbour_t s;
    s.own = (u32)(begin - base);
    s.count = sorts ? (u32)count : 0;
    s.lane = 0;
    s.lanes = 1;
    if (alone)
      sg_barrier();  // all records are in local memory
    else
      s = assign_lanes(round, sg, in & sorts, s.own, s.count, in ? lanes : 0);
#if SG_NATIVE
    const u32 of_4 = sg_ballot(sg, s.lanes == 4), of_2 = sg_ballot(sg, s.lanes == 2);
    const u32 most = of_4 != 0 ? 4 : of_2 != 0 ? 2 : 1;
#else
    const u32 most = LANES;
#endif
    sort_neighbour(round, sg, s, most, seen.differ, begin_bit, rank_mask);
    sg_barrier();
    store_neighbours(round, base, sorts ? all : 0, keys_out, values_out);
    sg_barrier();
    is_sorted |= in & sorts;
    is_open = is_open && !in ? 1 : 0;
  }
  return is_sorted;
}
#endif
