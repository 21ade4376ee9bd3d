// Odd-even transposition: in even rounds the records 0-1, 2-3, … are compared and exchanged, in odd rounds 1-2, 3-4, …
// N rounds sort N records. Records change places only where the left one is strictly greater: stable.
// Parameters: WG (work-items), ROUNDS (rounds of a launch of odd_even_blocks, at most).

// One round, whose first pair begins at record 0, or with `odd` at record 1. A record without a neighbour to compare
// with, at either end, is its own neighbour: it is copied.
KERNEL(WG) void odd_even_round(GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                               GLOBAL value_t *values_out, u64 n, u32 odd) {
  const u64 right = 2 * ((u64)group_id() * WG + local_id()) + 1 - odd;
  if (right > n) return;
  const u64 a = right == 0 ? 0 : right - 1, b = min(right, n - 1);
  record_t x = load_record(keys_in, values_in, a), y = load_record(keys_in, values_in, b);
  compare_exchange(&x, &y, 0, 1);
  store_record(keys_out, values_out, a, x);
  store_record(keys_out, values_out, b, y);
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
  LOCAL_ARRAY(ukey_t, keys, TILE);
#if VALUE_BYTES
  LOCAL_ARRAY(value_t, values, TILE);
#endif

  // Load.
  const u64 block = (u64)group_id() * BLOCK;
  const u64 first = block < ROUNDS ? 0 : block - ROUNDS;
  const u32 count = (u32)min(n - first, (u64)TILE);
  for (u32 p = local_id(); p < count; p += WG) {
    const record_t r = load_record(keys_in, values_in, first + p);
    keys[place_in_tile(p)] = r.key;
#if VALUE_BYTES
    values[place_in_tile(p)] = r.value;
#endif
  }
  barrier_local();

  // Rounds.
  for (u32 round = 0; round < rounds; ++round) {
    const u32 skip = (odd + round + (u32)first) & 1;  // the tile's first pair begins at its record 0 or 1
    const u32 pairs = (count - skip) / 2;
    for (u32 p = local_id(); p < pairs; p += WG) {
      const u32 a = place_in_tile(skip), b = place_in_tile(skip + 1);
      record_t x = {keys[a + p], 0}, y = {keys[b + p], 0};
#if VALUE_BYTES
      x.value = values[a + p];
      y.value = values[b + p];
#endif
      compare_exchange(&x, &y, 0, 1);
      keys[a + p] = x.key;
      keys[b + p] = y.key;
#if VALUE_BYTES
      values[a + p] = x.value;
      values[b + p] = y.value;
#endif
    }
    barrier_local();
  }

  // Store the block.
  const u32 begin = (u32)(block - first);
  const u32 end = min(begin + BLOCK, count);
  for (u32 p = begin + local_id(); p < end; p += WG) {
    record_t r = {keys[place_in_tile(p)], 0};
#if VALUE_BYTES
    r.value = values[place_in_tile(p)];
#endif
    store_record(keys_out, values_out, first + p, r);
  }
}
