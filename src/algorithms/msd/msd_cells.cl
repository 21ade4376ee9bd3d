// msd, short lists whose leading bits do not spread: the cells in which their keys are counted.
// "Order" is short for a key's order bits.
//
// The orders of all keys lie in a range from the smallest to the largest one. CELLS equal cells
// divide it. The counts are exact: msd_partition_tiles counts all keys when it has seen that
// leading bits do not spread.

PARAMETER(CELLS)  // a power of two up to 2^16, and a multiple of 2 * WG; 0: there are no cells

#if CELLS
#define LOG_CELLS highest_bit32(CELLS)
// Work space in global memory, 0 at first: CELL_STATE words, then the counts, 16 bits each.
#define CELL_STATE 1024u
// One of these words: the number of keys in no cell. For the others, see msd_cell_sort.cl.
#define CELL_OUTSIDE 6u
// The value of *skewed if a cell has so many samples that buckets would be too large.
#define VERDICT_CROWDED 2u

// The order by which keys are sorted. Floats that tie (NaN, -0.0) are not sorted by cells.
// Exception: if NaNs come last and PLACED_NAN is the only one, they are in no cell, and are written
// behind all other keys.
#if KEY_FLOAT && KEY_NAN == NAN_LAST
#define IN_NO_CELL(key) is_nan(key)
#else
#define IN_NO_CELL(key) 0
#endif
#if KEY_FLOAT
#define CELL_ORDER(key) untied_order(key)
#else
#define CELL_ORDER(key) key_order(key)
#endif

// The edges of a part of a list: the smallest and the largest order. Floats: those of the numbers
// below zero, then those of the numbers above it. If there are none, the smallest is all ones and
// the largest is 0.
#define EDGES (KEY_FLOAT ? 4u : 2u)

// A place is how far an order lies from the beginning of the range, as a 31-bit fraction of its
// width. The upper LOG_CELLS bits are the number of the cell. Only the two zeros lie between the
// floats below and above zero that are next to it, so all other orders between them are left out.
#define PLACE_BITS 31u
typedef struct {
  ukey_t least;
#if KEY_FLOAT
  ukey_t above;  // the smallest order above zero
  ukey_t zero;   // the distance of the lower zero from `least`
#endif
  u32 up;     // left shift after which the width of the range has its highest bit set
  u32 times;  // upper 32 bits of a shifted distance, times this, divided by 2^32: the place
} cell_range_t;

#if KEY_FLOAT
// The larger order of the two zeros, which lie next to each other.
#define UPPER_ZERO max(untied_order(0), untied_order(KEY_SIGN))
#endif
INLINE ukey_t distance_of_order(cell_range_t range, ukey_t order) {
#if KEY_FLOAT
  if (order >= range.above) return order - range.above + range.zero + 2;
  return min((ukey_t)(order - range.least), range.zero) + (order >= UPPER_ZERO ? 1 : 0);
#else
  return order - range.least;
#endif
}
INLINE u32 upper_distance(cell_range_t range, ukey_t distance) {
  return (u32)((ukey_t)(distance << range.up) >> (KEY_BITS - 32));
}
INLINE u32 place_of_order(cell_range_t range, ukey_t order) {
  return (u32)((u64)upper_distance(range, distance_of_order(range, order)) * range.times >> 32);
}
#define CELL_OF_PLACE(place) ((place) >> (PLACE_BITS - LOG_CELLS))
// The cell of any key. That of a key in no cell has no meaning.
INLINE u32 cell_of_key(cell_range_t range, ukey_t key) {
  const ukey_t order = CELL_ORDER(IN_NO_CELL(key) ? (ukey_t)0 : key);  // the range includes zero
  return CELL_OF_PLACE(place_of_order(range, order));
}

// Returns the range of a list. `edges` has the edges of each of its `parts` parts. `work` is local
// memory for 2 * EDGES words. Contains barriers.
INLINE cell_range_t find_range(LOCAL u32* work, GLOBAL const ukey_t* edges, u32 parts,
                               u32 work_items) {
  ukey_t least[EDGES / 2], largest[EDGES / 2];
  for (u32 i = local_id(); i < 2 * EDGES; i += work_items) work[i] = 0;
  UNROLL
  for (u32 side = 0; side < EDGES / 2; ++side) {
    least[side] = (ukey_t) ~(ukey_t)0, largest[side] = 0;
    for (u32 i = local_id(); i < parts; i += work_items) {
      least[side] = min(least[side], edges[EDGES * i + 2 * side]);
      largest[side] = max(largest[side], edges[EDGES * i + 2 * side + 1]);
    }
  }
  barrier_local();
  UNROLL
  for (u32 side = 0; side < EDGES / 2; ++side)
    find_edges(work + 4 * side, &least[side], &largest[side]);
  cell_range_t range;
#if KEY_FLOAT
  const u32 below_zero = least[0] <= largest[0], above_zero = least[1] <= largest[1];
  range.least = below_zero ? least[0] : 0;
  range.zero = below_zero ? (ukey_t)(largest[0] - least[0] + 1) : 0;
  range.above = least[1];
  const ukey_t width = (range.zero + (above_zero ? (ukey_t)(largest[1] - least[1] + 2) : 1)) | 1;
#else
  range.least = least[0];
  const ukey_t width = (largest[0] - least[0]) | 1;
#endif
  range.up = KEY_BITS - 1 - highest_bit(width);
  range.times = (u32)(((u64)1 << 63) / ((u64)upper_distance(range, width) + 1));
  return range;
}
#endif
