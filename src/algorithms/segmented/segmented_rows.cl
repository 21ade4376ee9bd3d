// segmented, short rows: segments of equal length, of up to LANES * SHORT records. A sub-group
// sorts a round of rows at once: it reads their records into local memory;
// one, two or four lanes sort each row in registers; then the sub-group writes the records.
// segmented_items.cl comes before this file.

PARAMETER(WG)        // work-items of a work-group
PARAMETER(RESIDENT)  // work-groups that share a compute unit
PARAMETER(SHORT)     // records that a lane sorts in registers, at most 64: a multiple of 8
PARAMETER(LANES)     // lanes that sort a row: 1, 2 or 4; with 4, SHORT is 32 or 64
PARAMETER(PART)  // 0: each row is sorted. Otherwise the caller's rows have PART records; a row of
                 // this kernel is as many of them as fit a lane, and each is sorted by itself
PARAMETER(BY_ROWS)  // 1: a sub-group moves one row after the other. Some lanes idle, but a record's
                    // place needs no division
PARAMETER(STRIDED)  // 1: rows are neighbouring columns of a matrix; then PART and BY_ROWS are 0
PARAMETER(VALUES_WAIT)  // 1: values wait in registers while the keys are sorted, and then replace
                        // the keys in local memory

// An item is the key's order bits or, with COMPOSITE, 32 bits: the highest bits in which the
// round's keys differ, followed by the record's position in the row. If records seem to tie by
// these bits, their whole ranks are compared.

#define ROWS (SG_LANES / LANES)        // rows of a round
#define ROW_MOST (LANES * (u32)SHORT)  // the most records of a row
#define SLOTS (ROWS * (ROW_MOST + 1))  // an odd row length puts rows into different banks
#define POSITION_BITS (highest_bit32(ROW_MOST - 1) + 1)
// Only the last items of a lane may have no record: a row has more than LANES * (SHORT - 8) records
// or, with four lanes, more than half of ROW_MOST.
#define IS_SURE(i) \
  (LANES == 4 ? (i) < SHORT / 2 : (i) < SHORT - 8 || (LANES == 1 && (i) == SHORT - 8))

// rows_bytes() in segmented_rows.cpp computes the sizes.
#define VALUES_APART (VALUE_BYTES != 0 && !VALUES_WAIT)
#if VALUES_WAIT && 8 * VALUE_BYTES > KEY_BITS
typedef value_t slot_t;
#else
typedef ukey_t slot_t;
#endif
typedef struct {        // a round
  slot_t slots[SLOTS];  // the keys' order bits; later the values that waited
#if VALUES_APART
  value_t values[SLOTS];
#endif
#if COMPOSITE
  u8 sources[SLOTS];  // for each place of the sorted rows, its record's position in the row
#endif
} round_t;
typedef struct {
  round_t rounds[WG / SG_LANES];  // of each sub-group
} segmented_rows_memory_t;
#define KEYS(mine) ((LOCAL ukey_t*)(mine)->slots)
#if VALUES_APART
#define VALUES(mine) (mine)->values
#else
#define VALUES(mine) ((LOCAL value_t*)(mine)->slots)
#endif

// The rows of a round in global memory, and where their records are in local memory: rows begin
// every `step` slots. The last row of all may be incomplete if it has parts.
typedef struct {
  u32 length, inverse;  // records of a row; 2^ROW_SHIFT / length, rounded up
  u32 step;
  u32 here, all;  // rows and records of this round
#if STRIDED
  u32 stride;  // from one record of a row to the next; below 2^32 / length
#endif
} rows_t;
// Where record i of row r is, counted from the round's first record.
#if STRIDED
#define PLACE_IN_ROUND(rows, r, i) ((i) * (rows).stride + (r))
#else
#define PLACE_IN_ROUND(rows, r, i) ((r) * (rows).length + (i))
#endif
#define ROW_SHIFT 24

// Where a record of the round is: its offset from the round's first record, its row, and its slot
// in local memory.
typedef struct {
  u32 is_there, at, row, slot;
} spot_t;
// A sub-group moves the records of a round in steps, of `together` records of each lane.
#if STRIDED  // neighbouring lanes move neighbouring columns
#define STEPS(rows, together) \
  (((rows).length * ROWS + (together)*SG_LANES - 1) / ((together)*SG_LANES))
INLINE spot_t spot_of(rows_t rows, u32 step, u32 together, u32 k) {
  const u32 record = (step * together + k) * SG_LANES + sg_lane(), index = record / ROWS;
  spot_t spot;
  spot.row = record % ROWS;
  spot.at = PLACE_IN_ROUND(rows, spot.row, index);
  spot.slot = spot.row * rows.step + index;
  spot.is_there = spot.row < rows.here && index < rows.length ? 1 : 0;
  return spot;
}
#elif !BY_ROWS  // consecutive records, whatever their rows
#define STEPS(rows, together) (((rows).all + (together)*SG_LANES - 1) / ((together)*SG_LANES))
// Returns where record k of this lane in the step is. For records of the round, the product is
// below 2^30 and the quotient exact. For others it may overflow; is_there is 0 then.
INLINE spot_t spot_of(rows_t rows, u32 step, u32 together, u32 k) {
  spot_t spot;
  spot.at = (step * together + k) * SG_LANES + sg_lane();
  spot.row = spot.at * rows.inverse >> ROW_SHIFT;
  spot.slot = spot.at + spot.row * (rows.step - rows.length);
  spot.is_there = spot.at < rows.all ? 1 : 0;
  return spot;
}
#else                                                       // row by row
#define CHUNKS (((u32)ROW_MOST + SG_LANES - 1) / SG_LANES)  // at most 8; divides `together`
#define STEPS(rows, together) (((rows).here * CHUNKS + (together)-1) / (together))
INLINE spot_t spot_of(rows_t rows, u32 step, u32 together, u32 k) {
  const u32 column = k % CHUNKS * SG_LANES + sg_lane();
  spot_t spot;
  spot.row = step * (together / CHUNKS) + k / CHUNKS;
  spot.at = spot.row * rows.length + column;
  spot.slot = spot.row * rows.step + column;
  spot.is_there = spot.row < rows.here && column < rows.length ? 1 : 0;
  return spot;
}
#endif
#if !BY_ROWS
#define CHUNK 1u  // the fewest records of a lane in a step
#define TOGETHER (SHORT <= 16 && !VALUES_APART ? (u32)SHORT : 8u)
#else
#define CHUNK CHUNKS
#define TOGETHER (8u / CHUNKS * CHUNKS)
#endif

// Loads the round's keys from keys_in[base] on, and stores their order bits in local memory; with
// VALUES_APART the values too, if there are any. Returns what this lane has seen of the keys.
INLINE seen_t load_rows(LOCAL round_t* mine, rows_t rows, u64 base, GLOBAL const ukey_t* keys_in,
                        GLOBAL const value_t* values_in) {
  LOCAL ukey_t* keys = KEYS(mine);
  seen_t seen;
  seen.first = seen.differ = seen.suspect = 0;
  if (COMPOSITE && rows.all != 0) seen.first = untied_order(keys_in[base]);
  ROLLED
  for (u32 step = 0; step < STEPS(rows, TOGETHER); ++step) {
    ukey_t key[TOGETHER];
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const spot_t spot = spot_of(rows, step, TOGETHER, k);
      key[k] = 1;  // not suspect
      if (spot.is_there) key[k] = keys_in[base + spot.at];
    }
#if VALUES_APART
    value_t value[TOGETHER];
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const spot_t spot = spot_of(rows, step, TOGETHER, k);
      if (spot.is_there && values_in) value[k] = values_in[base + spot.at];
    }
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const spot_t spot = spot_of(rows, step, TOGETHER, k);
      if (spot.is_there && values_in) mine->values[spot.slot] = value[k];
    }
#endif
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const spot_t spot = spot_of(rows, step, TOGETHER, k);
      const ukey_t order = untied_order(key[k]);
      if (spot.is_there) keys[spot.slot] = order;
#if COMPOSITE
      if (spot.is_there) seen.differ |= order ^ seen.first;
#endif
#if KEY_FLOAT
      const ukey_t suspect = (ukey_t)(2 * key[k] - 1);
      seen.suspect = suspect > seen.suspect ? suspect : seen.suspect;
#endif
    }
  }
  return seen;
}

#if KEY_FLOAT
// Returns 1 if a key of the round may tie with a key of different bits: the same in all lanes. If
// `excepts_nan` is 1, PLACED_NAN does not count. `suspect` is of this lane.
INLINE u32 has_ties(LOCAL const round_t* mine, rows_t rows, sub_group_t sg, ukey_t suspect,
                    u32 excepts_nan) {
  u32 ties = suspect > (ukey_t)(2 * (ukey_t)KEY_INFINITY - 1) ? 1 : 0;
  sg_barrier();
  if (ties != 0) {  // the suspects may all be +0
    ties = 0;
    ROLLED
    for (u32 step = 0; step < STEPS(rows, CHUNK); ++step) {
      UNROLL
      for (u32 k = 0; k < CHUNK; ++k) {
        const spot_t spot = spot_of(rows, step, CHUNK, k);
        if (spot.is_there) ties |= needs_ties(key_of_order(KEYS(mine)[spot.slot]), excepts_nan);
      }
    }
  }
  return sg_ballot(sg, ties) != 0 ? 1 : 0;
}

// Makes the orders of keys that tie equal.
INLINE void tie_keys(LOCAL round_t* mine, rows_t rows) {
  ROLLED
  for (u32 step = 0; step < STEPS(rows, CHUNK); ++step) {
    UNROLL
    for (u32 k = 0; k < CHUNK; ++k) {
      const spot_t spot = spot_of(rows, step, CHUNK, k);
      LOCAL ukey_t* key = KEYS(mine) + spot.slot;
      if (spot.is_there) *key = key_order(key_of_order(*key));
    }
  }
}
#endif

#if KEY_FLOAT && !COMPOSITE
// Replaces the sorted orders of the row's keys that tie with `tied` by these keys' own order bits,
// in the order of the input, where they are `stride` apart. `is_there` is 0 if the row does not
// exist.
INLINE void restore_tied(LOCAL ukey_t* sorted, sub_group_t sg, u32 length, u32 is_there,
                         GLOBAL const ukey_t* keys, u32 stride, ukey_t tied) {
  const ukey_t order = key_order(tied);
  u32 place = 0;  // of the first key with this order
  sg_barrier();   // other lanes may have written `sorted`
  ROLLED
  for (u32 base = 0; base < length; base += SG_LANES) {
    const u32 at = base + sg_lane();
    place += popcount32(sg_ballot(sg, at < length && sorted[min(at, length - 1)] < order ? 1 : 0));
  }
  sg_barrier();  // all lanes have read `sorted`
  ROLLED
  for (u32 base = 0; base < length; base += SG_LANES) {
    const u32 at = base + sg_lane();
    const u32 is_record = is_there && at < length ? 1 : 0;
    const ukey_t key = is_record ? keys[at * stride] : (ukey_t)0;
    const u32 is_here = is_record && key_order(key) == order ? 1 : 0;
    const u32 here = sg_ballot(sg, is_here), below = (1u << sg_lane()) - 1;
    if (is_here) sorted[place + popcount32(here & below)] = untied_order(key);
    place += popcount32(here);
  }
}
#endif

#if COMPOSITE
// The compared bits of the order of the record in this slot.
INLINE ukey_t rank_of(LOCAL const round_t* mine, u32 slot, u32 begin_bit, u64 rank_mask) {
  return (KEYS(mine)[slot] >> begin_bit) & (ukey_t)rank_mask;
}

// Sorts the sources in slots [first, end) of a row, which begins in slot `row`, by the whole ranks
// of their records, by insertion sort.
INLINE void insert_sources(LOCAL round_t* mine, u32 row, u32 first, u32 end, u32 begin_bit,
                           u64 rank_mask) {
  ROLLED
  for (u32 i = first + 1; i < end; ++i) {
    const u8 source = mine->sources[i];
    const ukey_t rank = rank_of(mine, row + source, begin_bit, rank_mask);
    u32 to = i;
    ROLLED
    while (to > first && rank_of(mine, row + mine->sources[to - 1], begin_bit, rank_mask) > rank) {
      mine->sources[to] = mine->sources[to - 1];
      --to;
    }
    mine->sources[to] = source;
  }
}
#endif

// A lane's share of its row: the row's first slot, the lane's number in the row, the number of its
// records, and the places of its sorted items. Its records are lane, lane + LANES, …: then lanes
// read different banks.
typedef struct {
  u32 row, lane, count, first_place;
  int direction;
} share_t;

// The place in the row of a lane's sorted item i. The items of odd lanes ascend by their
// complements, so their places descend.
#define PLACE_OF_ITEM(p, i) ((u32)((int)(p).first_place + (int)(i) * (p).direction))

// True if a sorted item is a record of the row. With one lane, only its last items may be none;
// with two, only the upper lane's first ones. With four lanes, every place is compared.
#define IS_PLACED(i, place) \
  ((LANES == 1 ? IS_SURE(i) : LANES == 2 && (i) + 1 >= 8 * LANES) || (place) < rows.length)
#define IS_LOADED(i) (IS_SURE(i) || (i) < p.count)
// Sorts a lane's items that first ascend and then descend. It is a bitonic merge of 64 items; the
// 64 - row missing ones count as the smallest and come first.
#define MERGE_PEAK(row) \
  PEAK_STEP(row, 32)    \
  PEAK_STEP(row, 16) PEAK_STEP(row, 8) PEAK_STEP(row, 4) PEAK_STEP(row, 2) PEAK_STEP(row, 1)
#define PEAK_STEP(row, d)           \
  UNROLL                            \
  for (u32 i = 0; i + d < row; ++i) \
    if (((i + 64 - row) & d) == 0) ORDER_PAIR(i, i + d)

#if LANES == 4
// Merges the sorted pairs of lanes: the items of lanes 0 and 1, whose places are as
// PLACE_OF_ITEM says, with those of lanes 2 and 3. Before each exchange, the upper lane of
// a pair holds complements, so both lanes take minima.
INLINE void merge_pairs(sub_group_t sg, sort_t* item) {
  const sort_t inner = (sg_lane() + 1 & 2) != 0 ? SORT_LAST : (sort_t)0;  // lanes 1 and 2
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    item[i] ^= inner;
    const sort_t other = sg_shuffle(sg, item[i], sg_lane() ^ 3);
    item[i] = min(item[i], (sort_t)~other);
  }
  UNROLL
  for (u32 i = 0; i < SHORT / 2; ++i) {
    const u32 mirrored = SHORT - 1 - i;
    item[i] ^= inner;
    item[mirrored] ^= inner;
    const sort_t a = sg_shuffle(sg, item[mirrored], sg_lane() ^ 1);
    const sort_t b = sg_shuffle(sg, item[i], sg_lane() ^ 1);
    item[i] = min(item[i], (sort_t)~a);
    item[mirrored] = min(item[mirrored], (sort_t)~b);
  }
  MERGE_PEAK(SHORT)
}
#endif

// True if the row's record at this place is the last one of its part.
#define ENDS_PART(place) (PART != 0 && ((place) + 1) % (PART ? PART : 1u) == 0)

// Sorts the rows of the round in registers. With COMPOSITE, items omit the `drop` lowest bits of
// ranks, and the result is in `sources`. Otherwise it replaces the keys.
INLINE void sort_rows(LOCAL round_t* mine, sub_group_t sg, share_t p, rows_t rows, u32 drop,
                      u32 begin_bit, u64 rank_mask) {
  LOCAL ukey_t* own = KEYS(mine) + p.row + p.lane;
  const sort_t flip = p.direction < 0 ? SORT_LAST : (sort_t)0;
  sort_t item[SHORT];
#if COMPOSITE
  const u32 shift = begin_bit + drop, mask = (u32)((ukey_t)rank_mask >> drop);
#define ITEM(order, i) \
  ((sort_t)((u32)((order) >> shift) & mask) << POSITION_BITS | (i)*LANES | p.lane)
#else
#define ITEM(order, i) ((sort_t)(order))
#endif
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    item[i] = ITEM(own[i * LANES], i);
    item[i] = (IS_LOADED(i) ? item[i] : SORT_LAST) ^ flip;
  }
#if PART
  sort_t* const parts = item;
  UNROLL
  for (u32 first = 0; first + PART <= SHORT; first += PART) {
    sort_t* item = parts + first;
    SORT_ROW(PART)
  }
#else
  SORT_ROW(SHORT)
#endif
#if LANES >= 2
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    const sort_t other = sg_shuffle(sg, item[i], sg_lane() ^ 1);
    item[i] = min(item[i], (sort_t)~other);
  }
  MERGE_PEAK(SHORT)
#endif
#if LANES == 4
  merge_pairs(sg, item);
#endif
#if COMPOSITE
  const u32 position_mask = (1u << POSITION_BITS) - 1;
  sort_t nearest = SORT_LAST;  // the least XOR of two neighbouring items
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    const u32 place = PLACE_OF_ITEM(p, i);
    if (IS_PLACED(i, place)) mine->sources[p.row + place] = (u8)((item[i] ^ flip) & position_mask);
    if (i + 1 < SHORT && !ENDS_PART(i) && IS_PLACED(i, place) &&
        IS_PLACED(i + 1, PLACE_OF_ITEM(p, i + 1)))
      nearest = min(nearest, item[i] ^ item[i + 1]);
  }
#if LANES >= 2  // the last items of lanes 0 and 1, and of 2 and 3, are neighbours
  nearest = min(nearest, ~item[SHORT - 1] ^ sg_shuffle(sg, item[SHORT - 1], sg_lane() ^ 1));
#endif
#if LANES == 4  // the first items of lanes 1 and 2 are
  nearest = min(nearest, ~item[0] ^ sg_shuffle(sg, item[0], sg_lane() ^ 3));
#endif
  sg_barrier();
  u32 wrong = 0;
  if (drop != 0 && nearest <= position_mask) {
    const u32 first = p.lane * SHORT;
    ROLLED
    for (u32 at = p.row + first; at < p.row + first + SHORT && at + 1 < p.row + rows.length; ++at)
      wrong |= !ENDS_PART(at - p.row) &&
                       rank_of(mine, p.row + mine->sources[at], begin_bit, rank_mask) >
                           rank_of(mine, p.row + mine->sources[at + 1], begin_bit, rank_mask)
                   ? 1
                   : 0;
  }
  wrong = sg_ballot(sg, wrong) >> (sg_lane() / LANES * LANES) & ((1u << LANES) - 1);
  const u32 to_insert = wrong != 0 && p.lane == 0 ? rows.length : 0,
            part = PART ? PART : rows.length;
  ROLLED
  for (u32 first = p.row; first < p.row + to_insert; first += part)
    insert_sources(mine, p.row, first, first + part, begin_bit, rank_mask);
#else
  sg_barrier();  // all lanes have loaded their items
  UNROLL
  for (u32 i = 0; i < SHORT; ++i) {
    const u32 place = PLACE_OF_ITEM(p, i);
    if (IS_PLACED(i, place)) KEYS(mine)[p.row + place] = item[i] ^ flip;
  }
#endif
  sg_barrier();
}

// Writes the value of the record from the position `source` of row `row`, or that record's position
// if there are no values. `base_in` is where the round's rows begin in the input.
#if VALUE_BYTES
INLINE void store_value(LOCAL const round_t* mine, rows_t rows, u64 base_in, u32 row, u32 source,
                        GLOBAL const value_t* values_in, GLOBAL value_t* to) {
  *to = values_in ? VALUES(mine)[row * rows.step + source]
                  : (value_t)(base_in + PLACE_IN_ROUND(rows, row, source));
}
#endif

// Writes the first records of each sorted row, from `base` on; `out` has their number as the
// length. With VALUES_WAIT, store_values writes the values later.
INLINE void store_rows(LOCAL const round_t* mine, rows_t rows, rows_t out, u64 base_in, u64 base,
                       GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                       GLOBAL value_t* values_out) {
  ROLLED
  for (u32 step = 0; step < STEPS(out, TOGETHER); ++step) {
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const spot_t spot = spot_of(out, step, TOGETHER, k);
      if (spot.is_there) {
#if COMPOSITE
        const u32 source = mine->sources[spot.slot], slot = spot.row * out.step + source;
#else
        const u32 slot = spot.slot;
#endif
        if (!COMPOSITE || keys_out) keys_out[base + spot.at] = key_of_order(KEYS(mine)[slot]);
#if VALUES_APART
        store_value(mine, rows, base_in, spot.row, source, values_in, values_out + base + spot.at);
#endif
      }
    }
  }
}

#if VALUES_WAIT
// Loads the round's values; each lane loads at most SHORT.
INLINE void load_values(value_t* value, rows_t rows, u64 base, GLOBAL const value_t* values_in) {
  UNROLL
  for (u32 k = 0; k < SHORT; ++k) {
    const spot_t spot = spot_of(rows, 0, SHORT, k);
    if (spot.is_there && values_in) value[k] = values_in[base + spot.at];
  }
}

// Writes the values, after they have replaced the keys in local memory.
INLINE void store_values(LOCAL round_t* mine, const value_t* value, rows_t rows, rows_t out,
                         u64 base_in, u64 base, GLOBAL const value_t* values_in,
                         GLOBAL value_t* values_out) {
  sg_barrier();  // all keys are stored
  UNROLL
  for (u32 k = 0; k < SHORT; ++k) {
    const spot_t spot = spot_of(rows, 0, SHORT, k);
    if (spot.is_there && values_in) VALUES(mine)[spot.slot] = value[k];
  }
  sg_barrier();
  UNROLL
  for (u32 k = 0; k < SHORT; ++k) {
    const spot_t spot = spot_of(out, 0, SHORT, k);
    if (spot.is_there)
      store_value(mine, rows, base_in, spot.row, mine->sources[spot.slot], values_in,
                  values_out + base + spot.at);
  }
}
#endif

//   keys_in, values_in  in: n records in rows of `length` (STRIDED: in matrices of `length` rows).
//                  Without values_in, positions are written.
//                  With PART, `length` is that of a group of rows; the last group may be incomplete
//   keys_out, values_out  out: the first `wanted` records of each sorted row; may be the input if
//                  wanted is length. With COMPOSITE, keys_out may be null
//   inverse, inverse_wanted  rows_t::inverse of both lengths
//   begin_bit, rank_mask  parameters of RANK
//   stride, rounds  with STRIDED: the columns of a matrix of `length` rows, and how many rounds it
//                  has. Matrices of `wanted` rows are written
// Each sub-group sorts one round. In a loop over rounds, the compiler would compute the places of
// all items once, before the loop, and keep them in registers that it does not have.
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_rows(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                    GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u32 length,
                    u32 inverse, u32 wanted, u32 inverse_wanted, u32 begin_bit, u64 rank_mask,
                    u32 stride, u32 rounds) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(segmented_rows_memory_t, all_rounds);
  LOCAL round_t* mine = &all_rounds->rounds[sg_index()];
  rows_t rows, out;
  rows.length = length;
  rows.inverse = inverse;
  out.length = wanted;
  out.inverse = inverse_wanted;
  rows.step = out.step = length | 1;
  share_t p;
  p.row = sg_lane() / LANES * rows.step;
  p.lane = sg_lane() % LANES;
  p.count = (length + LANES - 1 - p.lane) / LANES;
  p.first_place = p.lane % 2 ? (p.lane + 1) * SHORT - 1 : p.lane * SHORT;
  p.direction = p.lane % 2 ? -1 : 1;

  const u64 round = (u64)group_id() * (WG / SG_LANES) + sg_index();
#if STRIDED
  const u64 matrix = round / rounds, all_of_matrix = (u64)length * stride;
  const u32 column = (u32)(round - matrix * rounds) * ROWS;
  const u64 base = matrix * all_of_matrix + column, base_out = matrix * wanted * stride + column;
  rows.stride = out.stride = stride;
  rows.here = out.here = base < n ? min((u32)ROWS, stride - column) : 0;
  rows.all = rows.here * length;
  out.all = out.here * wanted;
#else
  const u64 base = round * ROWS * length, base_out = round * ROWS * wanted;
  rows.all = base < n ? (u32)min(n - base, (u64)ROWS * length) : 0;
  rows.here = out.here = (rows.all + length - 1) / length;
  out.all = wanted == length ? rows.all : out.here * wanted;
#endif
  const seen_t seen = load_rows(mine, rows, base, keys_in, values_in);
  u32 ties = 0, drop = 0;
#if VALUES_WAIT
  value_t value[SHORT];
  load_values(value, rows, base, values_in);
#endif
#if KEY_FLOAT
  ties = has_ties(mine, rows, sg, seen.suspect, COMPARES_ALL_BITS);
  if (ties) tie_keys(mine, rows);
#endif
#if COMPOSITE
  // The orders of keys that tie may differ from the others in any bit.
  const ukey_t differ =
      differing_bits(sg, ties ? (ukey_t) ~(ukey_t)0 : seen.differ, begin_bit, rank_mask);
  const u32 open = differ != 0 ? highest_bit(differ) + 1 : 0;
  drop = max(open + POSITION_BITS, (u32)SORT_BITS) - SORT_BITS;
#endif
  sg_barrier();
  sort_rows(mine, sg, p, rows, drop, begin_bit, rank_mask);
#if KEY_FLOAT && !COMPOSITE
  // Emulated sub-groups must all reach the barriers inside.
  if (ties || !SG_NATIVE)
    for (u32 r = 0; r < ROWS; ++r) {
      const u32 is_there = r < rows.here && ties ? 1 : 0;
      LOCAL ukey_t* sorted = KEYS(mine) + r * rows.step;
      GLOBAL const ukey_t* keys = keys_in + (is_there ? base + PLACE_IN_ROUND(rows, r, 0) : 0);
      const u32 apart = PLACE_IN_ROUND(rows, 0, 1);
#if KEY_ZEROS == ZEROS_TIED
      restore_tied(sorted, sg, length, is_there, keys, apart, 0);
#endif
#if KEY_NAN != NAN_BITS
      restore_tied(sorted, sg, length, is_there, keys, apart, (ukey_t)(KEY_INFINITY + 1));
#endif
    }
  sg_barrier();
#endif
#if KEY_FLOAT && COMPOSITE
  if (ties) (void)load_rows(mine, rows, base, keys_in, 0);  // the keys' own bits
  sg_barrier();
#endif
  store_rows(mine, rows, out, base, base_out, keys_out, values_in, values_out);
#if VALUES_WAIT
  store_values(mine, value, rows, out, base, base_out, values_in, values_out);
#endif
}
