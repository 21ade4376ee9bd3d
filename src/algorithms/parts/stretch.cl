// "Order" is short for a key's order bits. Keys whose orders lie in a narrow range agree in their
// leading bits, so a partition by leading bits uses few of its buckets. Therefore such keys are
// *stretched*: the range, which begins at `least`, is scaled to all orders. Each key is replaced by
// the key whose order is
//
//   32 bits:  floor((order - least) * scale), where the scale is 2^32 / width of the range, rounded
//             down to 32 fraction bits
//   64 bits:  shifted + part * (upper half of shifted), where shifted is (order - least) << up.
//             The shift fills at least half of all orders, and the product the rest: nearly a
//             product by 2^64 / width, without numbers of 128 bits
//
// The scale is at least 1, so stretching keeps the order and can be inverted. Stretched keys differ
// in their leading bits. Only integers that are compared by all bits are stretched. msd_count
// chooses the range (msd_verdict.cl); kernel files that use it are compiled with this file in front
// of them.

PARAMETER(STRETCHES)  // 1: keys may be stretched

typedef struct {
  ukey_t least;
  ukey_t last;  // distance of the range's last order from its first one
#if KEY_BITS == 64
  u32 up, part, inverse;  // inverse: (2^64 - 1) / (2^32 + part)
#else
  u32 times, part;  // the scale is times + part / 2^32
#endif
  u32 is;  // 1: keys are stretched
} stretch_t;

#if STRETCHES
// The number of 32-bit words of a stretch_t in global memory. They are all 0 if keys are not
// stretched.
#define STRETCH_WORDS 8u
INLINE void load_stretch(GLOBAL const u32* words, stretch_t* s) {
  s->is = words[0];
  s->part = words[1];
  s->least = (ukey_t)words[2];
  s->last = (ukey_t)words[4];
#if KEY_BITS == 64
  s->least |= (ukey_t)words[3] << 32;
  s->last |= (ukey_t)words[5] << 32;
  s->up = words[6];
  s->inverse = words[7];
#else
  s->times = words[6];
#endif
}
INLINE void store_stretch(GLOBAL u32* words, stretch_t s) {
  words[0] = s.is;
  words[1] = s.part;
  words[2] = (u32)s.least;
  words[4] = (u32)s.last;
#if KEY_BITS == 64
  words[3] = (u32)(s.least >> 32);
  words[5] = (u32)(s.last >> 32);
  words[6] = s.up;
  words[7] = s.inverse;
#else
  words[6] = s.times;
#endif
}

// The stretched order of the order at this distance from the range's first one.
INLINE ukey_t scaled_up(stretch_t s, ukey_t distance) {
#if KEY_BITS == 64
  const u64 shifted = distance << s.up;
  return shifted + (shifted >> 32) * s.part;
#else
  return distance * s.times + (u32)((u64)distance * s.part >> 32);
#endif
}
// The inverse of scaled_up.
INLINE ukey_t scaled_down(stretch_t s, ukey_t order) {
#if KEY_BITS == 64
  // order = unit * upper + lower, where lower < 2^32 <= unit: the halves of `shifted`. The estimate
  // of the upper half is up to 2 too small, because the inverse is rounded down and the order's
  // lower half is left out.
  const u64 unit = ((u64)1 << 32) + s.part;
  u64 upper = (order >> 32) * s.inverse >> 32, lower = order - unit * upper;
  UNROLL
  for (u32 i = 0; i < 2; ++i) {
    const u32 more = lower >= unit ? 1u : 0u;
    upper += more;
    lower -= more ? unit : 0;
  }
  return (upper << 32 | lower) >> s.up;
#else
  // order * width / 2^32 is the distance or up to 2 less, because the scale and both products are
  // rounded down.
  ukey_t distance = (ukey_t)(((u64)order * s.last + order) >> 32);
  distance += scaled_up(s, distance) < order ? 1u : 0u;
  return distance + (scaled_up(s, distance) < order ? 1u : 0u);
#endif
}

INLINE ukey_t stretched_order(stretch_t s, ukey_t key) {
  return scaled_up(s, (ukey_t)(key_order(key) - s.least));
}
// Returns 1 if the key's order is in the range. Other keys cannot be stretched.
INLINE u32 in_stretch(stretch_t s, ukey_t key) {
  return (ukey_t)(key_order(key) - s.least) <= s.last;
}
INLINE ukey_t stretched_key(stretch_t s, ukey_t key) {
  return key_of_order(stretched_order(s, key));
}
// The inverse of stretched_key.
INLINE ukey_t unstretched_key(stretch_t s, ukey_t key) {
  return key_of_order((ukey_t)(scaled_down(s, key_order(key)) + s.least));
}
#endif
