// Runs after the last pass of lsd. If passes were skipped and the records are therefore not in the
// output, copies them there.

PARAMETER(WG)  // work-items of a work-group

// `starts_in_output` is 1 if the records are in the output before the first pass.
KERNEL(WG)
void lsd_settle(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_a, GLOBAL ukey_t* keys_b,
                GLOBAL const value_t* values_in, GLOBAL value_t* values_a, GLOBAL value_t* values_b,
                GLOBAL const u32* left_out, u64 n, u32 passes, u32 starts_in_output, u32 write_keys,
                u32 values_are_positions) {
  const u32 moves = moves_before(left_out, passes);
  if (moves == 0 ? starts_in_output : moves % 2 == passes % 2) return;
  GLOBAL const ukey_t* keys = AFTER_MOVES(moves, keys_in, keys_a, keys_b);
  GLOBAL ukey_t* keys_out = passes % 2 ? keys_a : keys_b;
#if VALUE_BYTES
  GLOBAL const value_t* values = AFTER_MOVES(moves, values_in, values_a, values_b);
  GLOBAL value_t* values_out = passes % 2 ? values_a : values_b;
  const u32 positions = values_are_positions && moves == 0;
#endif
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG) {
    if (write_keys) keys_out[i] = keys[i];
#if VALUE_BYTES
    values_out[i] = positions ? (value_t)i : values[i];
#endif
  }
}
