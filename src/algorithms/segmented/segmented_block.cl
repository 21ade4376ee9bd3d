// segmented, segments that fit local memory: each work-group sorts segments of its class in a loop.
// segmented_block_sort.cl comes before this file.

PARAMETER(RESIDENT)  // work-groups that share a compute unit

//   keys_in, keys_spare, keys_work, values_…  in: the records; a task says which. keys_work is
//                  keys_out, or memory that replaces it if no keys are wanted
//   keys_out, values_out  out: the sorted segments
//   tasks          in: the class's list of *length segments
//   equal_segments, equal_length, wanted  EQUAL: the number of segments, the length of each, and
//   how many of
//                  its first records to write
//   begin_bit, rank_mask  parameters of RANK
//   others         in and out, LEAVES: the list of segments passed on; *others_length is its length
KERNEL_RESIDENT(WG, RESIDENT)
void segmented_block(GLOBAL const ukey_t* keys_in, GLOBAL const ukey_t* keys_spare,
                     GLOBAL const ukey_t* keys_work, GLOBAL ukey_t* keys_out,
                     GLOBAL const value_t* values_in, GLOBAL const value_t* values_spare,
                     GLOBAL value_t* values_out, GLOBAL const task_t* tasks,
                     GLOBAL const u32* length, u64 equal_segments, u32 equal_length, u32 wanted,
                     u32 begin_bit, u64 rank_mask, GLOBAL task_t* others,
                     GLOBAL u32* others_length) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(segmented_memory_t, mine);
#if EQUAL
  const u64 segments = equal_segments;
#else
  const u64 segments = *length;
#endif

  for (u64 s = group_id(); s < segments; s += group_count()) {
#if EQUAL
    const u64 begin = s * equal_length, to = s * wanted;
    const u32 count = equal_length, place_of_all = IN_INPUT, to_store = wanted;
#else
    const u64 begin = tasks[s].begin, to = begin;
    const u32 count = TASK_COUNT(tasks[s]), place_of_all = TASK_PLACE(tasks[s]);
    const u32 to_store = count;
#endif
    GLOBAL const ukey_t* keys = FROM_PLACE(place_of_all, keys_in, keys_spare, keys_work);

    GLOBAL const value_t* values = FROM_PLACE(place_of_all, values_in, values_spare, values_out);
    const u32 is_sorted =
        sort_segment(mine, sg, keys, values, begin, count, place_of_all != IN_INPUT, keys_out,
                     values_out, to, to_store, begin_bit, rank_mask);
#if LEAVES
    if (local_id() == 0 && !is_sorted) others[global_add(others_length, 1u)] = tasks[s];
#else
    (void)is_sorted;
#endif
    barrier_local();
  }
}
