// Where segments begin.

PARAMETER(OFFSET_BITS)  // bits of an offset: 32 or 64; 0: segments are of equal length, without
                        // offsets

#if OFFSET_BITS == 64
typedef u64 offset_t;
#else
typedef u32 offset_t;
#endif

// Where segment s begins. `length` is that of each segment if there are no offsets.
#if OFFSET_BITS == 0
#define OFFSET(offsets, length, s) ((u64)(s) * (length))
#else
#define OFFSET(offsets, length, s) ((u64)(offsets)[s])
#endif
