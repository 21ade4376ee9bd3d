// msd: a map from keys to buckets, made of samples of the keys, for keys of 64 bits whose leading
// bits crowd few buckets. Kernels join it in front of their own files.
//
// A window of orders surrounds the samples. An order's *place* is where it lies in the window, as a
// fraction of 32 bits; orders outside have the first or the last place. Equal ranges of the window,
// the roots, are divided into cells, the more the more samples they have. A cell has consecutive
// buckets, as many as its share of the samples, and divides its range of places among them evenly.
// If its share is less than one bucket, it has none; the next cell's first bucket takes its keys.

PARAMETER(MAP_CELLS)       // cells of a map, a power of two up to 2048; 0: no map is made
PARAMETER(VERDICT_MAPPED)  // see IS_MAPPED
PARAMETER(VERDICT_LISTED)  // see IS_MAPPED

// msd_count stores its verdict in `skewed`. With either of these two values, keys are mapped. With
// VERDICT_LISTED, some buckets are also too large for the local sort, and are listed.
#define IS_MAPPED(verdict) ((verdict) == VERDICT_MAPPED || (verdict) == VERDICT_LISTED)

#if MAP_CELLS
#define MAP_ROOTS (MAP_CELLS / 2)
#define ROOT_LOW (32 - highest_bit32(MAP_ROOTS))  // bits of a place below its root

typedef struct {
  ukey_t begin, last;  // the window's first and last order
  u32 up;              // how far the order's distance from `begin` is shifted up to fill a key
} window_t;

// A cell: its first bucket << 16 | its number of buckets. A root: 5 bits of the width of its cells
// (a power of two), and above them what turns a place's bits from there on into a cell's number.
typedef struct {
  u32 cells[MAP_CELLS];
  u16 roots[MAP_ROOTS];
} map_t;

// In global memory: MAP_HEAD words (the window, and the number of groups of buckets), the cells,
// the roots.
#define MAP_HEAD 8u
#define MAP_GROUPS 5u  // the word with the number of groups; see join_buckets
#define MAP_WORDS (MAP_HEAD + MAP_CELLS + MAP_ROOTS / 2)

INLINE u32 place_in_window(window_t w, ukey_t order) {
  const ukey_t distance = min(max(order, w.begin), w.last) - w.begin;
  return (u32)(distance << w.up >> 32);
}
#define CELL_OF(place, root) ((((place) >> ((root)&31)) + ((root) >> 5)) & (MAP_CELLS - 1))
// The bucket of a place in cell `cell` of root `root`.
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
