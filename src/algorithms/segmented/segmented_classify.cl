// Every segment goes to the list of its size's class. A class is a range of lengths that one way of sorting is for: the
// sub-groups' (TINY_CLASSES of them), the work-groups' (BLOCK_CLASSES), and the long ones, which are cut into parts.
// Parameters: WG (more than CLASSES), OFFSET_BITS, ROW, BLOCK_LEAST, TINY_CLASSES, BLOCK_CLASSES (segmented_lists, which has the kernels'
// common words, stands in front of this).

// Segment s has the records from offsets[s] to offsets[s + 1]. counters: how many segments each class has, then how many
// parts there are; all 0 before. longs and parts: of the last class. Segments of a single record are copied here, if
// there is anything to copy.
KERNEL(WG) void segmented_classify(GLOBAL const offset_t *offsets, u64 segments, u64 n, GLOBAL u32 *counters,
                                   GLOBAL task_t *tasks, GLOBAL long_t *longs, GLOBAL task_t *parts, u64 part,
                                   GLOBAL const ukey_t *keys_in, GLOBAL ukey_t *keys_out, GLOBAL const value_t *values_in,
                                   GLOBAL value_t *values_out, u32 copy_singles) {
  LOCAL_ARRAY(u32, here, WG);           // segments of the class in this work-group
  LOCAL_ARRAY(u32, before, WG);         // and in those that came before it
  LOCAL_ARRAY(u64, starts, WG);         // of the classes' lists
  const u32 t = local_id();
  const u64 s = (u64)group_id() * WG + t;
  here[t] = 0;
  barrier_local();

  // Class, and place among those of the work-group. What is no longer than a record has a class of its own, the last.
  const u64 begin = offsets[min(s, segments)];
  const u64 end = offsets[min(s + 1, segments)];
  const u64 count = end - begin;  // 0 past the last segment
  u32 class_of = 0;
  for (u32 k = 0; k + 1 < CLASSES; ++k) class_of += count > class_capacity(k) ? 1 : 0;
  class_of = count > 1 ? class_of : CLASSES;
  u32 place = local_add(&here[class_of], 1u);
  barrier_local();

  // A work-item a class; those past them find nothing to add.
  const u32 add = t < CLASSES ? here[t] : 0;
  u32 base = 0;
  u64 start = 0;
  if (add != 0) {
    base = global_add(&counters[t], add);
    for (u32 k = 0; k < t; ++k) start += list_room(k, n, segments);
  }
  before[t] = base;
  starts[t] = start;
  barrier_local();

  if (class_of < CLASSES) {
    place += before[class_of];
    task_t task;
    task.begin = (index_t)begin;
    task.count = (index_t)count;
    if (class_of + 1 < CLASSES) tasks[starts[class_of] + place] = task;
    if (class_of + 1 == CLASSES) {
      // Few enough, even of one segment that has all the records, for one work-item to write them down.
      const u32 pieces = (u32)((count + part - 1) / part);
      const u32 first = global_add(&counters[CLASSES], pieces);
      long_t whole;
      whole.begin = (index_t)begin;
      whole.first = first;
      whole.parts = pieces;
      longs[place] = whole;
      for (u32 p = 0; p < pieces; ++p) {
        const u64 from = p * part;
        task.begin = (index_t)(begin + from);
        task.count = (index_t)(count - from < part ? count - from : part);
        parts[first + p] = task;
      }
    }
  }
  if (count == 1 && copy_singles) store_record(keys_out, values_out, begin, load_record(keys_in, values_in, begin));
}
