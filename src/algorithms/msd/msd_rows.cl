// msd, short lists: a work-group adds up the rows of a table, which has the counts of one tile in
// each row. A look-back would be slower: in a short list all tiles begin at the same time, so each
// would look back to the first one. columns.cl comes before this file.

PARAMETER(WG)  // work-items of a work-group

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

#define PUT_QUAD(to, from, i)                                                           \
  {                                                                                     \
    uint4 four;                                                                         \
    four.x = from[i], four.y = from[i + 1], four.z = from[i + 2], four.w = from[i + 3]; \
    *(LOCAL uint4*)(to) = four;                                                         \
  }

// Adds up the rows of `tiles` tiles. Work-item t < RADIX returns the sum of digit t in all rows,
// and stores in *before its sum in the rows before `tile`. `sums`: 2 * ROW_TEAMS * RADIX words of
// local memory, aligned to 16 bytes. Contains a barrier.
INLINE u32 sum_rows(LOCAL u32* sums, GLOBAL const uint4* table, u32 tiles, u32 tile, u32* before) {
  // Each team adds up consecutive rows. Each of its work-items adds up eight digits of these rows.
  const u32 t = local_id(), team = t / ROW_QUADS, quad = t % ROW_QUADS,
            rows = (tiles + ROW_TEAMS - 1) / ROW_TEAMS;
  const u32 end = min((team + 1) * rows, tiles);
  u32 sum[8], earlier[8];
  UNROLL
  for (u32 d = 0; d < 8; ++d) sum[d] = earlier[d] = 0;
  for (u32 row = team * rows; row < end; row += ROWS_AT_ONCE) {
    uint4 counts[ROWS_AT_ONCE];
    UNROLL
    for (u32 i = 0; i < ROWS_AT_ONCE; ++i)
      counts[i] = table[min(row + i, end - 1) * ROW_QUADS + quad];
    UNROLL
    for (u32 i = 0; i < ROWS_AT_ONCE; ++i) {
      if (row + i == tile) UNROLL
      for (u32 d = 0; d < 8; ++d) earlier[d] = sum[d];
      if (row + i < end) {
        ADD_QUAD(sum, counts[i])
      }
    }
  }
  if (end <= tile) UNROLL
  for (u32 d = 0; d < 8; ++d) earlier[d] = sum[d];
  LOCAL u32* to = &sums[team * RADIX + 8 * quad];
  PUT_QUAD(to, earlier, 0)
  PUT_QUAD(to + 4, earlier, 4)
  PUT_QUAD(to + ROW_TEAMS * RADIX, sum, 0)
  PUT_QUAD(to + ROW_TEAMS * RADIX + 4, sum, 4)
  barrier_local();
  u32 in_earlier = 0, in_all = 0;
  if (t < RADIX) UNROLL
  for (u32 q = 0; q < ROW_TEAMS; ++q) {
    in_earlier += sums[q * RADIX + t];
    in_all += sums[(ROW_TEAMS + q) * RADIX + t];
  }
  *before = in_earlier;
  return in_all;
}
