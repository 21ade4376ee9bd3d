// Finds the records that tie with a neighbour after a sort by a word, and puts them side by side,
// so that only they are sorted by the next word. Records that tie with each other are a segment.
//
PARAMETER(WG)

#define ITEMS 4u  // neighbouring records that a work-item collects at a time

// Returns 1 if record i ties with record i - 1; i > 0. `heads`, if not null, has a 1 for the first
// record of each segment of the previous round.
INLINE u32 ties_with_previous(GLOBAL const u64* words, GLOBAL const u8* heads, u64 i) {
  return words[i] == words[i - 1] && !(heads && heads[i]) ? 1 : 0;
}
// Bit 0: record i of n ties with a neighbour. Bit 1: it is the first of its segment.
INLINE u32 tie_of(GLOBAL const u64* words, GLOBAL const u8* heads, u64 i, u64 n) {
  const u32 previous = i > 0 ? ties_with_previous(words, heads, i) : 0;
  const u32 next = i + 1 < n ? ties_with_previous(words, heads, i + 1) : 0;
  return previous ? 1 : next ? 3 : 0;
}

// Returns the first record of a part. Each work-group has one of group_count() equal parts.
INLINE u64 part_begin(u64 n, u64 part) {
  return min(n, part * ((n + group_count() - 1) / group_count()));
}

// Stores how many records tie in each part, then how many segments begin in each part, then 0.
// There are *count records, or n if `count` is null. If *more is 0, records have no next word, and
// all counts are 0.
KERNEL(WG)
void ties_count(GLOBAL const u64* words, GLOBAL const u8* heads, GLOBAL const u64* count,
                GLOBAL const u32* more, GLOBAL index_t* counts, u64 n) {
  LOCAL_ARRAY(index_t, scratch, SCAN_WORDS(WG));
  const u64 all = count ? *count : n;
  const u64 begin = part_begin(all, group_id());
  const u64 end = *more ? part_begin(all, (u64)group_id() + 1) : begin;
  index_t tied = 0, firsts = 0, all_tied, all_firsts;
  for (u64 i = begin + local_id(); i < end; i += WG) {
    const u32 tie = tie_of(words, heads, i, all);
    tied += tie & 1;
    firsts += tie >> 1;
  }
  wg_scan_add(scratch, WG, tied, &all_tied);
  wg_scan_add(scratch, WG, firsts, &all_firsts);
  if (local_id() == 0) {
    counts[group_id()] = all_tied;
    counts[group_count() + group_id()] = all_firsts;
    if (group_id() == 0) counts[2 * group_count()] = 0;
  }
}

// Puts the records that tie side by side: their values and their places among all sorted
// records. `counts` is the exclusive scan of all that ties_count stored, as one list. Segment s
// begins at offsets[s]; all offsets behind the segments', and *tied, are the number of ties.
//   values, places  of the previous round's records; `places` is null in the first round. Values
//                   are positions or tails (varying.cl)
//   new_heads      null if the key has two words, and so one round
//   segments       the most segments: offsets has one element more
KERNEL(WG)
void ties_collect(GLOBAL const u64* words, GLOBAL const u8* heads, GLOBAL const u64* count,
                  GLOBAL const index_t* counts, GLOBAL const value_t* values,
                  GLOBAL const value_t* places, GLOBAL value_t* new_values,
                  GLOBAL value_t* new_places, GLOBAL u8* new_heads, GLOBAL u32* offsets,
                  GLOBAL u64* tied, u64 n, u64 segments) {
  LOCAL_ARRAY(index_t, scratch, SCAN_WORDS(WG));
  const u64 all = count ? *count : n;
  const u64 all_tied = counts[group_count()];
  const u64 all_segments = counts[2 * group_count()] - all_tied;
  u64 next = counts[group_id()], segment = counts[group_count() + group_id()] - all_tied;
  const u64 begin = part_begin(all, group_id());
  const u64 end = counts[group_id() + 1] != next ? part_begin(all, (u64)group_id() + 1) : begin;
  for (u64 base = begin; base < end; base += WG * ITEMS) {
    const u64 first = base + local_id() * ITEMS;
    // ties[k]: record first + k ties with the one before.
    u32 ties[ITEMS + 1], tie[ITEMS], own = 0;
    UNROLL
    for (u32 k = 0; k <= ITEMS; ++k) {
      const u64 i = first + k;
      ties[k] = i > 0 && i < all ? ties_with_previous(words, heads, i) : 0;
    }
    UNROLL
    for (u32 k = 0; k < ITEMS; ++k) {
      tie[k] = first + k < end ? (ties[k] ? 1 : ties[k + 1] ? 3 : 0) : 0;
      own += (tie[k] & 1) | tie[k] >> 1 << 16;  // one scan adds up both
    }
    index_t here;
    const u32 before = (u32)wg_scan_add(scratch, WG, own, &here);
    u64 to = next + (before & 0xffff), s = segment + (before >> 16);
    UNROLL
    for (u32 k = 0; k < ITEMS; ++k)
      if (tie[k] != 0) {
        const u64 i = first + k;
        new_values[to] = values[i];
        new_places[to] = places ? places[i] : (value_t)i;
        if (new_heads) new_heads[to] = (u8)(tie[k] >> 1);
        if (tie[k] == 3) offsets[s++] = (u32)to;
        ++to;
      }
    next += (u32)here & 0xffff;
    segment += (u32)here >> 16;
  }
  for (u64 s = all_segments + (u64)group_id() * WG + local_id(); s <= segments;
       s += (u64)group_count() * WG)
    offsets[s] = (u32)all_tied;
  if (group_id() == 0 && local_id() == 0) *tied = all_tied;
}
