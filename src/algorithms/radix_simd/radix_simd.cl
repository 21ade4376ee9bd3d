// Document 001's radix sort. A sub-group acts as one SIMD thread. It has a chunk of CHUNK keys and
// processes SG_LANES of them at a time. Lanes past the end of the list neither count nor write. A
// sub-group whose whole chunk is past the end still executes all steps, because every work-item
// must call the sub-group functions.

PARAMETER(WG)          // work-items of a work-group
PARAMETER(DIGIT_BITS)  // bits of a digit

#define RADIX (1u << DIGIT_BITS)
#define CHUNK 256u
#define CHUNK_OF_SUB_GROUP ((u64)group_id() * (WG / SG_LANES) + sg_index())

// Stores counts[bin * chunks + chunk]. A word holds two counters of 16 bits, which suffice because
// no count exceeds CHUNK.
KERNEL(WG)
void radix_simd_count(GLOBAL const ukey_t* keys, GLOBAL index_t* counts, u64 n, u64 chunks,
                      u32 shift, u32 mask) {
  SUB_GROUP(WG);
  const u64 chunk = CHUNK_OF_SUB_GROUP;
  const u32 lane = sg_lane();
  u32 counters[RADIX / 2];
  UNROLL
  for (u32 c = 0; c < RADIX / 2; ++c) counters[c] = 0;

  // Count: each lane counts its own keys.
  for (u32 i = 0; i < CHUNK; i += SG_LANES) {
    const u64 at = chunk * CHUNK + i + lane;
    const ukey_t key = keys[min(at, n - 1)];
    const u32 bin = at < n ? key_digit(key, shift, mask) : RADIX;
    UNROLL
    for (u32 c = 0; c < RADIX / 2; ++c) counters[c] += (bin / 2 == c ? 1u : 0u) << bin % 2 * 16;
  }

  // Sum over the lanes by a butterfly of shuffles: every lane receives the sums.
  for (u32 distance = SG_LANES / 2; distance > 0; distance /= 2) UNROLL
  for (u32 c = 0; c < RADIX / 2; ++c) counters[c] += sg_shuffle(sg, counters[c], lane ^ distance);

  UNROLL
  for (u32 bin = 0; bin < RADIX; ++bin)
    if (lane == bin % SG_LANES && chunk < chunks)
      counts[bin * chunks + chunk] = counters[bin / 2] >> bin % 2 * 16 & 0xffff;
}

// Scatters each chunk. starts[bin * chunks + chunk] is where the chunk's first record of the bin
// goes.
KERNEL(WG)
void radix_simd_bin(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                    GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                    GLOBAL const index_t* starts, u64 n, u64 chunks, u32 shift, u32 mask) {
  SUB_GROUP(WG);
  const u64 chunk = CHUNK_OF_SUB_GROUP;
  const u32 lane = sg_lane();
  const u32 lanes_before = (1u << lane) - 1;
  index_t next[RADIX];
  UNROLL
  for (u32 bin = 0; bin < RADIX; ++bin) next[bin] = starts[bin * chunks + min(chunk, chunks - 1)];

  for (u32 i = 0; i < CHUNK; i += SG_LANES) {
    const u64 at = chunk * CHUNK + i + lane;
    const record_t mine = load_record(keys_in, values_in, min(at, n - 1));
    const u32 my_bin = key_digit(mine.key, shift, mask);

    // The mask of the lanes with this lane's bin, from one ballot for each bit. Within a bin, lower
    // lanes come first.
    const u32 there = sg_ballot(sg, at < n);
    u32 bit_set[DIGIT_BITS];
    UNROLL
    for (u32 bit = 0; bit < DIGIT_BITS; ++bit) bit_set[bit] = sg_ballot(sg, my_bin >> bit & 1);
    index_t to = 0;
    UNROLL
    for (u32 bin = 0; bin < RADIX; ++bin) {
      u32 lanes = there;
      UNROLL
      for (u32 bit = 0; bit < DIGIT_BITS; ++bit)
        lanes &= (bin >> bit & 1) != 0 ? bit_set[bit] : ~bit_set[bit];
      to = my_bin == bin ? next[bin] + popcount32(lanes & lanes_before) : to;
      next[bin] += popcount32(lanes);
    }

    // Scatter.
    if (at < n) store_record(keys_out, values_out, to, mine);
  }
}
