// Document 003's radix sort: G work-groups of I work-items each. A work-item has a contiguous part
// of the list, `columns` records long (the last parts may be shorter or empty).

PARAMETER(ITEMS)           // I, the work-items of a group; each has a part of the list
PARAMETER(DIGIT_BITS)      // r, the bits of a digit
PARAMETER(TRANSPOSED)      // 1: the records are stored transposed, see place_of
PARAMETER(GATHER_WG)       // work-items of a work-group that gathers
PARAMETER(TRANSPOSE_SIDE)  // side of the squares in which a matrix is transposed
PARAMETER(GATHER_T)        // type of the values that are gathered: u32 or u64

#define RADIX (1u << DIGIT_BITS)

// Returns where record j of the list is stored. With TRANSPOSED, the list is a matrix with one row
// for each work-item, stored in column-major order, so that neighbouring work-items read
// neighbouring addresses. The last rows may be shorter; the unused elements at their ends are never
// read, so padding keys are not needed.
INLINE index_t place_of(index_t j, index_t rows, index_t columns) {
#if TRANSPOSED
  return j % columns * rows + j / columns;
#else
  return j;
#endif
}

// The part of this work-item: its first record, its number of records, and their stride.
#define PART_OF_ITEM                                                              \
  const u64 row = (u64)group_id() * ITEMS + local_id();                           \
  const u64 rows = (u64)group_count() * ITEMS;                                    \
  const u64 first = row * columns;                                                \
  const u64 count = first >= n ? 0 : (n - first < columns ? n - first : columns); \
  const u64 stride = TRANSPOSED ? rows : 1;                                       \
  const u64 begin = TRANSPOSED ? row : first;

// Counts the digits of each part, in digit-major order: histogram[(c * G + g) * I + i].
KERNEL(ITEMS)
void radix_histogram(GLOBAL const ukey_t* keys, GLOBAL index_t* histogram, u64 n, u64 columns,
                     u32 shift, u32 mask) {
  LOCAL_ARRAY(index_t, bins, RADIX * ITEMS);
  const u32 i = local_id();
  PART_OF_ITEM
  for (u32 c = 0; c < RADIX; ++c) bins[c * ITEMS + i] = 0;
  for (u64 k = 0; k < count; ++k)
    ++bins[key_digit(keys[begin + k * stride], shift, mask) * ITEMS + i];
  for (u32 c = 0; c < RADIX; ++c)
    histogram[((u64)c * group_count() + group_id()) * ITEMS + i] = bins[c * ITEMS + i];
}

KERNEL(ITEMS)
void radix_reorder(GLOBAL const ukey_t* keys_in, GLOBAL ukey_t* keys_out,
                   GLOBAL const value_t* values_in, GLOBAL value_t* values_out,
                   GLOBAL const index_t* histogram, u64 n, u64 columns, u32 shift, u32 mask,
                   u32 values_are_positions) {
  LOCAL_ARRAY(index_t, next, RADIX * ITEMS);
  const u32 i = local_id();
  PART_OF_ITEM
  for (u32 c = 0; c < RADIX; ++c)
    next[c * ITEMS + i] = histogram[((u64)c * group_count() + group_id()) * ITEMS + i];
  for (u64 k = 0; k < count; ++k) {
    const ukey_t key = keys_in[begin + k * stride];
    const u64 to =
        place_of(next[key_digit(key, shift, mask) * ITEMS + i]++, (index_t)rows, (index_t)columns);
    if (keys_out) keys_out[to] = key;  // null in the last pass of an argsort without keys_out
#if VALUE_BYTES
    values_out[to] = values_are_positions ? (value_t)(first + k) : values_in[begin + k * stride];
#endif
  }
}

// Transposes a row-major matrix of `rows` × `columns` records, of which the first n exist. If
// `back` is 1, transposes it back. Each work-group transposes one square through local memory, so
// that both its reads and its writes access neighbouring addresses.
#define TRANSPOSE(type)                                                         \
  LOCAL_ARRAY(type, square, TRANSPOSE_SIDE*(TRANSPOSE_SIDE + 1));               \
  const u32 x = local_id() % TRANSPOSE_SIDE, y = local_id() / TRANSPOSE_SIDE;   \
  const u64 squares_across = (columns + TRANSPOSE_SIDE - 1) / TRANSPOSE_SIDE;   \
  const u64 row0 = group_id() / squares_across * TRANSPOSE_SIDE;                \
  const u64 column0 = group_id() % squares_across * TRANSPOSE_SIDE;             \
  const u64 row_a = row0 + (back ? x : y), column_a = column0 + (back ? y : x); \
  if (row_a < rows && column_a < columns && row_a * columns + column_a < n)     \
    square[y * (TRANSPOSE_SIDE + 1) + x] =                                      \
        in[back ? column_a * rows + row_a : row_a * columns + column_a];        \
  barrier_local();                                                              \
  const u64 row_b = row0 + (back ? y : x), column_b = column0 + (back ? x : y); \
  if (row_b < rows && column_b < columns && row_b * columns + column_b < n)     \
    out[back ? row_b * columns + column_b : column_b * rows + row_b] =          \
        square[x * (TRANSPOSE_SIDE + 1) + y];

KERNEL(TRANSPOSE_SIDE* TRANSPOSE_SIDE)
void radix_transpose_keys(GLOBAL const ukey_t* in, GLOBAL ukey_t* out, u64 n, u64 rows, u64 columns,
                          u32 back) {
  TRANSPOSE(ukey_t);
}
#if VALUE_BYTES
KERNEL(TRANSPOSE_SIDE* TRANSPOSE_SIDE)
void radix_transpose_values(GLOBAL const value_t* in, GLOBAL value_t* out, u64 n, u64 rows,
                            u64 columns, u32 back) {
  TRANSPOSE(value_t);
}

// Stores out[j] = in[permutation[j]]: moves the values once, after all passes.
KERNEL(GATHER_WG)
void radix_gather(GLOBAL const GATHER_T* in, GLOBAL GATHER_T* out,
                  GLOBAL const value_t* permutation, u64 n) {
  const u64 j = (u64)group_id() * GATHER_WG + local_id();
  if (j < n) out[j] = in[permutation[j]];
}
#endif
