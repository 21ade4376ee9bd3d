// Reads ranks of keys, and searches in sorted ranges of keys, for the borders of a distributed
// sort. A rank is a key's key_rank as a 64-bit number, for keys of every type.

PARAMETER(WG)  // work-items of a work-group

// Stores the ranks of the keys at these positions.
KERNEL(WG)
void ranks_at(GLOBAL const ukey_t* keys, GLOBAL const u64* positions, GLOBAL u64* ranks,
              u64 count) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < count; i += (u64)group_count() * WG)
    ranks[i] = key_rank(keys[positions[i]]);
}

// searches[3 * i] is a rank, the next two numbers are the begin and the end of a sorted range of
// keys. Stores in places[i] the position of the range's first key whose rank is not smaller.
KERNEL(WG)
void places_of_ranks(GLOBAL const ukey_t* keys, GLOBAL const u64* searches, GLOBAL u64* places,
                     u64 count) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < count; i += (u64)group_count() * WG) {
    const u64 rank = searches[3 * i];
    u64 low = searches[3 * i + 1], high = searches[3 * i + 2];
    while (low < high) {
      const u64 middle = low + (high - low) / 2;
      const u32 before = (u64)key_rank(keys[middle]) < rank ? 1u : 0u;
      low = before ? middle + 1 : low;
      high = before ? high : middle;
    }
    places[i] = low;
  }
}

// Adds `first` to every number.
KERNEL(WG) void add_to_values(GLOBAL value_t* values, u64 first, u64 count) {
#if VALUE_BYTES
  for (u64 i = (u64)group_id() * WG + local_id(); i < count; i += (u64)group_count() * WG)
    values[i] += (value_t)first;
#endif
}
