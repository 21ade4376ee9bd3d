// Batcher's bitonic network inside tiles of neighbouring records. One work-group handles all
// distances below a tile's length by itself. Stage s (0, 1, …) makes sorted sequences of 2^(s+1)
// records by comparing at the distances 2^s … 1. The first launch reads the input and writes the
// output.

PARAMETER(WG)        // work-items of a work-group
PARAMETER(RECORDS)   // records of a work-item: 2 for the C2 kernels, 4 for C4
PARAMETER(LOG_TILE)  // base-2 logarithm of the tile, which has RECORDS * WG records

#define TILE (RECORDS * WG)
#define RECORDS_IN GLOBAL const ukey_t *keys_in, GLOBAL const value_t *values_in
#define RECORDS_OUT GLOBAL ukey_t *keys_out, GLOBAL value_t *values_out

// This work-group's tile: its first record, and its number of records.
#define TILE_OF_GROUP                       \
  const u64 begin = (u64)group_id() * TILE; \
  const u32 count = (u32)min(n - begin, (u64)TILE)

// The number of a stage's distances that are smaller than the tile.
#define DISTANCES(stage) min((stage) + 1, (u32)LOG_TILE)

// Returns the place in the tile of a work-item's first record: its id with `zeros` zero bits
// inserted at `bit`.
INLINE u32 spread(u32 bit, u32 zeros) {
  const u32 low = local_id() & ((1u << bit) - 1);
  return ((local_id() - low) << zeros) + low;
}

// Loads the tile into local memory. Past the end of the list, work-items load the tile's last
// record again. Because keys_out may be keys_in, a barrier for global memory must come before the
// tile is written back.
INLINE void load_tile(RECORDS_IN, LOCAL ukey_t* tile_keys, LOCAL value_t* tile_values, u64 begin,
                      u32 count) {
  UNROLL
  for (u32 k = 0; k < RECORDS; ++k) {
    const u32 i = k * WG + local_id();
    put_record(tile_keys, tile_values, i,
               load_record(keys_in, values_in, begin + min(i, count - 1)));
  }
  barrier_all();
}

INLINE void store_tile(RECORDS_OUT, LOCAL const ukey_t* tile_keys, LOCAL const value_t* tile_values,
                       u64 begin, u32 count) {
  UNROLL
  for (u32 k = 0; k < RECORDS; ++k) {
    const u32 i = k * WG + local_id();
    if (i < count)
      store_record(keys_out, values_out, begin + i, get_record(tile_keys, tile_values, i));
  }
}

#if RECORDS == 2
// C2pre: one comparator for each work-item. Between distances the records are in global memory.
KERNEL(WG)
void bitonic_c2pre(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                   GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u32 first_stage,
                   u32 last_stage) {
  TILE_OF_GROUP;
  GLOBAL const ukey_t* keys = keys_in;
  GLOBAL const value_t* values = values_in;
  for (u32 stage = first_stage; stage <= last_stage; ++stage)
    for (u32 step = 0; step < DISTANCES(stage); ++step) {
      const u32 bit = DISTANCES(stage) - 1 - step;
      const u32 i = spread(bit, 1), j = i + (1u << bit);
      record_t x = load_record(keys, values, begin + min(i, count - 1));
      record_t y = load_record(keys, values, begin + min(j, count - 1));
      compare_exchange(&x, &y, bitonic_reverse(begin + i, n, (u64)2 << stage), j < count);
      barrier_all();  // as in load_tile
      if (i < count) store_record(keys_out, values_out, begin + i, x);
      if (j < count) store_record(keys_out, values_out, begin + j, y);
      barrier_all();
      keys = keys_out;
      values = values_out;
    }
}

// C2: as C2pre, but between distances the records are in local memory.
KERNEL(WG)
void bitonic_c2(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u32 first_stage,
                u32 last_stage) {
  LOCAL_RECORDS(tile, TILE);
  TILE_OF_GROUP;
  load_tile(keys_in, values_in, tile_keys, tile_values, begin, count);
  for (u32 stage = first_stage; stage <= last_stage; ++stage)
    for (u32 step = 0; step < DISTANCES(stage); ++step) {
      const u32 bit = DISTANCES(stage) - 1 - step;
      const u32 i = spread(bit, 1), j = i + (1u << bit);
      record_t x = get_record(tile_keys, tile_values, i), y = get_record(tile_keys, tile_values, j);
      compare_exchange(&x, &y, bitonic_reverse(begin + i, n, (u64)2 << stage), j < count);
      put_record(tile_keys, tile_values, i, x);
      put_record(tile_keys, tile_values, j, y);
      barrier_local();
    }
  store_tile(keys_out, values_out, tile_keys, tile_values, begin, count);
}
#endif

#if RECORDS == 4
// C4: a work-item holds four records and handles two distances among them: the two largest of the
// `left` remaining ones, or only the last one if `left` is odd. The records come from the tile or
// from the input.
INLINE void order_four(RECORDS_IN, LOCAL ukey_t* tile_keys, LOCAL value_t* tile_values, u64 begin,
                       u32 count, u64 n, u32 stage, u32 left, u32 from_input) {
  const u32 bit = left > 1 ? left - 2 : 0;
  const u32 first = spread(bit, 2);
  record_t x[4];
  u32 at[4], there[4], reverse[4];
  UNROLL
  for (u32 k = 0; k < 4; ++k) {
    at[k] = first + (k << bit);
    there[k] = at[k] < count;
    reverse[k] = bitonic_reverse(begin + at[k], n, (u64)2 << stage);
    x[k] = from_input ? load_record(keys_in, values_in, begin + min(at[k], count - 1))
                      : get_record(tile_keys, tile_values, at[k]);
  }
  if (left > 1) {
    compare_exchange(&x[0], &x[2], reverse[0], there[2]);
    compare_exchange(&x[1], &x[3], reverse[1], there[3]);
  }
  compare_exchange(&x[0], &x[1], reverse[0], there[1]);
  compare_exchange(&x[2], &x[3], reverse[2], there[3]);
  UNROLL
  for (u32 k = 0; k < 4; ++k) put_record(tile_keys, tile_values, at[k], x[k]);
}

// Handles, in several stages, all distances below a tile's length.
KERNEL(WG)
void bitonic_c4(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u32 first_stage,
                u32 last_stage) {
  LOCAL_RECORDS(tile, TILE);
  TILE_OF_GROUP;
  load_tile(keys_in, values_in, tile_keys, tile_values, begin, count);
  for (u32 stage = first_stage; stage <= last_stage; ++stage)
    for (u32 done = 0; done < DISTANCES(stage); done += 2) {
      order_four(keys_in, values_in, tile_keys, tile_values, begin, count, n, stage,
                 DISTANCES(stage) - done, 0);
      barrier_local();
    }
  store_tile(keys_out, values_out, tile_keys, tile_values, begin, count);
}

// Handles the end of one large stage, without a loop: all distances from half a tile to 1.
KERNEL(WG)
void bitonic_c4_last(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                     GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out, u64 n, u32 stage) {
  LOCAL_RECORDS(tile, TILE);
  TILE_OF_GROUP;
  UNROLL
  for (u32 done = 0; done < LOG_TILE; done += 2) {
    order_four(keys_in, values_in, tile_keys, tile_values, begin, count, n, stage, LOG_TILE - done,
               done == 0);
    barrier_all();  // the first one also for global memory: see load_tile
  }
  store_tile(keys_out, values_out, tile_keys, tile_values, begin, count);
}
#endif
