// From the counts of a tile's digits, which each sub-group has of its own, to places in the sorted
// tile. Stands in front of the kernels of radix sorts. `ranks` has RANK_WORDS for each sub-group,
// as SG_RANK_ROWS leaves them, and `sums` WG words. Work-item t speaks for digit t % RADIX in the
// rows of its team's sub-groups. Parameters: WG (of at least RADIX).

#define RADIX 256u
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
#define TEAMS (WG / RADIX)  // work-items of a digit
#define TEAM_ROWS (SUB_GROUPS / TEAMS)

// How many there are of the digit; `before`: of them in the sub-groups before the team's. Begins
// after a barrier, and has one.
INLINE u32 sum_digit(LOCAL const u32* ranks, LOCAL u32* sums, u32* before) {
  const u32 t = local_id(), digit = t % RADIX, team = t / RADIX;
  u32 sum = 0, total = 0;
  UNROLL
  for (u32 s = 0; s < TEAM_ROWS; ++s) sum += ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
  sums[t] = sum;
  barrier_local();
  *before = 0;
  UNROLL
  for (u32 q = 0; q < TEAMS; ++q) {
    const u32 c = sums[q * RADIX + digit];
    *before += q < team ? c : 0;
    total += c;
  }
  return total;
}

// The counts become places where sub-groups' digits begin, where digit t begins at `start` (to be
// known by t < RADIX). Between the two, all work-items have passed a barrier. Ends before one.
INLINE void place_digit(LOCAL u32* ranks, LOCAL u32* sums, u32 start, u32 before) {
  const u32 t = local_id(), digit = t % RADIX, team = t / RADIX;
  if (t < RADIX) sums[t] = start;
  barrier_local();
  u32 at = sums[digit] + before;
  UNROLL
  for (u32 s = 0; s < TEAM_ROWS; ++s) {
    LOCAL u32* c = &ranks[(team * TEAM_ROWS + s) * RANK_WORDS + digit];
    const u32 in_row = *c;
    *c = at;
    at += in_row;
  }
}
