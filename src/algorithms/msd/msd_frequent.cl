// msd, lists that do not spread: the table of frequent keys. Equal keys without values are
// identical, so frequent keys need not move: msd_frequent_count.cl counts them. With values,
// records are sorted by short codes in the place of frequent keys (msd_frequent_codes.cl). The
// other keys are called the *rest*. Radix passes sort the rest. Then msd_frequent_insert.cl writes
// the sorted list:
//
//     input      5 9 5 5 2 9 5 7        frequent: 5 (4 times), 9 (twice)
//     rest       2 7
//     output     2 5 5 5 5 7 9 9
//
// Here, a key is frequent if it is in a table in local memory. Every work-group makes the same
// table from the same samples. Two hashes of a key tell its two places. If other keys occupy both,
// the key is not in the table, and belongs to the rest, however frequent it is.

PARAMETER(WG)            // work-items of a work-group, a power of two
PARAMETER(ITEMS)         // keys of a work-item in a tile
PARAMETER(RESIDENT)      // work-groups that share a compute unit
PARAMETER(SAMPLES)       // samples, a power of two from WG to 16384
PARAMETER(SLOTS)         // places of the table, a power of two from SAMPLES on
PARAMETER(PART)          // keys that a work-group ranks, or whose runs it finds, at a time
PARAMETER(INSERT_ITEMS)  // keys that a work-item of msd_insert_frequent writes at a time

#define TILE (WG * ITEMS)
#define TILES(n) ((u32)(((n) + TILE - 1) / TILE))
#define HALF (SLOTS / 2)  // the first places of all keys, then the second ones

// The words of `state`.
#define REST_VALID 0u    // 1: frequent keys are counted, and the rest is copied
#define REST_COUNT 1u    // number of keys in the rest
#define TIES_SEEN 2u     // not 0: a key may tie with a key of different bits
#define COUNTS_ADDED 3u  // number of work-groups that have added their counts
#define PARTS_TICKET 4u  // msd_insert_frequent: number of parts that are taken
#define PARTS_DONE 5u    // msd_insert_frequent: number of parts that are done
// msd_encode_frequent: how many parts of the table, pairs of tiles, and chunks of the list are
// taken, and how many parts and pairs are done.
#define RANKS_TICKET 6u
#define RANKS_DONE 7u
#define TILES_TICKET 8u
#define TILES_DONE 9u
#define REST_TICKET 10u

// Returns a hash of the key. Only its highest bits depend on all bits of the key. `times` is odd.
INLINE u32 hash_of(ukey_t key, u64 times) {
#if KEY_BITS == 64
  return (u32)((key * times) >> 32);
#else
  return (u32)key * ((u32)(times >> 32) | 1);
#endif
}

// A key's first (which = 0) and second place in the table. Those of key 0 are 0 and HALF.
INLINE u32 place_of(ukey_t key, u32 which) {
  const u32 hash = hash_of(key, which ? 0xd6e8feb86659fd93ul : 0x9e3779b97f4a7c15ul);
  return which * HALF + (hash >> (32 - highest_bit32(HALF)));
}

// frequent_bytes() in msd_frequent.cpp computes its size.
typedef struct {
  ukey_t keys[SLOTS];
  u32 counts[SLOTS + 1];
  index_t scratch[SCAN_WORDS(WG)];
} msd_frequent_memory_t;

#define AT_ONCE (ITEMS < 8 ? ITEMS : 8)  // keys of a work-item that are looked up at the same time
#define IN_REST SLOTS     // the place of keys that are not in the table; its count is not used
#define TEAM (WG / PART)  // work-items that find the rank or the run of one key

// ---- The table ----

// While the table is being made, each of its words holds the tag of a sample. A tag has three
// parts. Its highest bit is 1 if several samples seem to have the key. Its lowest bits are the
// sample's number. The bits between them are a part of the key's third hash.
#define SEVERAL 0x80000000u
#define THIRD_HASH(key) hash_of(key, 0xff51afd7ed558ccdul)

#define OWN_SAMPLES (SAMPLES / WG)
#define OWN_SLOTS (SLOTS / WG)
#define BATCH (OWN_SAMPLES < 8 ? OWN_SAMPLES : 8)  // samples that are loaded at a time

// Sets tag[i] to the tag of sample[i]. The highest bit is 1 if another sample has the same third
// hash: the same key or, by chance, another one. own->counts must be 0 and is 0 afterwards.
// Ends with a barrier.
INLINE void make_tags(LOCAL msd_frequent_memory_t* own, const ukey_t* sample, u32* tag) {
  const u32 t = local_id();
#define HASH_WORD(key) own->counts[THIRD_HASH(key) >> (32 - highest_bit32(SLOTS))]
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i) local_add(&HASH_WORD(sample[i]), 1u);
  barrier_local();
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i)
    tag[i] = (HASH_WORD(sample[i]) > 1 ? SEVERAL : 0) |
             (THIRD_HASH(sample[i]) >> 1 & ~(SAMPLES - 1u)) | (i * WG + t);
  barrier_local();
  for (u32 i = t; i < SLOTS; i += WG) own->counts[i] = 0;
  barrier_local();
}

// Samples compete for one of their two places; the largest tag stays there. *left has a bit for
// each sample that has no place yet. Counts the samples of the keys that have won, and takes them
// out of *left. Ends with a barrier.
INLINE void take_places(LOCAL msd_frequent_memory_t* own, LOCAL u32* tags,
                        GLOBAL const ukey_t* samples, const ukey_t* sample, const u32* tag,
                        u32 which, u32* left) {
  // Work-items that change the same word wait for each other. The samples with the largest numbers
  // come first: most other samples of a very frequent key then have smaller tags, and need not
  // change the word.
  const u32 last = OWN_SAMPLES - 1;
  if (*left >> last & 1) local_max(&tags[place_of(sample[last], which)], tag[last]);
  barrier_local();
  u32 larger = 0;
  UNROLL
  for (u32 i = 0; i < last; ++i)
    larger |= (tags[place_of(sample[i], which)] < tag[i] ? 1u : 0u) << i;
  barrier_local();
  UNROLL
  for (u32 i = 0; i < last; ++i)
    if ((*left & larger) >> i & 1) local_max(&tags[place_of(sample[i], which)], tag[i]);
  barrier_local();

  UNROLL
  for (u32 base = 0; base < OWN_SAMPLES; base += BATCH) {
    ukey_t winner[BATCH];
    UNROLL
    for (u32 i = 0; i < BATCH; ++i)
      winner[i] = samples[tags[place_of(sample[base + i], which)] % SAMPLES];
    UNROLL
    for (u32 i = 0; i < BATCH; ++i) {
      const u32 bit = 1u << (base + i),
                has_won = (*left & bit) != 0 && winner[i] == sample[base + i];
      if (has_won) local_add(&own->counts[place_of(sample[base + i], which)], 1u);
      *left &= has_won ? ~bit : ~0u;
    }
  }
  barrier_local();
}

// Makes the table: own->keys has keys of samples in their places, and own->counts is 0. Every other
// place has a key that does not belong there. Counts the samples whose key is in the table and has
// several samples, and returns their number. Returns 0 if a sample may tie with a key of other
// bits. Ends with a barrier.
#define TIE (4u * SAMPLES)  // more than all samples
INLINE u32 make_table(LOCAL msd_frequent_memory_t* own, GLOBAL const ukey_t* samples) {
  const u32 t = local_id();
  LOCAL u32* tags = (LOCAL u32*)own->keys;
  ukey_t sample[OWN_SAMPLES];
  u32 tag[OWN_SAMPLES], left = ~0u;
  for (u32 i = t; i < SLOTS; i += WG) tags[i] = own->counts[i] = 0;
  if (t == 0) own->counts[SLOTS] = 0;
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i) sample[i] = samples[i * WG + t];
  barrier_local();
  make_tags(own, sample, tag);
  take_places(own, tags, samples, sample, tag, 0, &left);
  take_places(own, tags, samples, sample, tag, 1, &left);

  // Replace the tags by keys. Long keys overwrite other tags, so all tags are read first.
  ukey_t key[OWN_SLOTS];
  u32 several = 0;
#if KEY_FLOAT
  UNROLL
  for (u32 i = 0; i < OWN_SAMPLES; ++i) several += key_ties(sample[i]) ? TIE : 0;
#endif
  UNROLL
  for (u32 i = 0; i < OWN_SLOTS; ++i) {
    const u32 place = i * WG + t, count = own->counts[place];
    several += count > 1 ? count : 0;
    const ukey_t stranger = place % HALF == 0 ? 1 : 0, winner = samples[tags[place] % SAMPLES];
    key[i] = count != 0 ? winner : stranger;
  }
  barrier_local();
  UNROLL
  for (u32 i = 0; i < OWN_SLOTS; ++i) {
    own->keys[i * WG + t] = key[i];
    own->counts[i * WG + t] = 0;
  }
  index_t all;
  wg_scan_add(own->scratch, WG, (index_t)several, &all);
  return all < TIE ? (u32)all : 0;
}

// ---- Look-up ----
// A key is looked up in two steps, so that several keys can take each step together.

// Returns the key's first place, or IN_REST if the table has another key there.
INLINE u32 first_place(LOCAL const msd_frequent_memory_t* own, ukey_t key) {
  u32 place = place_of(key, 0);
  if (own->keys[place] != key) place = IN_REST;
  return place;
}

// Returns `place`, the result of first_place, unless the key is in its second place: then that one.
INLINE u32 second_place(LOCAL const msd_frequent_memory_t* own, ukey_t key, u32 place) {
  const u32 second = place_of(key, 1);
  if (place == IN_REST && own->keys[second] == key) place = second;
  return place;
}
