// segmented, small problems: sorts all segments in one launch, or in two if a segment may have more
// than PIECE records. Each work-group has a share of the records, and sorts the pieces that begin
// in it. A piece is a whole segment, or PIECE consecutive records of a longer one. A record's place
// in its piece is the number of records of the piece that come before it. First, runs of RUN
// records are sorted by counting, for each record, the records before it. Then pairs of sorted runs
// are merged by binary search. The second launch merges the pieces of longer segments in the same
// way. offsets.cl comes before this file.

PARAMETER(WG)       // work-items of a work-group
PARAMETER(ITEMS)    // records of a work-item
PARAMETER(PIECE)    // the most records of a piece, a power of two
PARAMETER(GATHERS)  // 1: a record consists of more than the compared bits of its key

#define CAPACITY (WG * ITEMS)  // the most records of a work-group's pieces: a share and PIECE more
#define RUN 16u                // records of a run that is sorted by counting
#define RANK_LAST ((ukey_t)(~(ukey_t)0))

// small_bytes() in segmented_small.cpp computes its size.
typedef struct {
  ukey_t ranks[2 * CAPACITY];  // each step moves the ranks to the other half
#if GATHERS
  u16 sources[2 * CAPACITY];  // index of each rank before the sort
#endif
  // For each record: first the length of the piece that begins there, then the number of the
  // record's piece, finally that piece's PIECE_WORD.
  u32 notes[CAPACITY];
  u32 pieces[CAPACITY];  // PIECE_WORD of each piece
  index_t scratch[SCAN_WORDS(WG)];
  u32 samples[WG + 1];
  u32 near[2];
  u32 found[2], begins[2], ends[2];  // two segments: their numbers, and where they begin and end
  u32 longest;                       // records of the longest piece
} segmented_small_memory_t;

// A piece: the index of its first record among the work-group's records; its length; 1 if its
// segment has other pieces.
#define PIECE_WORD(begin, count, is_part) ((begin) | (count) << 15 | (is_part) << 30)
#define PIECE_BEGIN(word) ((word)&0x7fffu)
#define PIECE_COUNT(word) ((word) >> 15 & 0x7fffu)
#define PIECE_IS_PART(word) ((word) >> 30)

// Stores in found[0] and found[1] the numbers of the segments that contain the records `first` and
// `last`, and where they begin and end. Every work-item compares one sample of all segments, and
// then, if there are more segments than samples, one segment near the sample. There are at most
// WG * WG segments.
INLINE void find_segments(LOCAL segmented_small_memory_t* mine, GLOBAL const offset_t* offsets,
                          u32 length, u32 segments, u32 n, u32 first, u32 last) {
  const u32 t = local_id(), step = (segments + WG - 1) / WG;
  const u32 begin = t * step < segments ? (u32)OFFSET(offsets, length, t * step) : n;
  mine->samples[t] = begin;
  if (t == 0) mine->samples[WG] = n;
  barrier_local();
  const u32 next = mine->samples[t + 1];
  UNROLL
  for (u32 i = 0; i < 2; ++i) {
    const u32 record = i == 0 ? first : last;
    if (begin <= record && record < next) {
      mine->near[i] = mine->found[i] = t * step;
      mine->begins[i] = begin;
      mine->ends[i] = next;
    }
  }
  barrier_local();
  const u32 searches = step > 1 ? 1 : 0;
  for (u32 once = 0; once < searches; ++once) {
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
      const u32 record = i == 0 ? first : last, s = mine->near[i] + t;
      const u32 is_there = t < step && s < segments ? 1 : 0;
      const u32 here = is_there ? (u32)OFFSET(offsets, length, s) : n,
                after = is_there ? (u32)OFFSET(offsets, length, s + 1) : n;
      if (here <= record && record < after) {
        mine->found[i] = s;
        mine->begins[i] = here;
        mine->ends[i] = after;
      }
    }
    barrier_local();
  }
}

// Returns the index where the segment's first piece that begins at record `from` or later begins.
// This may be the segment's end or beyond.
INLINE u32 first_piece(u32 begin, u32 from) {
  return begin >= from ? begin : begin + (from - begin + PIECE - 1) / PIECE * PIECE;
}

// For each piece that begins in [from, to), stores its length in the note of its first record. The
// work-group has `count` records from index `base`, and its segments are `first` to `last`.
INLINE void note_pieces(LOCAL segmented_small_memory_t* mine, GLOBAL const offset_t* offsets,
                        u32 length, u32 first, u32 last, u32 from, u32 to, u32 base, u32 count) {
  const u32 t = local_id();
  ROLLED
  for (u32 at = t; at < count; at += WG) mine->notes[at] = 0;
  if (t == 0) mine->longest = 0;
  barrier_local();
  u32 longest = 0;
  ROLLED
  for (u32 s = first + t; s <= last; s += WG) {
    const u32 begin = (u32)OFFSET(offsets, length, s), end = (u32)OFFSET(offsets, length, s + 1);
    const u32 piece = first_piece(begin, from);
    if (piece < to && piece < end) {
      const u32 length = min(end - piece, (u32)PIECE);
      mine->notes[piece - base] = length | (end - begin > PIECE ? 1u : 0u) << 15;
      longest = max(longest, length);
    }
  }
  if (longest != 0) local_max(&mine->longest, longest);
  barrier_local();
}

// Numbers the pieces of the `count` records, and replaces each record's note by its piece's
// PIECE_WORD. There is no barrier at the end: until the next one, work-item t may read only the
// notes of records t, t + WG, ...
INLINE void number_pieces(LOCAL segmented_small_memory_t* mine, u32 count) {
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
    if (note != 0) mine->pieces[number++] = PIECE_WORD(at, note & 0x7fffu, note >> 15);
    mine->notes[at] = number - 1;
  }
  barrier_local();
  ROLLED
  for (u32 at = t; at < count; at += WG) mine->notes[at] = mine->pieces[mine->notes[at]];
}

// Returns the index of record `at` after its group of RUN neighbouring records of the piece is
// sorted.
INLINE u32 place_in_run(LOCAL const ukey_t* ranks, u32 piece, u32 at, ukey_t rank) {
  const u32 begin = PIECE_BEGIN(piece), in_run = (at - begin) & (RUN - 1), run = at - in_run;
  const u32 count = begin + PIECE_COUNT(piece) - run;
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
INLINE u32 place_in_pair(LOCAL const ukey_t* ranks, u32 piece, u32 at, ukey_t rank, u32 width) {
  const u32 begin = PIECE_BEGIN(piece), count = PIECE_COUNT(piece), place = at - begin;
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

// Sorts the pieces of the work-group's `count` records. Returns which half of mine->ranks has the
// result.
INLINE u32 sort_pieces(LOCAL segmented_small_memory_t* mine, u32 count) {
  const u32 longest = mine->longest;
  u32 side = 0;
  for (u32 width = 0; width < longest; width = width == 0 ? RUN : 2 * width) {
    LOCAL const ukey_t* from = mine->ranks + side * CAPACITY;
    const u32 to = (side ^ 1) * CAPACITY;
    ROLLED
    for (u32 at = local_id(); at < count; at += WG) {
      const u32 piece = mine->notes[at];
      const ukey_t rank = from[at];
      const u32 place = to + (width == 0 ? place_in_run(from, piece, at, rank)
                                         : place_in_pair(from, piece, at, rank, width));
      mine->ranks[place] = rank;
#if GATHERS
      mine->sources[place] = width == 0 ? (u16)at : mine->sources[side * CAPACITY + at];
#endif
    }
    side ^= 1;
    barrier_local();
  }
  return side;
}

// Stores the sorted pieces. Pieces of longer segments go to spare memory. Keys and values are
// loaded before anything is stored, because the output may be the input.
INLINE void store_pieces(LOCAL segmented_small_memory_t* mine, u32 side, u32 base, u32 count,
                         GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                         GLOBAL ukey_t* keys_spare, GLOBAL ukey_t* ranks_spare,
                         GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                         GLOBAL value_t* values_spare) {
  const u32 t = local_id(), first = side * CAPACITY + t;
  record_t record[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
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
  for (u32 i = 0; i < ITEMS; ++i)
    if (i * WG + t < count) {
      const u32 at = base + i * WG + t, is_part = PIECE_IS_PART(mine->notes[i * WG + t]);
      if (is_part) ranks_spare[at] = mine->ranks[first + i * WG];
      store_record(is_part ? keys_spare : keys_out, is_part ? values_spare : values_out, at,
                   record[i]);
    }
}

//   keys_in, values_in  in: n records
//   keys_out, values_out  out: the sorted segments of up to PIECE records; may be the input
//   keys_spare, values_spare, ranks_spare  out: the sorted pieces of longer segments
//   offsets, length  in: where segments begin; see OFFSET
//   share          records of each work-group, at most PIECE and CAPACITY - PIECE
KERNEL(WG)
void segmented_small_sort(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                          GLOBAL ukey_t* keys_spare, GLOBAL ukey_t* ranks_spare,
                          GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                          GLOBAL value_t* values_spare, GLOBAL const offset_t* offsets, u32 length,
                          u32 segments, u32 n, u32 share) {
  LOCAL_STRUCT(segmented_small_memory_t, mine);
  const u32 t = local_id(), from = group_id() * share, to = min(from + share, n);

  // Find the pieces that begin in the share: `count` records from `base` on.
  find_segments(mine, offsets, length, segments, n, from, to - 1);
  const u32 base = min(first_piece(mine->begins[0], from), mine->ends[0]);
  const u32 end = min(first_piece(mine->begins[1], to), mine->ends[1]);
  const u32 count = base < to ? end - base : 0;

  // Load the keys, and meanwhile the lengths of the pieces.
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i * WG + t < count) key[i] = keys_in[base + i * WG + t];
  note_pieces(mine, offsets, length, mine->found[0], mine->found[1], from, to, base, count);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i * WG + t < count) mine->ranks[i * WG + t] = key_rank(key[i]);

  number_pieces(mine, count);
  const u32 side = sort_pieces(mine, count);
  store_pieces(mine, side, base, count, keys_in, keys_out, keys_spare, ranks_spare, values_in,
               values_out, values_spare);
}

// Merges the pieces of the segments with more than PIECE records. A share is at most as long as a
// piece, so only the first and the last segment of a share can be that long. A record's place is
// its place in its own piece and, for each other piece, the number of records that come before it.
// TOGETHER pieces are in local memory at a time, and each work-item searches all of them at once.
#define TOGETHER (2 * CAPACITY / PIECE < 4 ? 2 * CAPACITY / PIECE : 4)

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

//   keys_spare, values_spare, ranks_spare  in: the sorted pieces
//   keys_out, values_out      out: the merged segments
KERNEL(WG)
void segmented_small_merge(GLOBAL const ukey_t* keys_spare, GLOBAL const ukey_t* ranks_spare,
                           GLOBAL const value_t* values_spare, GLOBAL ukey_t* keys_out,
                           GLOBAL value_t* values_out, GLOBAL const offset_t* offsets, u32 length,
                           u32 segments, u32 n, u32 share) {
  LOCAL_STRUCT(segmented_small_memory_t, mine);
  const u32 t = local_id(), from = group_id() * share, to = min(from + share, n);
  find_segments(mine, offsets, length, segments, n, from, to - 1);
  const u32 segments_here = mine->found[0] == mine->found[1] ? 1 : 2;
  ROLLED
  for (u32 s = 0; s < segments_here; ++s) {
    const u32 begin = mine->begins[s], records = mine->ends[s] - begin;
    if (records <= PIECE) continue;
    const u32 first = max(begin, from) + t, last = min(begin + records, to);
    ukey_t rank[ITEMS];
    u32 place[ITEMS];
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (first + i * WG < last) {
        rank[i] = ranks_spare[first + i * WG];
        place[i] = (first + i * WG - begin) % PIECE;
      }
    ROLLED
    for (u32 piece = 0; piece * PIECE < records; piece += TOGETHER) {
      GLOBAL const ukey_t* pieces = ranks_spare + begin + piece * PIECE;
      const u32 count = min(records - piece * PIECE, (u32)(TOGETHER * PIECE));
      ROLLED
      for (u32 at = t; at < count; at += WG) mine->ranks[at] = pieces[at];
      barrier_local();
      UNROLL
      for (u32 i = 0; i < ITEMS; ++i)
        if (first + i * WG < last)
          place[i] +=
              records_before(mine->ranks, count, piece, (first + i * WG - begin) / PIECE, rank[i]);
      barrier_local();
    }
    UNROLL
    for (u32 i = 0; i < ITEMS; ++i)
      if (first + i * WG < last)
        store_record(keys_out, values_out, begin + place[i],
                     load_record(keys_spare, values_spare, first + i * WG));
  }
}
