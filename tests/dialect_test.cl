// Uses every word of the dialect. The host builds one SAY_… part at a time.
//
PARAMETER(WG)             // work-items of a work-group
PARAMETER(SAY_WORDS)      // 1: this part is built
PARAMETER(SAY_SUB_GROUP)  // the same for this part, and so on for the parts below
PARAMETER(SAY_SCAN)
PARAMETER(SAY_RANK)
PARAMETER(SAY_CLUSTER)
PARAMETER(SAY_WRONG)
PARAMETER(BINS)    // SAY_RANK: bins
PARAMETER(CALLS)   // SAY_RANK: rankings in a row
PARAMETER(GROUPS)  // SAY_CLUSTER: work-groups of a cluster

#if SAY_WORDS

KERNEL(WG) void say_ids(GLOBAL u32* out) {
  const u32 at = 3 * (group_id() * WG + local_id());
  out[at] = local_id();
  out[at + 1] = group_id();
  out[at + 2] = group_count();
}

// Work-items read what other work-items of their group wrote to local and global memory, in several
// rounds.
KERNEL(WG) void say_barriers(GLOBAL u32* cells, GLOBAL u32* wrong) {
  LOCAL_ARRAY(u32, mine, WG);
  GLOBAL u32* group_cells = cells + group_id() * WG;
  const u32 t = local_id();
  u32 bad = 0;
  for (u32 round = 1; round <= WG; ++round) {
    const u32 other = (t + round) % WG;
    mine[t] = t * round;
    barrier_local();
    bad |= mine[other] != other * round ? 1 : 0;
    barrier_local();
    group_cells[t] = t + round;
    barrier_all();
    bad |= group_cells[other] != other + round ? 2 : 0;
    barrier_all();
  }
  wrong[group_id() * WG + t] = bad;
}

// out: for each work-item its local and its global ticket; then for each group the sum, the OR, and
// the maximum of its work-items' numbers. `seen` has a bit for each of the group's numbers modulo
// 32 of work-items that 5 does not divide.
KERNEL(WG)
void say_atomics(GLOBAL u32* next, GLOBAL u32* tickets, GLOBAL u32* sums, GLOBAL u32* largest,
                 GLOBAL u32* seen) {
  LOCAL_ARRAY(u32, sum, 2);
  LOCAL_ARRAY(u32, bits, WG / 32 + 1);
  const u32 t = local_id();
  if (t < 2) sum[t] = 0;
  if (t < WG / 32 + 1) bits[t] = 0;
  barrier_local();
  tickets[2 * (group_id() * WG + t)] = local_add(&sum[0], 1u);
  tickets[2 * (group_id() * WG + t) + 1] = global_add(next, 3u);
  local_max(&sum[1], (group_id() * WG + t) * 2654435761u);
  if (t % 5 != 0) global_or(&seen[group_id()], 1u << (t % 32));
  if (t % 3 != 0) local_or(&bits[t / 32], 1u << (t % 32));
  barrier_local();
  if (t < WG / 32) sums[group_id() * (WG / 32 + 1) + 1 + t] = bits[t];
  if (t == 0) sums[group_id() * (WG / 32 + 1)] = sum[0];
  if (t == 0) largest[group_id()] = sum[1];
}

KERNEL(WG) void say_popcount(GLOBAL const u32* in, GLOBAL u32* out) {
  const u32 i = group_id() * WG + local_id();
  out[i] = popcount32(in[i]);
}

// Each work-group stores its message without atomics, releases its flag, waits for the flag of the
// group with the ticket before, and reads that group's message. Waiting is bounded. `got` receives
// the message, or ~0 if none came.
KERNEL(WG)
void say_acquire_release(GLOBAL u32* next, GLOBAL u32* flags, GLOBAL u32* messages,
                         GLOBAL u32* got) {
  LOCAL_ARRAY(u32, shared, 2);
  const u32 t = local_id();
  if (t == 0) shared[0] = global_add(next, 1u);
  barrier_local();
  const u32 ticket = shared[0];
  messages[ticket * WG + t] = ticket * 1000 + t;
  barrier_all();
  if (t == 0) {
    store_release(&flags[ticket], load_relaxed(&next[0]) > ticket ? 7u : 8u);
    u32 seen = ticket == 0 ? 7 : 0;
    for (u32 spin = 0; spin < (1u << 22) && seen != 7; ++spin)
      seen = load_acquire(&flags[ticket - (ticket != 0 ? 1 : 0)]);
    shared[1] = seen;
  }
  barrier_all();
  const u32 from = ticket == 0 ? 0 : ticket - 1;
  const u32 message = messages[from * WG + (t + 1) % WG];
  got[ticket * WG + t] = shared[1] == 7 ? message : ~0u;
}

#endif

#if SAY_SUB_GROUP
// out: for each work-item its lane, sub-group, the ballot of a predicate, and a shuffled value.
KERNEL(WG)
void say_sub_group(GLOBAL const u32* predicates, GLOBAL const u32* from_lanes, GLOBAL u32* out) {
  SUB_GROUP(WG);
  const u32 i = group_id() * WG + local_id();
  out[4 * i] = sg_lane();
  out[4 * i + 1] = sg_index();
  out[4 * i + 2] = sg_ballot(sg, predicates[i]);
  out[4 * i + 3] = sg_shuffle(sg, i * 2654435761u, from_lanes[i]);
}

KERNEL(WG) void say_sub_group_barrier(GLOBAL u32* wrong) {
  LOCAL_ARRAY(u32, cells, WG);
  volatile LOCAL u32* mine = cells + sg_index() * SG_LANES;
  const u32 lane = sg_lane();
  u32 bad = 0;
  for (u32 round = 1; round < 4 * SG_LANES; ++round) {
    const u32 other = (lane + round) % SG_LANES;
    mine[lane] = lane * round;
    sg_barrier();
    bad |= mine[other] != other * round ? 1 : 0;
    sg_barrier();
  }
  wrong[group_id() * WG + local_id()] = bad;
}

#endif

#if SAY_SCAN
// Two scans of the first `width` work-items, one after the other in the same scratch memory. They
// are in a loop, because PoCL 3.1's compiler crashes on two calls in a row (see dialect.md).
KERNEL(WG)
void say_scan(GLOBAL const index_t* in, GLOBAL index_t* out, GLOBAL index_t* totals, u32 width) {
  LOCAL_ARRAY(index_t, scratch, 2 * WG);
  const u32 i = group_id() * WG + local_id();
  index_t x = in[i];
  for (u32 round = 0; round < 2; ++round) {
    index_t total;
    x = wg_scan_add(scratch, width, x, &total);
    out[round * group_count() * WG + i] = x;
    totals[2 * i + round] = total;
  }
}

#endif

#if SAY_RANK
// CALLS rankings in a row, like those of a tile's records: bins[call * work-items + work-item].
KERNEL(WG) void say_rank(GLOBAL const u32* bins, GLOBAL u32* ranks) {
  LOCAL_ARRAY(u32, counts, WG / SG_LANES * SG_RANK_WORDS(BINS));
  const u32 stride = group_count() * WG, i = group_id() * WG + local_id();
  LOCAL u32* mine = counts + sg_index() * SG_RANK_WORDS(BINS);
  for (u32 c = local_id(); c < WG / SG_LANES * SG_RANK_WORDS(BINS); c += WG) counts[c] = 0;
  barrier_local();
  u32 rank[CALLS];
  UNROLL
  for (u32 c = 0; c < CALLS; ++c) rank[c] = sg_rank(mine, BINS, bins[c * stride + i]);
  UNROLL
  for (u32 c = 0; c < CALLS; ++c) ranks[c * stride + i] = rank[c];
}
#endif

#if SAY_CLUSTER

// Each work-group of a cluster sends words of 4, 8 and 16 bytes to every work-group, itself
// included, twice. `wrong` receives a bit for each size that arrived wrong: 1 for 4 bytes, 2 for 8
// bytes, 4 for 16 bytes.
typedef struct {
  u32 to_send[4 * GROUPS], quads[2][4 * GROUPS];
  u64 longs[2][GROUPS];
  u32 words[2][GROUPS];
  arrivals_t come[2];
} say_cluster_memory_t;
#define SAYS(from, to) (10000 * round + 100 * (from) + (to) + 1)
KERNEL(WG) void say_cluster(GLOBAL u32* wrong) {
  LOCAL_STRUCT(say_cluster_memory_t, mine);
  const u32 t = local_id(), group = group_id() % GROUPS;
  u32 bad = 0;
  if (t < 2) arrivals_init(&mine->come[t]);
  cluster_arrive();
  cluster_wait();
  for (u32 round = 0; round < 2; ++round) {
    if (t == 0) arrivals_expect(&mine->come[round], GROUPS * (4 + 8 + 16));
    if (t < GROUPS) {
      for (u32 k = 0; k < 4; ++k) mine->to_send[4 * t + k] = SAYS(group, t) + k;
      cluster_send(&mine->words[round][group], t, SAYS(group, t), &mine->come[round]);
      cluster_send(&mine->longs[round][group], t, (u64)SAYS(group, t) << 32 | 7,
                   &mine->come[round]);
      cluster_send16(&mine->quads[round][4 * group], t, &mine->to_send[4 * t], &mine->come[round]);
    }
    arrivals_wait(&mine->come[round], 0);
    if (t < GROUPS) {
      bad |= mine->words[round][t] != SAYS(t, group) ? 1 : 0;
      bad |= mine->longs[round][t] != ((u64)SAYS(t, group) << 32 | 7) ? 2 : 0;
      for (u32 k = 0; k < 4; ++k)
        bad |= mine->quads[round][4 * t + k] != SAYS(t, group) + k ? 4 : 0;
    }
  }
  wrong[group_id() * WG + t] = bad;
}

#endif

#if SAY_WRONG
// Has two errors that a simulator must report: a write past the end of `out`, and a missing barrier
// before a read of local memory.
KERNEL(WG) void say_wrong(GLOBAL u32* out) {
  LOCAL_ARRAY(u32, mine, WG);
  const u32 t = local_id();
  if (t == 0) out[group_count() * WG] = 0;
  mine[t] = t;
  out[group_id() * WG + t] = mine[(t + 1) % WG];
}
#endif
