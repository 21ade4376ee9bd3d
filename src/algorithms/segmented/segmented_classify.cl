// segmented, the first launch: puts every segment on the list of its class. A class is a range of
// lengths that are sorted in the same way (segmented_lists.cl). Long segments are cut into parts. A
// work-group whose segments are all short sorts them at once instead. segmented_lists.cl and
// segmented_items.cl come before this file.

// Parameters beside those of these files:
PARAMETER(WG)        // work-items of a work-group, more than CLASSES + 1; each handles one segment
PARAMETER(RESIDENT)  // work-groups that share a compute unit
PARAMETER(SHORT)     // not 0: segments of up to this many records are sorted at once

// classify_bytes() in segmented_shape.cpp computes its size.
typedef struct {
#if SHORT
  sort_t items[SPREAD(WG * SHORT)];
#if WIDE
  u32 positions[SPREAD(WG * SHORT)];
#endif
#if GATHER_KEYS
  ukey_t keys[SPREAD(WG * SHORT)];  // in the order of the input
#endif
#if VALUE_BYTES
  value_t values[SPREAD(WG * SHORT)];
#endif
  u32 longer;
#endif
  u64 starts[WG];
  u32 here[WG], before[WG];
} segmented_classify_memory_t;

#if SHORT
#define SHORT_BITS highest_bit32(WG* SHORT)  // bits of a position among the records sorted at once
#define SHORT_AT (t + k * WG)
// Sorts the work-group's segments: `all` records from `base` on. The work-item's own segment has
// `count` records, from index `own` on.
INLINE void sort_short(LOCAL segmented_classify_memory_t* mine, u64 base, u32 all, u32 own,
                       u32 count, GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                       GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u32 begin_bit,
                       u64 rank_mask) {
  const u32 t = local_id();
  // Load: neighbouring work-items load neighbouring records.
  UNROLL
  for (u32 k = 0; k < SHORT; ++k)
    if (SHORT_AT < all) {
      const ukey_t key = keys_in[base + SHORT_AT];
#if GATHER_KEYS
      mine->keys[SPREAD(SHORT_AT)] = key;
#else
      mine->items[SPREAD(SHORT_AT)] = RANK(key);
#endif
#if VALUE_BYTES
      mine->values[SPREAD(SHORT_AT)] =
          values_in ? values_in[base + SHORT_AT] : (value_t)(base + SHORT_AT);
#endif
    }
  barrier_local();

  // Sort. Missing records sort last.
  sort_t item[SHORT];
#if WIDE
  u32 position[SHORT];
#endif
  UNROLL
  for (u32 k = 0; k < SHORT; ++k) {
    item[k] = SORT_LAST;
#if WIDE
    position[k] = own + k;
#endif
    if (k < count) {
#if GATHER_KEYS
      item[k] = RANK(mine->keys[SPREAD(own + k)]);
#else
      item[k] = mine->items[SPREAD(own + k)];
#endif
#if COMPOSITE && !WIDE
      item[k] = item[k] << SHORT_BITS | (own + k);
#endif
    }
  }
  SORT_ROW(SHORT)
  UNROLL
  for (u32 k = 0; k < SHORT; ++k)
    if (k < count) {
      mine->items[SPREAD(own + k)] = item[k];
#if WIDE
      mine->positions[SPREAD(own + k)] = position[k];
#endif
    }
  barrier_local();

  // Store: neighbouring work-items store neighbouring records.
  UNROLL
  for (u32 k = 0; k < SHORT; ++k)
    if (SHORT_AT < all) {
      const sort_t sorted = mine->items[SPREAD(SHORT_AT)];
#if WIDE
      const u32 source = SPREAD(mine->positions[SPREAD(SHORT_AT)]);
#else
      const u32 source = SPREAD((u32)sorted & (WG * SHORT - 1));
#endif
#if GATHER_KEYS
      if (keys_out) keys_out[base + SHORT_AT] = mine->keys[source];
#elif COMPOSITE && !WIDE
      if (keys_out) keys_out[base + SHORT_AT] = key_of_order((ukey_t)(sorted >> SHORT_BITS));
#else
      if (keys_out) keys_out[base + SHORT_AT] = key_of_order((ukey_t)sorted);
#endif
#if VALUE_BYTES
      values_out[base + SHORT_AT] = mine->values[source];
#endif
    }
}
#endif

//   offsets        in: segment s has the records from offsets[s] to offsets[s + 1]
//   counters       in and out: 0 at the start; see lists_t
//   tasks          out: the lists of the local classes
//   longs, parts   out: the long segments of the first level, and their parts
//   part, most_parts, levels  members of lists_t
//   pieces         the most buckets of long segments; see list_capacity
//   open           bits of a rank
//   keys_…, values_…  in and out: the records; with copy_singles, segments of one record are
//                  copied here
//   begin_bit, rank_mask  parameters of RANK
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_classify(GLOBAL const offset_t* offsets, u64 segments, u64 n, u64 pieces,
                        GLOBAL u32* counters, GLOBAL task_t* tasks, GLOBAL long_t* longs,
                        GLOBAL part_t* parts, u64 part, u32 most_parts, u32 levels, u32 open,
                        GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                        GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                        u32 copy_singles, u32 begin_bit, u64 rank_mask) {
  LOCAL_STRUCT(segmented_classify_memory_t, mine);
  const u64 s = (u64)group_id() * WG + local_id();
  const u64 begin = offsets[min(s, segments)];
  const u64 end = offsets[min(s + 1, segments)];
  u64 count = end - begin;  // 0 past the last segment
#if SHORT
  if (local_id() == 0) mine->longer = 0;
  barrier_local();
  if (count > SHORT) local_or(&mine->longer, 1u);
  barrier_local();
  const u64 base = offsets[(u64)group_id() * WG],
            all = offsets[min(((u64)group_id() + 1) * WG, segments)] - base;
  const u32 at_once = mine->longer == 0;
  sort_short(mine, base, at_once ? (u32)all : 0, (u32)(begin - base), at_once ? (u32)count : 0,
             keys_in, keys_out, values_in, values_out, begin_bit, rank_mask);
#if SG_NATIVE
  if (at_once) return;
#else  // every work-item must reach the barriers
  count = at_once ? 0 : count;
#endif
#endif
  const lists_t lists = {counters, tasks, longs, 0, parts, 0, 0, levels, part, most_parts};
  start_lists(mine->starts, n, segments, pieces);
  put_on_list(lists, mine->here, mine->before, mine->starts, begin, count > 1 ? count : 0, 0, open,
              IN_INPUT);
  if (count == 1 && copy_singles)
    store_record(keys_out, values_out, begin, load_record(keys_in, values_in, begin));
}
