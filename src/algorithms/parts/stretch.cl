// "Order" is short for a key's order bits. Keys whose orders lie in a narrow range agree in their
// leading bits, so a partition by leading bits uses few of its buckets. Therefore such keys are
// *stretched*: each is replaced by the key whose order is
//
//   (order - least) << up
//
// The stretched keys sort as the keys do, they differ in their leading bits, and they can be turned
// back. Only integers that are compared by all bits are stretched. msd_count chooses `least` and
// `up` (msd_samples.cl); kernel files that use them are compiled with this file in front of them.

PARAMETER(STRETCHES)  // 1: keys may be stretched

typedef struct {
  ukey_t least;
  u32 up;
  u32 more;  // a bucket's number has so many bits more than without stretching
} stretch_t;

#if STRETCHES
#define STRETCH_WORDS \
  4u  // of a stretch_t in global memory; all of them 0 if keys are not stretched
INLINE void load_stretch(GLOBAL const u32* words, stretch_t* s) {
  s->up = words[0];
  s->more = words[1];
  s->least = (ukey_t)words[2];
#if KEY_BITS == 64
  s->least |= (ukey_t)words[3] << 32;
#endif
}
INLINE void store_stretch(GLOBAL u32* words, stretch_t s) {
  words[0] = s.up;
  words[1] = s.more;
  words[2] = (u32)s.least;
#if KEY_BITS == 64
  words[3] = (u32)(s.least >> 32);
#endif
}

INLINE u32 is_stretched(stretch_t s) { return s.up != 0 || s.more != 0; }

INLINE ukey_t stretched_order(stretch_t s, ukey_t key) {
  return (ukey_t)((ukey_t)(key_order(key) - s.least) << s.up);
}
// Returns 1 if the key can be stretched: its order is in the range of width 2^(KEY_BITS - up) from
// `least` on.
INLINE u32 in_stretch(stretch_t s, ukey_t key) {
  return (ukey_t)(key_order(key) - s.least) <= (ukey_t)((ukey_t) ~(ukey_t)0 >> s.up);
}
INLINE ukey_t stretched_key(stretch_t s, ukey_t key) {
  return key_of_order(stretched_order(s, key));
}
// The inverse of stretched_key.
INLINE ukey_t unstretched_key(stretch_t s, ukey_t key) {
  return key_of_order((ukey_t)((key_order(key) >> s.up) + s.least));
}
#endif
