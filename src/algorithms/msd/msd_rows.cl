// msd, short lists: what the kernels that partition short lists share. They add up the rows of a
// table, which has the counts of one tile in each row, and they load the values of a tile.
// primitives.cl and columns.cl come before this file.

PARAMETER(WG)     // work-items of a work-group
PARAMETER(ITEMS)  // records that a work-item has in a tile

// A row has RADIX counts of 16 bits. A work-item reads eight counts at a time, as one uint4. The
// work-items of a team add up the same rows.
#define ROW_WORDS (RADIX / 2)
#define ROW_QUADS (RADIX / 8)
#define ROW_TEAMS (WG / ROW_QUADS)
#define ROWS_AT_ONCE 8

#define ADD_COUNTS(sum, i, word) \
  sum[i] += word & 0xffff;       \
  sum[i + 1] += word >> 16;
// Adds eight counts to sum[0] to sum[7].
#define ADD_QUAD(sum, quad)  \
  ADD_COUNTS(sum, 0, quad.x) \
  ADD_COUNTS(sum, 2, quad.y) \
  ADD_COUNTS(sum, 4, quad.z) \
  ADD_COUNTS(sum, 6, quad.w)

#if VALUE_BYTES
// Loads the values of a tile of `count` records that begins at index `begin`. This work-item's
// records lie SG_LANES apart, from record `first` of the tile on. `values` is null if a value is
// its record's position.
INLINE void load_tile_values(GLOBAL const value_t* values, u32 begin, u32 first, u32 count,
                             value_t* value) {
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = begin + min(first + i * SG_LANES, count - 1);
    value[i] = values ? values[at] : (value_t)at;
  }
}
#endif
