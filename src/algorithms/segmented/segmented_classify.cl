// Every segment goes to the list of its length's class. A class is a range of lengths that one way of sorting is for: the
// sub-groups' (TINY_CLASSES of them), the work-groups' (BLOCK_CLASSES), and the long ones, which are cut into parts.
// Parameters: WG (more than CLASSES + 1), OFFSET_BITS, and those of segmented_lists, which has the kernels' common words and
// stands in front of this.

// Segment s has the records from offsets[s] to offsets[s + 1]. counters: all 0 before. longs and parts: of the first level.
// `pieces`: what long ones can be parted into. Segments of a single record are copied here, if there is anything to
// copy.
KERNEL(WG) void segmented_classify(GLOBAL const offset_t *offsets, u64 segments, u64 n, u64 pieces, GLOBAL u32 *counters,
                                   GLOBAL task_t *tasks, GLOBAL long_t *longs, GLOBAL part_t *parts, u64 part,
                                   u32 most_parts, u32 levels, u32 open, GLOBAL const ukey_t *keys_in,
                                   GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in, GLOBAL value_t *values_out,
                                   u32 copy_singles) {
  LOCAL_ARRAY(u32, here, WG);
  LOCAL_ARRAY(u32, before, WG);
  LOCAL_ARRAY(u64, starts, WG);
  const u64 s = (u64)group_id() * WG + local_id();
  const u64 begin = offsets[min(s, segments)];
  const u64 end = offsets[min(s + 1, segments)];
  const u64 count = end - begin;  // 0 past the last segment
  const lists_t lists = {counters, tasks, longs, 0, parts, 0, 0, levels, part, most_parts};
  start_lists(starts, n, segments, pieces);
  put_on_list(lists, here, before, starts, begin, count > 1 ? count : 0, 0, open, IN_INPUT);
  if (count == 1 && copy_singles) store_record(keys_out, values_out, begin, load_record(keys_in, values_in, begin));
}
