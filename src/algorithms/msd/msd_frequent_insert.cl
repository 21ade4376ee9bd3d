// msd, lists whose frequent keys are counted or have codes: writes the sorted list.

#define PIECE ((u32)(SG_LANES * INSERT_ITEMS))  // keys that a sub-group writes at a time

// The frequent keys in the order of the output. A run is all that are equal. Run i begins at index
// begins[i]. before[i] is the length of all runs before it; if there are m runs, before[m] is the
// length of all.
typedef struct {
  u32 begins[SAMPLES];
  u32 before[SAMPLES + 1];
  ukey_t keys[SAMPLES];
} runs_t;

// insert_bytes() in msd_frequent.cpp computes its size.
typedef struct {
  union {
    runs_t runs;
    struct {
      ukey_t keys[SAMPLES];  // the frequent keys in any order
      u32 counts[SAMPLES];
    } found;
  } of;
  index_t scratch[SCAN_WORDS(WG)];
  // Of each team's key: the number of runs before its run, their length, and how many keys of the
  // rest have been found to come before it.
  u32 rank[PART], before[PART], smaller[PART];
  u32 part;
} msd_insert_memory_t;

// Collects the keys of the table that occur, and their counts, in own->of.found. Returns their
// number. The order is the same in all work-groups.
INLINE u32 find_frequent(LOCAL msd_insert_memory_t* own, GLOBAL const ukey_t* table,
                         GLOBAL const u32* counts) {
  u32 count[SLOTS / WG], occur = 0;
  ukey_t key[SLOTS / WG];
  UNROLL
  for (u32 i = 0; i < SLOTS / WG; ++i) {
    count[i] = counts[i * WG + local_id()];
    key[i] = table[i * WG + local_id()];
  }
  UNROLL
  for (u32 i = 0; i < SLOTS / WG; ++i) occur += count[i] != 0 ? 1 : 0;
  index_t all;
  u32 at = (u32)wg_scan_add(own->scratch, WG, (index_t)occur, &all);
  UNROLL
  for (u32 i = 0; i < SLOTS / WG; ++i) {
    if (count[i] == 0) continue;
    own->of.found.keys[at] = key[i];
    own->of.found.counts[at++] = count[i];
  }
  barrier_local();
  return (u32)all;
}

// Finds the runs of the frequent keys of part `part`, and stores them in *runs. Each team has one
// key. First it counts the frequent keys that are smaller. Then it searches for the key in the
// sorted rest: its work-items compare keys at equal distances, which leaves the range between two
// of these, and so on. All teams have ranges of the same length, so all take the same steps.
INLINE void find_runs(LOCAL msd_insert_memory_t* own, u32 found, GLOBAL const ukey_t* rest,
                      u32 rest_count, u32 part, GLOBAL runs_t* runs) {
  const u32 t = local_id(), team = t / TEAM, member = t % TEAM, number = part * PART + team;
  if (t < PART) own->rank[t] = own->before[t] = own->smaller[t] = 0;
  barrier_local();
  const ukey_t key = own->of.found.keys[min(number, found - 1)], order = key_order(key);
  u32 rank = 0, before = 0;
  for (u32 base = member; base < found; base += 4 * TEAM) {
    UNROLL
    for (u32 i = 0; i < 4; ++i) {
      const u32 other = min(base + i * TEAM, found - 1);
      const u32 smaller = base + i * TEAM < found && key_order(own->of.found.keys[other]) < order;
      rank += smaller;
      before += smaller ? own->of.found.counts[other] : 0;
    }
  }
  if (rank != 0) {
    local_add(&own->rank[team], rank);
    local_add(&own->before[team], before);
  }

  // `low` keys of the rest are smaller, and those from low + length on are not.
  u32 low = 0, seen = 0;
  for (u32 length = rest_count; length != 0;) {
    const u32 step = length / TEAM + 1, at = low + (member + 1) * step - 1;
    const u32 smaller =
        at < low + length && at < rest_count ? (key_order(rest[at]) < order ? 1u : 0u) : 0u;
    if (smaller) local_add(&own->smaller[team], 1u);
    barrier_local();
    low += (own->smaller[team] - seen) * step;
    seen = own->smaller[team];
    length = step - 1;
    barrier_local();
  }
  barrier_local();
  if (member == 0 && number < found) {
    rank = own->rank[team], before = own->before[team];
    runs->keys[rank] = key;
    runs->before[rank] = before;
    runs->begins[rank] = before + low;
  }
  barrier_local();
}

// Returns how many of the runs from `low` to `high` - 1 begin at index `at` of the output or before
// it, plus `low`.
INLINE u32 runs_to(LOCAL const runs_t* runs, u32 low, u32 high, u32 at) {
  while (low < high) {
    const u32 middle = (low + high) / 2;
    if (runs->begins[middle] <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The rest and its values, those of frequent keys, and the output.
typedef struct {
  GLOBAL const ukey_t* rest;
  GLOBAL ukey_t* keys_out;  // null: no keys are written
#if VALUE_BYTES
  // First the values of all runs, one run after the other, then those of the rest.
  GLOBAL const value_t* values;
  GLOBAL value_t* values_out;  // null: no values are written
  u32 of_runs;                 // number of values of all runs
#endif
} lists_t;

// Writes `count` records of the output from index `begin` on: at most a piece. Runs `first` to
// `last` - 1 begin among these records. Earlier runs begin before them or, in a sub-group's first
// piece, with the first of them.
INLINE void write_piece(LOCAL const runs_t* runs, u32 first, u32 last, lists_t lists, u32 begin,
                        u32 count) {
  const u32 lane = sg_lane();
  GLOBAL const ukey_t* rest = lists.rest;
  ukey_t key[INSERT_ITEMS];
#if VALUE_BYTES
  u32 from[INSERT_ITEMS];  // index of the record's value
#define VALUE_FROM(i, index) from[i] = (index);
#else
#define VALUE_FROM(i, index)
#endif
  if (first == last) {
    // The usual case. One run may cover the first keys; the others are of the rest.
    const u32 before = runs->before[first];
    const u32 end = first != 0 ? runs->begins[first - 1] + (before - runs->before[first - 1]) : 0;
    const ukey_t of_run = runs->keys[first != 0 ? first - 1 : 0];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i) {
      const u32 at = begin + min(i * SG_LANES + lane, count - 1);
      key[i] = of_run;
      VALUE_FROM(i, at < end ? before - (end - at) : lists.of_runs + at - before)
      if (at >= end) key[i] = rest[at - before];
    }
  } else {
    // Of each index: the last run that begins at it or before it, or 0 if that run ends before it.
    u32 run[INSERT_ITEMS], before[INSERT_ITEMS];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i) {
      const u32 at = begin + min(i * SG_LANES + lane, count - 1);
      run[i] = runs_to(runs, first, last, at);
      before[i] = runs->before[run[i]];
      VALUE_FROM(i, runs->before[run[i] != 0 ? run[i] - 1 : 0] + at -
                        runs->begins[run[i] != 0 ? run[i] - 1 : 0])
      if (run[i] != 0 && at - runs->begins[run[i] - 1] >= before[i] - runs->before[run[i] - 1])
        run[i] = 0;
#if VALUE_BYTES
      if (run[i] == 0) from[i] = lists.of_runs + at - before[i];
#endif
    }
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i)
      if (run[i] == 0) key[i] = rest[begin + min(i * SG_LANES + lane, count - 1) - before[i]];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i)
      if (run[i] != 0) key[i] = runs->keys[run[i] - 1];
  }
#if VALUE_BYTES
  if (lists.values_out != 0) {
    value_t value[INSERT_ITEMS];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i) value[i] = lists.values[from[i]];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i)
      if (i * SG_LANES + lane < count) lists.values_out[begin + i * SG_LANES + lane] = value[i];
  }
  if (lists.keys_out == 0) return;
#endif
  UNROLL
  for (u32 i = 0; i < INSERT_ITEMS; ++i)
    if (i * SG_LANES + lane < count) lists.keys_out[begin + i * SG_LANES + lane] = key[i];
}

// Writes the sub-group's share of the output: consecutive pieces. There are `found` runs.
INLINE void write_share(LOCAL const runs_t* runs, u32 found, lists_t lists, u64 n) {
  const u32 pieces = (u32)((n + PIECE - 1) / PIECE), sub_groups = group_count() * (WG / SG_LANES),
            share = (pieces + sub_groups - 1) / sub_groups;
  u64 piece = (u64)(group_id() * (WG / SG_LANES) + sg_index()) * share;
  const u64 end = min(piece + share, (u64)pieces);
  u32 last = piece < end ? runs_to(runs, 0, found, (u32)(piece * PIECE)) : 0;
  for (; piece < end; ++piece) {
    const u64 begin = piece * PIECE;
    const u32 count = (u32)min((u64)PIECE, n - begin), first = last;
    while (last < found && runs->begins[last] - (u32)begin < count) ++last;
    write_piece(runs, first, last, lists, (u32)begin, count);
  }
}

// Writes the sorted list: the frequent keys and the rest, which is sorted.
//   table, counts, state   in: from msd_count_frequent or msd_encode_frequent. The launch does
//                          nothing if REST_VALID is 0
//   rest        in: the sorted rest
//   values      in, with values: first those of frequent keys, in the order of the keys, then those
//               of the sorted rest: n values
//   runs        work space
//   keys_out    out: n keys; with values, null if they are not wanted
//   values_out  out, with values: n values. If there is no rest, they are there already
KERNEL(WG)
void msd_insert_frequent(GLOBAL const ukey_t* table, GLOBAL const u32* counts,
                         GLOBAL const ukey_t* rest, GLOBAL const value_t* values, GLOBAL u32* runs,
                         GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, GLOBAL u32* state,
                         u64 n) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_insert_memory_t, own);
  if (state[REST_VALID] == 0) return;
#if VALUE_BYTES
  if (keys_out == 0 && state[REST_COUNT] == 0) return;  // the values are in the output
#endif
  const u32 t = local_id();
  GLOBAL runs_t* all_runs = (GLOBAL runs_t*)runs;

  // Find where each frequent key begins. Work-groups take parts of them by ticket.
  const u32 found = find_frequent(own, table, counts), parts = (found + PART - 1) / PART;
  u32 done = 0;
  for (;; ++done) {
    if (t == 0) own->part = global_add(&state[PARTS_TICKET], 1u);
    barrier_local();
    const u32 part = own->part;
    barrier_local();
    if (part >= parts) break;
    find_runs(own, found, rest, state[REST_COUNT], part, all_runs);
  }
  barrier_all();
  if (t == 0 && done != 0) global_add_release(&state[PARTS_DONE], done);
  wait_for(&state[PARTS_DONE], parts);

  // Copy all runs to local memory.
  LOCAL runs_t* own_runs = &own->of.runs;
  for (u32 i = t; i < found; i += WG) {
    own_runs->begins[i] = all_runs->begins[i];
    own_runs->before[i] = all_runs->before[i];
    own_runs->keys[i] = all_runs->keys[i];
  }
  if (t == 0) own_runs->before[found] = (u32)n - state[REST_COUNT];
  barrier_local();

  lists_t lists;
  lists.rest = rest, lists.keys_out = keys_out;
#if VALUE_BYTES
  lists.values = values, lists.values_out = state[REST_COUNT] != 0 ? values_out : 0;
  lists.of_runs = (u32)n - state[REST_COUNT];
#endif
  write_share(own_runs, found, lists, n);
}
