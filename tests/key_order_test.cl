// Computes order bits with key_order.h on the device, for an order given by the arguments, and
// computes spread orders.

PARAMETER(WG)           // work-items of a work-group
PARAMETER(SAY_ORDERS)   // 1: the kernel say_orders
PARAMETER(SAY_SPREAD)   // 1: the kernel say_spread
PARAMETER(SPREAD_BITS)  // leading bits of a spread order; 0: none

#if SAY_ORDERS
KERNEL(WG)
void say_orders(GLOBAL const u64* keys, GLOBAL u64* orders, GLOBAL u64* untied, GLOBAL u64* with,
                GLOBAL u64* ranks, GLOBAL u32* ties, u32 bits, u32 is_signed, u64 infinity, u32 nan,
                u32 zeros, u32 descending, u32 begin_bit, u32 rank_bits, u64 n) {
  const u64 i = (u64)group_id() * WG + local_id();
  if (i >= n) return;
  key_order_t o = {bits, is_signed, infinity, nan, zeros, descending};
  const u64 order = order_of_key(keys[i], o);
  orders[i] = order;
  untied[i] = order_of_untied_key(keys[i], o);
  with[i] = key_with_order(order, o);
  ranks[i] = bits_of_order(order, begin_bit, rank_bits);
  ties[i] = key_may_tie(keys[i], o);
}
#endif

#if SAY_SPREAD
// spread[l] and back[s] are the tables of msd, indexed by the leading bits of an order and of a
// spread order.
KERNEL(WG)
void say_spread(GLOBAL const ukey_t* orders, GLOBAL const u32* spread, GLOBAL const u32* back,
                GLOBAL ukey_t* spread_orders, GLOBAL ukey_t* gathered, u64 n) {
  const u64 i = (u64)group_id() * WG + local_id();
  if (i >= n) return;
  const ukey_t to = spread_order(orders[i], spread[spread_index(orders[i])]);
  spread_orders[i] = to;
  gathered[i] = gather_order(to, back[spread_index(to)]);
}
#endif
