// segmented, short segments: the items that are sorted, and Batcher's bitonic network in a
// work-item's registers.

PARAMETER(COMPOSITE)  // 1: an item is the key's rank followed by the record's position in the
                      // segment, so no two items are equal. 0: an item is the key's order bits
PARAMETER(WIDE)  // 1: rank and position together have more than 64 bits, so the position is stored
                 // separately
PARAMETER(SORT_BITS)    // bits of an item: 32 or 64
PARAMETER(GATHER_KEYS)  // 1: an item does not hold all bits of its key

// 1 if all bits of the keys are compared. Kernels have the parameters begin_bit and rank_mask.
#define COMPARES_ALL_BITS (begin_bit == 0 && (ukey_t)rank_mask == (ukey_t) ~(ukey_t)0)

#if SORT_BITS == 64
typedef u64 sort_t;
#else
typedef u32 sort_t;
#endif
#define SORT_LAST ((sort_t)(~(sort_t)0))
#if WIDE
#define BEFORE(i, other, place) (item[i] < other || (item[i] == other && position[i] < place))
#define ORDER_PAIR(i, j)                  \
  if (!BEFORE(i, item[j], position[j])) { \
    const sort_t x = item[i];             \
    const u32 p = position[i];            \
    item[i] = item[j];                    \
    position[i] = position[j];            \
    item[j] = x;                          \
    position[j] = p;                      \
  }
#else
#define ORDER_PAIR(i, j)                   \
  {                                        \
    const sort_t x = item[i], y = item[j]; \
    item[i] = min(x, y);                   \
    item[j] = max(x, y);                   \
  }
#endif

// Both macros sort item[0] to item[row - 1] of a work-item. MERGE_ROW makes the steps of a bitonic
// merge with distances of at most `distance`. SORT_ROW is Batcher's odd-even merge sort, which has
// fewer comparators than the bitonic sort (191 instead of 240 for 32 items). Every comparator puts
// the smaller item first, so items without a record stay at the end.
#define MERGE_ROW(row, distance)               \
  UNROLL                                       \
  for (u32 d = distance; d > 0; d /= 2) UNROLL \
  for (u32 i = 0; i < row; ++i)                \
    if ((i & d) == 0) ORDER_PAIR(i, i ^ d)
#define SORT_ROW(row)  \
  MERGE_WIDTH(row, 1)  \
  MERGE_WIDTH(row, 2)  \
  MERGE_WIDTH(row, 4)  \
  MERGE_WIDTH(row, 8)  \
  MERGE_WIDTH(row, 16) \
  MERGE_WIDTH(row, 32)
// Merges sorted sequences of `width` items. (One loop over all widths would be too long for NVRTC
// to unroll it for 64 items.)
#define MERGE_WIDTH(row, width)                                                                 \
  if (width < row) UNROLL                                                                       \
  for (u32 d = width; d > 0; d /= 2) UNROLL                                                     \
  for (u32 i = 0; i + d < row; ++i)                                                             \
    if ((d == width ? (i & d) == 0 : (i & d) != 0) && i / (2 * width) == (i + d) / (2 * width)) \
  ORDER_PAIR(i, i + d)

#define SPREAD(place) ((place) + (place) / 32)  // rows begin in different banks

// What is known of the keys that a lane has loaded, or of all keys of a round.
typedef struct {
  ukey_t first, differ;  // the order bits of one key; the bits in which others differ from it
  ukey_t suspect;        // floats: more than 2 * KEY_INFINITY - 1 if a key is a NaN or a zero
} seen_t;

#if COMPOSITE
// Returns the bits in which the ranks of the round's keys differ. `differ` is of this lane.
INLINE ukey_t differing_bits(sub_group_t sg, ukey_t differ, u32 begin_bit, u64 rank_mask) {
  for (u32 distance = 1; distance < SG_LANES; distance *= 2) {
    ukey_t other = (ukey_t)sg_shuffle(sg, (u32)differ, sg_lane() ^ distance);
#if KEY_BITS == 64
    other |= (ukey_t)sg_shuffle(sg, (u32)(differ >> 32), sg_lane() ^ distance) << 32;
#endif
    differ |= other;
  }
  return (differ >> begin_bit) & (ukey_t)rank_mask;
}
#endif
