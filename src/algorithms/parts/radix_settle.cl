// Radix passes: low digits that no pass sorts. Long keys often differ in their leading digits, so
// passes over the low ones change nothing. Samples choose how many low digits are left out. After
// the passes, neighbours that are equal in all sorted digits may still be in the wrong order in the
// others. Neighbours that are equal in all sorted digits are a group. Groups in the wrong order are
// few and small, and are settled in their places. If one is too large for this, passes over all
// digits follow.
//
// Comes after radix_pass_tiles.cl. An example with two digits, of which the first is sorted:
//
//     input     71  25  18  73  22  16
//     pass      18  16  25  22  71  73     groups in the wrong order: (18 16) (25 22)
//     settled   16  18  22  25  71  73

PARAMETER(SAMPLES)  // a power of two; 0: all digits are sorted

#define SETTLES (SAMPLES && !SEGMENTED)
#if !SETTLES
typedef u32 samples_t;  // not used
#endif

#if SETTLES
#define LEAST_SAMPLED (4 * SAMPLES)  // records of the shortest list that is sampled

// The bits of a key that all digits together have, as a number that ascends. With CODES, numbers of
// different signs are not in order, but they never are in the same group.
typedef struct {
  u32 shift;
  ukey_t mask;
} sorted_bits_t;
INLINE sorted_bits_t sorted_bits(u64 shifts, u64 widths) {
  sorted_bits_t bits;
  bits.shift = (u32)shifts & 255;
  const u32 end =
      ((u32)(shifts >> (8 * (PASSES - 1))) & 255) + ((u32)(widths >> (8 * (PASSES - 1))) & 255);
  bits.mask = (ukey_t) ~(ukey_t)0 >> (KEY_BITS - (end - bits.shift));
  return bits;
}
INLINE ukey_t number_of_key(sorted_bits_t bits, ukey_t key) {
  ukey_t code = CODE_OF(key);
#if CODES && KEY_DESCENDING
  code = (ukey_t)~code;
#endif
  return (code >> bits.shift) & bits.mask;
}
INLINE u32 bits_needed(u32 x) { return x > 1 ? 1 + highest_bit32(x - 1) : 0; }  // log2, rounded up

// ---- The choice ----

#define SAMPLE_TICKETS 32u  // work-groups that share the samples
#define OWN_SAMPLES (SAMPLES / SAMPLE_TICKETS)
#define TEAM_OF_SAMPLE (WG / OWN_SAMPLES)  // work-items that compare one sample with all others

// What the samples tell: sums over all work-groups. A gap is the difference between a sample and
// the next smaller one that is not equal.
typedef struct {
  u32 gaps[64];  // number of gaps by their highest bit
  u32 once;      // number of samples that are unlike all others
  u32 repeated;  // number of different samples that occur several times
  u32 near[2];   // a bit is 1 if it is the highest one in which a repeated sample differs from the
                 // next smaller or the next larger one
} samples_t;
#define SAMPLE_WORDS (sizeof(samples_t) / 4)

// What one work-item finds out about a sample: the distances to the next smaller and the next
// larger one (all ones: there is none), the number of samples equal to it, itself included, and how
// many of these come before it.
typedef struct {
  ukey_t below, above;
  u32 equal, earlier;
} compared_t;

// Compares the samples of ticket `part` with all samples, and adds what they tell to *tell. One
// sample is taken from a random place of each of SAMPLES parts of the list. Ends with a barrier.
INLINE void compare_samples(LOCAL onesweep_memory_t* mine, GLOBAL const ukey_t* keys,
                            GLOBAL samples_t* tell, u32 part, u64 n, u64 shifts, u64 widths) {
  const u32 t = local_id();
  LOCAL ukey_t* samples = (LOCAL ukey_t*)((LOCAL u32*)mine + HEAD_BYTES / 4);
  LOCAL compared_t* found = (LOCAL compared_t*)(samples + SAMPLES);
  const sorted_bits_t bits = sorted_bits(shifts, widths);
  UNROLL
  for (u32 i = 0; i < SAMPLES / WG; ++i) {
    const u32 s = i * WG + t;
    samples[s] = number_of_key(bits, keys[sample_index(s, (u32)n / SAMPLES)]);
  }
  barrier_local();
  const u32 own = part * OWN_SAMPLES + t / TEAM_OF_SAMPLE;
  const ukey_t number = samples[own];
  compared_t c;
  c.below = c.above = (ukey_t) ~(ukey_t)0;
  c.equal = c.earlier = 0;
  for (u32 i = t % TEAM_OF_SAMPLE; i < SAMPLES; i += TEAM_OF_SAMPLE) {
    const ukey_t other = samples[i], distance = number - other;
    c.below = other < number ? min(c.below, distance) : c.below;
    c.above = other > number ? min(c.above, (ukey_t)(0 - distance)) : c.above;
    c.equal += other == number ? 1 : 0;
    c.earlier += other == number && i < own ? 1 : 0;
  }
  found[t] = c;
  barrier_local();
  if (t % TEAM_OF_SAMPLE == 0) {
    for (u32 i = 1; i < TEAM_OF_SAMPLE; ++i) {
      c.below = min(c.below, found[t + i].below);
      c.above = min(c.above, found[t + i].above);
      c.equal += found[t + i].equal;
      c.earlier += found[t + i].earlier;
    }
    const u32 has_below = c.below != (ukey_t) ~(ukey_t)0,
              has_above = c.above != (ukey_t) ~(ukey_t)0;
    if (c.earlier == 0) {
      global_add(c.equal == 1 ? &tell->once : &tell->repeated, 1u);
      if (has_below) global_add(&tell->gaps[highest_bit(c.below)], 1u);
    }
    if (c.earlier == 0 && c.equal != 1) {
      const u32 bit_below = has_below ? highest_bit(number ^ (number - c.below)) : 63,
                bit_above = has_above ? highest_bit(number ^ (number + c.above)) : 63;
      global_or(&tell->near[bit_below / 32], 1u << bit_below % 32);
      global_or(&tell->near[bit_above / 32], 1u << bit_above % 32);
    }
  }
  barrier_local();
}

#define MANY_GAPS 64u

// Returns how many of a key's lowest bits need not be sorted. Two risks limit it. Keys that no
// sample shows lie between the samples: few of them may share their sorted bits with a neighbour.
// And a frequent key must not share them with any other key, because its group would be too large.
// work[0] and work[1] must be 0. Contains barriers.
INLINE u32 bits_to_leave_out(LOCAL onesweep_memory_t* mine, GLOBAL samples_t* tell, LOCAL u32* work,
                             u32 n) {
  const u32 bit = min(local_id(), 63u);
  const u32 once = load_relaxed(&tell->once), repeated = load_relaxed(&tell->repeated),
            of_bit = load_relaxed(&tell->gaps[bit]), near = load_relaxed(&tell->near[bit / 32]);
  const u32 different = once + repeated;
  const u32 unseen = max(once, 1u) * (n / SAMPLES);  // at most so many keys are not sampled
  index_t all;
  const u32 gaps = (u32)wg_scan_add(mine->scratch, 64, of_bit, &all) + of_bit;
  // log2 of the average gap, if samples were as dense everywhere as where they are densest. If g of
  // d gaps are less than 2^(bit + 1), it is estimated as (d / g) * 2^bit.
  const u32 estimate = min(bit + highest_bit32(max(different / max(gaps, 1u), 1u)), (u32)KEY_BITS);
  wg_max(&work[0], KEY_BITS - (gaps >= 4 || gaps + 1 >= different ? estimate : KEY_BITS));
  wg_max(&work[1], KEY_BITS - (gaps >= MANY_GAPS ? estimate : KEY_BITS));
  barrier_local();
  const int gap = KEY_BITS - (int)work[0], of_many = KEY_BITS - (int)work[1];
  barrier_local();
  if (local_id() == 0) work[0] = 0;
  barrier_local();
  int bits = gap - (int)bits_needed(unseen / different) - 5;  // one in 32 has such a neighbour
  // If the 4 narrowest gaps show a much higher density than the 64 narrowest, keys become denser
  // still where the samples do not show it, as in ANDs of random words. From 64 gaps to 4 is a
  // factor of 16. Each further such factor is assumed to raise the density as much again, until a
  // group has some 128 keys.
  if (all >= MANY_GAPS && of_many - gap > 4)
    bits -= (of_many - gap) * max((int)highest_bit32(n) - 15, 0) / 4;
  if (repeated != 0) {  // with a chance of 7 in 8, no unseen key is in a frequent key's group
    const int alone = gap + (int)highest_bit32(different) - (int)bits_needed(repeated) -
                      (int)bits_needed(unseen) - 3;
    bits = min(bits, alone);
    if (near >> bit % 32 & 1) bits = min(bits, (int)bit);
  }
  wg_max(work, 64 - (u32)max(bits, 0));
  barrier_local();
  return 64 - *work;
}

// ---- Settling ----

#define LANE_MOST 8u  // larger groups are settled by sub-groups
#define GROUP_SLOTS (WG * ITEMS / SUB_GROUPS / (ALTERNATING ? 2 : 1))
#define GROUP_MOST (GROUP_SLOTS < 512 ? GROUP_SLOTS : 512)
#define FIND_ITEMS 8u
#define FIND_TILE (WG * FIND_ITEMS)
#define CLAIMED 0x80000000u

// The records to settle, and the memory for it.
typedef struct {
  GLOBAL ukey_t* keys;
  GLOBAL value_t* values;
  // Work space: for each pair of records the length of the group that begins there, then two lists
  // of groups: those up to LANE_MOST, and larger ones.
  GLOBAL u32* groups;
  GLOBAL u32 *count, *large_count, *too_large;
  u32 n, low;  // number of records; number of bits that are not sorted
  sorted_bits_t bits;
} settle_t;
// The most groups in a list. A group is listed for each two neighbours in the wrong order. Many
// large groups would take longer than passes over all digits.
#define LIST(large) ((large) ? s.n / 64 : s.n / 8)
#define LIST_OF(large) (s.groups + s.n / 2 + ((large) ? LIST(0) : 0))

// Returns how many records next to record `at` are in its group: those after it if `forward` is 1,
// else those before it. More than GROUP_MOST are not told apart.
INLINE u32 count_alike(settle_t s, u32 at, u32 forward) {
  const u32 most = forward ? s.n - 1 - at : at;
  const ukey_t own = number_of_key(s.bits, s.keys[at]) >> s.low;
  u32 alike = 0, step = 1;
#define REACHES(more) \
  ((more) <= most &&  \
   number_of_key(s.bits, s.keys[forward ? at + (more) : at - (more)]) >> s.low == own)
  for (; step <= GROUP_MOST && REACHES(alike + step); step *= 2) alike += step;
  for (step /= 2; step != 0; step /= 2)
    if (REACHES(alike + step)) alike += step;
#undef REACHES
  return alike;
}

// Appends `count` groups that the work-group has found to a list. `found`: the first one; the
// others follow it in steps of `step`. Contains barriers.
INLINE void append(LOCAL onesweep_memory_t* mine, settle_t s, u32 large, LOCAL const u32* found,
                   int step, u32 count) {
  if (local_id() == 0) mine->tiles[3].number = global_add(large ? s.large_count : s.count, count);
  barrier_local();
  const u32 first = mine->tiles[3].number;
  if (first + count > LIST(large)) global_or(s.too_large, 1u);
  for (u32 i = local_id(); i < count && first + count <= LIST(large); i += WG)
    LIST_OF(large)[first + i] = found[(int)i * step];
  barrier_local();
}

// Lists the groups that have records in the wrong order. A group may be listed several times.
// Returns the number of tiles that this work-group has examined.
INLINE u32 find_groups(LOCAL onesweep_memory_t* mine, sub_group_t sg, settle_t s,
                       GLOBAL u32* ticket) {
  const u32 t = local_id(), tiles = (s.n + FIND_TILE - 1) / FIND_TILE;
  LOCAL u32* found = (LOCAL u32*)mine + HEAD_BYTES / 4;  // small groups from the left, others from
                                                         // the right
  if (t == 0) mine->tiles[0].number = global_add(ticket, 1u);
  if (t < 2) mine->common[t] = 0;
  barrier_local();
  u32 examined = 0;
  for (;; ++examined) {
    const u32 tile = mine->tiles[examined % 2].number;
    if (tile >= tiles) break;
    if (t == 0) mine->tiles[(examined + 1) % 2].number = global_add(ticket, 1u);
    // Each sub-group reads rows of neighbouring keys. A lane has the key before its own from its
    // neighbour; the first one from the last lane's key of the row before.
    ukey_t key[FIND_ITEMS], edge = 0;
    u32 wrong = 0;  // bit i: key[i] and the key before it are in the wrong order
    const u32 first = tile * FIND_TILE + sg_index() * SG_LANES * FIND_ITEMS + sg_lane();
    UNROLL
    for (u32 i = 0; i < FIND_ITEMS; ++i) key[i] = s.keys[min(first + i * SG_LANES, s.n - 1)];
    if (sg_lane() == 0) edge = s.keys[min(max(first, 1u) - 1, s.n - 1)];
    UNROLL
    for (u32 i = 0; i < FIND_ITEMS; ++i) {
      const ukey_t sent = sg_lane() != SG_LANES - 1 ? key[i] : key[i != 0 ? i - 1 : 0];
      ukey_t before = sg_shuffle(sg, (u32)sent, (sg_lane() - 1) % SG_LANES);
#if KEY_BITS == 64
      before |= (ukey_t)sg_shuffle(sg, (u32)(sent >> 32), (sg_lane() - 1) % SG_LANES) << 32;
#endif
      const ukey_t x = number_of_key(s.bits, i == 0 && sg_lane() == 0 ? edge : before),
                   y = number_of_key(s.bits, key[i]);
      wrong |= (x > y && (x ^ y) >> s.low == 0 ? 1u : 0u) << i;
    }
    for (; wrong != 0 && load_relaxed(s.too_large) == 0; wrong &= wrong - 1) {
      const u32 at = first + highest_bit32(wrong & (0u - wrong)) * SG_LANES;
      const u32 begin = at - count_alike(s, at, 0), length = at + 1 + count_alike(s, at, 1) - begin;
      const u32 large = length > LANE_MOST ? 1 : 0;
      if (length > GROUP_MOST) {
        global_or(s.too_large, 1u);
      } else {
        s.groups[begin / 2] = length;
        const u32 slot = local_add(&mine->common[large], 1u);
        found[large ? FIND_TILE - 1 - slot : slot] = begin;
      }
    }
    barrier_local();
    const u32 small_count = mine->common[0], large_count = mine->common[1];
    barrier_local();
    if (small_count + large_count != 0) {
      if (t < 2) mine->common[t] = 0;
      append(mine, s, 0, found, 1, small_count);
      append(mine, s, 1, found + FIND_TILE - 1, -1, large_count);
    }
  }
  barrier_all();
  return examined;
}

// Claims the group at `begin`, which may be listed several times. Returns its length, or 0 if it
// has been claimed before.
INLINE u32 claim(settle_t s, u32 begin) {
  const u32 length = global_or(&s.groups[begin / 2], CLAIMED);
  return (length & CLAIMED) != 0 ? 0 : length;
}

// Settles one group by insertion.
INLINE void settle_by_lane(settle_t s, u32 begin, u32 length) {
  for (u32 i = begin + 1; i < begin + length; ++i) {
    const ukey_t key = s.keys[i], number = number_of_key(s.bits, key);
    u32 to = i;
    while (to > begin && number_of_key(s.bits, s.keys[to - 1]) > number) --to;
#if VALUE_BYTES
    const value_t value = s.values[i];
    for (u32 j = i; j > to; --j) s.values[j] = s.values[j - 1];
    s.values[to] = value;
#endif
    for (u32 j = i; j > to; --j) s.keys[j] = s.keys[j - 1];
    s.keys[to] = key;
  }
}

// Settles one group for each sub-group: counts for each record those that sort before it. `length`
// may be 0. Contains barriers.
INLINE void settle_by_sub_group(LOCAL onesweep_memory_t* mine, settle_t s, u32 begin, u32 length) {
  const u32 first = sg_index() * GROUP_SLOTS;
#if ALTERNATING
  LOCAL ukey_t* keys = mine->tile.keys + first;
  LOCAL value_t* values = (LOCAL value_t*)(mine->tile.keys + WG * ITEMS / 2) + first;
#else
  LOCAL ukey_t* keys = mine->keys + first;
#if VALUE_BYTES
  LOCAL value_t* values = mine->values + first;
#endif
#endif
  for (u32 i = sg_lane(); i < length; i += SG_LANES) {
    keys[i] = s.keys[begin + i];
#if VALUE_BYTES
    values[i] = s.values[begin + i];
#endif
  }
  barrier_all();
  for (u32 i = sg_lane(); i < length; i += SG_LANES) {
    const ukey_t key = keys[i], number = number_of_key(s.bits, key);
    u32 to = begin;
    for (u32 j = 0; j < length; ++j) {
      const ukey_t other = number_of_key(s.bits, keys[j]);
      to += other < number || (other == number && j < i) ? 1 : 0;
    }
    s.keys[to] = key;
#if VALUE_BYTES
    s.values[to] = values[i];
#endif
  }
  barrier_all();
}

// Settles the listed groups. Returns the number of tickets that this work-group has used, of
// SETTLE_TICKETS.
#define LANE_TICKETS ((load_relaxed(s.count) + WG - 1) / WG)
#define SETTLE_TICKETS (LANE_TICKETS + (load_relaxed(s.large_count) + SUB_GROUPS - 1) / SUB_GROUPS)
INLINE u32 settle_groups(LOCAL onesweep_memory_t* mine, settle_t s, GLOBAL u32* ticket) {
  const u32 t = local_id(), by_lanes = LANE_TICKETS, tickets = SETTLE_TICKETS;
  u32 used = 0;
  for (;; ++used) {
    if (t == 0) mine->tiles[0].number = global_add(ticket, 1u);
    barrier_local();
    const u32 turn = mine->tiles[0].number;
    barrier_local();
    if (turn >= tickets) break;
    if (turn < by_lanes) {
      const u32 at = turn * WG + t;
      if (at < load_relaxed(s.count)) {
        const u32 begin = LIST_OF(0)[at];
        settle_by_lane(s, begin, claim(s, begin));
      }
    } else {
      const u32 at = (turn - by_lanes) * SUB_GROUPS + sg_index();
      const u32 there = at < load_relaxed(s.large_count) ? 1 : 0;
      const u32 begin = there ? LIST_OF(1)[at] : 0;
      if (sg_lane() == 0) mine->sums[sg_index()] = there ? claim(s, begin) : 0;
      barrier_local();
      settle_by_sub_group(mine, s, begin, mine->sums[sg_index()]);
    }
  }
  barrier_all();
  return used;
}
#endif
