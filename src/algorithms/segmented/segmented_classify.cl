// segmented, the first launch: puts every segment on the list of its class. A class is a range of
// lengths that are sorted in the same way (segmented_lists.cl). Long segments are cut into parts. A
// work-group whose segments are all short sorts them at once instead. segmented_lists.cl,
// segmented_ranks.cl, segmented_items.cl and segmented_neighbours.cl come before this file.

PARAMETER(RESIDENT)     // work-groups that share a compute unit
PARAMETER(MANY_CHUNKS)  // 1: a work-group takes several chunks, until all others are empty. If
                        // segments are empty, this is faster than a work-group for each chunk

// Puts the segments of a chunk on the lists, or sorts them; see the kernel. A chunk is WG segments.
INLINE void classify_chunk(u64 chunk, LOCAL segmented_classify_memory_t* mine, sub_group_t sg,
                           GLOBAL const offset_t* offsets, u64 length, u64 segments, u64 n,
                           u64 pieces, lists_t lists, u32 open, GLOBAL const ukey_t* keys_in,
                           GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                           GLOBAL value_t* values_out, u32 copy_singles, u32 begin_bit,
                           u64 rank_mask) {
  const u64 s = chunk * WG + local_id();
  const u64 begin = OFFSET(offsets, length, min(s, segments));
  const u64 end = OFFSET(offsets, length, min(s + 1, segments));
  u64 count = end - begin;  // 0 past the last segment
#if SHORT
  if (local_id() == 0) mine->unsorted = 0;
  barrier_local();
  const u32 is_sorted = sort_short(mine, sg, begin, count, keys_in, keys_out, values_in, values_out,
                                   begin_bit, rank_mask);
  count = is_sorted ? 0 : count;
  if (count != 0) mine->unsorted = 1;
  barrier_local();
#if SG_NATIVE  // else every work-item must reach the barriers
  if (mine->unsorted == 0) return;
#endif
#endif
  start_lists(mine->starts, n, segments, pieces);
  put_on_list(lists, mine->here, mine->before, mine->starts, begin, count > 1 ? count : 0, 0, open,
              IN_INPUT);
  if (count == 1 && copy_singles)
    store_record(keys_out, values_out, begin, load_record(keys_in, values_in, begin));
}

//   offsets, length  in: where segments begin; see OFFSET
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
void segmented_classify(GLOBAL const offset_t* offsets, u64 length, u64 segments, u64 n, u64 pieces,
                        GLOBAL u32* counters, GLOBAL task_t* tasks, GLOBAL long_t* longs,
                        GLOBAL part_t* parts, u64 part, u32 most_parts, u32 levels, u32 open,
                        GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                        GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                        u32 copy_singles, u32 begin_bit, u64 rank_mask) {
#if SHORT
  SUB_GROUP(WG);
#else
  const sub_group_t sg = 0;
#endif
  LOCAL_STRUCT(segmented_classify_memory_t, mine);
  const lists_t lists = {counters, tasks, longs, 0, parts, 0, 0, levels, part, most_parts};
#if MANY_CHUNKS
  const u64 all = OFFSET(offsets, length, segments);
  for (u64 chunk = group_id(); chunk * WG < segments && OFFSET(offsets, length, chunk * WG) != all;
       chunk += group_count()) {
    barrier_local();  // `mine` has been used
    classify_chunk(chunk, mine, sg, offsets, length, segments, n, pieces, lists, open, keys_in,
                   keys_out, values_in, values_out, copy_singles, begin_bit, rank_mask);
  }
#else
  classify_chunk(group_id(), mine, sg, offsets, length, segments, n, pieces, lists, open, keys_in,
                 keys_out, values_in, values_out, copy_singles, begin_bit, rank_mask);
#endif
}
