// Shared by segmented's kernels: the classes of segment lengths, and the list of segments of each
// class. This file comes before all files that use it.

PARAMETER(TINY_CLASSES)   // classes that a few lanes sort in registers
PARAMETER(BLOCK_CLASSES)  // classes that a work-group sorts in local memory
PARAMETER(ROW)            // records of a lane in the first tiny class
PARAMETER(BLOCK_LEAST)  // records of the longest segment of the first block class (without the one
                        // added by SPREAD)
PARAMETER(
    SPREAD)  // 1: the first block class takes the lengths of the last tiny class. It sorts segments
             // whose keys differ in their leading bits, and passes the others on to the tiny class

#define LOCAL_CLASSES (TINY_CLASSES + BLOCK_CLASSES)
#define CLASSES (LOCAL_CLASSES + 1)  // the last class: long segments, which fit no work-group

// Where a segment's records are. Each level of the partition moves them: first from the input to
// spare memory, then alternately to the output (keys_work if no keys are wanted) and to spare
// memory.
#define IN_INPUT 0u
#define IN_SPARE 1u
#define IN_OUTPUT 2u
#define FROM_PLACE(place, input, spare, output) \
  ((place) == IN_INPUT ? (input) : (place) == IN_SPARE ? (spare) : (output))

// A segment to sort. The upper two bits of `count` tell where its records are (IN_...).
typedef struct {
  index_t begin, count;
} task_t;
#define TASK_PLACE_SHIFT 30
#define TASK_COUNT(task) ((u32)(task).count & ((1u << TASK_PLACE_SHIFT) - 1))
#define TASK_PLACE(task) ((u32)(task).count >> TASK_PLACE_SHIFT)

typedef struct {  // a long segment
  index_t begin, count;
  u32 first, parts;  // its parts have the numbers first to first + parts - 1
  u32 open;          // the ranks of its keys differ only in this many low bits
  u32 place;         // IN_…
} long_t;
typedef struct {  // a part of long segment `whole`, for one work-group
  index_t begin, count, whole;
} part_t;

// Returns the length of the longest segment of class k < LOCAL_CLASSES.
INLINE u64 class_capacity(u32 k) {
  if (SPREAD && k == TINY_CLASSES) return (u64)ROW << (k - 1);
  return k < TINY_CLASSES ? (u64)ROW << k : (u64)BLOCK_LEAST << (k - TINY_CLASSES - SPREAD);
}

// Returns the capacity of class k's list: the number of all segments or, if that is less, at least
// the number of segments of this class that n records can make. A shift replaces a division, which
// would cost more than all other work for a short segment. Long segments are divided into at most
// `pieces` buckets together. These go to class LEAST_CLASS_OF_PIECES or above: few are shorter, so
// lists for them in lower classes would be mostly empty.
#define LEAST_CLASS_OF_PIECES (TINY_CLASSES - 1)
INLINE u64 list_capacity(u32 k, u64 n, u64 segments, u64 pieces) {
  const u32 like = SPREAD && k >= TINY_CLASSES ? k - 1 : k;  // ignores the class that SPREAD adds
  const u32 log2_shorter = like <= TINY_CLASSES
                               ? highest_bit32(ROW) + like - 1
                               : highest_bit32(BLOCK_LEAST) + like - 1 - TINY_CLASSES;
  const u64 as_n_records = n >> (k == 0 ? 1 : log2_shorter);
  const u64 most_pieces = k < LEAST_CLASS_OF_PIECES    ? 0
                          : k == LEAST_CLASS_OF_PIECES ? pieces
                                                       : min(pieces, as_n_records);
  return min(segments, as_n_records) + most_pieces;
}

// `counters` has the number of segments on the list of each local class. Then, for each level, it
// has the number of long segments and the number of their parts. The last two words are the same
// for segments that cannot be partitioned further because all their keys are equal ("level"
// `levels`).
#define LONGS_OF(level) (LOCAL_CLASSES + 2 * (level))
typedef struct {
  GLOBAL u32* counters;
  GLOBAL task_t* tasks;
  GLOBAL long_t *longs, *ended;  // of level `level`; those with equal keys
  GLOBAL part_t *parts, *ended_parts;
  u32 level, levels;
  u64 part;        // records of a part; more in a segment that would otherwise
  u32 most_parts;  // have more parts than this
} lists_t;

// Stores in starts[k] where class k's list begins among the tasks. All work-items call it; a
// barrier must follow.
INLINE void start_lists(LOCAL u64* starts, u64 n, u64 segments, u64 pieces) {
  const u32 t = local_id();
  if (t < LOCAL_CLASSES) starts[t] = list_capacity(t, n, segments, pieces);
  barrier_local();
  u64 start = 0;
  UNROLL
  for (u32 k = 0; k < LOCAL_CLASSES; ++k) start += k < t ? starts[k] : 0;
  barrier_local();
  if (t < LOCAL_CLASSES) starts[t] = start;
}

// Puts each work-item's segment, unless it is empty, on the list of its class, which is at least
// `least_class`. `here` and `before` are work space: a word for each work-item.
INLINE void put_on_list(lists_t lists, LOCAL u32* here, LOCAL u32* before, LOCAL const u64* starts,
                        u64 begin, u64 count, u32 least_class, u32 open, u32 place) {
  const u32 t = local_id();
  here[t] = 0;
  barrier_local();

  // Find the class, and the segment's index among the work-group's segments of that class.
  u32 class_of = 0;
  for (u32 k = 0; k < LOCAL_CLASSES; ++k) class_of += count > class_capacity(k) ? 1 : 0;
  if (SPREAD && class_of == TINY_CLASSES - 1) class_of = TINY_CLASSES;
  class_of = max(class_of, least_class);
  class_of = class_of == LOCAL_CLASSES && open == 0 ? LOCAL_CLASSES + 1 : class_of;
  class_of = count == 0 ? LOCAL_CLASSES + 2 : class_of;
#if SG_NATIVE  // often all lanes have one class: then one lane adds for all
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

  // One work-item for each list reserves places on it.
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
