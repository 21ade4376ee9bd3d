// Odd-even transposition, many rounds in a launch. A work-group sorts a block of 2 * ROUNDS records
// and a halo of ROUNDS records on either side. In a round a record depends on its neighbours only.
// The outermost records of the halo lack a neighbour. So in each round one more record at either
// end of the halo may become wrong, and the block stays correct for ROUNDS rounds.

PARAMETER(WG)      // work-items of a work-group
PARAMETER(ROUNDS)  // rounds of a launch; the last launch may have fewer

#define BLOCK (2 * ROUNDS)
#define TILE (4 * ROUNDS)  // the block and its halo
#define HALF (2 * ROUNDS)

// Returns the index of record p in the tile. Even records are in the first half and odd ones in the
// second, so that neighbouring work-items access neighbouring addresses.
INLINE u32 place_in_tile(u32 p) { return p / 2 + (p % 2) * HALF; }

KERNEL(WG)
void odd_even_blocks(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                     GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u32 rounds,
                     u32 odd) {
  LOCAL_RECORDS(tile, TILE);

  // Load.
  const u64 block = (u64)group_id() * BLOCK;
  const u64 first = block - (block == 0 ? 0 : ROUNDS);
  const u32 count = (u32)min(n - first, (u64)TILE);
  for (u32 p = local_id(); p < count; p += WG)
    put_record(tile_keys, tile_values, place_in_tile(p),
               load_record(keys_in, values_in, first + p));
  barrier_local();

  // Rounds.
  for (u32 round = 0; round < rounds; ++round) {
    const u32 skip =
        (odd + round + (u32)first) & 1;  // the tile's first pair begins at its record 0 or 1
    const u32 pairs = (count - skip) / 2;
    const u32 left = place_in_tile(skip), right = place_in_tile(skip + 1);
    for (u32 p = local_id(); p < pairs; p += WG) {
      record_t a = get_record(tile_keys, tile_values, left + p),
               b = get_record(tile_keys, tile_values, right + p);
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
    store_record(keys_out, values_out, first + p,
                 get_record(tile_keys, tile_values, place_in_tile(p)));
}
