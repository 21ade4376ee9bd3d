// Widens sorted positions from 4 to 8 bytes.

PARAMETER(WG)     // work-items of a work-group
PARAMETER(ITEMS)  // positions of a work-item, WG apart

KERNEL(WG)
void widen_positions(GLOBAL const u32* narrow, GLOBAL u64* positions, u64 n) {
  for (u64 begin = (u64)group_id() * (WG * ITEMS); begin < n;
       begin += (u64)group_count() * (WG * ITEMS)) {
    const u64 first = begin + local_id();
    u32 position[ITEMS];
    for (u32 i = 0; i < ITEMS; ++i) position[i] = narrow[min(first + i * WG, n - 1)];
    for (u32 i = 0; i < ITEMS; ++i)
      if (first + i * WG < n) positions[first + i * WG] = position[i];
  }
}
