// segmented, small problems: sorts all segments in one launch, or in two if a segment may have more
// than WHOLE records. Each work-group has a share of the records, and sorts the short segments and
// the pieces that begin in it. A piece is a longer segment of up to WHOLE records, or PIECE
// consecutive records of a still longer one. A piece is sorted by bins. The second launch merges
// the pieces of each segment. segmented_block_sort.cl comes before this file.
//
// Short segments are sorted all at once. A record's place in its segment is the number of records
// of the segment that come before it. First, runs of RUN records are sorted by counting, for each
// record, the records before it. Then pairs of sorted runs are merged by binary search.

PARAMETER(WG)           // work-items of a work-group
PARAMETER(RESIDENT)     // work-groups that share a compute unit
PARAMETER(SAMPLES)      // segments that each work-item samples at once
PARAMETER(SHORT)        // the most records of a short segment; at least a share
PARAMETER(SHORT_ITEMS)  // records of short segments for each work-item
PARAMETER(WHOLE)        // the most records of a segment that is one piece
PARAMETER(PIECE)        // records of a piece of a longer segment: a power of two, SHORT to WHOLE
PARAMETER(TOGETHER)     // pieces in local memory at a time, when pieces are merged
PARAMETER(GATHERS)      // 1: a record consists of more than the compared bits of its key

// At least a share and SHORT: a segment that begins in a share may end behind it.
#define SHORT_CAPACITY (WG * SHORT_ITEMS)
#define RUN 16u  // records of a run that is sorted by counting
#define RANK_LAST ((ukey_t)(~(ukey_t)0))

// shorts_bytes() and found_bytes() in segmented_small.cpp compute the sizes.
typedef struct {
  ukey_t ranks[2 * SHORT_CAPACITY];  // each step moves the ranks to the other half
#if GATHERS
  u16 sources[2 * SHORT_CAPACITY];  // index of each rank before the sort
#endif
  // For each record: first the length of the segment that begins there, then the number of the
  // record's segment, finally that segment's SEGMENT_WORD.
  u32 notes[SHORT_CAPACITY];
  u32 words[SHORT_CAPACITY];  // SEGMENT_WORD of each segment
  index_t scratch[SCAN_WORDS(WG)];
  u32 longest;  // records of the longest segment
} shorts_t;
typedef struct {
  u32 samples[SAMPLES * WG + 1];
  u32 near[2];
  u32 found[2], begins[2], ends[2];  // two segments: their numbers, and where they begin and end
} found_t;
typedef struct {
  union {
    shorts_t shorts;
    segmented_memory_t piece;
    ukey_t ranks[TOGETHER * PIECE];  // of sorted pieces
  } as;
  found_t found;
} segmented_small_memory_t;

// The word of a short segment: the index of its first record among those of the work-group, and
// above it the number of its records.
#define SEGMENT_WORD(begin, count) ((begin) | (count) << 16)
#define SEGMENT_BEGIN(word) ((word)&0xffffu)
#define SEGMENT_COUNT(word) ((word) >> 16)

// Where segments begin.
typedef struct {
  GLOBAL const u32* offsets;
  u32 words;   // of an offset: 1 or 2, the lower one first; 0: there are no offsets
  u32 length;  // records of each segment if there are no offsets
  u32 segments, n;
} segments_t;
INLINE u32 segment_begin(segments_t all, u32 s) {
  return all.words == 0 ? s * all.length : all.offsets[s * all.words];
}

// Stores in found[0] and found[1] the numbers of the segments that contain the records `first` and
// `last`, and where they begin and end. Every work-item compares samples of all segments, and then,
// if there are more segments than samples, one segment near a sample. There are at most
// SAMPLES * WG * WG segments.
INLINE void find_segments(LOCAL found_t* mine, segments_t all, u32 first, u32 last) {
  const u32 t = local_id(), n = all.n, step = (all.segments + SAMPLES * WG - 1) / (SAMPLES * WG);
  u32 begin[SAMPLES];
  UNROLL
  for (u32 k = 0; k < SAMPLES; ++k) {
    const u32 s = (k * WG + t) * step;
    begin[k] = s < all.segments ? segment_begin(all, s) : n;
    mine->samples[k * WG + t] = begin[k];
  }
  if (t == 0) mine->samples[SAMPLES * WG] = n;
  barrier_local();
  UNROLL
  for (u32 k = 0; k < SAMPLES; ++k) {
    const u32 next = mine->samples[k * WG + t + 1];
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
      const u32 record = i == 0 ? first : last;
      if (begin[k] <= record && record < next) {
        mine->near[i] = mine->found[i] = (k * WG + t) * step;
        mine->begins[i] = begin[k];
        mine->ends[i] = next;
      }
    }
  }
  barrier_local();
  const u32 searches = step > 1 ? 1 : 0;
  for (u32 once = 0; once < searches; ++once) {
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
      const u32 record = i == 0 ? first : last, s = mine->near[i] + t;
      const u32 is_there = t < step && s < all.segments ? 1 : 0;
      const u32 here = is_there ? segment_begin(all, s) : n,
                after = is_there ? segment_begin(all, s + 1) : n;
      if (here <= record && record < after) {
        mine->found[i] = s;
        mine->begins[i] = here;
        mine->ends[i] = after;
      }
    }
    barrier_local();
  }
}

// For each short segment among the work-group's `count` records from index `base` on, stores its
// length in the note of its first record. They are among the segments `first` to `last`.
INLINE void note_segments(LOCAL shorts_t* mine, segments_t all, u32 first, u32 last, u32 base,
                          u32 count) {
  const u32 t = local_id();
  ROLLED
  for (u32 at = t; at < count; at += WG) mine->notes[at] = 0;
  if (t == 0) mine->longest = 0;
  barrier_local();
  u32 longest = 0;
  ROLLED
  for (u32 s = first + t; s <= last; s += WG) {
    const u32 begin = segment_begin(all, s), end = segment_begin(all, s + 1);
    if (begin >= base && begin < base + count && begin < end) {
      mine->notes[begin - base] = end - begin;
      longest = max(longest, end - begin);
    }
  }
  if (longest != 0) local_max(&mine->longest, longest);
  barrier_local();
}

// Numbers the segments of the `count` records, and replaces each record's note by its segment's
// SEGMENT_WORD. There is no barrier at the end: until the next one, work-item t may read only the
// notes of records t, t + WG, ...
INLINE void number_segments(LOCAL shorts_t* mine, u32 count) {
  const u32 t = local_id(), rows = (count + WG - 1) / WG;
  const u32 begin = min(t * rows, count), end = min(begin + rows, count);
  u32 begins = 0;
  ROLLED
  for (u32 at = begin; at < end; ++at) begins += mine->notes[at] != 0 ? 1u : 0u;
  index_t all;
  u32 number = (u32)wg_scan_add(mine->scratch, WG, begins, &all);
  ROLLED
  for (u32 at = begin; at < end; ++at) {
    const u32 note = mine->notes[at];
    if (note != 0) mine->words[number++] = SEGMENT_WORD(at, note);
    mine->notes[at] = number - 1;
  }
  barrier_local();
  ROLLED
  for (u32 at = t; at < count; at += WG) mine->notes[at] = mine->words[mine->notes[at]];
}

// Returns the index of record `at` after its group of RUN neighbouring records of the segment
// is sorted.
INLINE u32 place_in_run(LOCAL const ukey_t* ranks, u32 segment, u32 at, ukey_t rank) {
  const u32 begin = SEGMENT_BEGIN(segment), in_run = (at - begin) & (RUN - 1), run = at - in_run;
  const u32 count = begin + SEGMENT_COUNT(segment) - run;
  u32 before = 0;
  UNROLL
  for (u32 i = 0; i < RUN; ++i) {
    ukey_t its = RANK_LAST;
    if (i < count) its = ranks[run + i];
    before += its < rank || (its == rank && i < in_run) ? 1u : 0u;
  }
  return run + before;
}

// Returns the index of record `at` after its sorted run of `width` records is merged with the
// neighbouring run.
INLINE u32 place_in_pair(LOCAL const ukey_t* ranks, u32 segment, u32 at, ukey_t rank, u32 width) {
  const u32 begin = SEGMENT_BEGIN(segment), count = SEGMENT_COUNT(segment), place = at - begin;
  const u32 is_right = (place & width) != 0 ? 1 : 0, other = (place & ~(width - 1)) ^ width;
  const u32 others = other < count ? min(count - other, width) : 0;
  LOCAL const ukey_t* run = ranks + begin + other;
  u32 before = 0;
  ROLLED
  for (u32 step = width; step > 0; step /= 2) {
    const u32 next = before + step, is_there = next <= others ? 1 : 0;
    ukey_t its = 0;
    if (is_there) its = run[next - 1];
    const u32 is_before = its < rank || (its == rank && is_right) ? 1 : 0;
    before = is_there & is_before ? next : before;
  }
  return at - (is_right ? width : 0) + before;
}

// Sorts the work-group's `count` records of short segments. Returns which half of mine->ranks has
// the result.
INLINE u32 sort_in_steps(LOCAL shorts_t* mine, u32 count) {
  const u32 longest = mine->longest;
  u32 side = 0;
  for (u32 width = 0; width < longest; width = width == 0 ? RUN : 2 * width) {
    LOCAL const ukey_t* from = mine->ranks + side * SHORT_CAPACITY;
    const u32 to = (side ^ 1) * SHORT_CAPACITY;
    ROLLED
    for (u32 at = local_id(); at < count; at += WG) {
      const u32 segment = mine->notes[at];
      const ukey_t rank = from[at];
      const u32 place = to + (width == 0 ? place_in_run(from, segment, at, rank)
                                         : place_in_pair(from, segment, at, rank, width));
      mine->ranks[place] = rank;
#if GATHERS
      mine->sources[place] = width == 0 ? (u16)at : mine->sources[side * SHORT_CAPACITY + at];
#endif
    }
    side ^= 1;
    barrier_local();
  }
  return side;
}

// Stores the sorted short segments. Keys and values are loaded before anything is stored, because
// the output may be the input.
INLINE void store_shorts(LOCAL const shorts_t* mine, u32 side, u32 base, u32 count,
                         GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                         GLOBAL const value_t* values_in, GLOBAL value_t* values_out) {
  const u32 t = local_id(), first = side * SHORT_CAPACITY + t;
  record_t record[SHORT_ITEMS];
  UNROLL
  for (u32 i = 0; i < SHORT_ITEMS; ++i)
    if (i * WG + t < count) {
#if GATHERS
      record[i] = load_record(keys_in, values_in, base + mine->sources[first + i * WG]);
#else
      record[i].key = key_of_order(mine->ranks[first + i * WG]);
      record[i].value = 0;
#endif
    }
  barrier_all();
  UNROLL
  for (u32 i = 0; i < SHORT_ITEMS; ++i)
    if (i * WG + t < count) store_record(keys_out, values_out, base + i * WG + t, record[i]);
}

// Sorts the short segments that begin in the share: `count` records from index `base` on. They are
// among the segments `first` to `last`. A barrier must follow.
INLINE void sort_shorts(LOCAL shorts_t* mine, segments_t all, u32 base, u32 count, u32 first,
                        u32 last, GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                        GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u32 begin_bit,
                        u64 rank_mask) {
  const u32 t = local_id();
  // Load the keys, and meanwhile the segments' lengths.
  ukey_t key[SHORT_ITEMS];
  UNROLL
  for (u32 i = 0; i < SHORT_ITEMS; ++i)
    if (i * WG + t < count) key[i] = keys_in[base + i * WG + t];
  note_segments(mine, all, first, last, base, count);
  UNROLL
  for (u32 i = 0; i < SHORT_ITEMS; ++i)
    if (i * WG + t < count) mine->ranks[i * WG + t] = RANK(key[i]);

  number_segments(mine, count);
  const u32 side = sort_in_steps(mine, count);
  store_shorts(mine, side, base, count, keys_in, keys_out, values_in, values_out);
}

// Returns where the first piece of a segment of more than SHORT records that begins at record
// `from` or later begins. This may be the segment's end or beyond.
INLINE u32 first_piece(u32 begin, u32 end, u32 from) {
  if (begin >= from) return begin;
  return end - begin <= WHOLE ? end : begin + (from - begin + PIECE - 1) / PIECE * PIECE;
}

//   keys_in, values_in  in: n records
//   keys_out, values_out  out: the sorted segments of up to WHOLE records; may be the input
//   keys_spare, values_spare  out: the sorted pieces of longer segments
//   offsets, words, length, segments, n  in: where segments begin; see segments_t
//   edges          out: the work-group's begins[0], ends[0], begins[1] and ends[1] of found_t; may
//   be
//                  null
//   share          records of each work-group, at most SHORT
//   begin_bit, rank_mask  parameters of RANK
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_small_sort(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                          GLOBAL ukey_t* keys_spare, GLOBAL const value_t* values_in,
                          GLOBAL value_t* values_out, GLOBAL value_t* values_spare,
                          GLOBAL u32* edges, GLOBAL const u32* offsets, u32 words, u32 length,
                          u32 segments, u32 n, u32 share, u32 begin_bit, u64 rank_mask) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(segmented_small_memory_t, mine);
  LOCAL const found_t* found = &mine->found;
  const u32 from = group_id() * share, to = min(from + share, n);
  const segments_t all = {offsets, words, length, segments, n};
  find_segments(&mine->found, all, from, to - 1);
  if (edges && local_id() < 2) {
    edges[4 * group_id() + 2 * local_id()] = found->begins[local_id()];
    edges[4 * group_id() + 2 * local_id() + 1] = found->ends[local_id()];
  }

  // Short segments. A longer segment does not fit the share. So it is the first one, if it begins
  // before the share, or the last one.
  const u32 first_is_short = found->ends[0] - found->begins[0] <= SHORT ? 1 : 0,
            last_is_short = found->ends[1] - found->begins[1] <= SHORT ? 1 : 0;
  const u32 base = first_is_short && found->begins[0] >= from ? found->begins[0] : found->ends[0];
  const u32 end = last_is_short ? found->ends[1] : found->begins[1];
  const u32 has_shorts = base < end ? 1 : 0;
  for (u32 once = 0; once < has_shorts; ++once) {
    sort_shorts(&mine->as.shorts, all, base, end - base, found->found[0], found->found[1], keys_in,
                keys_out, values_in, values_out, begin_bit, rank_mask);
    barrier_local();
  }

  // Pieces. A share is at most as long as a piece. So at most one piece of each of the two segments
  // begins in it.
  const u32 segments_here = found->found[0] == found->found[1] ? 1 : 2;
  ROLLED
  for (u32 s = 0; s < segments_here; ++s) {
    const u32 begin = found->begins[s], end = found->ends[s];
    const u32 piece = first_piece(begin, end, from), is_part = end - begin > WHOLE ? 1 : 0;
    if (end - begin <= SHORT || piece >= min(to, end)) continue;
    const u32 count = is_part ? min(end - piece, (u32)PIECE) : end - begin;
    (void)sort_segment(&mine->as.piece, sg, keys_in, values_in, piece, count, 0,
                       is_part ? keys_spare : keys_out, is_part ? values_spare : values_out, piece,
                       count, begin_bit, rank_mask);
    barrier_local();
  }
}

// Merges the pieces of the segments with more than WHOLE records. A share is at most as long as a
// piece, so only the first and the last segment of a share can be that long. A record's place is
// its place in its own piece and, for each other piece, the number of records that come before it.
// TOGETHER pieces are in local memory at a time, and each work-item searches all of them at once.
#define MERGE_ITEMS ((SHORT + WG - 1) / WG)  // records of the share for each work-item
#define BATCH 8u                             // keys that a work-item loads at once

// Stores in local memory the ranks of `count` keys.
INLINE void load_ranks(LOCAL ukey_t* ranks, GLOBAL const ukey_t* keys, u32 count, u32 begin_bit,
                       u64 rank_mask) {
  ROLLED
  for (u32 first = local_id(); first < count; first += BATCH * WG) {
    ukey_t key[BATCH];
    UNROLL
    for (u32 i = 0; i < BATCH; ++i)
      if (first + i * WG < count) key[i] = keys[first + i * WG];
    UNROLL
    for (u32 i = 0; i < BATCH; ++i)
      if (first + i * WG < count) ranks[first + i * WG] = RANK(key[i]);
  }
}

// Returns how many records of the `count` records in local memory, which are the sorted pieces
// piece, piece + 1, ... of a segment, come before a record of piece `own`. Leaves out that piece.
INLINE u32 records_before(LOCAL const ukey_t* ranks, u32 count, u32 piece, u32 own, ukey_t rank) {
  u32 before[TOGETHER], all = 0;
  UNROLL
  for (u32 i = 0; i < TOGETHER; ++i) before[i] = 0;
  ROLLED
  for (u32 step = PIECE; step > 0; step /= 2) {
    UNROLL
    for (u32 i = 0; i < TOGETHER; ++i) {
      const u32 next = before[i] + step, last = i * PIECE + next;
      const u32 is_there = next <= PIECE && last <= count ? 1 : 0;
      ukey_t its = 0;
      if (is_there) its = ranks[last - 1];
      const u32 is_before = its < rank || (its == rank && piece + i < own) ? 1 : 0;
      before[i] = is_there & is_before ? next : before[i];
    }
  }
  UNROLL
  for (u32 i = 0; i < TOGETHER; ++i) all += piece + i != own ? before[i] : 0;
  return all;
}

//   keys_spare, values_spare  in: the sorted pieces
//   keys_out, values_out      out: the merged segments
//   edges, share, n           as above
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_small_merge(GLOBAL const ukey_t* keys_spare, GLOBAL const value_t* values_spare,
                           GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out,
                           GLOBAL const u32* edges, u32 n, u32 share, u32 begin_bit,
                           u64 rank_mask) {
  LOCAL_STRUCT(segmented_small_memory_t, mine);
  LOCAL ukey_t* ranks = mine->as.ranks;
  const u32 t = local_id(), from = group_id() * share, to = min(from + share, n);
  GLOBAL const u32* edge = edges + 4 * group_id();
  const u32 begins[2] = {edge[0], edge[2]}, ends[2] = {edge[1], edge[3]};
  const u32 segments_here = begins[0] == begins[1] ? 1 : 2;
  ROLLED
  for (u32 s = 0; s < segments_here; ++s) {
    const u32 begin = s == 0 ? begins[0] : begins[1];
    const u32 records = (s == 0 ? ends[0] : ends[1]) - begin;
    if (records <= WHOLE) continue;
    const u32 first = max(begin, from) + t, last = min(begin + records, to);
    ukey_t rank[MERGE_ITEMS];
    u32 place[MERGE_ITEMS];
    UNROLL
    for (u32 i = 0; i < MERGE_ITEMS; ++i)
      if (first + i * WG < last) {
        rank[i] = RANK(keys_spare[first + i * WG]);
        place[i] = (first + i * WG - begin) % PIECE;
      }
    ROLLED
    for (u32 piece = 0; piece * PIECE < records; piece += TOGETHER) {
      const u32 count = min(records - piece * PIECE, (u32)(TOGETHER * PIECE));
      load_ranks(ranks, keys_spare + begin + piece * PIECE, count, begin_bit, rank_mask);
      barrier_local();
      UNROLL
      for (u32 i = 0; i < MERGE_ITEMS; ++i)
        if (first + i * WG < last)
          place[i] +=
              records_before(ranks, count, piece, (first + i * WG - begin) / PIECE, rank[i]);
      barrier_local();
    }
    UNROLL
    for (u32 i = 0; i < MERGE_ITEMS; ++i)
      if (first + i * WG < last)
        store_record(keys_out, values_out, begin + place[i],
                     load_record(keys_spare, values_spare, first + i * WG));
  }
}
