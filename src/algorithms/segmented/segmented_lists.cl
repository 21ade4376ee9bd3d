// What segmented's kernels have in common; put in front of each of them.
// Parameters: TINY_CLASSES, BLOCK_CLASSES, ROW, BLOCK_LEAST, SPREAD (the first of the classes that
// work-groups sort is for the segments of the last of the short ones: those that their keys'
// leading bits tell apart).

#define LOCAL_CLASSES (TINY_CLASSES + BLOCK_CLASSES)
#define CLASSES (LOCAL_CLASSES + 1)  // the last: segments that no work-group can hold

// Where a segment's records lie. Parting moves them from the input to spare memory, from there to
// the output (or to what stands in for it where no keys are wanted), and back again.
#define IN_INPUT 0u
#define IN_SPARE 1u
#define IN_OUTPUT 2u
#define FROM_PLACE(place, input, spare, output) \
  ((place) == IN_INPUT ? (input) : (place) == IN_SPARE ? (spare) : (output))

// Records to be sorted. The upper two of 32 bits of the count say where they lie.
typedef struct {
  index_t begin, count;
} task_t;
#define TASK_PLACE_SHIFT 30
#define TASK_COUNT(task) ((u32)(task).count & ((1u << TASK_PLACE_SHIFT) - 1))
#define TASK_PLACE(task) ((u32)(task).count >> TASK_PLACE_SHIFT)

typedef struct {  // a long segment, and its parts
  index_t begin, count;
  u32 first, parts;
  u32 open;  // of the bits that decide, the lowest, above which all of its keys are alike
  u32 place;
} long_t;
typedef struct {  // the part of long segment number `whole` that a work-group has
  index_t begin, count, whole;
} part_t;

// The longest segment of class k, which is not the last.
INLINE u64 class_capacity(u32 k) {
  if (SPREAD && k == TINY_CLASSES) return (u64)ROW << (k - 1);
  return k < TINY_CLASSES ? (u64)ROW << k : (u64)BLOCK_LEAST << (k - TINY_CLASSES - SPREAD);
}

// For how many segments class k's list has room: all of them, or as many as n records can be, at
// least (a shift where a division would cost more than all else that is done with a short segment).
// What long ones are parted into, `pieces` at most, goes to the last of the short classes if it is
// short: so few are shorter that lists for them would be mostly room.
#define LEAST_CLASS_OF_PIECES (TINY_CLASSES - 1)
INLINE u64 list_room(u32 k, u64 n, u64 segments, u64 pieces) {
  const u32 like = SPREAD && k >= TINY_CLASSES ? k - 1 : k;  // were there no such class
  const u32 log2_shorter = like <= TINY_CLASSES
                               ? highest_bit32(ROW) + like - 1
                               : highest_bit32(BLOCK_LEAST) + like - 1 - TINY_CLASSES;
  const u64 as_n_records = n >> (k == 0 ? 1 : log2_shorter);
  const u64 most_pieces = k < LEAST_CLASS_OF_PIECES    ? 0
                          : k == LEAST_CLASS_OF_PIECES ? pieces
                                                       : min(pieces, as_n_records);
  return min(segments, as_n_records) + most_pieces;
}

// counters: of each class of local sorts how many segments it has; then, for the long ones of each
// level and for those that are parted as far as they can be (`levels` is the number of theirs), how
// many segments and how many parts.
#define LONGS_OF(level) (LOCAL_CLASSES + 2 * (level))
typedef struct {
  GLOBAL u32* counters;
  GLOBAL task_t* tasks;
  GLOBAL long_t *longs, *ended;  // of level `level`, and those whose keys are alike
  GLOBAL part_t *parts, *ended_parts;
  u32 level, levels;
  u64 part;  // records, but for segments that would have more parts than
  u32 most_parts;
} lists_t;

// Where the classes' lists begin in the tasks. By all work-items; a barrier is to follow.
INLINE void start_lists(LOCAL u64* starts, u64 n, u64 segments, u64 pieces) {
  const u32 t = local_id();
  if (t < LOCAL_CLASSES) starts[t] = list_room(t, n, segments, pieces);
  barrier_local();
  u64 start = 0;
  UNROLL
  for (u32 k = 0; k < LOCAL_CLASSES; ++k) start += k < t ? starts[k] : 0;
  barrier_local();
  if (t < LOCAL_CLASSES) starts[t] = start;
}

// Every work-item's segment, if it has any records, goes to the list of its length's class, which
// is not below `least_class`. Of `here` and `before`, each has a word for every work-item.
INLINE void put_on_list(lists_t lists, LOCAL u32* here, LOCAL u32* before, LOCAL const u64* starts,
                        u64 begin, u64 count, u32 least_class, u32 open, u32 place) {
  const u32 t = local_id();
  here[t] = 0;
  barrier_local();

  // Class, and place among those of the work-group.
  u32 class_of = 0;
  for (u32 k = 0; k < LOCAL_CLASSES; ++k) class_of += count > class_capacity(k) ? 1 : 0;
  if (SPREAD && class_of == TINY_CLASSES - 1) class_of = TINY_CLASSES;
  class_of = max(class_of, least_class);
  class_of = class_of == LOCAL_CLASSES && open == 0 ? LOCAL_CLASSES + 1 : class_of;
  class_of = count == 0 ? LOCAL_CLASSES + 2 : class_of;
#if SG_NATIVE  // lanes of one class, as there are many, need not wait for each other
  u32 at = 0;
  if (sg_ballot(0, class_of != sg_shuffle(0, class_of, 0)) != 0) {
    at = local_add(&here[class_of], 1u);
  } else {
    if (sg_lane() == 0) at = local_add(&here[class_of], SG_LANES);
    at = sg_shuffle(0, at, 0) + sg_lane();
  }
#else
  u32 at = local_add(&here[class_of], 1u);
#endif
  barrier_local();

  // A work-item a list; those past them find nothing to add.
  const u32 add = t < LOCAL_CLASSES + 2 ? here[t] : 0;
  const u32 counter =
      t < LOCAL_CLASSES ? t : LONGS_OF(t == LOCAL_CLASSES ? lists.level : lists.levels);
  if (add != 0) before[t] = global_add(&lists.counters[counter], add);
  barrier_local();

  if (class_of < LOCAL_CLASSES) {
    task_t task;
    task.begin = (index_t)begin;
    task.count = (index_t)count | (index_t)place << TASK_PLACE_SHIFT;
    lists.tasks[starts[class_of] + before[class_of] + at] = task;
  } else if (class_of < LOCAL_CLASSES + 2) {
    const u64 most = lists.most_parts * lists.part, size = (count + most - 1) / most * lists.part;
    const u32 ended = class_of > LOCAL_CLASSES;
    GLOBAL part_t* parts = ended ? lists.ended_parts : lists.parts;
    at += before[class_of];
    long_t whole;
    whole.begin = (index_t)begin;
    whole.count = (index_t)count;
    whole.parts = (u32)((count + size - 1) / size);
    whole.first =
        global_add(&lists.counters[LONGS_OF(ended ? lists.levels : lists.level) + 1], whole.parts);
    whole.open = open;
    whole.place = place;
    (ended ? lists.ended : lists.longs)[at] = whole;
    for (u32 p = 0; p < whole.parts; ++p) {
      const u64 from = p * size;
      part_t part;
      part.begin = (index_t)(begin + from);
      part.count = (index_t)(count - from < size ? count - from : size);
      part.whole = at;
      parts[whole.first + p] = part;
    }
  }
}

// The bits of a key's order that decide: rank_mask, after begin_bit; kernels have both as
// parameters.
#define RANK(key) ((ukey_t)((key_order(key) >> begin_bit) & (ukey_t)rank_mask))

// words[0] and, of 8-byte keys, words[1] become the bits that are in the x of any work-item. They
// are 0 before; a barrier is to follow.
INLINE void or_bits(LOCAL u32* words, ukey_t x) {
  wg_or(&words[0], (u32)x);
#if KEY_BITS == 64
  wg_or(&words[1], (u32)(x >> 32));
#endif
}
INLINE ukey_t ored_bits(LOCAL const u32* words) {
#if KEY_BITS == 64
  return words[0] | (ukey_t)words[1] << 32;
#else
  return (ukey_t)words[0];
#endif
}
