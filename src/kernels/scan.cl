// The exclusive prefix sum of a table. Each work-group scans a part of the table, one work-group
// scans the parts' totals, and then the total of all earlier parts is added to the entries of each
// part.

PARAMETER(WG)  // work-items of a work-group, a power of two

// Replaces entries [g * part, (g + 1) * part) of the table by their exclusive prefix sum, and
// stores their total in sums[g]. g is the work-group.
KERNEL(WG) void scan_part(GLOBAL index_t* table, GLOBAL index_t* sums, u64 length, u64 part) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u64 begin = group_id() * part;
  const u64 end = begin + part < length ? begin + part : length;
  index_t running = 0;
  for (u64 base = begin; base < end; base += WG) {
    const u64 at = base + local_id();
    index_t sum;
    const index_t before = wg_scan_add(scratch, WG, at < end ? table[at] : 0, &sum);
    if (at < end) table[at] = running + before;
    running += sum;
  }
  if (local_id() == 0) sums[group_id()] = running;
}

// Adds the total of all earlier parts to every entry of a part. `sums` must have been scanned: it
// holds these totals.
KERNEL(WG) void scan_add(GLOBAL index_t* table, GLOBAL const index_t* sums, u64 length, u64 part) {
  const u64 begin = group_id() * part;
  const u64 end = begin + part < length ? begin + part : length;
  for (u64 at = begin + local_id(); at < end; at += WG) table[at] += sums[group_id()];
}
