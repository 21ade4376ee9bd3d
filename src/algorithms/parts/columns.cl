// Turns the digit counts of a tile's sub-groups into positions in the sorted tile. This file comes
// before the radix sorts that use it.
//
// `ranks` has RANK_WORDS words for each sub-group, as SG_RANK_ROWS leaves them; `sums` has WG
// words. The work-items form TEAMS teams of RADIX. Work-item t handles digit t % RADIX in the rows
// of its team's sub-groups.

PARAMETER(WG)  // work-items of a work-group, a multiple of RADIX

#define RADIX 256u
#define SUB_GROUPS (WG / SG_LANES)
#define RANK_WORDS SG_RANK_WORDS(RADIX)
#define TEAMS (WG / RADIX)              // work-items that share a digit
#define TEAM_ROWS (SUB_GROUPS / TEAMS)  // sub-groups of a team

// Returns the tile's count of the digit. Stores in *before how many of these records are in
// sub-groups before those of the team. A barrier must come before the call; the function has one
// inside.
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

// Replaces the counts in `ranks` by the positions where each sub-group's digits begin. `start` is
// the position of digit t in the sorted tile; only work-items t < RADIX need to pass it. `before`
// is the result of sum_digit. A barrier must come between sum_digit and this call, and another one
// after it.
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
