// Transposes matrices that lie one after the other: column c of a matrix becomes row c of its
// result. A work-group moves one tile after the other through local memory, so neighbouring
// work-items read and write neighbouring elements. A tile is a part of a matrix, or several small
// matrices. unit.cl comes before this file; a unit is an element.
//
PARAMETER(WG)         // work-items of a work-group
PARAMETER(TILE)       // elements of a tile: a power of two, a multiple of WG
PARAMETER(POSITIONS)  // 1: elements are positions in the array of rows; positions in the strided
                      // input replace them

#define OF_ITEM (TILE / WG)                         // elements of a work-item
#define TOGETHER (OF_ITEM < 8 ? OF_ITEM : 8)        // those that it loads at once
#define SLOT(element) ((element) + (element) / 32)  // spreads the elements of a column over banks

// tile_bytes() in strided.cpp computes the size.
typedef struct {
  unit_t units[TILE + TILE / 32];
} transpose_memory_t;

// The matrices of one launch, all of the same shape.
typedef struct {
  u64 count, rows, columns;
  u64 tiles_across, tiles_of_matrix;
  u32 row_bits, column_bits, matrix_bits;  // log2 of a tile's rows, columns and matrices
} matrices_t;
// A tile: its first matrix, row and column.
typedef struct {
  u64 matrix, row, column;
} tile_t;

INLINE tile_t tile_of(matrices_t m, u64 number) {
  tile_t tile;
  const u64 matrices = number / m.tiles_of_matrix;
  const u64 in_matrix = number - matrices * m.tiles_of_matrix, down = in_matrix / m.tiles_across;
  tile.matrix = matrices << m.matrix_bits;
  tile.row = down << m.row_bits;
  tile.column = (in_matrix - down * m.tiles_across) << m.column_bits;
  return tile;
}

// Element e of a tile, counted row by row or, with `by_columns`, column by column: its slot in
// local memory, and where it is.
typedef struct {
  u32 slot, is_there;
  u64 matrix, row, column;
} element_t;
INLINE element_t element_of(matrices_t m, tile_t tile, u32 e, u32 by_columns) {
  const u32 of_matrix = m.row_bits + m.column_bits;
  const u32 inside = e & ((1u << of_matrix) - 1), matrix = e >> of_matrix;
  const u32 row = by_columns ? inside & ((1u << m.row_bits) - 1) : inside >> m.column_bits;
  const u32 column = by_columns ? inside >> m.row_bits : inside & ((1u << m.column_bits) - 1);
  element_t element;
  element.slot = SLOT((matrix << of_matrix) + (row << m.column_bits) + column);
  element.matrix = tile.matrix + matrix;
  element.row = tile.row + row;
  element.column = tile.column + column;
  element.is_there = matrix >> m.matrix_bits == 0 && element.matrix < m.count &&
                             element.row < m.rows && element.column < m.columns
                         ? 1
                         : 0;
  return element;
}

// Loads the tile's elements into local memory.
INLINE void load_tile(GLOBAL const unit_t* in, LOCAL unit_t* units, matrices_t m, tile_t tile) {
  ROLLED
  for (u32 step = 0; step < OF_ITEM; step += TOGETHER) {
    unit_t unit[TOGETHER];
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) {
      const element_t e = element_of(m, tile, (step + k) * WG + local_id(), 0);
      unit[k] = 0;
      if (e.is_there) unit[k] = in[(e.matrix * m.rows + e.row) * m.columns + e.column];
    }
    UNROLL
    for (u32 k = 0; k < TOGETHER; ++k) units[SLOT((step + k) * WG + local_id())] = unit[k];
  }
}

// Writes each column of the tile to a row of the result. `length` is the number of records of a
// segment; only POSITIONS needs it.
INLINE void store_tile(GLOBAL unit_t* out, LOCAL const unit_t* units, matrices_t m, tile_t tile,
                       u64 length) {
  ROLLED
  for (u32 step = 0; step < OF_ITEM; ++step) {
    const element_t e = element_of(m, tile, step * WG + local_id(), 1);
    if (!e.is_there) continue;
    unit_t unit = units[e.slot];
#if POSITIONS  // a row is a segment; in the input, its record j is j * rows behind its first one
    const u64 j = (u64)unit - (e.matrix * m.rows + e.row) * length;
    unit = (unit_t)((e.matrix * length + j) * m.rows + e.row);
#endif
    out[(e.matrix * m.columns + e.column) * m.rows + e.row] = unit;
  }
}

//   in      `matrices` matrices of rows * columns elements each, row-major
//   out     out: each matrix transposed
//   tiles   of all matrices
KERNEL(WG)
void transpose(GLOBAL const unit_t* in, GLOBAL unit_t* out, u64 matrices, u64 rows, u64 columns,
               u64 tiles, u64 tiles_across, u64 tiles_of_matrix, u32 row_bits, u32 column_bits,
               u32 matrix_bits, u64 length) {
  LOCAL_STRUCT(transpose_memory_t, mine);
  matrices_t m;
  m.count = matrices;
  m.rows = rows;
  m.columns = columns;
  m.tiles_across = tiles_across;
  m.tiles_of_matrix = tiles_of_matrix;
  m.row_bits = row_bits;
  m.column_bits = column_bits;
  m.matrix_bits = matrix_bits;
  for (u64 number = group_id(); number < tiles; number += group_count()) {
    const tile_t tile = tile_of(m, number);
    load_tile(in, mine->units, m, tile);
    barrier_local();
    store_tile(out, mine->units, m, tile, length);
    barrier_local();  // the next tile takes the same memory
  }
}
