// Shared by the algorithms: key order, digits, records, scans, and ranking in a sub-group.

// Defines::problem() sets these parameters.
PARAMETER(KEY_BITS)        // bits of a key: 8, 16, 32, 64
PARAMETER(KEY_SIGNED)      // 1: keys are signed integers
PARAMETER(KEY_FLOAT)       // 1: keys are floating-point numbers
PARAMETER(KEY_INFINITY)    // for floating-point keys: the bits of infinity
PARAMETER(KEY_NAN)         // where NaN sorts: NAN_LAST, NAN_FIRST, NAN_BITS
PARAMETER(KEY_ZEROS)       // ZEROS_TIED: -0 and +0 are equal
PARAMETER(KEY_DESCENDING)  // 1: the largest key comes first
PARAMETER(ORDER_SHIFT)     // the lowest significant bit of a key's order bits
PARAMETER(ORDER_BITS)      // number of significant bits
PARAMETER(VALUE_BYTES)     // bytes of a value: 4 or 8; 0: there are no values
PARAMETER(INDEX_BITS)      // bits of a position among the records: 32 or 64

#if INDEX_BITS == 64
typedef u64 index_t;  // a position among the records
#else
typedef u32 index_t;
#endif

// Adds `what` to a count in global memory, atomically. A count is as wide as index_t. A 64-bit
// count consists of two words; its upper word is `upper` words behind its lower one. READ_COUNT
// loads a count; read(word) loads one word.
INLINE void add_to_count(GLOBAL u32* word, u32 upper, u32 what) {
  const u32 before = global_add(word, what);
  if (INDEX_BITS == 64 && before + what < what) global_add(word + upper, 1u);
}
#if INDEX_BITS == 64
#define READ_COUNT(read, word, upper) ((index_t)read(word) | (index_t)read((word) + (upper)) << 32)
#else
#define READ_COUNT(read, word, upper) ((index_t)read(word))
#endif

// Returns the position of the highest set bit. x is not 0.
INLINE u32 highest_bit(u64 x) {
  return x >> 32 != 0 ? 32 + highest_bit32((u32)(x >> 32)) : highest_bit32((u32)x);
}

// Keys are moved and stored as raw bits, never as floating-point numbers: NaN payloads and
// denormals survive.
#if KEY_BITS == 64
typedef u64 ukey_t;
#elif KEY_BITS == 32
typedef u32 ukey_t;
#elif KEY_BITS == 16
typedef u16 ukey_t;
#else
typedef u8 ukey_t;
#endif
#define KEY_SIGN ((ukey_t)((ukey_t)1 << (KEY_BITS - 1)))
// nan_last and other values of key_order.h, for #if.
#define NAN_LAST 0
#define NAN_FIRST 1
#define NAN_BITS 2
#define ZEROS_TIED 0

#if VALUE_BYTES == 8
typedef u64 value_t;
#else
typedef u32 value_t;
#endif

// The functions of key_order.h again, specialised by the preprocessor for speed.
// tests/dialect_test.cpp compares them with key_order.h. (Calling key_order.h here yields the same
// machine code for integers, and different code for floats, whose speed is not measured.)

// The same as order_of_untied_key().
INLINE ukey_t untied_order(ukey_t key) {
#if KEY_SIGNED
  key ^= KEY_SIGN;
#elif KEY_FLOAT
  key = (key & KEY_SIGN) ? (ukey_t)~key : (ukey_t)(key | KEY_SIGN);
#endif
#if KEY_DESCENDING
  key = (ukey_t)~key;
#endif
#if KEY_FLOAT && KEY_NAN == NAN_FIRST
  key += (ukey_t)(KEY_SIGN - 1 - (ukey_t)KEY_INFINITY);  // the last number becomes all ones
#endif
  return key;
}

// The same as order_of_key().
INLINE ukey_t key_order(ukey_t key) {
#if KEY_FLOAT
  const ukey_t magnitude = key & (ukey_t)~KEY_SIGN;
#if KEY_ZEROS == ZEROS_TIED
  key = magnitude == 0 ? (ukey_t)0 : key;
#endif
  const ukey_t order = untied_order(key);
#if KEY_NAN == NAN_LAST
  return magnitude > (ukey_t)KEY_INFINITY ? (ukey_t) ~(ukey_t)0 : order;
#elif KEY_NAN == NAN_FIRST
  return magnitude > (ukey_t)KEY_INFINITY ? (ukey_t)0 : order;
#else
  return order;
#endif
#else
  return untied_order(key);
#endif
}

// The same as key_with_order().
INLINE ukey_t key_of_order(ukey_t order) {
#if KEY_FLOAT && KEY_NAN == NAN_FIRST
  order -= (ukey_t)(KEY_SIGN - 1 - (ukey_t)KEY_INFINITY);
#endif
#if KEY_DESCENDING
  order = (ukey_t)~order;
#endif
#if KEY_SIGNED
  order ^= KEY_SIGN;
#elif KEY_FLOAT
  order ^= (order & KEY_SIGN) ? KEY_SIGN : (ukey_t) ~(ukey_t)0;
#endif
  return order;
}

// The same as key_may_tie().
#if KEY_FLOAT
INLINE u32 key_ties(ukey_t key) {
  u32 ties = 0;
#if KEY_NAN != NAN_BITS
  ties |= (key & (ukey_t)~KEY_SIGN) > (ukey_t)KEY_INFINITY ? 1u : 0u;
#endif
#if KEY_ZEROS == ZEROS_TIED
  ties |= key == KEY_SIGN ? 1u : 0u;
#endif
  return ties;
}
#endif

// Two classes of keys tie although their bits differ: NaNs, except with NanOrder::bits, and zeros,
// with ZeroOrder::tied.
#if KEY_FLOAT
#define KEY_MAGNITUDE(key) ((key) & (ukey_t)~KEY_SIGN)
INLINE u32 is_nan(ukey_t key) {
  return KEY_NAN != NAN_BITS && KEY_MAGNITUDE(key) > (ukey_t)KEY_INFINITY;
}
// The NaN without payload whose sign is 0.
#define QUIET_NAN \
  ((ukey_t)KEY_INFINITY | (ukey_t)((ukey_t)KEY_INFINITY & (0 - (ukey_t)KEY_INFINITY)) >> 1)
// The NaN without payload whose sign puts its float code where NaNs belong. Codes sort a list that
// has no other keys that may tie.
#define PLACED_NAN (QUIET_NAN | ((KEY_NAN == NAN_FIRST) != KEY_DESCENDING ? KEY_SIGN : 0))
// Returns 1 if the key may tie and, if `excepts_nan` is 1, is not PLACED_NAN.
INLINE u32 needs_ties(ukey_t key, u32 excepts_nan) {
  return key_ties(key) && !(excepts_nan && key == PLACED_NAN);
}
// Returns 1 if the key is a member of a class.
INLINE u32 has_class(ukey_t key) {
#if KEY_ZEROS == ZEROS_TIED && KEY_NAN != NAN_BITS
  return (ukey_t)(KEY_MAGNITUDE(key) - 1) >= (ukey_t)KEY_INFINITY;
#elif KEY_ZEROS == ZEROS_TIED
  return KEY_MAGNITUDE(key) == 0;
#else
  return is_nan(key);
#endif
}
#endif

// The same as last_key(), as a constant.
#if KEY_FLOAT && KEY_NAN == NAN_LAST
#define KEY_LAST ((ukey_t) ~(ukey_t)0)
#elif KEY_FLOAT && KEY_NAN == NAN_FIRST  // an infinity
#define KEY_LAST ((ukey_t)(KEY_DESCENDING ? (ukey_t)KEY_INFINITY | KEY_SIGN : (ukey_t)KEY_INFINITY))
#elif KEY_FLOAT  // a NaN
#define KEY_LAST ((ukey_t)(KEY_DESCENDING ? ~(ukey_t)0 : (ukey_t)~KEY_SIGN))
#elif KEY_SIGNED
#define KEY_LAST ((ukey_t)(KEY_DESCENDING ? KEY_SIGN : ~KEY_SIGN))
#else
#define KEY_LAST ((ukey_t)(KEY_DESCENDING ? (ukey_t)0 : ~(ukey_t)0))
#endif

INLINE u32 key_digit(ukey_t key, u32 shift, u32 mask) {
  return (u32)(key_order(key) >> shift) & mask;
}

#if SPREAD_BITS
// Most lists of floats have few different exponents, so their order bits crowd in a few ranges.
// Spread orders avoid that. The lead of a key is the SPREAD_BITS leading bits of its order bits: a
// float's sign and exponent. The range of each lead is multiplied by a power of two, which is the
// larger the more keys have the lead. The table `spread`, indexed by the lead, maps order bits to
// spread orders. The table `gather`, indexed by the leading bits of a spread order, maps back.
#define SPREAD_LOW (KEY_BITS - SPREAD_BITS)
#define SPREAD_NONE (~0u)  // the lead has no range
INLINE u32 spread_entry(u32 first, u32 log2_times) { return first << 4 | log2_times; }
// Returns the index of an order in `spread`, or of a spread order in `gather`.
INLINE u32 spread_index(ukey_t order) { return (u32)(order >> SPREAD_LOW); }
INLINE ukey_t spread_order(ukey_t order, u32 entry) {
  const ukey_t low = order & (((ukey_t)1 << SPREAD_LOW) - 1);
  return ((ukey_t)(entry >> 4) << SPREAD_LOW) + (low << (entry & 15));
}
#if CLASS_DIGITS
// A class is all NaNs, or all zeros. Its members may get spread orders whose leading digit (8 bits)
// no other key has. A digit has the spread orders of CLASS_LEADS leads. If no other key of the list
// has the leads of the members, `spread` maps these leads to the first two leads of the digit. It
// has two more words: the first leads of the zeros' and of the NaNs' digit, or NO_CLASS.
#define CLASS_LEADS (1u << (SPREAD_BITS - 8))
#define NO_CLASS (~0u)
INLINE u32 class_lead(u32 first, u32 lead) { return first | (lead & 1); }
// Returns 1 if only the members of a class have this leading digit.
INLINE u32 is_class_digit(GLOBAL const u32* spread, u32 digit) {
  GLOBAL const u32* first = spread + (1u << SPREAD_BITS);
  return first[0] == digit * CLASS_LEADS || first[1] == digit * CLASS_LEADS;
}
#endif
INLINE ukey_t spread_key(ukey_t key, GLOBAL const u32* spread) {
  const ukey_t order = untied_order(key);
  return spread_order(order, spread[spread_index(order)]);
}
INLINE u32 gather_entry(u32 leading_bits, u32 first, u32 log2_times) {
  return leading_bits << 16 | first << 4 | log2_times;
}
INLINE ukey_t spread_begin(u32 gather_entry) {
  return (ukey_t)(gather_entry >> 4 & 0xfff) << SPREAD_LOW;
}
INLINE ukey_t gather_order(ukey_t spread, u32 entry) {
  return ((ukey_t)(entry >> 16) << SPREAD_LOW) + ((spread - spread_begin(entry)) >> (entry & 15));
}
#endif

// Returns the number of passes before `pass` that move the records. A pass is skipped if all keys
// have the same digit, which only the device knows: left_out[p] is 0 if pass p moves the records.
// AFTER_MOVES returns the memory that then holds the records. They begin in `in`; the passes that
// move them write to `a`, `b`, `a`, … in turn.
INLINE u32 moves_before(GLOBAL const u32* left_out, u32 pass) {
  u32 moves = 0;
  for (u32 p = 0; p < pass; ++p) moves += left_out[p] == 0 ? 1u : 0u;
  return moves;
}
#define AFTER_MOVES(moves, in, a, b) ((moves) == 0 ? (in) : (moves) % 2 ? (a) : (b))

// The number by which comparison sorts compare keys: the problem's bit range (ORDER_SHIFT,
// ORDER_BITS) of the key's order.
INLINE ukey_t key_rank(ukey_t key) {
  return (ukey_t)bits_of_order(key_order(key), ORDER_SHIFT, ORDER_BITS);
}

// A key and its value. Without values, `value` is 0 and costs nothing.
typedef struct {
  ukey_t key;
  value_t value;
} record_t;

INLINE record_t load_record(GLOBAL const ukey_t* keys, GLOBAL const value_t* values, u64 i) {
  record_t r;
  r.key = keys[i];
#if VALUE_BYTES
  r.value = values ? values[i] : (value_t)i;  // null: an argsort, whose values are positions
#else
  r.value = 0;
#endif
  return r;
}

INLINE void store_record(GLOBAL ukey_t* keys, GLOBAL value_t* values, u64 i, record_t r) {
  if (keys) keys[i] = r.key;  // null: an argsort that writes only positions
#if VALUE_BYTES
  values[i] = r.value;
#endif
}

// Records in local memory: LOCAL_RECORDS(tile, 256); then get_record(tile_keys, tile_values, i).
#if VALUE_BYTES
#define LOCAL_RECORDS(name, count)         \
  LOCAL_ARRAY(ukey_t, name##_keys, count); \
  LOCAL_ARRAY(value_t, name##_values, count)
#else
#define LOCAL_RECORDS(name, count)         \
  LOCAL_ARRAY(ukey_t, name##_keys, count); \
  LOCAL value_t* name##_values = 0
#endif

INLINE record_t get_record(LOCAL const ukey_t* keys, LOCAL const value_t* values, u32 i) {
  record_t r;
  r.key = keys[i];
#if VALUE_BYTES
  r.value = values[i];
#else
  r.value = 0;
#endif
  return r;
}

INLINE void put_record(LOCAL ukey_t* keys, LOCAL value_t* values, u32 i, record_t r) {
  keys[i] = r.key;
#if VALUE_BYTES
  values[i] = r.value;
#endif
}

// A comparator of a sorting network: moves the record that sorts first to *a, or to *b if `reverse`
// is 1. Does not swap ties. Does nothing if `both_there` is 0.
INLINE void compare_exchange(record_t* a, record_t* b, u32 reverse, u32 both_there) {
  const record_t x = *a, y = *b;
  const ukey_t rank_x = key_rank(x.key), rank_y = key_rank(y.key);
  const u32 swap = both_there & (reverse ? rank_x < rank_y : rank_y < rank_x);
  a->key = swap ? y.key : x.key;
  b->key = swap ? x.key : y.key;
  a->value = swap ? y.value : x.value;
  b->value = swap ? x.value : y.value;
}

// Returns 1 if a stage of the bitonic network sorts the sequence of record i (of n) in descending
// order. The stage merges into sequences of `length`, a power of two. Directions alternate, counted
// from the end of the list, so that the last sequence ascends. Then comparators without a partner
// can be skipped for any n: records past the end would sort after all others.
INLINE u32 bitonic_reverse(u64 i, u64 n, u64 length) {
  return ((i ^ (n - 1)) & length) != 0 ? 1 : 0;
}

// Returns how many records of a sorted run of `count` records come before a record of another run
// that has this `rank`. If `ties` is 1, the run precedes the record's own run, so records of equal
// rank are counted, too.
#define DEFINE_RANK_IN_RUN(name, SPACE)                                                \
  INLINE index_t name(SPACE const ukey_t* run, index_t count, ukey_t rank, u32 ties) { \
    index_t low = 0, high = count;                                                     \
    while (low < high) {                                                               \
      const index_t middle = (low + high) / 2;                                         \
      const ukey_t other = key_rank(run[middle]);                                      \
      const u32 before = ties ? other <= rank : other < rank;                          \
      low = before ? middle + 1 : low;                                                 \
      high = before ? high : middle;                                                   \
    }                                                                                  \
    return low;                                                                        \
  }
DEFINE_RANK_IN_RUN(rank_in_local_run, LOCAL)
DEFINE_RANK_IN_RUN(rank_in_global_run, GLOBAL)

// Returns how many of `count` unsorted ranks come before `rank`: all smaller ranks, and the equal
// ones among the first `earlier` ranks. The records of those precede the record of `rank` in the
// input.
INLINE u32 count_before(LOCAL const ukey_t* ranks, u32 earlier, u32 count, ukey_t rank) {
  u32 before = 0;
  for (u32 j = 0; j < earlier; ++j) before += ranks[j] <= rank ? 1u : 0u;
  for (u32 j = earlier; j < count; ++j) before += ranks[j] < rank ? 1u : 0u;
  return before;
}

// Sets *word to the OR of all work-items' `bits`. *word must be 0 before; a barrier must follow.
// With native sub-groups, the lanes first combine their bits, and one lane updates *word: atomic
// operations of many lanes on one word are serialised.
INLINE void wg_or(LOCAL u32* word, u32 bits) {
#if SG_NATIVE
  for (u32 distance = 1; distance < SG_LANES; distance *= 2)
    bits |= sg_shuffle(0, bits, sg_lane() ^ distance);
  if (sg_lane() == 0)
#endif
    local_or(word, bits);
}

// Sets *word to the largest of all work-items' `x`, if that is more than *word. A barrier must
// follow.
INLINE void wg_max(LOCAL u32* word, u32 x) {
#if SG_NATIVE
  for (u32 distance = 1; distance < SG_LANES; distance *= 2)
    x = max(x, sg_shuffle(0, x, sg_lane() ^ distance));
  if (sg_lane() == 0)
#endif
    local_max(word, x);
}

// Returns the index of sample i, if samples come from the parts of a list, `length` records each:
// that of a random record of part i. At equal distances, the samples of a list that repeats itself
// would be alike.
INLINE u64 sample_index(u32 i, u32 length) {
  u32 random = (i + 1) * 0x9e3779b1u;
  random = (random ^ random >> 15) * 0x85ebca6bu;
  return (u64)i * length + (random ^ random >> 13) % max(length, 1u);
}

// Each work-item passes two keys. Afterwards *least is the smallest of all that were passed there,
// and *largest the largest. `edges` is local memory: four words, 0 at first. Contains barriers.
INLINE void find_edges(LOCAL u32* edges, ukey_t* least, ukey_t* largest) {
  const ukey_t inverted = ~*least;
#if KEY_BITS == 64
  wg_max(&edges[0], (u32)(inverted >> 32));
  wg_max(&edges[2], (u32)(*largest >> 32));
  barrier_local();
  if ((u32)(inverted >> 32) == edges[0]) local_max(&edges[1], (u32)inverted);
  if ((u32)(*largest >> 32) == edges[2]) local_max(&edges[3], (u32)*largest);
  barrier_local();
  *least = ~((ukey_t)edges[0] << 32 | edges[1]);
  *largest = (ukey_t)edges[2] << 32 | edges[3];
#else
  wg_max(&edges[0], (u32)inverted);
  wg_max(&edges[2], (u32)*largest);
  barrier_local();
  *least = ~(ukey_t)edges[0];
  *largest = (ukey_t)edges[2];
#endif
}

// Waits until work-groups together have counted `tiles` tiles as done, each with
// global_add_release. Ends with a barrier.
INLINE void wait_for(GLOBAL u32* done, u32 tiles) {
  if (local_id() == 0)
    while (load_acquire(done) < tiles) {
    }
  barrier_all();
}

// Inclusive prefix sum of `x` over the sub-group, in lane order.
INLINE index_t sg_scan_add(sub_group_t sg, index_t x) {
  for (u32 distance = 1; distance < SG_LANES; distance *= 2) {
    const u32 from = (sg_lane() - distance) % SG_LANES;
    index_t other = sg_shuffle(sg, (u32)x, from);
#if INDEX_BITS == 64
    other |= (index_t)sg_shuffle(sg, (u32)(x >> 32), from) << 32;
#endif
    x += sg_lane() >= distance ? other : 0;
  }
  return x;
}

// Exclusive prefix sum of `x` over the work-group's first `count` work-items (a power of two), in
// the order of their ids. Stores the sum of all in *total. `scratch` has SCAN_WORDS(count) words.
// Every work-item must call it; it ends with a barrier.
#if SG_NATIVE
#define SCAN_WORDS(count) ((count) < SG_LANES ? 1 : (count) / SG_LANES)
INLINE index_t wg_scan_add(LOCAL index_t* scratch, u32 count, index_t x, index_t* total) {
  const u32 t = local_id(), lane = sg_lane();
  const u32 sub_groups = count < SG_LANES ? 1 : count / SG_LANES;
  // Scan in the sub-group, then add the sums of all earlier sub-groups.
  const index_t inclusive = sg_scan_add(0, t < count ? x : 0);
  if (lane == SG_LANES - 1 && sg_index() < sub_groups) scratch[sg_index()] = inclusive;
  barrier_local();
  index_t before = 0, all = 0;
  for (u32 s = 0; s < sub_groups; ++s) {
    const index_t sum = scratch[s];
    before += s < sg_index() ? sum : 0;
    all += sum;
  }
  barrier_local();
  *total = all;
  return t < count ? before + inclusive - x : 0;
}
#else
#define SCAN_WORDS(count) (2 * (count))
INLINE index_t wg_scan_add(LOCAL index_t* scratch, u32 count, index_t x, index_t* total) {
  const u32 t = local_id();
  u32 from = 0;
  if (t < count) scratch[t] = x;
  barrier_local();
  for (u32 distance = 1; distance < count; distance *= 2) {
    if (t < count)
      scratch[(from ^ count) + t] =
          scratch[from + t] + (t >= distance ? scratch[from + t - distance] : 0);
    from ^= count;
    barrier_local();
  }
  const index_t inclusive = t < count ? scratch[from + t] : 0;
  *total = scratch[from + count - 1];
  barrier_local();
  return t < count ? inclusive - x : 0;
}
#endif

// Ranking in a sub-group. sg_rank returns the rank of this lane's record in its bin: the number of
// the sub-group's records with the same bin in lower lanes or in earlier calls. `counts` belongs to
// the sub-group and has SG_RANK_WORDS(bins) words, all 0 before the first call: a count for each
// bin, then private data.
#if ORDERED_LOCAL_ATOMICS
// On this device, lanes that add to the same word do so in lane order. No vendor guarantees this
// order; the probe has tested it.
#define SG_RANK_WORDS(bins) (bins)
INLINE u32 sg_rank(LOCAL u32* counts, u32 bins, u32 bin) { return local_add(&counts[bin], 1u); }
// The same as sg_rank, but faster if all lanes have the same bin: one lane adds for all, because
// additions of many lanes to one word are serialised.
INLINE u32 sg_rank_alike(LOCAL u32* counts, u32 bins, u32 bin) {
  if (sg_ballot(0, bin != sg_shuffle(0, bin, 0)) != 0) return local_add(&counts[bin], 1u);
  u32 before = 0;
  if (sg_lane() == 0) before = local_add(&counts[bin], SG_LANES);
  return sg_shuffle(0, before, 0) + sg_lane();
}
// Ranks `rows` rows of digits, DIGIT_OF(i), if many digits are `one` or `two`. If only one digit is
// common, pass a number of at least `bins` as `two`. Ballots rank these two digits, because
// additions to one count are serialised. Lanes with other digits call local_add. Passes each rank
// to PUT(i, rank). All counts must be 0 before.
#define SG_RANK_COMMON(rows, counts, bins, DIGIT_OF, one, two, PUT)                               \
  {                                                                                               \
    const u32 lane = sg_lane(), below = (1u << lane) - 1;                                         \
    u32 ones = 0, twos = 0;                                                                       \
    UNROLL                                                                                        \
    for (u32 i = 0; i < (rows); ++i) {                                                            \
      const u32 d = DIGIT_OF(i);                                                                  \
      const u32 with_one = sg_ballot(sg, d == (one)), with_two = sg_ballot(sg, d == (two));       \
      u32 rank =                                                                                  \
          d == (one) ? ones + popcount32(with_one & below) : twos + popcount32(with_two & below); \
      if (d != (one) && d != (two)) rank = local_add(&counts[d], 1u);                             \
      ones += popcount32(with_one);                                                               \
      twos += popcount32(with_two);                                                               \
      PUT(i, rank)                                                                                \
    }                                                                                             \
    if (lane == 0) counts[one] = ones;                                                            \
    if (lane == 0 && (two) < (bins)) counts[two] = twos;                                          \
  }
#else
#define sg_rank_alike sg_rank
#define SG_RANK_WORDS(bins) (2 * (bins))
INLINE u32 sg_rank(volatile LOCAL u32* counts, u32 bins, u32 bin) {
  volatile LOCAL u32* masks = counts + bins;  // mask of the lanes with each bin; 0 before and after
  const u32 lane = sg_lane();
  local_or((LOCAL u32*)&masks[bin], 1u << lane);
  sg_barrier();
  const u32 same = masks[bin];
  const u32 before = counts[bin];
  sg_barrier();
  if (same >> lane == 1) {  // the highest lane with this bin adds for all
    counts[bin] = before + popcount32(same);
    masks[bin] = 0;
  }
  sg_barrier();
  return before + popcount32(same & ((1u << lane) - 1));
}
#endif

// Stores in place[i] the sg_rank of DIGIT_OF(i), for each of `rows` rows. Uses sg_rank_alike if all
// lanes have the same DIGIT_OF(0), or if `expected` is 1.
#if ORDERED_LOCAL_ATOMICS
#define SG_RANK_ROWS(place, rows, counts, bins, DIGIT_OF, expected)                       \
  if ((expected) || sg_ballot(0, DIGIT_OF(0) != sg_shuffle(0, DIGIT_OF(0), 0)) == 0) {    \
    UNROLL                                                                                \
    for (u32 i = 0; i < (rows); ++i) place[i] = sg_rank_alike(counts, bins, DIGIT_OF(i)); \
  } else {                                                                                \
    UNROLL                                                                                \
    for (u32 i = 0; i < (rows); ++i) place[i] = sg_rank(counts, bins, DIGIT_OF(i));       \
  }
#else  // unrolled although emulated: PoCL 3.1 compiles a loop around barriers wrongly
#define SG_RANK_ROWS(place, rows, counts, bins, DIGIT_OF, expected) \
  UNROLL                                                            \
  for (u32 i = 0; i < (rows); ++i) place[i] = sg_rank(counts, bins, DIGIT_OF(i));
#endif
