// The type of the units that kernels move.
//
PARAMETER(UNIT_BYTES)  // bytes of a unit: 1, 2, 4, 8, 16

#if UNIT_BYTES == 16
typedef uint4 unit_t;
#elif UNIT_BYTES == 8
typedef u64 unit_t;
#elif UNIT_BYTES == 4
typedef u32 unit_t;
#elif UNIT_BYTES == 2
typedef u16 unit_t;
#else
typedef u8 unit_t;
#endif
