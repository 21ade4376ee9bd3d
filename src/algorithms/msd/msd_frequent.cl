// msd, lists of keys alone that do not spread. Equal keys are identical, so frequent keys need not
// move. msd_count_frequent counts them, and copies the other keys, which are called the *rest*.
// Radix passes sort the rest. Then msd_insert_frequent writes the sorted list:
//
//     input      5 9 5 5 2 9 5 7        frequent: 5 (4 times), 9 (twice)
//     rest       2 7
//     output     2 5 5 5 5 7 9 9
//
// Here, a key is frequent if it is in a table in local memory. Every work-group makes the same
// table from the same samples. Two hashes of a key tell its two places. If other keys occupy both,
// the key is not in the table, and belongs to the rest, however frequent it is.

PARAMETER(WG)            // work-items of a work-group, a power of two
PARAMETER(ITEMS)         // keys of a work-item in a tile
PARAMETER(RESIDENT)      // work-groups that share a compute unit
PARAMETER(SAMPLES)       // samples, a power of two from WG to 16384
PARAMETER(SLOTS)         // places of the table, a power of two from SAMPLES on
PARAMETER(PART)          // keys whose runs a work-group of msd_insert_frequent finds at a time
PARAMETER(INSERT_ITEMS)  // keys that a work-item of msd_insert_frequent writes at a time

#define TILE (WG * ITEMS)
#define TILES(n) ((u32)(((n) + TILE - 1) / TILE))
#define HALF (SLOTS / 2)  // the first places of all keys, then the second ones

// The words of `state`.
#define REST_VALID 0u    // 1: frequent keys are counted, and the rest is copied
#define REST_COUNT 1u    // number of keys in the rest
#define TIES_SEEN 2u     // not 0: a key may tie with a key of different bits
#define COUNTS_ADDED 3u  // number of work-groups that have added their counts
#define PARTS_TICKET 4u  // msd_insert_frequent: number of parts that are taken
#define PARTS_DONE 5u    // msd_insert_frequent: number of parts that are done

// Returns a hash of the key. Only its highest bits depend on all bits of the key. `times` is odd.
INLINE u32 hash_of(ukey_t key, u64 times) {
#if KEY_BITS == 64
  return (u32)((key * times) >> 32);
#else
  return (u32)key * ((u32)(times >> 32) | 1);
#endif
}

// A key's first (which = 0) and second place in the table. Those of key 0 are 0 and HALF.
INLINE u32 place_of(ukey_t key, u32 which) {
  const u32 hash = hash_of(key, which ? 0xd6e8feb86659fd93ul : 0x9e3779b97f4a7c15ul);
  return which * HALF + (hash >> (32 - highest_bit32(HALF)));
}

// frequent_bytes() in msd_frequent.cpp computes its size.
typedef struct {
  ukey_t keys[SLOTS];
  u32 counts[SLOTS + 1];
  index_t scratch[SCAN_WORDS(WG)];
} msd_frequent_memory_t;

// ---- The table ----

// While the table is made, each of its words is the tag of a sample. A tag has three parts. Its
// highest bit is 1 if probably several samples have the key. The lowest bits are the sample's
// number. The bits between them are a part of the key's third hash.
#define SEVERAL 0x80000000u
#define THIRD_HASH(key) hash_of(key, 0xff51afd7ed558ccdul)

#define OWN_SAMPLES (SAMPLES / WG)
#define OWN_SLOTS (SLOTS / WG)
#define BATCH (OWN_SAMPLES < 8 ? OWN_SAMPLES : 8)  // samples that are loaded at a time

// Sets tag[i] to the tag of sample[i]. The highest bit is 1 if another sample has the same third
// hash. So a few keys of one sample have it by chance. own->counts must be 0 and is 0 afterwards.
// Ends with a barrier.
INLINE void make_tags(LOCAL msd_frequent_memory_t* own, const ukey_t* sample, u32* tag) {
  const u32 t = local_id();
#define HASH_WORD(key) own->counts[THIRD_HASH(key) >> (32 - highest_bit32(SLOTS))]
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i) local_add(&HASH_WORD(sample[i]), 1u);
  barrier_local();
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i)
    tag[i] = (HASH_WORD(sample[i]) > 1 ? SEVERAL : 0) |
             (THIRD_HASH(sample[i]) >> 1 & ~(SAMPLES - 1u)) | (i * WG + t);
  barrier_local();
  for (u32 i = t; i < SLOTS; i += WG) own->counts[i] = 0;
  barrier_local();
}

// Samples compete for one of their two places; the largest tag stays there. *left has a bit for
// each sample that has no place yet. Counts the samples of the keys that have won, and takes them
// out of *left. Ends with a barrier.
INLINE void take_places(LOCAL msd_frequent_memory_t* own, LOCAL u32* tags,
                        GLOBAL const ukey_t* samples, const ukey_t* sample, const u32* tag,
                        u32 which, u32* left) {
  // Work-items that change the same word wait for each other. The samples with the largest numbers
  // come first: most other samples of a very frequent key then have smaller tags, and need not
  // change the word.
  const u32 last = OWN_SAMPLES - 1;
  if (*left >> last & 1) local_max(&tags[place_of(sample[last], which)], tag[last]);
  barrier_local();
  u32 larger = 0;
  UNROLL
  for (u32 i = 0; i < last; ++i)
    larger |= (tags[place_of(sample[i], which)] < tag[i] ? 1u : 0u) << i;
  barrier_local();
  UNROLL
  for (u32 i = 0; i < last; ++i)
    if ((*left & larger) >> i & 1) local_max(&tags[place_of(sample[i], which)], tag[i]);
  barrier_local();

  UNROLL
  for (u32 base = 0; base < OWN_SAMPLES; base += BATCH) {
    ukey_t winner[BATCH];
    UNROLL
    for (u32 i = 0; i < BATCH; ++i)
      winner[i] = samples[tags[place_of(sample[base + i], which)] % SAMPLES];
    UNROLL
    for (u32 i = 0; i < BATCH; ++i) {
      const u32 bit = 1u << (base + i),
                has_won = (*left & bit) != 0 && winner[i] == sample[base + i];
      if (has_won) local_add(&own->counts[place_of(sample[base + i], which)], 1u);
      *left &= has_won ? ~bit : ~0u;
    }
  }
  barrier_local();
}

// Makes the table: own->keys has keys of samples in their places, and own->counts is 0. Every other
// place has a key that does not belong there. Counts the samples whose key is in the table and has
// several samples, and returns their number. Returns 0 if a sample may tie with a key of other
// bits. Ends with a barrier.
#define TIE (4u * SAMPLES)  // more than all samples
INLINE u32 make_table(LOCAL msd_frequent_memory_t* own, GLOBAL const ukey_t* samples) {
  const u32 t = local_id();
  LOCAL u32* tags = (LOCAL u32*)own->keys;
  ukey_t sample[OWN_SAMPLES];
  u32 tag[OWN_SAMPLES], left = ~0u;
  for (u32 i = t; i < SLOTS; i += WG) tags[i] = own->counts[i] = 0;
  if (t == 0) own->counts[SLOTS] = 0;
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i) sample[i] = samples[i * WG + t];
  barrier_local();
  make_tags(own, sample, tag);
  take_places(own, tags, samples, sample, tag, 0, &left);
  take_places(own, tags, samples, sample, tag, 1, &left);

  // Replace the tags by keys. Long keys overwrite other tags, so all tags are read first.
  ukey_t key[OWN_SLOTS];
  u32 several = 0;
#if KEY_FLOAT
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i) several += key_ties(sample[i]) ? TIE : 0;
#endif
  UNROLL
  for (u32 i = 0; i < OWN_SLOTS; ++i) {
    const u32 place = i * WG + t, count = own->counts[place];
    several += count > 1 ? count : 0;
    const ukey_t stranger = place % HALF == 0 ? 1 : 0, winner = samples[tags[place] % SAMPLES];
    key[i] = count != 0 ? winner : stranger;
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < OWN_SLOTS; ++i) {
    own->keys[i * WG + t] = key[i];
    own->counts[i * WG + t] = 0;
  }
  index_t all;
  wg_scan_add(own->scratch, WG, (index_t)several, &all);
  return all < TIE ? (u32)all : 0;
}

// ---- Counting ----

#define AT_ONCE (ITEMS < 8 ? ITEMS : 8)  // keys of a work-item that are looked up at the same time
#define IN_REST SLOTS  // the place of keys that are not in the table; its count is not used

// Counts the frequent keys of tile `tile`, and copies the others to `rest`. Returns 1 if a key may
// tie with a key of different bits. The order of the rest does not matter, because keys that tie
// are identical.
INLINE u32 count_tile(LOCAL msd_frequent_memory_t* own, sub_group_t sg, GLOBAL const ukey_t* keys,
                      GLOBAL ukey_t* rest, GLOBAL u32* state, u32 tile, u64 n) {
  const u32 lane = sg_lane(), first = sg_index() * (SG_LANES * ITEMS) + lane;
  const u64 begin = (u64)tile * TILE;
  const u32 count = (u32)min((u64)TILE, n - begin);
  u32 in_rest = 0, ties = 0, there = ~0u;  // bit i: of key i
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = keys[begin + min(first + i * SG_LANES, count - 1)];
  if (count < TILE) {
    there = 0;
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i) there |= (first + i * SG_LANES < count ? 1u : 0u) << i;
  }
  sg_barrier();  // Without it, the compiler puts each load after the counting of earlier keys.

  // Find the keys in the table, and count them there. A few at a time, because places take
  // registers.
  UNROLL
  for (u32 base = 0; base < ITEMS; base += AT_ONCE) {
    u32 place[AT_ONCE];
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) {
      place[i] = place_of(key[base + i], 0);
      if (own->keys[place[i]] != key[base + i]) place[i] = IN_REST;
#if KEY_FLOAT
      ties |= key_ties(key[base + i]);
#endif
    }
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) {
      const u32 second = place_of(key[base + i], 1);
      if (place[i] == IN_REST && own->keys[second] == key[base + i]) place[i] = second;
      in_rest |= (place[i] == IN_REST ? 1u : 0u) << (base + i);
      if ((there >> (base + i) & 1) == 0) place[i] = IN_REST;
    }
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) local_add(&own->counts[place[i]], 1u);
  }
  in_rest &= there;

  // Copy the keys that are not in the table to the rest. One addition reserves all their places.
  u32 others = 0, at = 0;
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) others += popcount32(sg_ballot(sg, in_rest >> i & 1));
  if (lane == 0 && others != 0) at = global_add(&state[REST_COUNT], others);
  at = sg_shuffle(sg, at, 0);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 mask = sg_ballot(sg, in_rest >> i & 1);
    if (in_rest >> i & 1) rest[at + popcount32(mask & ((1u << lane) - 1))] = key[i];
    at += popcount32(mask);
  }
  return ties;
}

// Counts the frequent keys, and copies the others.
//   keys     in: n keys, fewer than 2^32 - 2^16
//   samples  in: SAMPLES of them
//   table    out: SLOTS keys: the table
//   counts   in and out: SLOTS words, 0 at first: how often each key of the table occurs
//   rest     out: the other keys, in any order. Memory for n keys
//   state    in and out: words, 0 at first; see above. REST_VALID becomes 1, unless too few samples
//            have frequent keys, or keys may tie; the other operands then have no meaning
//   skewed   a word: the launch does nothing unless *skewed is `verdict`
//   least    keys are counted only if so many samples have a key of several samples
KERNEL_RESIDENT(WG, RESIDENT)
void msd_count_frequent(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples,
                        GLOBAL ukey_t* table, GLOBAL u32* counts, GLOBAL ukey_t* rest,
                        GLOBAL u32* state, u64 n, GLOBAL const u32* skewed, u32 verdict,
                        u32 least) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_frequent_memory_t, own);
  if (*skewed != verdict) return;
  const u32 t = local_id();
  if (make_table(own, samples) < least) return;
  if (group_id() == 0)
    for (u32 i = t; i < SLOTS; i += WG) table[i] = own->keys[i];

  u32 ties = 0;
  for (u32 tile = group_id(); tile < TILES(n); tile += group_count())
    ties |= count_tile(own, sg, keys, rest, state, tile, n);
  if (ties) global_or(&state[TIES_SEEN], 1u);

  // Add the counts to those of all work-groups.
  barrier_local();
  for (u32 i = t; i < SLOTS; i += WG)
    if (own->counts[i] != 0) global_add(&counts[i], own->counts[i]);
  barrier_all();
  if (t == 0) {
    global_add_release(&state[COUNTS_ADDED], 1u);
    if (load_acquire(&state[COUNTS_ADDED]) == group_count() && load_relaxed(&state[TIES_SEEN]) == 0)
      global_or(&state[REST_VALID], 1u);
  }
}

// ---- Inserting ----

#define TEAM (WG / PART)                        // work-items that find the run of one key
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
// number. All work-groups find the same order.
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

// Writes `count` keys of the output from index `begin` on: at most a piece. Runs `first` to
// `last` - 1 begin among these keys. Earlier runs begin before them or, in a sub-group's first
// piece, with the first of them.
INLINE void write_piece(LOCAL const runs_t* runs, u32 first, u32 last, GLOBAL const ukey_t* rest,
                        GLOBAL ukey_t* keys_out, u32 begin, u32 count) {
  const u32 lane = sg_lane();
  ukey_t key[INSERT_ITEMS];
  if (first == last) {
    // The usual case. One run may cover the first keys; the others are of the rest.
    const u32 before = runs->before[first];
    const u32 end = first != 0 ? runs->begins[first - 1] + (before - runs->before[first - 1]) : 0;
    const ukey_t of_run = runs->keys[first != 0 ? first - 1 : 0];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i) {
      const u32 at = begin + min(i * SG_LANES + lane, count - 1);
      key[i] = of_run;
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
      if (run[i] != 0 && at - runs->begins[run[i] - 1] >= before[i] - runs->before[run[i] - 1])
        run[i] = 0;
    }
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i)
      if (run[i] == 0) key[i] = rest[begin + min(i * SG_LANES + lane, count - 1) - before[i]];
    UNROLL
    for (u32 i = 0; i < INSERT_ITEMS; ++i)
      if (run[i] != 0) key[i] = runs->keys[run[i] - 1];
  }
  UNROLL
  for (u32 i = 0; i < INSERT_ITEMS; ++i)
    if (i * SG_LANES + lane < count) keys_out[begin + i * SG_LANES + lane] = key[i];
}

// Writes the sub-group's share of the output: consecutive pieces. There are `found` runs.
INLINE void write_share(LOCAL const runs_t* runs, u32 found, GLOBAL const ukey_t* rest,
                        GLOBAL ukey_t* keys_out, u64 n) {
  const u32 pieces = (u32)((n + PIECE - 1) / PIECE), sub_groups = group_count() * (WG / SG_LANES),
            share = (pieces + sub_groups - 1) / sub_groups;
  u64 piece = (u64)(group_id() * (WG / SG_LANES) + sg_index()) * share;
  const u64 end = min(piece + share, (u64)pieces);
  u32 last = piece < end ? runs_to(runs, 0, found, (u32)(piece * PIECE)) : 0;
  for (; piece < end; ++piece) {
    const u64 begin = piece * PIECE;
    const u32 count = (u32)min((u64)PIECE, n - begin), first = last;
    while (last < found && runs->begins[last] - (u32)begin < count) ++last;
    write_piece(runs, first, last, rest, keys_out, (u32)begin, count);
  }
}

// Writes the sorted list: the frequent keys and the rest, which is sorted.
//   table, counts, state   in: from msd_count_frequent. The launch does nothing if REST_VALID is 0
//   rest      in: the sorted rest
//   runs      work space
//   keys_out  out: n keys
KERNEL(WG)
void msd_insert_frequent(GLOBAL const ukey_t* table, GLOBAL const u32* counts,
                         GLOBAL const ukey_t* rest, GLOBAL u32* runs, GLOBAL ukey_t* keys_out,
                         GLOBAL u32* state, u64 n) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_insert_memory_t, own);
  if (state[REST_VALID] == 0) return;
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

  write_share(own_runs, found, rest, keys_out, n);
}
