// NaNs are a class of keys that are equal but have different bits, and so are zeros that tie. There
// are two ways for the members of a class. Kernel files that use this file are compiled with it in
// front of them.
//
// CLASS_DIGITS: a class has its own value of the first digit (class_lead() in primitives.cl), and
// one bucket of that digit. The second pass leaves these buckets out, and the last launch moves
// their records. Keys alone take this way only if all members of a class have the same bits,
// because their passes are not stable. No other key of the list may have the lead of a member.
//
// SETS_ASIDE: the first pass does not partition members. It puts them behind all other keys of its
// output, zeros before NaNs, each class in the order of the input. The last launch moves them to
// their places in the sorted list. The launches in between process only the other keys.
//
//   input              3  -0  1  NaN  2  +0
//   after a pass       3  1  2 | -0  +0 | NaN
//   sorted             -0  +0  1  2  3  NaN

PARAMETER(SETS_ASIDE)    // not 0: keys are floats with such classes, and a tile of the partition's
                         // first pass has this many keys
PARAMETER(CLASS_DIGITS)  // not 0: keys are floats with such classes, which may have digits of their
                         // own. 2: only if all members of a class have the same bits

// The memory `aside` has ASIDE_HEAD words, then two words for each tile of the first pass: how many
// zeros and how many NaNs are set aside in the tiles before it. The last two words are the totals
// of all tiles.
#define ASIDE_HEAD 4u
#define ASIDE_FOUND 3u  // the head's word `found`
// Its values if the list has members of classes.
#define FOUND_ASIDE 1u   // they are set aside
#define FOUND_DIGITS 2u  // they have digits of their own

#if SETS_ASIDE || CLASS_DIGITS
typedef struct {
  u32 zeros, nans;  // members of each class in the list
  u32 gap;          // the first bucket that sorts after the zeros
  u32 found;        // FOUND_ASIDE or FOUND_DIGITS; 0: there are no members
} aside_head_t;
INLINE aside_head_t load_aside(GLOBAL const u32* aside) {
  const uint4 words = *(GLOBAL const uint4*)aside;
  aside_head_t head;
  head.zeros = words.x, head.nans = words.y, head.gap = words.z, head.found = words.w;
  return head;
}
// Two counts in one word: zeros in the lower 16 bits, NaNs in the upper 16 bits.
#define ONE_ZERO 1u
#define ONE_NAN 0x10000u
#endif
#if CLASS_DIGITS
// Returns 1 if the bucket has the members of a class. The list has `buckets` buckets.
INLINE u32 is_class_bucket(aside_head_t head, u32 bucket, u32 buckets) {
  return (KEY_ZEROS == ZEROS_TIED && bucket == head.gap - 1) ||
         (KEY_NAN != NAN_BITS && bucket == (KEY_NAN == NAN_FIRST ? 0 : buckets - 1));
}
#endif
#if SETS_ASIDE
// Returns how many keys that are set aside come before the bucket in the sorted list.
INLINE u32 aside_before(aside_head_t head, u32 bucket) {
  return (KEY_NAN == NAN_FIRST ? head.nans : 0) + (bucket >= head.gap ? head.zeros : 0);
}

// ---- A tile that sets keys aside ----

// The rank of a key that is set aside is ASIDE | the number of members of its class that come
// before it in its sub-group's keys.
#define ASIDE 0x8000u
// Returns the rank of a key that is set aside if `is_member` is 1, else 0. *seen counts the members
// in the sub-group's earlier rows; this row's members are added. Every lane must call it.
INLINE u32 rank_aside(sub_group_t sg, ukey_t key, u32 is_member, u32* seen) {
  const u32 members = sg_ballot(sg, is_member);
#if SG_NATIVE
  if (members == 0) return 0;
#endif
  const u32 nan = is_nan(key), nans = sg_ballot(sg, is_member && nan), zeros = members ^ nans,
            below = (1u << sg_lane()) - 1;
  const u32 rank = (nan ? *seen >> 16 : *seen & 0xffff) + popcount32((nan ? nans : zeros) & below);
  *seen += popcount32(zeros) + popcount32(nans) * ONE_NAN;
  return is_member ? ASIDE | rank : 0;
}

// Indices in the output of the first pass where the members of each class begin.
typedef struct {
  u32 zeros, nans;
} aside_places_t;
// Returns where the tile's members begin. Sets *members to their number.
INLINE aside_places_t places_of_tile(GLOBAL const u32* aside, u32 tile, u32 n, LOCAL u32* members) {
  const aside_head_t head = load_aside(aside);
  GLOBAL const u32* before = aside + ASIDE_HEAD + 2 * tile;
  const u32 zeros = before[0], nans = before[1];
  *members = before[2] - zeros + before[3] - nans;
  aside_places_t places;
  places.zeros = n - head.zeros - head.nans + zeros;
  places.nans = n - head.nans + nans;
  return places;
}
// Returns where the sub-group's members begin. `in_tile` has the number of members of each
// sub-group of the tile.
INLINE aside_places_t places_of_sub_group(aside_places_t of_tile, LOCAL const u32* in_tile) {
  u32 in_earlier = 0;
  for (u32 s = 0; s < sg_index(); ++s) in_earlier += in_tile[s];
  of_tile.zeros += in_earlier & 0xffff;
  of_tile.nans += in_earlier >> 16;
  return of_tile;
}
// Returns the output index of a key that is set aside; `rank` comes from rank_aside.
INLINE u32 place_aside(aside_places_t places, ukey_t key, u32 rank) {
  return (is_nan(key) ? places.nans : places.zeros) + (rank & (ASIDE - 1));
}
#endif
