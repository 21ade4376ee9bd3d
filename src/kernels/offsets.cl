// The offsets of segments.
//
PARAMETER(OFFSET_BITS)  // bits of an offset: 32 or 64

#if OFFSET_BITS == 64
typedef u64 offset_t;
#else
typedef u32 offset_t;
#endif
