// one-cluster: the work-groups of one cluster sort the whole list in their local memories, in one
// launch. Work-group g loads tile g of the list.
//
// With PARTS, the cluster first partitions the records by their leading bits: part g goes to
// work-group g, which sorts it by bins. If a part does not fit its work-group, or without PARTS,
// the work-groups make the passes of an LSD radix sort instead.
// bins.cl, bin_sort.cl and columns.cl come before this file.

// Parameters in addition to those of these files:
PARAMETER(WG)          // work-items of a work-group
PARAMETER(GROUPS)      // work-groups of the cluster, a power of two up to 16
PARAMETER(TILE_ITEMS)  // records of a work-item in a tile
PARAMETER(PARTS)       // 1: partition first; 0: radix passes only

#define TILE (WG * TILE_ITEMS)
#define MOST_GROUPS 16u

// cluster_send transfers 4, 8 or 16 bytes. With PAIRED, a key of at most 32 bits and its 4-byte
// value are sent together.
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
#if VALUE_BYTES && !PAIRED
#define RECORD_BYTES (sizeof(tile_item_t) + sizeof(value_t))
#define VALUES_BESIDE(count) value_t values[count];
#else
#define RECORD_BYTES sizeof(tile_item_t)
#define VALUES_BESIDE(count)
#endif

typedef struct {
  tile_item_t items[TILE];  // keys; with PAIRED, keys with their values
  VALUES_BESIDE(TILE)
} tile_t;
#if PARTS
typedef struct {
  tile_item_t items[CAPACITY];
  VALUES_BESIDE(CAPACITY)
} part_t;
#else
typedef tile_t part_t;
#endif

typedef struct {
  tile_t sorted;  // by this pass's digit
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u32 sums[TEAMS * RADIX];
} pass_memory_t;

// local_bytes() in one_cluster.cpp computes its size.
typedef struct {
  u16 totals[RADIX];  // counts of this tile's digits or parts
  // The totals of all tiles. Even and odd passes have separate tables, because other work-groups
  // may be one pass ahead and already send the next totals.
  u16 counts[2][GROUPS * RADIX];
  u16 part_counts[GROUPS * MOST_GROUPS];
  arrivals_t counts_come[2], part_counts_come, tile_comes;
  u32 moves[RADIX];  // for each digit: position in the list - position in this sorted tile
  u32 part_totals[MOST_GROUPS];
  index_t scratch[2 * WG];
  part_t tile;
  union {
    pass_memory_t pass;
#if PARTS
    bin_sort_t bins;
#endif
  } own;
} one_cluster_memory_t;

INLINE tile_item_t tile_item(record_t r) {
#if PAIRED
  return (u64)r.value << 32 | r.key;
#else
  return r.key;
#endif
}
#if PAIRED
#define VALUE_IN(tile, at) (u32)((tile).items[at] >> 32)
#elif VALUE_BYTES
#define VALUE_IN(tile, at) (tile).values[at]
#else
#define VALUE_IN(tile, at) 0
#endif
#define GET_RECORD(r, tile, at)         \
  {                                     \
    (r).key = (ukey_t)(tile).items[at]; \
    (r).value = VALUE_IN(tile, at);     \
  }

INLINE void send_record(LOCAL one_cluster_memory_t* mine, u32 at, u32 group, record_t r) {
  cluster_send(&mine->tile.items[at], group, tile_item(r), &mine->tile_comes);
#if VALUE_BYTES && !PAIRED
  cluster_send(&mine->tile.values[at], group, r.value, &mine->tile_comes);
#endif
}

#if PARTS
#define PART(key) key_digit(key, part_bit, GROUPS - 1)
// Sends this tile's `count` records to the work-groups of their parts, in the order of the list.
// Afterwards mine->tile holds this work-group's part, and the function returns 1. If some part does
// not fit its work-group, sends no record and returns 0; then `record` holds the tile sorted by
// part.
INLINE u32 send_to_parts(LOCAL one_cluster_memory_t* mine, sub_group_t sg, record_t* record,
                         u32 count, u32 part_bit) {
  const u32 t = local_id(), group = group_id(),
            first = sg_index() * (SG_LANES * TILE_ITEMS) + sg_lane();
  LOCAL u32* my_ranks = mine->own.pass.ranks + sg_index() * RANK_WORDS;
  for (u32 i = sg_lane(); i < SG_RANK_WORDS(GROUPS); i += SG_LANES) my_ranks[i] = 0;
  sg_barrier();

  // Rank in the sub-group, in the order of the list.
  u32 place[TILE_ITEMS];
#define PART_OF(i) PART(record[i].key)
  SG_RANK_ROWS(place, TILE_ITEMS, my_ranks, GROUPS, PART_OF,
               count < TILE)  // keys past the end are all equal
  barrier_local();

  // Scan over parts and, within a part, over sub-groups.
  LOCAL u32* rank = &mine->own.pass.ranks[t % SUB_GROUPS * RANK_WORDS + t / SUB_GROUPS];
  const u32 counts = GROUPS * SUB_GROUPS;
  index_t all;
  const u32 start = (u32)wg_scan_add(mine->scratch, counts, t < counts ? *rank : 0, &all);
  if (t < counts) *rank = start;
  barrier_local();

  // Send the counts to all work-groups.
  LOCAL const u32* starts = mine->own.pass.ranks;  // row of sub-group 0: where parts begin
  if (sg_index() == 0) {
    if (t < MOST_GROUPS)
      mine->totals[t] = (u16)(t + 1 < GROUPS    ? starts[t + 1] - starts[t]
                              : t + 1 == GROUPS ? count - starts[t]
                                                : 0);
    sg_barrier();
    if (t < 2 * GROUPS)
      cluster_send16(&mine->part_counts[group * MOST_GROUPS + 8 * (t % 2)], t / 2,
                     &mine->totals[8 * (t % 2)], &mine->part_counts_come);
  }

  // Sort the tile by part, so that each work-group receives runs of neighbouring records.
  UNROLL
  for (u32 i = 0; i < TILE_ITEMS; ++i) {
    const u32 to = place[i] + my_ranks[PART(record[i].key)];
    mine->own.pass.sorted.items[to] = tile_item(record[i]);
#if VALUE_BYTES && !PAIRED
    mine->own.pass.sorted.values[to] = record[i].value;
#endif
  }
  arrivals_wait(&mine->part_counts_come, 0);
  if (t < GROUPS) {
    u32 total = 0, before = 0;
    UNROLL
    for (u32 g = 0; g < GROUPS; ++g) {
      const u32 c = mine->part_counts[g * MOST_GROUPS + t];
      before += g < group ? c : 0;
      total += c;
    }
    mine->moves[t] = before - starts[t];
    mine->part_totals[t] = total;
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < TILE_ITEMS; ++i)
    GET_RECORD(record[i], mine->own.pass.sorted, first + i * SG_LANES)
  u32 most = 0;
  UNROLL
  for (u32 p = 0; p < GROUPS; ++p) most = max(most, mine->part_totals[p]);
  const u32 fit = most <= CAPACITY;
  if (t == 0) arrivals_expect(&mine->tile_comes, fit ? mine->part_totals[group] * RECORD_BYTES : 0);
  if (!fit) return 0;

  UNROLL
  for (u32 i = 0; i < TILE_ITEMS; ++i) {
    const u32 at = first + i * SG_LANES, part = PART(record[i].key);
    if (at < count) send_record(mine, at + mine->moves[part], part, record[i]);
  }
  arrivals_wait(&mine->tile_comes, 0);
  return 1;
}

// Sorts the work-group's part and writes those of its records that come before position `wanted`.
INLINE void sort_part(LOCAL one_cluster_memory_t* mine, sub_group_t sg, GLOBAL ukey_t* keys_out,
                      GLOBAL value_t* values_out, u32 wanted, u32 part_bit, u32 begin_bit,
                      u32 bin_shift) {
  const u32 t = local_id(), group = group_id(), count = mine->part_totals[group];
  const u32 rows = (count + WG - 1 - t) / WG;  // this work-item's records
  u32 begin = 0;
  UNROLL
  for (u32 p = 0; p < GROUPS; ++p) begin += p < group ? mine->part_totals[p] : 0;
  barrier_local();  // the bins overwrite the tile, which has been sent
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      const ukey_t order = key_order((ukey_t)mine->tile.items[at]);
#if COMPOSITE
      item[i] =
          (sort_t)((order & (((ukey_t)1 << part_bit) - 1)) >> begin_bit) << POSITION_BITS | at;
#else
      item[i] = order;
#endif
    }
  }
  const bins_by_place_t by_place = {0, 0};
  sort_in_bins(&mine->own.bins, sg, item, rows, bin_shift, 0, by_place, 0);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (i >= rows || begin + at >= wanted) continue;
#if COMPOSITE
    record_t r;
    const u32 from = POSITION(mine->own.bins.items[at]);
    GET_RECORD(r, mine->tile, from)
    store_record(keys_out, values_out, begin + at, r);
#else
    keys_out[begin + at] = key_of_order(mine->own.bins.items[at]);
#endif
  }
}
#endif

// ---- Radix passes ----

// A pass: its number, the number of all passes, and the shift and mask of its digit.
typedef struct {
  u32 number, all, shift, mask;
} pass_t;
#define DIGIT(p, key) key_digit(key, (p).shift, (p).mask)
// The first of this work-item's records in a tile; the others follow SG_LANES apart.
#define FIRST_RECORD (sg_index() * (SG_LANES * TILE_ITEMS) + sg_lane())

// Initialises the counters of bytes that arrive from other work-groups.
INLINE void begin_arrivals(LOCAL one_cluster_memory_t* mine) {
  if (local_id() != 0) return;
  arrivals_init(&mine->tile_comes);
  arrivals_init(&mine->counts_come[0]);
  arrivals_init(&mine->counts_come[1]);
  arrivals_init(&mine->part_counts_come);
  if (PARTS) arrivals_expect(&mine->part_counts_come, sizeof mine->part_counts);
}

// Loads this work-group's tile. Keys past the end are KEY_LAST, which sorts after all keys and is
// never written out.
INLINE void load_tile(record_t* record, GLOBAL const ukey_t* keys_in,
                      GLOBAL const value_t* values_in, u32 count) {
  UNROLL
  for (u32 i = 0; i < TILE_ITEMS; ++i) {
    const u32 at = group_id() * TILE + FIRST_RECORD + i * SG_LANES;
    record[i] = load_record(keys_in, values_in, min(at, count - 1));
    record[i].key = at < count ? record[i].key : KEY_LAST;
  }
}

// Sorts the tile by the pass's digit, in the order of the list, so that each work-group receives
// runs of neighbouring records, and sends the counts of its digits to all work-groups. Returns
// where digit local_id() begins in the tile. `partial`: some keys are past the end.
INLINE u32 sort_by_digit(LOCAL one_cluster_memory_t* mine, sub_group_t sg, record_t* record,
                         pass_t p, u32 partial) {
  LOCAL pass_memory_t* own = &mine->own.pass;
  LOCAL u32* my_ranks = own->ranks + sg_index() * RANK_WORDS;
  const u32 t = local_id();
  for (u32 i = sg_lane(); i < RANK_WORDS; i += SG_LANES) my_ranks[i] = 0;
  sg_barrier();

  // Rank in the sub-group.
  u32 place[TILE_ITEMS];
#define DIGIT_OF(i) DIGIT(p, record[i].key)
  SG_RANK_ROWS(place, TILE_ITEMS, my_ranks, RADIX, DIGIT_OF,
               partial)  // keys past the end are all equal
  barrier_local();

  // Sum over sub-groups, send the totals to all work-groups, scan over digits.
  u32 before;
  const u32 total = sum_digit(own->ranks, own->sums, &before);
  if (t < RADIX) mine->totals[t] = (u16)total;
  if (t == 0) {
    arrivals_expect(&mine->counts_come[p.number % 2], sizeof mine->counts[0]);
    if (p.number + 1 < p.all) arrivals_expect(&mine->tile_comes, TILE * RECORD_BYTES);
  }
  index_t all;
  const u32 start = (u32)wg_scan_add(mine->scratch, RADIX, total,
                                     &all);  // its barrier also orders the stores of the totals
  for (u32 other = sg_index(); other < GROUPS; other += SUB_GROUPS)
    cluster_send16(&mine->counts[p.number % 2][group_id() * RADIX + 8 * sg_lane()], other,
                   &mine->totals[8 * sg_lane()], &mine->counts_come[p.number % 2]);
  place_digit(own->ranks, own->sums, start, before);
  barrier_local();

  UNROLL
  for (u32 i = 0; i < TILE_ITEMS; ++i) {
    const u32 to = place[i] + my_ranks[DIGIT(p, record[i].key)];
    own->sorted.items[to] = tile_item(record[i]);
#if VALUE_BYTES && !PAIRED
    own->sorted.values[to] = record[i].value;
#endif
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < TILE_ITEMS; ++i)
    GET_RECORD(record[i], own->sorted, FIRST_RECORD + i * SG_LANES)
  return start;
}

// Computes mine->moves. This tile's records of a digit go after all records with smaller digits,
// and after the records with the same digit in earlier tiles. `start` is the position where digit
// local_id() begins in the sorted tile.
INLINE void find_moves(LOCAL one_cluster_memory_t* mine, pass_t p, u32 start) {
  const u32 t = local_id();
  arrivals_wait(&mine->counts_come[p.number % 2], p.number / 2);
  u32 in_list = 0, in_tiles_before = 0;
  if (t < RADIX) UNROLL
  for (u32 g = 0; g < GROUPS; ++g) {
    const u32 c = mine->counts[p.number % 2][g * RADIX + t];
    in_list += c;
    in_tiles_before += g < group_id() ? c : 0;
  }
  index_t all;
  const u32 start_in_list = (u32)wg_scan_add(mine->scratch, RADIX, in_list, &all);
  if (t < RADIX) mine->moves[t] = start_in_list + in_tiles_before - start;
  barrier_local();
}

//   keys_in, values_in    in: n records, n at most GROUPS * TILE
//   keys_out, values_out  out: the first `wanted` records in sorted order; may be the input
//   passes                digits of a key
//   shifts, widths        byte p: shift and width in bits of pass p's digit
//   part_bit              PARTS: the lowest of a key's order bits that select its part
//   begin_bit             PARTS: the lowest of a key's order bits that the part's sort compares
//   bin_shift             PARTS: the lowest of an item's bits that select its bin
KERNEL(WG)
void one_cluster_sort(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n,
                      u64 wanted, u64 shifts, u64 widths, u32 passes, u32 part_bit, u32 begin_bit,
                      u32 bin_shift) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(one_cluster_memory_t, mine);
  const u32 begin = group_id() * TILE, count = (u32)n;
  begin_arrivals(mine);
  cluster_arrive();
  record_t record[TILE_ITEMS];
  load_tile(record, keys_in, values_in, count);
  cluster_wait();  // all work-groups are running

#if PARTS
  if (send_to_parts(mine, sg, record, min(count - min(begin, count), TILE), part_bit)) {
    sort_part(mine, sg, keys_out, values_out, (u32)wanted, part_bit, begin_bit, bin_shift);
    return;
  }
#endif
  for (u32 pass = 0; pass < passes; ++pass) {
    const pass_t p = {pass, passes, (u32)(shifts >> (8 * pass)) & 255,
                      (1u << ((u32)(widths >> (8 * pass)) & 255)) - 1};
    const u32 start = sort_by_digit(mine, sg, record, p, begin + TILE > count);
    find_moves(mine, p, start);

    // Scatter the records to the tiles of all work-groups, or, in the last pass, to the output.
    UNROLL
    for (u32 i = 0; i < TILE_ITEMS; ++i) {
      const u32 to = FIRST_RECORD + i * SG_LANES + mine->moves[DIGIT(p, record[i].key)];
      if (pass + 1 < passes) {
        send_record(mine, to % TILE, to / TILE, record[i]);
      } else if (to < (u32)wanted) {
        store_record(keys_out, values_out, to, record[i]);
      }
    }
    if (pass + 1 == passes) break;
    arrivals_wait(&mine->tile_comes, pass + PARTS);
    UNROLL
    for (u32 i = 0; i < TILE_ITEMS; ++i)
      GET_RECORD(record[i], mine->tile, FIRST_RECORD + i * SG_LANES)
  }
}
