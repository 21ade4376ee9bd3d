// Transposes matrices that lie one after the other: column c of a matrix becomes row c of its
// result. A work-group moves one tile of a matrix after the other through local memory, so
// neighbouring work-items read and write neighbouring elements.
//
PARAMETER(WG)          // work-items of a work-group
PARAMETER(TILE)        // elements of a tile: a power of two, a multiple of WG
PARAMETER(UNIT_BYTES)  // bytes of an element: 1, 2, 4, 8
PARAMETER(POSITIONS)   // 1: elements are positions in rows; writes them as positions of the input

#if UNIT_BYTES == 8
typedef u64 unit_t;
#elif UNIT_BYTES == 4
typedef u32 unit_t;
#elif UNIT_BYTES == 2
typedef u16 unit_t;
#else
typedef u8 unit_t;
#endif

#define OF_ITEM (TILE / WG)                         // elements of a work-item
#define TOGETHER (OF_ITEM < 8 ? OF_ITEM : 8)        // those that it loads at once
#define SLOT(element) ((element) + (element) / 32)  // columns of a tile begin in different banks

// tile_bytes() in strided.cpp computes the size.
typedef struct {
  unit_t units[TILE + TILE / 32];
} transpose_memory_t;

// The matrices of one launch, all of the same shape.
typedef struct {
  u64 rows, columns;
  u64 tiles_across, tiles_of_matrix;
  u32 row_bits, column_bits;  // log2 of a tile's rows and columns: TILE elements together at most
} matrices_t;
// A tile: its matrix, and its first row and column.
typedef struct {
  u64 matrix, row, column;
} tile_t;

INLINE tile_t tile_of(matrices_t m, u64 number) {
  tile_t tile;
  tile.matrix = number / m.tiles_of_matrix;
  const u64 in_matrix = number - tile.matrix * m.tiles_of_matrix, down = in_matrix / m.tiles_across;
  tile.row = down << m.row_bits;
  tile.column = (in_matrix - down * m.tiles_across) << m.column_bits;
  return tile;
}

// Loads the tile's elements into local memory.
INLINE void load_tile(GLOBAL const unit_t* in, LOCAL unit_t* units, matrices_t m, tile_t tile) {
  const u64 begin = tile.matrix * m.rows * m.columns;
  ROLLED
  for (u32 step = 0; step < OF_ITEM; step += TOGETHER) {
    unit_t unit[TOGETHER];
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const u32 e = (step + k) * WG + local_id();
      const u64 row = tile.row + (e >> m.column_bits),
                column = tile.column + (e & ((1u << m.column_bits) - 1));
      unit[k] = 0;
      if (e >> (m.row_bits + m.column_bits) == 0 && row < m.rows && column < m.columns)
        unit[k] = in[begin + row * m.columns + column];
    }
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) units[SLOT((step + k) * WG + local_id())] = unit[k];
  }
}

// Writes the tile's columns to the rows of the result. `length`: records of a segment.
INLINE void store_tile(GLOBAL unit_t* out, LOCAL const unit_t* units, matrices_t m, tile_t tile,
                       u64 length) {
  const u64 begin = tile.matrix * m.rows * m.columns;
  ROLLED
  for (u32 step = 0; step < OF_ITEM; ++step) {
    const u32 e = step * WG + local_id();
    const u32 r = e & ((1u << m.row_bits) - 1), c = e >> m.row_bits;
    const u64 row = tile.row + r, column = tile.column + c;
    if (e >> (m.row_bits + m.column_bits) != 0 || row >= m.rows || column >= m.columns) continue;
    unit_t unit = units[SLOT((r << m.column_bits) + c)];
#if POSITIONS  // rows of this matrix are segments; record j of one is `rows` records behind j - 1
    const u64 j = (u64)unit - (tile.matrix * m.rows + row) * length;
    unit = (unit_t)((tile.matrix * length + j) * m.rows + row);
#endif
    out[begin + column * m.rows + row] = unit;
  }
}

//   in      the matrices, each of rows * columns elements, row by row
//   out     out: each matrix transposed
//   tiles   of all matrices
KERNEL(WG)
void transpose(GLOBAL const unit_t* in, GLOBAL unit_t* out, u64 rows, u64 columns, u64 tiles,
               u64 tiles_across, u64 tiles_of_matrix, u32 row_bits, u32 column_bits, u64 length) {
  LOCAL_STRUCT(transpose_memory_t, mine);
  matrices_t m;
  m.rows = rows;
  m.columns = columns;
  m.tiles_across = tiles_across;
  m.tiles_of_matrix = tiles_of_matrix;
  m.row_bits = row_bits;
  m.column_bits = column_bits;
  for (u64 number = group_id(); number < tiles; number += group_count()) {
    const tile_t tile = tile_of(m, number);
    load_tile(in, mine->units, m, tile);
    barrier_local();
    store_tile(out, mine->units, m, tile, length);
    barrier_local();  // the next tile takes the same memory
  }
}
