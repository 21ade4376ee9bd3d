// The kernels of the probe.

PARAMETER(WG)  // work-items of a work-group, a multiple of SG_LANES

// Tests the sub-group words. A work-item that sees a wrong result sets a bit in `wrong`: 1 lane
// order, 2 ballot, 4 shuffle, 8 barrier.
KERNEL(WG) void probe_words(GLOBAL u32* wrong) {
  SUB_GROUP(WG);
  LOCAL_ARRAY(u32, cells, WG);
  const u32 t = local_id(), lane = sg_lane();
  u32 bad = 0;
#if defined(SG_WORDS_KHR)
  if (get_sub_group_local_id() % SG_LANES != lane || get_sub_group_size() != SG_HARDWARE) bad |= 1;
#endif
  const u32 all = SG_LANES == 32 ? 0xffffffffu : (1u << (SG_LANES % 32)) - 1;
  if (sg_ballot(sg, 1) != all) bad |= 2;
  if (sg_ballot(sg, lane % 3 == 1) != (0x92492492u & all)) bad |= 2;
  if (sg_ballot(sg, lane == SG_LANES - 1) != 1u << (SG_LANES - 1)) bad |= 2;
  if (sg_shuffle(sg, t * 7, (lane + 5) % SG_LANES) != (t - lane + (lane + 5) % SG_LANES) * 7)
    bad |= 4;
  for (u32 round = 1; round < SG_LANES; ++round) {
    ((volatile LOCAL u32*)cells)[t] = t + round;
    sg_barrier();
    const u32 other = t - lane + (lane + round) % SG_LANES;
    if (((volatile LOCAL u32*)cells)[other] != other + round) bad |= 8;
    sg_barrier();
  }
  wrong[group_id() * WG + t] = bad;
}

// Computes a sequence that no compiler can shorten. Work-item 0 of each work-group stores 1 in
// `wrong` if its last number is not `last`; all others store 0.
KERNEL(WG) void probe_loop(GLOBAL u32* wrong, u32 rounds, u32 last) {
  u32 state = 1;
  for (u32 round = 0; local_id() == 0 && round < rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    state ^= state >> 15;
  }
  wrong[group_id() * WG + local_id()] = local_id() == 0 && state != last ? 1 : 0;
}

// Each work-group takes a ticket, waits until the work-group with the ticket before has passed, and
// passes. Waiting is bounded: without forward progress the chain breaks, and the kernel still ends.
// state[0]: the next ticket; state[1]: how many work-groups have passed in order.
KERNEL(WG) void probe_progress(GLOBAL u32* state, u32 spins) {
  if (local_id() == 0) {
    const u32 ticket = global_add(&state[0], 1u);
    for (u32 spin = 0; spin < spins; ++spin)
      if (load_acquire(&state[1]) == ticket) {
        store_release(&state[1], ticket + 1);
        break;
      }
  }
}

#if HAS_CLUSTERS
// Each work-group of a cluster writes to the local memory of the next one. A work-item that does
// not find the expected word there stores 1 in `wrong`.
typedef struct {
  arrivals_t come;
  u32 cells[WG];
} probe_cluster_memory_t;
KERNEL(WG) void probe_cluster(GLOBAL u32* wrong, u32 groups) {
  LOCAL_STRUCT(probe_cluster_memory_t, mine);
  const u32 t = local_id(), next = (group_id() + 1) % groups,
            previous = (group_id() + groups - 1) % groups;
  if (t == 0) arrivals_init(&mine->come);
  cluster_arrive();
  cluster_wait();
  if (t == 0) arrivals_expect(&mine->come, sizeof mine->cells);
  cluster_send(&mine->cells[t], next, group_id() * WG + t + 1, &mine->come);
  arrivals_wait(&mine->come, 0);
  wrong[group_id() * WG + t] = mine->cells[t] == previous * WG + t + 1 ? 0 : 1;
}
#endif

// Lanes of a sub-group add to words of local memory that many of them share. A work-item stores 1
// in `wrong` if the values returned are not in lane order. In each round, each lane picks a bin at
// random, of 256, 16, 2 and 1 bins in turn.
KERNEL(WG) void probe_atomic_order(GLOBAL u32* wrong, u32 rounds) {
  LOCAL_ARRAY(u32, counts, WG / SG_LANES * 256);
  LOCAL_ARRAY(u32, bins, WG);
  LOCAL_ARRAY(u32, turns, WG);
  const u32 t = local_id(), lane = sg_lane();
  LOCAL u32* mine = counts + sg_index() * 256;
  for (u32 i = t; i < WG / SG_LANES * 256; i += WG) counts[i] = 0;
  barrier_local();
  u32 bad = 0, state = (group_id() * WG + t) * 2654435761u + 1;
  for (u32 round = 0; round < rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    const u32 kinds = round % 4 == 0 ? 256 : (round % 4 == 1 ? 16 : (round % 4 == 2 ? 2 : 1));
    const u32 bin = (state >> 16) % kinds;
    const u32 turn = local_add(&mine[bin], 1u);
    bins[t] = bin;
    turns[t] = turn;
    barrier_local();
    for (u32 other = t - lane; other < t; ++other)
      bad |= bins[other] == bin && turns[other] >= turn ? 1 : 0;
    barrier_local();
  }
  wrong[group_id() * WG + t] = bad;
}
