// msd, equalized keys (equalize.cl): a work-group sorts buckets in local memory by bins, one after
// the other.
// The files bins.cl, bin_sort.cl, msd_local.cl and equalize.cl come before this one.
//
// An item is the distance of a key's order from the first order of what is sorted. With COMPOSITE,
// the record's position in the job follows below it.

PARAMETER(VERDICT_MAPPED)  // value of *skewed if keys are equalized; see msd_count
PARAMETER(VERDICT_LISTED)  // not used here

// What is sorted at once: a bucket, or two neighbours that fit.
typedef struct {
  u32 bucket;        // number of the (first) bucket
  u32 begin, count;  // its records
  u32 origin;        // its first order
  u32 width;         // log2 of the orders of a bucket
  u32 pair;          // 1: two buckets
} equalized_job_t;

// Returns the log2 of the bucket's width. `origin` is the bucket's first order plus half of the
// width: a bit below those of the first order.
INLINE u32 width_of(u32 origin) { return highest_bit32(origin & (0u - origin)) + 1; }

// Returns what to sort next, from bucket b on. `buckets`: the number of all buckets. Two buckets
// are sorted together if they have one width, are a range of 2^k orders from a multiple of 2^k on,
// and fit.
INLINE equalized_job_t make_job(GLOBAL const u32* starts, GLOBAL const u32* origins, u32 buckets,
                                u32 b) {
  equalized_job_t job;
  const u32 middle = starts[b + 1], end = starts[min(b + 2, buckets)], origin = origins[b],
            next = origins[min(b + 1, buckets - 1)];
  job.bucket = b;
  job.begin = starts[b], job.width = width_of(origin), job.origin = origin & (origin - 1);
  // A bucket of more than 5/8 of the capacity would crowd its half of the bins.
  const u32 larger = max(middle - job.begin, end - middle);
  job.pair = b + 1 < buckets && job.width == width_of(next) && job.width < DISTANCE_BITS &&
             (job.origin >> job.width & 1) == 0 && end - job.begin <= CAPACITY &&
             larger <= CAPACITY / 8 * 5;
  job.count = (job.pair ? end : middle) - job.begin;
  return job;
}

INLINE sort_t item_of_key(equalized_job_t job, ukey_t key, u32 at) {
  const u32 bits = key_order(key), second = (bits >> DISTANCE_BITS ^ job.bucket) & job.pair,
            distance = DISTANCE_OF(bits) | second << job.width;
#if COMPOSITE
  return (sort_t)distance << POSITION_BITS | at;
#else
  return distance;
#endif
}

// Sorts the records of a job. Returns the next job: its loads come before the records are stored,
// so that they need not be waited for.
INLINE equalized_job_t sort_job(LOCAL msd_local_memory_t* mine, sub_group_t sg, equalized_job_t job,
                                GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                                GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                                GLOBAL const u32* starts, GLOBAL const u32* origins, u32 buckets) {
  const u32 t = local_id(), count = job.count, rows = (count + WG - 1 - t) / WG;
  const u64 begin = job.begin, out = begin;
  keys_in += begin;
  sort_t item[ITEMS];
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    item[i] = SORT_LAST;
    if (i < rows) {
      item[i] = item_of_key(job, keys_in[at], at);
      LOAD_VALUE_EARLY(at)
    }
  }
  // If there are no more orders than bins, all keys of a bin are equal.
  bins_by_place_t by_place;
  by_place.bits = by_place.step = 0;
  const u32 bits = (COMPOSITE ? POSITION_BITS : 0) + job.width + job.pair,
            shift = bits - min(bits, LOG_BINS);
  sort_in_bins(&mine->sort, sg, item, rows, shift, 0, by_place, !COMPOSITE && shift == 0);
  take_sorted(mine, item, rows, values_in, begin);
  const equalized_job_t next =
      make_job(starts, origins, buckets, min(job.bucket + 1 + job.pair, buckets - 1));
  UNROLL
  for (u32 i = 0; i < ITEMS; ++i) {
    const u32 at = i * WG + t;
    if (i >= rows) continue;
    if (keys_out) {
      const u32 distance = (u32)(item[i] >> (COMPOSITE ? POSITION_BITS : 0));
      keys_out[out + at] = key_of_order(job.origin | distance);
    }
    STORE_VALUE(at, item[i])
  }
  return next;
}

// Sorts buckets of equalized keys, and restores the keys. Work-group g sorts the buckets from
// number g * `own` to (g + 1) * `own`; if the last of them and the next one are sorted together,
// that one, too. The other parameters are those of msd_local.
//   equalizer, origins   in: from msd_count
KERNEL_RESIDENT(WG, RESIDENT)
void msd_local_equalized(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                         GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                         GLOBAL const u32* starts, GLOBAL const u32* skewed,
                         GLOBAL const u32* equalizer, GLOBAL const u32* origins, u32 own) {
  SUB_GROUP(WG);
  LOCAL_STRUCT(msd_local_memory_t, mine);
  if (*skewed != VERDICT_MAPPED) return;
  const u32 buckets = equalizer[EQUALIZER_USED], first = group_id() * own,
            last = min(first + own, buckets);
  if (first >= last) return;
  equalized_job_t job = make_job(starts, origins, buckets, first);
  if (first != 0 && make_job(starts, origins, buckets, first - 1).pair)
    job = make_job(starts, origins, buckets, min(first + 1, buckets - 1)), job.bucket = first + 1;
  while (job.bucket < last) {
    const u32 next = job.bucket + 1 + job.pair;
    if (job.count != 0)
      job = sort_job(mine, sg, job, keys_in, keys_out, values_in, values_out, starts, origins,
                     buckets);
    else
      job = make_job(starts, origins, buckets, min(next, buckets - 1));
    job.bucket = next;
    barrier_local();  // the next bucket uses the same local memory
  }
}
