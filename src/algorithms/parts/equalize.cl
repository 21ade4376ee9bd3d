// 32-bit integers that do not spread by their leading bits may be *equalized*, as the histogram of
// a picture may be. Samples choose buckets of different widths that hold about equally many keys
// (msd_make_equalizer.cl). The first pass of a partition replaces each key by its equalized key,
// and the local sort restores the keys. Kernel files that equalize keys are compiled with this file
// in front of them.
//
// "Order" is short for a key's order bits. The cells are EQUALIZER_CELLS ranges of 2^log2_cell
// orders, next to each other, that contain all samples but outliers. All orders of a cell are in
// buckets of 2^s orders. The orders below and above the cells are in buckets of 2^DISTANCE_BITS
// orders, the largest width. Bucket numbers ascend with the orders. An equalized key's order is
//
//   | lower bits of the bucket's number | DISTANCE_BITS: distance from the bucket's first order |
//
// The missing HIDDEN_BITS of the number are the upper bits of the first pass's digit, so after that
// pass they follow from where the key is stored. The second pass takes its digit from the key.

PARAMETER(EQUALIZES)       // 1: keys may be equalized
PARAMETER(EQUALIZED_BITS)  // log2 of the number of buckets, from 10 to 16

#if EQUALIZES
#define EQUALIZER_CELLS 1024u
#define EQUALIZER_ENTRIES (EQUALIZER_CELLS + 2)
#define EQUALIZED_BUCKETS (1u << EQUALIZED_BITS)
#define HIDDEN_BITS 2
#define DISTANCE_BITS (32 + HIDDEN_BITS - EQUALIZED_BITS)
#define DISTANCE_OF(equalized) ((equalized) & ((1u << DISTANCE_BITS) - 1))
#define KEY_IN_BUCKET(bucket) ((bucket) << DISTANCE_BITS)

// An order's entry is at index min(max(order >> log2_cell, least), most) - least. The entries are:
// one for the orders below the cells, unless there are none; the cells; one for those above.
typedef struct {
  u32 log2_cell, least, most;
} cells_t;

// In global memory: log2_cell, least, most, the number of buckets in use, and the entries.
#define EQUALIZER_HEAD 4u
#define EQUALIZER_USED 3u

INLINE u32 entry_of_order(cells_t cells, u32 order) {
  return min(max(order >> cells.log2_cell, cells.least), cells.most) - cells.least;
}
// An entry has s in its lowest 8 bits and above them, modulo 2^24, the number of its first bucket
// minus the number of buckets of 2^s orders before it. Returns the bucket's number in the lower 16
// bits, and other bits.
INLINE u32 bucket_by_entry(u32 entry, u32 order) { return (entry >> 8) + (order >> (entry & 31)); }
// Returns the equalized order without the bits of the bucket's number.
INLINE u32 distance_by_entry(u32 entry, u32 order) { return order & ~(~0u << (entry & 31)); }

INLINE cells_t load_cells(GLOBAL const u32* equalizer) {
  cells_t cells;
  cells.log2_cell = equalizer[0], cells.least = equalizer[1], cells.most = equalizer[2];
  return cells;
}
#endif
