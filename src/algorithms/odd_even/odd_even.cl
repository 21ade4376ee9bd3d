// Odd-even transposition. Even rounds compare and exchange the records 0-1, 2-3, …; odd rounds 1-2,
// 3-4, … N rounds sort N records. Records are exchanged only if the left one is strictly greater,
// so the sort is stable. In this file a launch is one round in global memory; in odd_even_blocks.cl
// a launch has many rounds.

PARAMETER(WG)  // work-items of a work-group

// One round. Its first pair begins at record 0, or at record 1 if `odd`. A record without a
// partner, at either end of the list, is copied.
KERNEL(WG)
void odd_even_round(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                    GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u32 odd) {
  const u64 right = 2 * ((u64)group_id() * WG + local_id()) + 1 - odd;
  if (right > n) return;
  const u64 at_a = right == 0 ? 0 : right - 1, at_b = min(right, n - 1);
  record_t a = load_record(keys_in, values_in, at_a), b = load_record(keys_in, values_in, at_b);
  compare_exchange(&a, &b, 0, 1);
  store_record(keys_out, values_out, at_a, a);
  store_record(keys_out, values_out, at_b, b);
}
