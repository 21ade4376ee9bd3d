// Document 004's merge sort in three tiers. A level merges neighbouring runs of `run` records (a
// power of two) in pairs. The last run of the list may be short. If it has no sibling, it is merged
// with an empty run.

PARAMETER(SERIAL_WG)  // work-items of a work-group in tier 1
PARAMETER(WG)         // work-items of a work-group in tiers 2 and 3
PARAMETER(CAPACITY)   // records that a work-group can merge in local memory, a multiple of WG
PARAMETER(SAMPLE)     // records between samples, a power of two

// A pair of runs: where its first and its second run begin, and where the second run ends.
#define RUNS_OF_PAIR(pair)                      \
  const u64 left_run = (u64)(pair)*2 * run;     \
  const u64 right_run = min(left_run + run, n); \
  const u64 end_of_pair = min(right_run + run, n);

// Tier 1, for short runs: each work-item merges one pair of runs. It keeps the heads of both runs
// in registers.
KERNEL(SERIAL_WG)
void merge_serial(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                  GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u64 run) {
  RUNS_OF_PAIR((u64)group_id() * SERIAL_WG + local_id())
  if (left_run >= n) return;
  u64 left = left_run, right = right_run;
  record_t left_head = load_record(keys_in, values_in, left);
  record_t right_head = load_record(keys_in, values_in, min(right, n - 1));
  for (u64 to = left_run; to < end_of_pair; ++to) {
    if (right == end_of_pair ||
        (left < right_run && key_rank(left_head.key) <= key_rank(right_head.key))) {
      store_record(keys_out, values_out, to, left_head);
      left_head = load_record(keys_in, values_in, min(++left, n - 1));
    } else {
      store_record(keys_out, values_out, to, right_head);
      right_head = load_record(keys_in, values_in, min(++right, n - 1));
    }
  }
}

// One work-group merges the runs [left, left + left_count) and [right, right + right_count) into
// the output from `to` on. A record's position in the merged run is its index in its own run plus
// the number of records of the other run that come before it.
INLINE void merge_in_group(LOCAL ukey_t* keys, GLOBAL const ukey_t* keys_in,
                           GLOBAL ukey_t* keys_out, GLOBAL const value_t* values_in,
                           GLOBAL value_t* values_out, u64 left, u32 left_count, u64 right,
                           u32 right_count, u64 to) {
  const u32 count = left_count + right_count;
  // Load both runs, one after the other. Keys loaded past the end of the second run are never used.
  for (u32 base = 0; base < count; base += WG) {
    const u32 i = min(base + local_id(), count - 1);
    keys[base + local_id()] = keys_in[i < left_count ? left + i : right + (i - left_count)];
  }
  barrier_local();

  // Rank and write. Neighbouring records of a run go to nearby positions.
  for (u32 i = local_id(); i < count; i += WG) {
    const u32 is_left = i < left_count;
    record_t mine;
    mine.key = keys[i];
    const u32 before =
        (u32)rank_in_local_run(keys + (is_left ? left_count : 0),
                               is_left ? right_count : left_count, key_rank(mine.key), !is_left);
    const u64 from = is_left ? left + i : right + (i - left_count);
#if VALUE_BYTES
    mine.value = values_in ? values_in[from] : (value_t)from;
#endif
    store_record(keys_out, values_out, to + (is_left ? i : i - left_count) + before, mine);
  }
}

// Tier 2, for medium runs: each work-group merges one pair of runs.
KERNEL(WG)
void merge_middle(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                  GLOBAL const value_t* values_in, GLOBAL value_t* values_out, u64 n, u64 run) {
  LOCAL_ARRAY(ukey_t, keys, CAPACITY);
  RUNS_OF_PAIR(group_id())
  merge_in_group(keys, keys_in, keys_out, values_in, values_out, left_run,
                 (u32)(right_run - left_run), right_run, (u32)(end_of_pair - right_run), left_run);
}

// Tier 3, for long runs: many work-groups merge one pair of runs. This kernel cuts each pair into
// pieces. Every SAMPLE-th record of a run is a sample. The kernel finds the sample's rank in the
// other run: how many of its records come before the sample. Own index and rank are where the
// sample cuts the two runs. The kernel stores these cuts at the sample's index among all samples of
// the pair in sorted order.
KERNEL(WG)
void merge_rank_samples(GLOBAL const ukey_t* keys, GLOBAL index_t* left_cuts,
                        GLOBAL index_t* right_cuts, u64 n, u64 run) {
  const u64 i = ((u64)group_id() * WG + local_id()) * SAMPLE;
  if (i >= n) return;
  RUNS_OF_PAIR(i / (2 * run))
  const u32 is_left = i < right_run;
  const index_t own = (index_t)(i - (is_left ? left_run : right_run));
  const index_t before =
      rank_in_global_run(keys + (is_left ? right_run : left_run),
                         (index_t)(is_left ? end_of_pair - right_run : right_run - left_run),
                         key_rank(keys[i]), !is_left);
  const u64 place = left_run / SAMPLE + own / SAMPLE + (before + SAMPLE - 1) / SAMPLE;
  left_cuts[place] = is_left ? own : before;
  right_cuts[place] = is_left ? before : own;
}

// Each work-group merges one piece: the records between two neighbouring samples, at most SAMPLE of
// each run.
KERNEL(WG)
void merge_pieces(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                  GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                  GLOBAL const index_t* left_cuts, GLOBAL const index_t* right_cuts, u64 n,
                  u64 run) {
  LOCAL_ARRAY(ukey_t, keys, CAPACITY);
  const u64 piece = group_id();
  RUNS_OF_PAIR(piece * SAMPLE / (2 * run))
  const u64 next = min(piece + 1, (u64)group_count() - 1);
  const u32 last = (piece + 1) * SAMPLE >= end_of_pair;
  const u64 left = left_run + left_cuts[piece], right = right_run + right_cuts[piece];
  const u64 left_end = last ? right_run : left_run + left_cuts[next];
  const u64 right_end = last ? end_of_pair : right_run + right_cuts[next];
  merge_in_group(keys, keys_in, keys_out, values_in, values_out, left, (u32)(left_end - left),
                 right, (u32)(right_end - right), left_run + left_cuts[piece] + right_cuts[piece]);
}
