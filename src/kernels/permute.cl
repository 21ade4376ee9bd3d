// Moves the elements of an array by positions: a gather or a scatter.
//
PARAMETER(WG)          // work-items of a work-group
PARAMETER(UNIT_BYTES)  // bytes moved at once: 1, 2, 4, 8, 16; divides the element's size
PARAMETER(ONE_UNIT)    // 1: a unit is a whole element
PARAMETER(SCATTER)     // 1: scatter; 0: gather
PARAMETER(PLACES)      // elements to move: ALL_PLACES, COUNTED_PLACES, PLACES_OF_SEGMENTS

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

// Moves n units of UNIT_BYTES bytes. An element has `units` units (one, if ONE_UNIT is 1).
// Neighbouring work-items move neighbouring units, also at the boundary of two elements. PLACES
// tells which elements are moved.
#define ALL_PLACES 0
#define COUNTED_PLACES 1  // the first *places elements
#define PLACES_OF_SEGMENTS \
  2  // the first `limit` of each segment, or all of a shorter one; `places` and `length` tell where
     // segments begin (OFFSET)
KERNEL(WG)
void records_permute(GLOBAL const unit_t* in, GLOBAL const value_t* positions, GLOBAL unit_t* out,
                     GLOBAL const offset_t* places, u64 n, u32 units, u64 limit, u64 length) {
#if PLACES == COUNTED_PLACES
  const index_t end = (index_t)((u64)*places * units);
#else
  const index_t end = (index_t)n;
#endif
  const index_t items = (index_t)group_count() * WG;
  for (index_t i = (index_t)group_id() * WG + local_id(); i < end; i += items) {
#if ONE_UNIT
    const index_t element = i;
#else
    const index_t element = i / units;
#endif
#if PLACES == PLACES_OF_SEGMENTS
    const u64 segment = element / limit;
    if (element - segment * limit >=
        OFFSET(places, length, segment + 1) - OFFSET(places, length, segment))
      continue;
#endif
#if ONE_UNIT
    const u64 other = positions[element];
#else
    const u64 other = (u64)positions[element] * units + (i - element * units);
#endif
#if SCATTER
    out[other] = in[i];
#else
    out[i] = in[other];
#endif
  }
}
