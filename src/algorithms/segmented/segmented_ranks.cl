// Shared by segmented's kernels: the ranks of keys.

// A key's rank: the compared bits of its order. Kernels have the parameters begin_bit and
// rank_mask.
#define RANK(key) ((ukey_t)((key_order(key) >> begin_bit) & (ukey_t)rank_mask))

// Sets words[0] and, for 8-byte keys, words[1] to the OR of all work-items' x. They must be 0
// before; a barrier must follow.
INLINE void or_bits(LOCAL u32* words, ukey_t x) {
  wg_or(&words[0], (u32)x);
#if KEY_BITS == 64
  wg_or(&words[1], (u32)(x >> 32));
#endif
}
INLINE ukey_t ored_bits(LOCAL const u32* words) {
#if KEY_BITS == 64
  return words[0] | (ukey_t)words[1] << 32;
#else
  return (ukey_t)words[0];
#endif
}
