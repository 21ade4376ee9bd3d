// What segmented's kernels have in common; put in front of each of them.

#define CLASSES (TINY_CLASSES + BLOCK_CLASSES + 1)  // the last: segments that no work-group can hold

typedef struct {  // records to be sorted, or the part of them that a work-group has
  index_t begin, count;
} task_t;
typedef struct {  // a long segment: its first record, and its parts
  index_t begin;
  u32 first, parts;
} long_t;

// The longest segment of class k, which is not the last.
INLINE u64 class_capacity(u32 k) { return k < TINY_CLASSES ? (u64)ROW << k : (u64)BLOCK_LEAST << (k - TINY_CLASSES); }

// For how many segments class k's list has room: all of them, or as many as n records can be.
INLINE u64 list_room(u32 k, u64 n, u64 segments) {
  const u64 most = n / (k == 0 ? 2 : class_capacity(k - 1) + 1);
  return segments < most ? segments : most;
}
