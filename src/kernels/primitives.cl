// What the rooms share: key order, digits, records, scan, and ranking in a sub-group.

#if INDEX_BITS == 64
typedef u64 index_t;  // a position among the records
#else
typedef u32 index_t;
#endif

// Keys are moved and stored as raw bits, never as floating-point numbers: NaN payloads and denormals survive.
#if KEY_BITS == 64
typedef u64 ukey_t;
#define KEY_SIGN 0x8000000000000000UL
#define KEY_INFINITY 0x7ff0000000000000UL
#else
typedef u32 ukey_t;
#define KEY_SIGN 0x80000000u
#define KEY_INFINITY 0x7f800000u
#endif

#if VALUE_BYTES == 8
typedef u64 value_t;
#else
typedef u32 value_t;
#endif

// The unsigned number that decides a key's place: the same map as sortium::order_bits.
INLINE ukey_t key_order(ukey_t key) {
#if KEY_SIGNED
  key ^= KEY_SIGN;
#elif KEY_FLOAT
  const ukey_t magnitude = key & ~KEY_SIGN;
  if (magnitude > KEY_INFINITY) return ~(ukey_t)0;
  if (magnitude == 0) key = 0;
  key = (key & KEY_SIGN) ? ~key : key | KEY_SIGN;
#endif
#if KEY_DESCENDING
  key = ~key;
#endif
  return key;
}

INLINE u32 key_digit(ukey_t key, u32 shift, u32 mask) { return (u32)(key_order(key) >> shift) & mask; }

// For sorts by comparison: what two keys are compared by. ORDER_SHIFT and ORDER_BITS are the problem's bit range.
INLINE ukey_t key_rank(ukey_t key) {
#if ORDER_BITS == KEY_BITS
  return key_order(key);
#else
  return key_order(key) >> ORDER_SHIFT & (((ukey_t)1 << ORDER_BITS) - 1);
#endif
}

// A key and what moves with it. Keys alone: value is 0 and costs nothing.
typedef struct {
  ukey_t key;
  value_t value;
} record_t;

INLINE record_t load_record(GLOBAL const ukey_t *keys, GLOBAL const value_t *values, u64 i) {
  record_t r;
  r.key = keys[i];
#if VALUE_BYTES
  r.value = values ? values[i] : (value_t)i;  // no values: an argsort's positions
#else
  r.value = 0;
#endif
  return r;
}

INLINE void store_record(GLOBAL ukey_t *keys, GLOBAL value_t *values, u64 i, record_t r) {
  if (keys) keys[i] = r.key;  // no keys: an argsort that does not want them
#if VALUE_BYTES
  values[i] = r.value;
#endif
}

// Exclusive sum of `x` over the work-group's first `count` work-items, in the order of their ids; `*total` gets
// the whole. `scratch` has 2 * count words. Every work-item must call it; it begins and ends with a barrier.
INLINE index_t wg_scan_add(LOCAL index_t *scratch, u32 count, index_t x, index_t *total) {
  const u32 t = local_id();
  u32 from = 0;
  if (t < count) scratch[t] = x;
  barrier_local();
  for (u32 distance = 1; distance < count; distance *= 2) {
    if (t < count)
      scratch[(from ^ count) + t] = scratch[from + t] + (t >= distance ? scratch[from + t - distance] : 0);
    from ^= count;
    barrier_local();
  }
  const index_t inclusive = t < count ? scratch[from + t] : 0;
  *total = scratch[from + count - 1];
  barrier_local();
  return t < count ? inclusive - x : 0;
}

// The place of this lane's record among those of its sub-group that have the same bin and came before it; the bin's
// count in `counts` grows by all of them. `masks` and `counts` are the sub-group's own; masks are 0 before and after.
INLINE u32 sg_rank(volatile LOCAL u32 *masks, volatile LOCAL u32 *counts, u32 bin) {
  const u32 lane = sg_lane();
  local_or((LOCAL u32 *)&masks[bin], 1u << lane);
  sg_barrier();
  const u32 same = masks[bin];
  const u32 before = counts[bin];
  sg_barrier();
  if (same >> lane == 1) {  // the last lane of the bin speaks for all of it
    counts[bin] = before + popcount32(same);
    masks[bin] = 0;
  }
  sg_barrier();
  return before + popcount32(same & ((1u << lane) - 1));
}
