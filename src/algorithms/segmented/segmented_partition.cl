// segmented, long segments: partitions them level by level, until their buckets fit local memory.
// As in an MSD radix sort, a level partitions each segment by one digit: the highest open bits of
// its keys. Neighbouring digits with few records share a bucket, so that there are few buckets and
// their size is the one that is sorted fastest. A bucket that is still too long is a long segment
// of the next level.
//   A level has three launches, like lsd's passes (reduce, then scan):
//     segmented_count    counts the digits of each part
//     segmented_split    one work-group per segment: scans the counts and chooses the buckets
//     segmented_scatter  sorts each part by bucket, tile by tile, in local memory, and stores it
//   After the last level, segmented_settle copies the segments whose keys are equal.
//   segmented_lists.cl comes before this file.

// Parameters in addition to those of that file:
PARAMETER(WG)           // work-items of a work-group, at least RADIX; in segmented_split: SPLIT_WG
PARAMETER(ITEMS)        // records of a work-item in a tile
PARAMETER(RESIDENT)     // work-groups that share a compute unit
PARAMETER(TEAMS)        // teams of RADIX work-items in segmented_split
PARAMETER(MERGED)       // the most records of a bucket with several digits; 2^k times as many if
                        // there would be more than RADIX buckets
PARAMETER(MOST_MERGED)  // records of the longest segment of the local classes: 2^k times MERGED
PARAMETER(DIGIT_BITS)   // bits of a digit, 8 or more

#define RADIX 256u  // the most buckets
#define RADIX_BITS 8u
#define SPLIT_WG (TEAMS * RADIX)
#define BITS ((u32)DIGIT_BITS)
#define DIGITS (1u << DIGIT_BITS)
#define COLUMN (DIGITS / RADIX)  // digits of a work-item
#define ABREAST (8 / COLUMN)     // parts whose counts are loaded before the first one is used
#define TILE (WG * ITEMS)
#define SUB_GROUPS (WG / SG_LANES)
#define BINS (RADIX + 1)  // the last bin is for records past the part's end
#define RANK_WORDS SG_RANK_WORDS(BINS)

// Returns the digit of a rank: the highest DIGIT_BITS of the segment's `open` bits.
INLINE u32 digit_of(ukey_t rank, u32 open) {
  return (u32)(rank >> (max(open, BITS) - BITS)) & ((1u << min(open, BITS)) - 1);
}

//   keys_...   in: the keys; a segment's member `place` tells in which of the arrays
//   longs, parts  in: the level's lengths[0] long segments and their lengths[1] parts
//   counts   out: counts[p * DIGITS + digit] is the number of records of part p with the digit
//   differs  out: differs[p] has the bits in which ranks of part p differ from the first rank of
//            the segment
KERNEL(WG)
void segmented_count(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_spare,
                     GLOBAL const ukey_t* keys_work, GLOBAL const long_t* longs,
                     GLOBAL const part_t* parts, GLOBAL const u32* lengths, GLOBAL index_t* counts,
                     GLOBAL ukey_t* differs, u32 begin_bit, u64 rank_mask) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(u32, bins, DIGITS);
  LOCAL_ARRAY(u32, differ_words, 2);
  const u32 t = local_id();
  const u32 all_parts = lengths[1];
  for (u64 p = group_id(); p < all_parts; p += group_count()) {
    const long_t whole = longs[parts[p].whole];
    const u64 begin = parts[p].begin, end = begin + parts[p].count;
    GLOBAL const ukey_t* keys = FROM_PLACE(whole.place, keys_in, keys_spare, keys_work);
    const ukey_t first = RANK(keys[whole.begin]);
    ukey_t differ = 0;
    for (u32 d = t; d < DIGITS; d += WG) bins[d] = 0;
    if (t < 2) differ_words[t] = 0;
    barrier_local();
    // Load eight keys before using the first. If all lanes have one digit, one lane adds for all.
    u64 at = begin;
    for (; at + 8 * WG <= end; at += 8 * WG) {
      ukey_t key[8];
      UNROLL
      for (u32 i = 0; i < 8; ++i) key[i] = keys[at + i * WG + t];
      UNROLL
      for (u32 i = 0; i < 8; ++i) {
        const ukey_t rank = RANK(key[i]);
        const u32 digit = digit_of(rank, whole.open);
        differ |= rank ^ first;
#if SG_NATIVE
        const u32 alike = sg_ballot(sg, digit != sg_shuffle(sg, digit, 0)) == 0;
        if (!alike || sg_lane() == 0) local_add(&bins[digit], alike ? SG_LANES : 1u);
#else
        local_add(&bins[digit], 1u);
#endif
      }
    }
    for (at += t; at < end; at += WG) {
      const ukey_t rank = RANK(keys[at]);
      differ |= rank ^ first;
      local_add(&bins[digit_of(rank, whole.open)], 1u);
    }
    or_bits(differ_words, differ);
    barrier_local();
    for (u32 d = t; d < DIGITS; d += WG) counts[p * DIGITS + d] = bins[d];
    if (t == 0) differs[p] = ored_bits(differ_words);
    barrier_local();
  }
}

// A digit's bucket is the largest aligned block of digits that contains it and has at most `most`
// records. A block is 2^k consecutive digits, and its first digit is a multiple of 2^k. So the keys
// of a bucket share the upper bits of their digits, and the highest bits in which they differ
// separate them well. Returns 1 if the digit is its bucket's first one: of the blocks that contain
// it, the smallest that begins earlier has too many records.
INLINE u32 leads_bucket(LOCAL const index_t* begins, u32 digit, u64 most) {
  if (digit == 0) return 1;
  const u32 size = (digit & (0 - digit)) * 2, block = digit & (0 - size);
  return begins[block + size] - begins[block] > most ? 1 : 0;
}

// One work-group for each segment: chooses the segment's buckets and puts them on the lists. If all
// keys have the same digit, no records are moved (the segment's member `parts` becomes 0), and the
// next level uses the highest bits in which the keys differ.
//   longs    in and out: the level's long segments, lengths[0] of them
//   counts   in and out: counts[p * DIGITS + digit] becomes the number of records with the digit in
//            earlier parts; for a bucket's first digit, plus the position where the bucket begins
//   differs  in: from segmented_count
//   buckets  out: buckets[s * DIGITS + digit] is the digit's bucket in segment s
//   counters, tasks        in and out: the lists of the local classes
//   next_longs, next_parts    out: the long segments of the next level, `level`, and their parts
//   ended, ended_parts        out: long segments with equal keys
KERNEL(SPLIT_WG)
void segmented_split(GLOBAL long_t* longs, GLOBAL const u32* lengths, GLOBAL index_t* counts,
                     GLOBAL const ukey_t* differs, GLOBAL u8* buckets, GLOBAL u32* counters,
                     GLOBAL task_t* tasks, GLOBAL long_t* next_longs, GLOBAL part_t* next_parts,
                     GLOBAL long_t* ended, GLOBAL part_t* ended_parts, u32 level, u32 levels,
                     u64 part, u32 most_parts, u64 n, u64 segments, u64 pieces) {
  SUB_GROUP(SPLIT_WG);
  LOCAL_ARRAY(index_t, scratch, 2 * RADIX);
  LOCAL_ARRAY(index_t, sums, TEAMS * DIGITS);  // sums of the digits in a team's parts
  LOCAL_ARRAY(index_t, begins, DIGITS + 1);    // positions of the digits in the segment
  LOCAL_ARRAY(u32, firsts, RADIX + 1);         // the buckets' first digits
  LOCAL_ARRAY(u32, here, SPLIT_WG);
  LOCAL_ARRAY(u32, before, SPLIT_WG);
  LOCAL_ARRAY(u64, starts, LOCAL_CLASSES);
  LOCAL_ARRAY(u32, differ_words, 2);
  LOCAL_ARRAY(u32, stays, 1);
  const u32 t = local_id(), own = t % RADIX * COLUMN, team = t / RADIX;  // own: the first digit
  const u32 all_longs = lengths[0];
#if SG_NATIVE  // else every work-item must reach the barriers
  if (all_longs == 0) return;
#endif
  const lists_t lists = {counters,    tasks, next_longs, ended, next_parts,
                         ended_parts, level, levels,     part,  most_parts};
  start_lists(starts, n, segments, pieces);
  barrier_local();

  for (u64 s = group_id(); s < all_longs; s += group_count()) {
    const long_t whole = longs[s];
    GLOBAL index_t* mine = counts + (u64)whole.first * DIGITS + own;
    const u32 begin_part = whole.parts * team / TEAMS, end_part = whole.parts * (team + 1) / TEAMS;

    // Scan over digits; find the bits in which the keys differ.
    index_t sum[COLUMN], all;
    UNROLL
    for (u32 i = 0; i < COLUMN; ++i) sum[i] = 0;
    for (u32 p = begin_part; p < end_part; p += ABREAST) UNROLL
    for (u32 q = 0; q < ABREAST; ++q) UNROLL
    for (u32 i = 0; i < COLUMN; ++i)
      sum[i] += p + q < end_part ? mine[(u64)(p + q) * DIGITS + i] : 0;
    ukey_t differ = 0;
    for (u32 p = t; p < whole.parts; p += SPLIT_WG) differ |= differs[whole.first + p];
    if (t < 2) differ_words[t] = 0;
    if (t == 0) stays[0] = 0;
    UNROLL
    for (u32 i = 0; i < COLUMN; ++i) sums[team * DIGITS + own + i] = sum[i];
    barrier_local();
    // sum[] becomes the number of records in the parts of earlier teams.
    index_t in_all[COLUMN], in_column = 0;
    UNROLL
    for (u32 i = 0; i < COLUMN; ++i) {
      in_all[i] = sum[i] = 0;
      UNROLL
      for (u32 other = 0; other < TEAMS; ++other) {
        const index_t its = sums[other * DIGITS + own + i];
        in_all[i] += its;
        sum[i] += other < team ? its : 0;
      }
      in_column += in_all[i];
      if (in_all[i] == whole.count) stays[0] = 1;
    }
    or_bits(differ_words, differ);
    index_t digit_begin = wg_scan_add(scratch, RADIX, in_column, &all);
    UNROLL
    for (u32 i = 0; i < COLUMN; ++i) {
      if (t < RADIX) begins[own + i] = digit_begin;
      digit_begin += in_all[i];
    }
    if (t == 0) begins[DIGITS] = whole.count;
    barrier_local();

    // Choose the buckets. While there are more than RADIX, try larger ones. If even the longest
    // that a local class takes are too many, use only RADIX_BITS bits of the digits. Bit i of
    // `leads` tells whether digit own + i leads.
    const u32 used = 1u << min(whole.open, BITS);
    u32 leads = 0, before_mine = 0, leaders = RADIX + 1, bits = BITS;
    for (u64 most = MERGED; leaders > RADIX; most *= 2) {
      if (most > MOST_MERGED) most = MERGED, bits = RADIX_BITS;
      leads = 0;
      UNROLL
      for (u32 i = 0; i < COLUMN; ++i)
        if ((bits == BITS || i == 0) && own + i < used)
          leads |= leads_bucket(begins, own + i, most) << i;
      before_mine = (u32)wg_scan_add(scratch, RADIX, popcount32(leads), &all);
      leaders = (u32)all;
    }
    if (t < RADIX) {
      u32 bucket = before_mine;
      UNROLL
      for (u32 i = 0; i < COLUMN; ++i) {
        if (leads >> i & 1) firsts[bucket++] = own + i;
        buckets[s * DIGITS + own + i] = (u8)(bucket - 1);
      }
    }
    if (t == 0) firsts[leaders] = DIGITS;
    barrier_local();

    differ = ored_bits(differ_words);
    const u32 stay = stays[0];
    const u32 left =
        stay ? (differ != 0 ? highest_bit(differ) + 1 : 0) : max(whole.open, BITS) - bits;
    const u32 place = stay ? whole.place : whole.place == IN_SPARE ? IN_OUTPUT : IN_SPARE;
    const u32 is_bucket = t < leaders ? 1 : 0, first = firsts[is_bucket ? t : 0],
              end = firsts[is_bucket ? t + 1 : 0];
    put_on_list(lists, here, before, starts, whole.begin + begins[first],
                begins[end] - begins[first], LEAST_CLASS_OF_PIECES, left, place);

    // Scan over parts.
    const u32 moved = stay ? 0 : whole.parts, end_moved = min(end_part, moved);
    UNROLL
    for (u32 i = 0; i < COLUMN; ++i) sum[i] += leads >> i & 1 ? whole.begin + begins[own + i] : 0;
    for (u32 p = begin_part; p < end_moved; p += ABREAST) {
      index_t count[ABREAST * COLUMN];
      UNROLL
      for (u32 q = 0; q < ABREAST; ++q) UNROLL
      for (u32 i = 0; i < COLUMN; ++i)
        count[q * COLUMN + i] = mine[(u64)min(p + q, end_moved - 1) * DIGITS + i];
      UNROLL
      for (u32 q = 0; q < ABREAST; ++q) UNROLL
      for (u32 i = 0; i < COLUMN; ++i)
        if (p + q < end_moved) {
          mine[(u64)(p + q) * DIGITS + i] = sum[i];
          sum[i] += count[q * COLUMN + i];
        }
    }
    barrier_all();
    if (t == 0) longs[s].parts = moved;
  }
}

// fixed_scatter_bytes() in segmented_shape.cpp computes its size without the tile's records.
typedef struct {
  index_t to_out[RADIX];     // slot in the sorted tile + to_out = output index
  index_t edges[RADIX + 2];  // sums of the digits' counts up to each bucket
  index_t scratch[2 * RADIX];
#if VALUE_BYTES
  value_t values[TILE];
#endif
  ukey_t keys[TILE];
  u32 ranks[SUB_GROUPS * RANK_WORDS];
  u8 buckets[DIGITS];
} segmented_scatter_memory_t;

#define BUCKET(key) mine->buckets[digit_of(RANK(key), whole.open)]

// Moves the records of each part to their buckets. Stable. If a segment's keys are in spare memory,
// they are moved to keys_work, otherwise to keys_spare; values likewise. The other parameters come
// from segmented_split.
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_scatter(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_spare,
                       GLOBAL ukey_t* keys_work, GLOBAL const value_t* values_in,
                       GLOBAL value_t* values_spare, GLOBAL value_t* values_work,
                       GLOBAL const long_t* longs, GLOBAL const part_t* parts,
                       GLOBAL const u32* lengths, GLOBAL const index_t* counts,
                       GLOBAL const u8* buckets, u32 begin_bit, u64 rank_mask) {
  LOCAL_STRUCT(segmented_scatter_memory_t, mine);
  const u32 t = local_id();
  const u32 all_parts = lengths[1];
  LOCAL u32* my_ranks = mine->ranks + sg_index() * RANK_WORDS;

  for (u64 p = group_id(); p < all_parts; p += group_count()) {
    const long_t whole = longs[parts[p].whole];
    const u64 part_begin = parts[p].begin,
              part_end = whole.parts == 0 ? part_begin : part_begin + parts[p].count;
    GLOBAL const ukey_t* from = FROM_PLACE(whole.place, keys_in, keys_spare, keys_work);
    GLOBAL ukey_t* to = whole.place == IN_SPARE ? keys_work : keys_spare;
#if VALUE_BYTES
    GLOBAL const value_t* values_from =
        FROM_PLACE(whole.place, values_in, values_spare, values_work);
    GLOBAL value_t* values_to = whole.place == IN_SPARE ? values_work : values_spare;
#endif

    // Find the output index of the next record of this work-item's bucket. It is the sum of the
    // counts of the bucket's digits.
    index_t of_digit[COLUMN], of_column = 0, all;
    UNROLL
    for (u32 i = 0; i < COLUMN; ++i) {
      of_digit[i] = t < RADIX ? counts[p * DIGITS + t * COLUMN + i] : 0;
      of_column += of_digit[i];
    }
    index_t digits_before = wg_scan_add(mine->scratch, RADIX, of_column, &all);
    if (t < RADIX) {
      GLOBAL const u8* its_buckets = buckets + (u64)parts[p].whole * DIGITS;
      u32 bucket_before = t == 0 ? RADIX : its_buckets[t * COLUMN - 1];
      UNROLL
      for (u32 i = 0; i < COLUMN; ++i) {
        const u32 bucket = its_buckets[t * COLUMN + i];
        mine->buckets[t * COLUMN + i] = (u8)bucket;
        if (bucket != bucket_before) mine->edges[bucket] = digits_before;
        digits_before += of_digit[i];
        bucket_before = bucket;
      }
      if (t == RADIX - 1) mine->edges[bucket_before + 1] = all;
    }
    barrier_local();
    const u32 all_buckets = mine->buckets[DIGITS - 1] + 1;
    index_t next = t < all_buckets ? mine->edges[t + 1] - mine->edges[t] : 0;

    for (u64 tile = part_begin; tile < part_end; tile += TILE) {
      const u32 count = part_end - tile < TILE ? (u32)(part_end - tile) : TILE;
      for (u32 i = t; i < SUB_GROUPS * RANK_WORDS; i += WG) mine->ranks[i] = 0;
      barrier_local();

      // Load. Each sub-group loads a contiguous piece of the tile, and neighbouring lanes load
      // neighbouring records. Past the end of the part, the address is clamped and the bin is the
      // last one.
      const u32 first = sg_index() * (SG_LANES * ITEMS) + sg_lane();
      ukey_t key[ITEMS];
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) key[i] = from[tile + min(first + i * SG_LANES, count - 1)];

      // Rank in the sub-group, in the order of the input.
      u32 place[ITEMS];  // the rank; the bin is in bits 16 and up
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) {
        const u32 bin = first + i * SG_LANES < count ? BUCKET(key[i]) : RADIX;
        place[i] = sg_rank_alike(my_ranks, BINS, bin) | bin << 16;
      }
      barrier_local();

      // Scan over buckets and, within a bucket, over sub-groups.
      u32 in_tile = 0;
      if (t < all_buckets)
        for (u32 s = 0; s < SUB_GROUPS; ++s) in_tile += mine->ranks[s * RANK_WORDS + t];
      const u32 start = (u32)wg_scan_add(mine->scratch, RADIX, in_tile, &all);
      if (t < RADIX) mine->to_out[t] = next - start;
      next += in_tile;
      for (u32 b = t; b < BINS; b += WG) {
        u32 at = b < RADIX ? start : count;
        for (u32 s = 0; s < SUB_GROUPS; ++s) {
          const u32 in_row = mine->ranks[s * RANK_WORDS + b];
          mine->ranks[s * RANK_WORDS + b] = at;
          at += in_row;
        }
      }
      barrier_local();

      // Scatter into local memory: the tile is now sorted by bucket.
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i) {
        const u32 at = (place[i] & 0xffff) + my_ranks[place[i] >> 16];
        mine->keys[at] = key[i];
#if VALUE_BYTES
        const u64 source = tile + min(first + i * SG_LANES, count - 1);
        mine->values[at] = values_from ? values_from[source] : (value_t)source;
#endif
      }
      barrier_local();

      // Store: neighbouring work-items write neighbouring records of a bucket.
#if VALUE_BYTES
#define WRITE_RECORD(at)                                       \
  {                                                            \
    const ukey_t k = mine->keys[at];                           \
    const u64 out = (index_t)(mine->to_out[BUCKET(k)] + (at)); \
    to[out] = k;                                               \
    values_to[out] = mine->values[at];                         \
  }
#else
#define WRITE_RECORD(at)                               \
  {                                                    \
    const ukey_t k = mine->keys[at];                   \
    to[(index_t)(mine->to_out[BUCKET(k)] + (at))] = k; \
  }
#endif
      if (count == TILE) {
        UNROLL
        for (u32 i = 0; i < ITEMS; ++i) WRITE_RECORD(i * WG + t)
      } else {
        for (u32 at = t; at < count; at += WG) WRITE_RECORD(at)
      }
      barrier_local();
    }
  }
}

// Copies the long segments whose keys are all equal to the output. Segments that are still in the
// input are copied only if copy_in is 1.
KERNEL(WG)
void segmented_settle(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_spare,
                      GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                      GLOBAL const value_t* values_spare, GLOBAL value_t* values_out,
                      GLOBAL const long_t* longs, GLOBAL const part_t* parts,
                      GLOBAL const u32* lengths, u32 copy_in) {
  const u32 all_parts = lengths[1];
  for (u64 p = group_id(); p < all_parts; p += group_count()) {
    const u32 place = longs[parts[p].whole].place;
    if (place == IN_OUTPUT || (place == IN_INPUT && !copy_in)) continue;
    GLOBAL const ukey_t* keys = place == IN_SPARE ? keys_spare : keys_in;
    GLOBAL const value_t* values = place == IN_SPARE ? values_spare : values_in;
    const u64 begin = parts[p].begin, end = begin + parts[p].count;
    for (u64 i = begin + local_id(); i < end; i += WG)
      store_record(keys_out, values_out, i, load_record(keys, values, i));
  }
}
