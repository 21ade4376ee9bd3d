// How a work-group sorts a tile by digit: each sub-group ranks its records (sg_rank), then the
// tile's counts are scanned. Kernel files that sort tiles so are compiled with this file in front
// of them.

PARAMETER(WG)          // work-items of a work-group, a power of two
PARAMETER(ITEMS)       // records of a work-item in a tile
PARAMETER(DIGIT_BITS)  // bits of a digit

#define RADIX (1u << DIGIT_BITS)
#define TILE (WG * ITEMS)
#define SUB_GROUPS (WG / SG_LANES)
#define BINS (RADIX + 1)  // the last bin: positions past the part's end
#define RANK_WORDS SG_RANK_WORDS(BINS)
#define BINS_PER_ITEM ((RADIX + WG - 1) / WG)
#define SCAN_WIDTH (WG < RADIX ? WG : RADIX)

// Replaces a bin's counts, one for each sub-group, by the positions where the sub-groups' records
// of the bin begin. The first sub-group's begin at `at`. Returns where the bin ends.
INLINE index_t start_of_sub_groups(LOCAL u32* ranks, u32 bin, index_t at) {
  for (u32 s = 0; s < SUB_GROUPS; ++s) {
    const u32 count = ranks[s * RANK_WORDS + bin];
    ranks[s * RANK_WORDS + bin] = (u32)at;
    at += count;
  }
  return at;
}

// Scans a tile's counts over digits and, within a digit, over sub-groups. Replaces the counts in
// `ranks` by positions in the sorted tile of `count` records. Stores in to_out[digit] what to add
// to such a position to get the position in the output.
INLINE void scan_tile(LOCAL u32* ranks, LOCAL index_t* next, LOCAL index_t* to_out,
                      LOCAL index_t* scratch, u32 count) {
  const u32 t = local_id();
  index_t mine = 0, all;
  for (u32 b = t * BINS_PER_ITEM; b < (t + 1) * BINS_PER_ITEM && b < RADIX; ++b)
    for (u32 s = 0; s < SUB_GROUPS; ++s) mine += ranks[s * RANK_WORDS + b];
  index_t at_bin = wg_scan_add(scratch, SCAN_WIDTH, mine, &all);
  for (u32 b = t * BINS_PER_ITEM; b < (t + 1) * BINS_PER_ITEM && b < RADIX; ++b) {
    const index_t bin_start = at_bin;
    at_bin = start_of_sub_groups(ranks, b, at_bin);
    to_out[b] = next[b] - bin_start;
    next[b] += at_bin - bin_start;
  }
  if (t == 0) start_of_sub_groups(ranks, RADIX, count);
  barrier_local();
}
