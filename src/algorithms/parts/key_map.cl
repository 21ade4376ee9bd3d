// A map from keys to buckets, made of samples of the keys (msd_count.cl), for keys whose leading
// bits would put too many keys into a few buckets. Bucket numbers ascend with the keys' order.
// Kernel files that use the map are compiled with this file in front of them.
//
// "Order" is short for a key's order bits. The window is a range of 2^k orders that contains the
// samples. It is divided into MAP_CELLS cells of equal width. A cell has consecutive buckets, in
// proportion to its samples, and divides its orders among them evenly. A cell whose proportion is
// less than one bucket has none: its keys go to the first bucket of the next cell.
//
// A cell may have a *pivot*: an order that many keys have. The pivot gets a bucket of its own: the
// cell then has two buckets more, one for the pivot and one that separates the keys on either side
// of it. Keys outside the window go to buckets by their OUTER_BITS leading bits. NaNs that tie have
// a bucket of their own.
//
//   bucket numbers   | NaN first | below the window | cell 0, cell 1, … | above it | NaN last |

PARAMETER(MAP_CELLS)    // cells of a map, a power of two up to 1024; 0: no map is made
PARAMETER(MAP_BUCKETS)  // number of buckets of mapped keys, a power of two
PARAMETER(OUTER_BITS)   // leading bits that choose the bucket of a key outside the window

#if MAP_CELLS
#define LOG_CELLS highest_bit32(MAP_CELLS)
#define OUTER_BUCKETS (1u << OUTER_BITS)
// The first bucket of the window, and how many buckets it has.
#define INNER_FIRST (OUTER_BUCKETS + (KEY_FLOAT && KEY_NAN == NAN_FIRST ? 1u : 0u))
#define INNER_BUCKETS \
  (MAP_BUCKETS - 2 * OUTER_BUCKETS - (KEY_FLOAT && KEY_NAN != NAN_BITS ? 1u : 0u))
// The order of a NaN that ties. It is outside the window.
#if KEY_FLOAT && KEY_NAN == NAN_LAST
#define IS_NAN_ORDER(order) ((order) == (ukey_t) ~(ukey_t)0)
#define NAN_BUCKET (MAP_BUCKETS - 1)
#elif KEY_FLOAT && KEY_NAN == NAN_FIRST
#define IS_NAN_ORDER(order) ((order) == 0)
#define NAN_BUCKET 0u
#else
#define IS_NAN_ORDER(order) 0
#define NAN_BUCKET 0u
#endif

typedef struct {
  ukey_t begin;  // the window's first order
  ukey_t last;   // the distance of its last order from `begin`: 2^k - 1, or less to leave out NaN
  u32 up;        // left shift that makes a distance from `begin` fill all bits of a key
  u32 pivots;    // 0: no cell has a pivot
#if KEY_FLOAT
  ukey_t skip_from, skip;  // see closed_up()
#endif
} window_t;

// cells[i]: the upper 16 bits are the number of the cell's first bucket, the lower 16 bits are how
// many buckets the cell has, without the two that belong to its pivot. pivots[i] is the cell's
// pivot. Without one it is the largest possible order, which is in the last cell or in none; if any
// cell has a pivot, the last cell has two buckets for one.
typedef struct {
  ukey_t pivots[MAP_CELLS];
  u32 cells[MAP_CELLS];
} map_t;
#define NO_PIVOT ((ukey_t) ~(ukey_t)0)

// In global memory a map has MAP_HEAD words (the window), then the pivots, then the cells.
#define MAP_HEAD 12u
#define MAP_WORDS (MAP_HEAD + MAP_CELLS * (1 + KEY_BITS / 32))

// Floats on both sides of zero are far apart in order bits, because the exponents between them are
// many. A window leaves out `skip` orders around zero, from skip_from on. This function returns the
// number of orders before this one that are not left out. Windows are ranges of such numbers.
INLINE ukey_t closed_up(window_t w, ukey_t order) {
#if KEY_FLOAT
  return order >= w.skip_from + w.skip ? order - w.skip : min(order, w.skip_from);
#else
  return order;
#endif
}
#define IN_WINDOW(w, x) ((ukey_t)((x) - (w).begin) <= (w).last)
// The place of an order is its distance from the window's start, as a 32-bit fraction of the
// window's width. x: closed_up(w, order).
#define PLACE_IN_WINDOW(w, x) ((u32)((ukey_t)(((x) - (w).begin) << (w).up) >> (KEY_BITS - 32)))
#define CELL_OF(place) ((place) >> (32 - LOG_CELLS))
// Returns the bucket of an order in the window, if its cell has no pivot; `cell` is the cell's
// word.
#define BUCKET_OF_PLACE(place, cell) \
  (((cell) >> 16) + (u32)((u64)((place) << LOG_CELLS) * ((cell)&0xffff) >> 32))
// How many buckets later it is because of the cell's pivot.
#define BEHIND_PIVOT(order, pivot) (((order) >= (pivot) ? 1u : 0u) + ((order) > (pivot) ? 1u : 0u))
// Returns the bucket of an order outside the window. x: closed_up(w, order).
INLINE u32 bucket_outside(window_t w, ukey_t order, ukey_t x) {
  const u32 leading = (u32)(order >> (KEY_BITS - OUTER_BITS));
  if (IS_NAN_ORDER(order)) return NAN_BUCKET;
  return (x < w.begin ? INNER_FIRST - OUTER_BUCKETS : INNER_FIRST + INNER_BUCKETS) + leading;
}

// `pivots` is 0 if no cell has a pivot.
INLINE u32 bucket_of_order(LOCAL const map_t* map, window_t w, ukey_t order, u32 pivots) {
  const ukey_t x = closed_up(w, order);
  const u32 place = PLACE_IN_WINDOW(w, x), cell = CELL_OF(place);
  u32 bucket = BUCKET_OF_PLACE(place, map->cells[cell]);
  if (pivots) bucket += BEHIND_PIVOT(order, map->pivots[cell]);
  if (!IN_WINDOW(w, x)) bucket = bucket_outside(w, order, x);
  return bucket;
}
// The same with the map in global memory.
INLINE u32 bucket_by_global_map(GLOBAL const u32* map, window_t w, ukey_t order, u32 pivots) {
  const ukey_t x = closed_up(w, order);
  const u32 place = PLACE_IN_WINDOW(w, x), cell = CELL_OF(place);
  GLOBAL const u32* cells = map + MAP_HEAD + MAP_CELLS * (KEY_BITS / 32);
  u32 bucket = BUCKET_OF_PLACE(place, cells[cell]);
  if (pivots) bucket += BEHIND_PIVOT(order, ((GLOBAL const ukey_t*)(map + MAP_HEAD))[cell]);
  if (!IN_WINDOW(w, x)) bucket = bucket_outside(w, order, x);
  return bucket;
}

INLINE window_t load_window(GLOBAL const u32* map) {
  window_t w;
#if KEY_BITS == 64
  w.begin = (ukey_t)map[1] << 32 | map[0];
  w.last = (ukey_t)map[3] << 32 | map[2];
#else
  w.begin = map[0];
  w.last = map[2];
#endif
  w.up = map[4];
  w.pivots = map[5];
#if KEY_FLOAT && KEY_BITS == 64
  w.skip_from = (ukey_t)map[7] << 32 | map[6];
  w.skip = (ukey_t)map[9] << 32 | map[8];
#elif KEY_FLOAT
  w.skip_from = map[6];
  w.skip = map[8];
#endif
  return w;
}
INLINE void copy_map(LOCAL map_t* to, GLOBAL const u32* map, u32 work_items) {
  GLOBAL const ukey_t* pivots = (GLOBAL const ukey_t*)(map + MAP_HEAD);
  GLOBAL const u32* cells = map + MAP_HEAD + MAP_CELLS * (KEY_BITS / 32);
  for (u32 i = local_id(); i < MAP_CELLS; i += work_items)
    to->pivots[i] = pivots[i], to->cells[i] = cells[i];
}
#endif
