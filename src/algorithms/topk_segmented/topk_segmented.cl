// topk-segmented: copies the first `limit` records of each sorted segment to the output.

PARAMETER(WG)  // work-items of a work-group

//   keys_in, values_in    in: the sorted segments
//   offsets, length       in: where segments begin; see OFFSET
//   keys_out, values_out  out: `limit` records for each segment; for a shorter segment, the last of
//                         them are not written. keys_out may be null
KERNEL(WG)
void topk_segmented_take(GLOBAL const ukey_t* keys_in, GLOBAL const value_t* values_in,
                         GLOBAL ukey_t* keys_out, GLOBAL value_t* values_out,
                         GLOBAL const offset_t* offsets, u64 length, u64 segments, u64 limit) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < segments * limit;
       i += (u64)group_count() * WG) {
    const u64 segment = i / limit, from = OFFSET(offsets, length, segment) + i % limit;
    if (from >= OFFSET(offsets, length, segment + 1)) continue;
    if (keys_out) keys_out[i] = keys_in[from];
#if VALUE_BYTES
    values_out[i] = values_in[from];
#endif
  }
}
