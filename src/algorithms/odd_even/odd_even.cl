// Odd-even transposition: in even rounds the records 0-1, 2-3, … are compared and exchanged, in odd rounds 1-2, 3-4, …
// N rounds sort N records. Records change places only where the left one is strictly greater: stable.
// Parameters: WG (work-items), ROUNDS (rounds of a launch of odd_even_blocks, at most).

// One round, whose first pair begins at record 0, or with `odd` at record 1. A record without a neighbour to compare
// with, at either end, is its own neighbour: it is copied.
KERNEL(WG) void odd_even_round(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                               GLOBAL value_t *values_out, u64 n, u32 odd) {
  const u64 right = 2 * ((u64)group_id() * WG + local_id()) + 1 - odd;
  if (right > n) return;
  const u64 at_a = right == 0 ? 0 : right - 1, at_b = min(right, n - 1);
  record_t a = load_record(keys_in, values_in, at_a), b = load_record(keys_in, values_in, at_b);
  compare_exchange(&a, &b, 0, 1);
  store_record(keys_out, values_out, at_a, a);
  store_record(keys_out, values_out, at_b, b);
}

// Many rounds in local memory. A work-group is in charge of a block of 2 * ROUNDS records. What a round makes of a
// record depends on its neighbours only, so that after ROUNDS rounds the block is right if another ROUNDS records on
// either side of it took part: the halo, which goes wrong from its outer ends inwards, one record a round.
#define BLOCK (2 * ROUNDS)
#define TILE (4 * ROUNDS)  // the block and its halo
#define HALF (2 * ROUNDS)

// Where a tile's record p lies: the even ones in the first half, the odd ones in the second, so that work-items that
// exchange neighbouring pairs touch neighbouring addresses.
INLINE u32 place_in_tile(u32 p) { return p / 2 + (p % 2) * HALF; }

KERNEL(WG) void odd_even_blocks(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                                GLOBAL value_t *values_out, u64 n, u32 rounds, u32 odd) {
  LOCAL_RECORDS(tile, TILE);

  // Load.
  const u64 block = (u64)group_id() * BLOCK;
  const u64 first = block < ROUNDS ? 0 : block - ROUNDS;
  const u32 count = (u32)min(n - first, (u64)TILE);
  for (u32 p = local_id(); p < count; p += WG)
    put_record(tile_keys, tile_values, place_in_tile(p), load_record(keys_in, values_in, first + p));
  barrier_local();

  // Rounds.
  for (u32 round = 0; round < rounds; ++round) {
    const u32 skip = (odd + round + (u32)first) & 1;  // the tile's first pair begins at its record 0 or 1
    const u32 pairs = (count - skip) / 2;
    const u32 left = place_in_tile(skip), right = place_in_tile(skip + 1);
    for (u32 p = local_id(); p < pairs; p += WG) {
      record_t a = get_record(tile_keys, tile_values, left + p), b = get_record(tile_keys, tile_values, right + p);
      compare_exchange(&a, &b, 0, 1);
      put_record(tile_keys, tile_values, left + p, a);
      put_record(tile_keys, tile_values, right + p, b);
    }
    barrier_local();
  }

  // Store the block.
  const u32 begin = (u32)(block - first);
  const u32 end = min(begin + BLOCK, count);
  for (u32 p = begin + local_id(); p < end; p += WG)
    store_record(keys_out, values_out, first + p, get_record(tile_keys, tile_values, place_in_tile(p)));
}
