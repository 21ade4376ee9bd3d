// msd: a map from keys to buckets, made of samples of the keys, for 64-bit keys whose leading bits
// put too many keys into a few buckets. Kernel files that use the map are compiled with this file
// in front of them.
//
// "Order" is short for a key's order bits. The window is a range of orders that contains all
// samples. An order's *place* is its distance from the start of the window, as a 32-bit fraction of
// the window's length. Orders below the window have the first place, orders above it the last.
//
// The window has two levels. It is divided into MAP_ROOTS equal ranges, the roots. Each root is
// divided into equal cells: a root with more samples has more cells. A cell has consecutive
// buckets, in proportion to its samples, and divides its places among them evenly. A cell whose
// proportion is less than one bucket has no bucket of its own: its keys go to the first bucket of
// the next cell.

PARAMETER(MAP_CELLS)       // cells of a map, a power of two up to 2048; 0: no map is made
PARAMETER(VERDICT_MAPPED)  // see IS_MAPPED
PARAMETER(VERDICT_LISTED)  // see IS_MAPPED

// msd_count stores its verdict in `skewed`. Keys are mapped if it is one of these two values.
// VERDICT_LISTED: some buckets are also too large for the local sort. They are in the list of large
// buckets.
#define IS_MAPPED(verdict) ((verdict) == VERDICT_MAPPED || (verdict) == VERDICT_LISTED)

#if MAP_CELLS
#define MAP_ROOTS (MAP_CELLS / 2)
#define ROOT_LOW (32 - highest_bit32(MAP_ROOTS))  // bits of a place below its root index

typedef struct {
  ukey_t begin, last;  // the window's first and last order
  u32 up;              // left shift that makes the distance from `begin` fill all bits of a key
} window_t;

// cells[i]: the upper 16 bits are the number of the cell's first bucket, the lower 16 bits are how
// many buckets the cell has.
// roots[r]: the lower 5 bits are the log2 of the width of a cell of root r, in places. The upper 11
// bits are added to (place >> that log2), modulo MAP_CELLS, to get the index of the cell.
typedef struct {
  u32 cells[MAP_CELLS];
  u16 roots[MAP_ROOTS];
} map_t;

// In global memory a map has MAP_HEAD words (the window and the number of groups of buckets), then
// the cells, then the roots.
#define MAP_HEAD 8u
#define MAP_GROUPS 5u  // index of the word with the number of groups; see join_own_buckets
#define MAP_WORDS (MAP_HEAD + MAP_CELLS + MAP_ROOTS / 2)

INLINE u32 place_in_window(window_t w, ukey_t order) {
  const ukey_t distance = min(max(order, w.begin), w.last) - w.begin;
  return (u32)(distance << w.up >> 32);
}
#define CELL_OF(place, root) ((((place) >> ((root)&31)) + ((root) >> 5)) & (MAP_CELLS - 1))
// Returns the number of the bucket of a place; `root` and `cell` are the words of its root and
// cell.
#define BUCKET_OF(place, root, cell) \
  (((cell) >> 16) + (u32)((u64)((place) << (32 - ((root)&31))) * ((cell)&0xffff) >> 32))

INLINE u32 bucket_of_place(LOCAL const map_t* map, u32 place) {
  const u32 root = map->roots[place >> ROOT_LOW], cell = map->cells[CELL_OF(place, root)];
  return BUCKET_OF(place, root, cell);
}

INLINE window_t load_window(GLOBAL const u32* map) {
  window_t w;
  w.begin = (ukey_t)map[1] << 32 | map[0];
  w.last = (ukey_t)map[3] << 32 | map[2];
  w.up = map[4];
  return w;
}
#endif
