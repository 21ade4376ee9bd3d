// msd, lists with values that do not spread. Values of frequent keys must move, but their keys need
// not: the code of a frequent key is its rank among the keys of the table, and the code of all
// other keys is the number of keys in the table. Radix passes sort the values by codes, which have
// 16 bits. The values of the rest come last, in the order of the input. The keys of the rest are
// copied in that order.
//
//     keys     5 9 5 5 2 9 5 7        frequent: 5 (code 0), 9 (code 1)
//     values   a b c d e f g h
//     codes    0 1 0 0 2 1 0 2
//     sorted   a c d g b f e h        the values of 5, those of 9, those of the rest
//     rest     2 7

PARAMETER(LEAST_BYTES)  // keys have codes only if they differ in at least so many of their bytes

#define TICKET_TILES 2u
#define MASKS 4u  // mask words of a work-item of copy_rest
// A mask word stands for SG_LANES consecutive keys: bit i is 1 if key i of them is in the rest.
#define TILE_MASKS (TILE / SG_LANES)
#define CHUNK_TILES (WG * MASKS / TILE_MASKS)  // tiles of a chunk

// codes_bytes() in msd_frequent.cpp computes its size.
typedef struct {
  msd_frequent_memory_t table;
  u16 codes[SLOTS + 1];  // the code of the key in each place; the last one is that of the rest
  u32 rank[PART];
  u32 ticket[2], differ[2];
  u32 others;  // how many keys this work-group has found to be in the rest
} msd_codes_memory_t;

// Returns in how many of their bytes the keys of the table differ. own->codes lists the places of
// the `found` keys. Ends with a barrier.
INLINE u32 differing_bytes(LOCAL msd_codes_memory_t* own, u32 found) {
  LOCAL const ukey_t* keys = own->table.keys;
  const ukey_t first = keys[own->codes[0]];
  ukey_t differ = 0;
  if (local_id() < 2) own->differ[local_id()] = 0;
  barrier_local();
  for (u32 i = local_id(); i < found; i += WG) differ |= keys[own->codes[i]] ^ first;
  local_or(&own->differ[0], (u32)differ);
#if KEY_BITS == 64
  local_or(&own->differ[1], (u32)(differ >> 32));
#endif
  barrier_local();
  u32 bytes = 0;
  for (u32 bit = 0; bit < KEY_BITS; bit += 8)
    bytes += (own->differ[bit / 32] >> bit % 32 & 255) != 0 ? 1 : 0;
  return bytes;
}

// Gives each key of the table its code. Work-groups take parts of the keys by ticket. A team ranks
// a key by comparing it with all others. `places` has a word for each place of the table: work
// space. Returns 0 if the keys differ in fewer than LEAST_BYTES bytes; no key then has a code. Ends
// with a barrier.
INLINE u32 make_codes(LOCAL msd_codes_memory_t* own, GLOBAL u32* places, GLOBAL u32* state) {
  const u32 t = local_id(), team = t / TEAM, member = t % TEAM;
  LOCAL const ukey_t* keys = own->table.keys;
  // List the places that have keys in own->codes. Other places have keys that do not belong there.
  u32 has_key = 0;
  UNROLL
  for (u32 i = 0; i < OWN_SLOTS; ++i) {
    const u32 place = i * WG + t;
    has_key |= (place_of(keys[place], place / HALF) == place ? 1u : 0u) << i;
  }
  index_t all;
  u32 at = (u32)wg_scan_add(own->table.scratch, WG, (index_t)popcount32(has_key), &all);
  UNROLL
  for (u32 i = 0; i < OWN_SLOTS; ++i)
    if (has_key >> i & 1) own->codes[at++] = (u16)(i * WG + t);
  barrier_local();
  const u32 found = (u32)all, parts = (found + PART - 1) / PART;
  if (differing_bytes(own, found) < LEAST_BYTES) return 0;

  u32 done = 0;
  for (;; ++done) {
    if (t == 0) own->ticket[0] = global_add(&state[RANKS_TICKET], 1u);
    if (t < PART) own->rank[t] = 0;
    barrier_local();
    const u32 part = own->ticket[0], number = part * PART + team;
    if (part >= parts) break;
    const u32 place = own->codes[min(number, found - 1)];
    const ukey_t order = key_order(keys[place]);
    u32 rank = 0;
    for (u32 i = member; i < found; i += TEAM)
      rank += key_order(keys[own->codes[i]]) < order ? 1 : 0;
    if (rank != 0) local_add(&own->rank[team], rank);
    barrier_local();
    if (member == 0 && number < found) places[place] = own->rank[team];
    barrier_local();
  }
  barrier_all();
  if (t == 0 && done != 0) global_add_release(&state[RANKS_DONE], done);
  wait_for(&state[RANKS_DONE], parts);
  for (u32 i = t; i < SLOTS; i += WG) own->codes[i] = (u16)places[i];
  if (t == 0) own->codes[IN_REST] = (u16)found;
  barrier_local();
  return 1;
}

// Writes the codes of the keys of tile `tile`, and counts the frequent keys. Adds the number of the
// sub-group's keys in the rest to *others, and to the word of `rests` of the tile's chunk. Writes
// the tile's mask words. Returns 1 if a key may tie with a key of different bits.
INLINE u32 encode_tile(LOCAL msd_codes_memory_t* own, sub_group_t sg, GLOBAL const ukey_t* keys,
                       GLOBAL u16* codes, GLOBAL u32* masks, GLOBAL u32* rests, u32 tile, u64 n,
                       u32* others) {
  const u32 lane = sg_lane(), first = sg_index() * (SG_LANES * ITEMS) + lane;
  const u64 begin = (u64)tile * TILE;
  const u32 count = (u32)min((u64)TILE, n - begin);
  u32 in_rest = 0, ties = 0;
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) key[i] = keys[begin + min(first + i * SG_LANES, count - 1)];
  sg_barrier();  // Without it, the compiler puts each load after the work for earlier keys.

  UNROLL
  for (u32 base = 0; base < ITEMS; base += AT_ONCE) {
    u32 place[AT_ONCE];
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) {
      place[i] = first_place(&own->table, key[base + i]);
#if KEY_FLOAT
      ties |= key_ties(key[base + i]);
#endif
    }
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) place[i] = second_place(&own->table, key[base + i], place[i]);
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) {
      const u32 index = first + (base + i) * SG_LANES;
      if (index >= count) continue;
      in_rest |= (place[i] == IN_REST ? 1u : 0u) << (base + i);
      codes[begin + index] = own->codes[place[i]];
      local_add(&own->table.counts[place[i]], 1u);
    }
  }
  u32 all = 0;
  GLOBAL u32* own_masks = masks + (tile * TILE_MASKS + sg_index() * ITEMS + lane);
  UNROLL
  for (u32 base = 0; base < ITEMS; base += SG_LANES) {
    const u32 rows = min((u32)SG_LANES, ITEMS - base);
    u32 kept = 0;
    UNROLL
    for (u32 i = 0; i < rows; ++i) {
      const u32 mask = sg_ballot(sg, in_rest >> (base + i) & 1);
      all += popcount32(mask);
      if (lane == i) kept = mask;
    }
    if (lane < rows) own_masks[base] = kept;
  }
  if (lane == 0 && all != 0) global_add(&rests[tile / CHUNK_TILES], all);
  *others += all;
  return ties;
}

// Copies the rest, in the order of the input. Work-groups take chunks of the list by ticket. The
// rest has few keys, so a work-item looks at several mask words at a time.
INLINE void copy_rest(LOCAL msd_codes_memory_t* own, GLOBAL const ukey_t* keys,
                      GLOBAL const u32* masks, GLOBAL ukey_t* rest, GLOBAL const u32* rests,
                      GLOBAL u32* state, u64 n) {
  const u32 t = local_id(), chunks = (TILES(n) + CHUNK_TILES - 1) / CHUNK_TILES;
  for (;;) {
    if (t == 0) own->ticket[0] = global_add(&state[REST_TICKET], 1u);
    barrier_local();
    const u32 chunk = own->ticket[0];
    if (chunk >= chunks) break;
    const u32 first = (chunk * WG + t) * MASKS, words = TILES(n) * TILE_MASKS;
    u32 mask[MASKS], at[MASKS + 1], before = 0;
    at[0] = 0;
    UNROLL
    for (u32 i = 0; i < MASKS; ++i) {
      mask[i] = first + i < words ? masks[first + i] : 0;
      at[i + 1] = at[i] + popcount32(mask[i]);
    }
    for (u32 i = t; i < chunk; i += WG) before += rests[i];
    index_t before_chunk, in_chunk;
    wg_scan_add(own->table.scratch, WG, (index_t)before, &before_chunk);
    const u32 begin =
        (u32)(before_chunk + wg_scan_add(own->table.scratch, WG, (index_t)at[MASKS], &in_chunk));
    u32 left = at[MASKS] != 0;
    while (left) {
      ukey_t key[MASKS];
      UNROLL
      for (u32 i = 0; i < MASKS; ++i)
        if (mask[i] != 0)
          key[i] = keys[(u64)(first + i) * SG_LANES + highest_bit32(mask[i] & (0u - mask[i]))];
      left = 0;
      UNROLL
      for (u32 i = 0; i < MASKS; ++i) {
        if (mask[i] != 0) rest[begin + at[i]++] = key[i];
        mask[i] &= mask[i] - 1;
        left |= mask[i];
      }
    }
    barrier_local();
  }
}

// Writes the codes of all keys, counts the frequent keys, and copies the rest.
//   keys     in: n keys, fewer than 2^32 - 2^16
//   samples  in: SAMPLES of them
//   table    out: SLOTS keys: the table
//   counts   in: SLOTS words of 0. Out: how often each key of the table occurs
//   codes    out: n codes
//   rest     out: the other keys, in the order of the input
//   masks    work space: TILES(n) * TILE_MASKS words
//   rests    work space: a word for each chunk, 0 at first
//   places   work space: SLOTS words
//   state    in and out: words, 0 at first; see msd_frequent.cl. REST_VALID becomes 1, unless
//            too few samples have frequent keys, or the rest has more than most_rest keys, or keys
//            may tie, or keys differ in few bytes; the other operands then have no meaning
//   cleared  out: `words` words of 0: what the passes over codes need zeroed
//   skewed   a word: the launch does nothing unless *skewed has the bit `verdict`
//   least    keys get codes only if so many samples have a key of several samples
KERNEL_RESIDENT(WG, RESIDENT)
void msd_encode_frequent(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples,
                         GLOBAL ukey_t* table, GLOBAL u32* counts, GLOBAL u16* codes,
                         GLOBAL ukey_t* rest, GLOBAL u32* masks, GLOBAL u32* rests,
                         GLOBAL u32* places, GLOBAL u32* state, u64 n, GLOBAL u32* cleared,
                         u64 words, GLOBAL const u32* skewed, u32 verdict, u32 least,
                         u32 most_rest) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_codes_memory_t, own);
  if ((*skewed & verdict) == 0) return;
  const u32 t = local_id();
  for (u64 i = (u64)group_id() * WG + t; i < words; i += (u64)group_count() * WG) cleared[i] = 0;
  if (make_table(&own->table, samples) < least) return;
  if (make_codes(own, places, state) == 0) return;
  if (group_id() == 0)
    for (u32 i = t; i < SLOTS; i += WG) table[i] = own->table.keys[i];

  const u32 tiles = TILES(n), tickets = (tiles + TICKET_TILES - 1) / TICKET_TILES;
  if (t == 0) own->others = 0;
  if (t == 0) own->ticket[0] = global_add(&state[TILES_TICKET], 1u);
  barrier_local();
  u32 others = 0, ties = 0, done = 0;
  for (;; ++done) {
    const u32 first = own->ticket[done % 2] * TICKET_TILES;
    if (first >= tiles) break;
    if (t == 0) own->ticket[(done + 1) % 2] = global_add(&state[TILES_TICKET], 1u);
    for (u32 tile = first; tile < min(first + TICKET_TILES, tiles); ++tile)
      ties |= encode_tile(own, sg, keys, codes, masks, rests, tile, n, &others);
    barrier_local();
  }

  // Tell the others, and wait for them.
  if (ties) global_or(&state[TIES_SEEN], 1u);
  if (sg_lane() == 0 && others != 0) local_add(&own->others, others);
  for (u32 i = t; i < SLOTS; i += WG)
    if (own->table.counts[i] != 0) global_add(&counts[i], own->table.counts[i]);
  barrier_all();
  if (t == 0 && own->others != 0) global_add(&state[REST_COUNT], own->others);
  if (t == 0 && done != 0) global_add_release(&state[TILES_DONE], done);
  wait_for(&state[TILES_DONE], tickets);
  const u32 rest_count = load_relaxed(&state[REST_COUNT]);
  if (load_relaxed(&state[TIES_SEEN]) != 0 || rest_count > most_rest) return;
  if (group_id() == 0 && t == 0) state[REST_VALID] = 1;
  if (rest_count != 0) copy_rest(own, keys, masks, rest, rests, state, n);
}
