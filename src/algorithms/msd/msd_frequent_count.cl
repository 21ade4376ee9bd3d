// msd, lists of keys alone that do not spread: frequent keys are counted, the others are copied.

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
      place[i] = first_place(own, key[base + i]);
#if KEY_FLOAT
      ties |= key_ties(key[base + i]);
#endif
    }
    UNROLL
    for (u32 i = 0; i < AT_ONCE; ++i) {
      place[i] = second_place(own, key[base + i], place[i]);
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
//   counts   in: SLOTS words of 0. Out: how often each key of the table occurs
//   rest     out: the other keys, in any order. The memory must hold n keys
//   state    in and out: words, 0 at first; see msd_frequent.cl. REST_VALID becomes 1, unless
//            too few samples have frequent keys, or keys may tie; the other operands then have no
//            meaning
//   skewed   a word: the launch does nothing unless *skewed has the bit `verdict`
//   least    keys are counted only if so many samples have a key of several samples
KERNEL_RESIDENT(WG, RESIDENT)
void msd_count_frequent(GLOBAL const ukey_t* keys, GLOBAL const ukey_t* samples,
                        GLOBAL ukey_t* table, GLOBAL u32* counts, GLOBAL ukey_t* rest,
                        GLOBAL u32* state, u64 n, GLOBAL const u32* skewed, u32 verdict,
                        u32 least) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_frequent_memory_t, own);
  if ((*skewed & verdict) == 0) return;
  const u32 t = local_id();
  if (make_table(own, samples) < least) return;
  if (group_id() == 0)
    for (u32 i = t; i < SLOTS; i += WG) table[i] = own->keys[i];

  u32 ties = 0;
  for (u32 tile = group_id(); tile < TILES(n); tile += group_count())
    ties |= count_tile(own, sg, keys, rest, state, tile, n);
  if (ties) global_or(&state[TIES_SEEN], 1u);

  // Add this work-group's counts to the sums of all work-groups.
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
