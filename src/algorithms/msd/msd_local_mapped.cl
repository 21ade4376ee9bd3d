// msd, mapped keys (key_map.cl): a work-group sorts groups of neighbouring buckets in local memory
// by bins. Buckets are smaller than a local sort's capacity, so that they may be larger than
// planned. The files key_map.cl, bins.cl and bin_sort.cl come before this one.
//
// "Order" is short for a key's order bits. An item is what the work-group sorts: the distance of
// the key's order from the group's first one and, with COMPOSITE, the record's position in the
// group below it. Items use all their bits, so that they spread over all bins:
//
//   distance * scale (an odd number) | position (COMPOSITE), then zeros |

// Parameters in addition to those of key_map.cl and bin_sort.cl:
PARAMETER(RESIDENT)        // work-groups that share a compute unit
PARAMETER(VALUES_LATE)     // 1: values are loaded after the sort, into the items' memory
PARAMETER(JOINED)          // consecutive buckets that a work-group divides into groups, up to 32
PARAMETER(SHARES)          // so many work-groups share the groups of these buckets
PARAMETER(VERDICT_MAPPED)  // value of *skewed if keys are mapped; see msd_count
PARAMETER(VERDICT_LISTED)  // the same if some buckets are listed, too

// mapped_local_bytes() in msd_shape.cpp computes its size.
typedef struct {
#if VALUES_LATE
  union {
#else
  struct {
#endif
    bin_sort_t sort;
#if VALUE_BYTES
    value_t values[CAPACITY];
#endif
  } own;
  ukey_t bounds[JOINED + 1];  // the first order of each of the buckets, and of the next one
  u32 starts[JOINED + 1];     // index where each of the buckets begins, and the next one
  u32 ticket;
} msd_mapped_memory_t;

// How a group's items are made. The group's records have orders from `first` on.
typedef struct {
  ukey_t first;
  sort_t scale, inverse;        // scale * inverse is 1 modulo 2^SORT_BITS
  u32 low;                      // bits of an item below distance * scale
  u32 place_shift, place_mask;  // COMPOSITE: an item's position is (item >> shift) & mask
} items_t;

// Returns how to make the items of `count` records, at least 2, whose orders are at most
// `distance`, not 0, from the first one. With COMPOSITE, bits of `distance` and of `count` - 1 fit
// an item together.
INLINE items_t make_items(ukey_t first, ukey_t distance, u32 count) {
  items_t m;
  const u32 width = highest_bit(distance) + 1,
            place_bits = COMPOSITE ? highest_bit32(count - 1) + 1 : 0;
  // The scale is at most 2^SPARE, more than enough to use most bits.
#define SPARE 5u
  const u32 spare = min(SORT_BITS - width - min(SORT_BITS - width, place_bits), SPARE);
  m.low = SORT_BITS - width - spare;
  // The largest odd scale with distance * scale < 2^(width + spare). The quotient may be too small.
  const u32 leading = (u32)(width > 16 ? distance >> (width - 16) : distance << (16 - width)) + 1;
  const u32 most = (1u << (16 + spare)) / leading;
  m.scale = most <= 1 ? 1 : (most - 1) | 1;
  m.inverse = m.scale;  // right for the lowest 3 bits; each round doubles them
  UNROLL
  for (u32 round = 0; round < (SORT_BITS == 64 ? 5 : 4); ++round)
    m.inverse *= 2 - m.scale * m.inverse;
  m.first = first;
  m.place_shift = m.low - place_bits;
  m.place_mask = (1u << place_bits) - 1;
  return m;
}
#define DISTANCE_OF(item) ((ukey_t)(((item) >> m.low) * m.inverse))
#if COMPOSITE
#define PLACE_OF_RECORD(item) ((u32)((item) >> m.place_shift) & m.place_mask)
#define ITEM_OF(order, at) \
  ((sort_t)((order)-m.first) * m.scale << m.low | (sort_t)(at) << m.place_shift)
#else
#define ITEM_OF(order, at) ((sort_t)((order)-m.first) * m.scale << m.low)
#endif
#if VALUE_BYTES
#define LOAD_VALUE(at) mine->own.values[at] = values_in[at];
#define STORE_VALUE(at, item) values_out[at] = mine->own.values[PLACE_OF_RECORD(item)];
#else
#define LOAD_VALUE(at)
#define STORE_VALUE(at, item)
#endif
#if VALUES_LATE
#define LOAD_VALUE_EARLY(at)
#else
#define LOAD_VALUE_EARLY(at) LOAD_VALUE(at)
#endif
// Keys that tie but have different bits are loaded again after the sort.
#define RELOADS_TIES (COMPOSITE && KEY_FLOAT && (KEY_NAN != NAN_BITS || KEY_ZEROS == ZEROS_TIED))
#define TIES(order) (key_ties(key_of_order(order)) || (order) == key_order(0))

// Sorts a group of `count` records. The pointers point to the group's first record in the input and
// in the output. Out of line, so that the loop over groups takes none of its registers.
OUTLINE void sort_group(LOCAL msd_mapped_memory_t* mine, sub_group_t sg, items_t m, u32 count,
                        GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                        GLOBAL const value_t* values_in, GLOBAL value_t* values_out) {
  KNOWN_LOCAL(mine);
  const u32 t = local_id();
  // Load.
  const u32 rows = (count + WG - 1 - t) / WG;  // how many records this work-item has
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      item[i] = ITEM_OF(key_order(keys_in[at]), at);
      LOAD_VALUE_EARLY(at)
    }
  }

  // Sort. This contains barriers, so keys_out may be keys_in. If each bin can have keys of one
  // order only, bins need no sort.
  bins_by_place_t by_place;
  by_place.bits = by_place.step = 0;
  const u32 shift = SORT_BITS - LOG_BINS,
            alike = !COMPOSITE && SORT_BITS == 32 && (m.scale << m.low >> shift) != 0;
  sort_in_bins(&mine->own.sort, sg, item, rows, shift, m.low, by_place, alike);
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) item[i] = mine->own.sort.items[i * WG + t];
#if VALUES_LATE
  barrier_local();
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i)
    if (i < rows) LOAD_VALUE(i * WG + t)
  barrier_local();
#endif

  // Store.
#if RELOADS_TIES
  ukey_t key[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const ukey_t order = DISTANCE_OF(item[i]) + m.first;
    key[i] = key_of_order(order);
    if (i < rows && TIES(order)) key[i] = keys_in[PLACE_OF_RECORD(item[i])];
  }
  barrier_all();  // keys_out may be keys_in
#define KEY_OF_ITEM(i) key[i]
#else
#define KEY_OF_ITEM(i) key_of_order(DISTANCE_OF(item[i]) + m.first)
#endif
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (i >= rows) continue;
    if (keys_out) keys_out[at] = KEY_OF_ITEM(i);
    STORE_VALUE(at, item[i])
  }
  barrier_local();  // the next group uses the same local memory
}

// Copies this work-group's share of the `count` records from index `begin` on.
INLINE void copy_share(u32 begin, u32 count, u32 share, u32 shares, GLOBAL const ukey_t* keys_in,
                       GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                       GLOBAL value_t* values_out) {
  if (keys_in == keys_out) return;
  for (u32 i = begin + share * WG + local_id(); i < begin + count; i += shares * WG) {
    if (keys_out) keys_out[i] = keys_in[i];
#if VALUE_BYTES
    values_out[i] = values_in[i];
#endif
  }
}

// Returns the end of the group that begins with bucket b of the work-group's JOINED buckets, and
// sets *count_ to its number of records. Returns b if bucket b has too many records for a group.
// The buckets of a group have ranges of orders of similar widths, because items are expected to
// spread evenly. A group does not end with empty buckets, unless it has no other.
#define WIDTHS_APART 1u  // log2 of the largest ratio between the widths, rounded down
INLINE u32 end_of_group(LOCAL const msd_mapped_memory_t* mine, u32 b, u32* count_) {
  u32 count = 0, least = 64, most = 0, end = b, i = b;
  for (; i < JOINED; ++i) {
    const u32 own = mine->starts[i + 1] - mine->starts[i];
    if (own == 0) continue;
    const u32 width = highest_bit((ukey_t)(mine->bounds[i + 1] - mine->bounds[i]) | 1);
    least = min(least, width), most = max(most, width);
    if (count + own > CAPACITY || (count != 0 && most > least + WIDTHS_APART)) break;
#if COMPOSITE
    const ukey_t distance = mine->bounds[i + 1] - mine->bounds[b] - 1;
    if (count + own > 1 && distance != 0 &&
        highest_bit(distance) + highest_bit32(count + own - 1) + 2 > SORT_BITS)
      break;
#endif
    count += own;
    end = i + 1;
  }
  *count_ = count;
  return count != 0 ? end : i;
}

// Sorts the mapped buckets that are not listed.
//   keys_in, values_in    in: the partitioned records; keys_in may be keys_out
//   keys_out, values_out  out: the sorted records; keys_out is null if no keys are wanted
//   starts                in: the index where each bucket begins, then the end
//   skewed                in: a word. The launch does nothing unless it says that keys are mapped
//   bounds                in: the first order of each bucket
//   ticket                work space, 0 at first
KERNEL_RESIDENT(WG, RESIDENT)
void msd_local_mapped(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                      GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                      GLOBAL const u32* starts, GLOBAL const u32* skewed,
                      GLOBAL const ukey_t* bounds, GLOBAL u32* ticket) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_mapped_memory_t, mine);
  const u32 t = local_id(), verdict = *skewed;
  if (verdict != VERDICT_MAPPED && verdict != VERDICT_LISTED) return;
  for (;;) {
    if (t == 0) mine->ticket = global_add(ticket, 1u);
    barrier_local();
    const u32 first = mine->ticket / SHARES * JOINED, share = mine->ticket % SHARES;
    if (first >= MAP_BUCKETS) break;
    for (u32 i = t; i <= JOINED; i += WG) {
      mine->starts[i] = starts[first + i];
      mine->bounds[i] = first + i < MAP_BUCKETS ? bounds[first + i] : 0;
    }
    barrier_local();
    u32 number = 0;  // of the group
    for (u32 b = 0, next; b < JOINED; b = next) {
      u32 count = 0;
      const u32 end = end_of_group(mine, b, &count);
      next = end == b ? b + 1 : end;
      if (number++ % SHARES != share) continue;
      if (end == b) count = mine->starts[b + 1] - mine->starts[b];
      const u32 begin = mine->starts[b];
      const ukey_t distance = mine->bounds[next] - mine->bounds[b] - 1;
      if ((distance == 0 && count <= CAPACITY) || count == 1)
        copy_share(begin, count, 0, 1, keys_in, keys_out, values_in, values_out);
      else if (end != b && count != 0 && distance != 0)
        sort_group(mine, sg, make_items(mine->bounds[b], distance, count), count, keys_in + begin,
                   keys_out ? keys_out + begin : 0, values_in + begin, values_out + begin);
    }
    barrier_local();
  }
#if MAP_BUCKETS <= 256
  // All work-groups share the copying of large buckets of one order. (Of a partition by two digits,
  // the output is this kernel's output.)
  LOCAL u32* large = (LOCAL u32*)&mine->own;
  barrier_local();
  if (t == 0) mine->ticket = 0;
  barrier_local();
  for (u32 b = t; b < MAP_BUCKETS; b += WG)
    if (starts[b + 1] - starts[b] > CAPACITY &&
        (ukey_t)((b + 1 < MAP_BUCKETS ? bounds[b + 1] : 0) - bounds[b]) == 1)
      large[local_add(&mine->ticket, 1u)] = b;
  barrier_local();
  for (u32 i = 0; i < mine->ticket; ++i) {
    const u32 begin = starts[large[i]];
    copy_share(begin, starts[large[i] + 1] - begin, group_id(), group_count(), keys_in, keys_out,
               values_in, values_out);
  }
#endif
}
