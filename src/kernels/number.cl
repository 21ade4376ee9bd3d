// Numbers the records of a chunk by their positions in the whole list.
//
PARAMETER(WG)  // work-items of a work-group

// Stores first, first + 1, … in `positions`.
KERNEL(WG)
void records_number(GLOBAL value_t* positions, u64 first, u64 n) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG)
    positions[i] = (value_t)(first + i);
}
