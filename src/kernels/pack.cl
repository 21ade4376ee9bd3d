// Packs the fields of a record's key into a word: an unsigned number that orders records as the
// fields do. fields.cl comes before this file.
//
PARAMETER(WG)    // work-items of a work-group
PARAMETER(PACK)  // expression for the word of record `at`, made of load_number and number_order

// Stores one word of every record's key; with `positions`, word i is that of record positions[i].
KERNEL(WG)
void records_pack(GLOBAL const u8* c0, GLOBAL const u8* c1, GLOBAL const u8* c2,
                  GLOBAL const u8* c3, GLOBAL const u8* c4, GLOBAL const u8* c5,
                  GLOBAL const u8* c6, GLOBAL const u8* c7, GLOBAL const value_t* positions,
                  GLOBAL ukey_t* words, u64 n) {
  for (u64 i = (u64)group_id() * WG + local_id(); i < n; i += (u64)group_count() * WG) {
    const u64 at = positions ? (u64)positions[i] : i;
    words[i] = (ukey_t)(PACK);
  }
}
