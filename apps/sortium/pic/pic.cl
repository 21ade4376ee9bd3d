// Particles in the periodic unit square, which has GRID x GRID cells. The cell of (x, y) has
// the number GRID i + j, where i counts along x and j along y.
//
PARAMETER(WG)      // work-items of a work-group
PARAMETER(GRID)    // cells along an axis
PARAMETER(DT)      // the time step
PARAMETER(WEIGHT)  // a power of two: a particle's charge is WEIGHT * WEIGHT
PARAMETER(RUN)     // consecutive particles that a work-item deposits
PARAMETER(TALLY)   // number of sums that a work-item of tally_particles writes

// Velocities and the first positions are multiples of 2^-24: single precision holds them
// exactly, so that they can be summed as integers.
#define UNITS 16777216.0f
#define UNIT 5.9604644775390625e-8f

INLINE u32 float_bits(float x) {
  union {
    float number;
    u32 bits;
  } word;
  word.number = x;
  return word.bits;
}

INLINE u32 is_inside(float x) { return x >= 0.0f && x < 1.0f ? 1 : 0; }

// Returns the position along one axis, 0 to 2^24 - 1. A particle outside the square (which
// fails the check) counts as 0, so that it does not lead to addresses outside the grid.
INLINE u32 fixed(float x) { return is_inside(x) ? (u32)(x * UNITS) : 0; }

// These return the cell along one axis, and the position within the cell (0 to WEIGHT - 1). They
// compute with integers, because compilers round floats differently.
INLINE u32 cell_along(u32 place) { return (u32)((u64)place * GRID >> 24); }
INLINE u32 weight_along(u32 place) { return (u32)(((u64)place * GRID & 0xffffff) * WEIGHT >> 24); }

INLINE u32 cell_of(float x, float y) { return cell_along(fixed(x)) * GRID + cell_along(fixed(y)); }

// Van der Corput's sequence: the digits of i to this base, mirrored at the point, rounded down to
// 24 bits.
INLINE float van_der_corput(u64 i, u32 base) {
  u64 numerator = 0, denominator = 1;
  for (u64 rest = i; rest != 0; rest /= base) {
    numerator = numerator * base + rest % base;
    denominator *= base;
  }
  return (float)(u32)((numerator << 24) / denominator) * UNIT;
}

KERNEL(WG)
void create_particles(GLOBAL float* x, GLOBAL float* y, GLOBAL float* u, GLOBAL float* v,
                      GLOBAL u32* id, u64 n) {
  const u64 k = (u64)group_id() * WG + local_id();
  if (k >= n) return;
  x[k] = van_der_corput(k, 2);
  y[k] = van_der_corput(k, 3);
  u[k] = van_der_corput(k, 5);
  v[k] = van_der_corput(k, 7);
  id[k] = (u32)k;
}

// x and velocity are at most 1 - 2^-24, and DT is at most 1. So `to` is at most 2 - 2^-23, and the
// position stays below 1, however the compiler rounds.
INLINE float moved(float x, float velocity) {
  const float to = x + velocity * DT;
  return to < 1.0f ? to : to - 1.0f;
}

KERNEL(WG)
void move_particles(GLOBAL float* x, GLOBAL float* y, GLOBAL const float* u, GLOBAL const float* v,
                    u64 n) {
  const u64 k = (u64)group_id() * WG + local_id();
  if (k >= n) return;
  x[k] = moved(x[k], u[k]);
  y[k] = moved(y[k], v[k]);
}

KERNEL(WG) void find_cells(GLOBAL const float* x, GLOBAL const float* y, GLOBAL u32* cells, u64 n) {
  const u64 k = (u64)group_id() * WG + local_id();
  if (k < n) cells[k] = cell_of(x[k], y[k]);
}

// Particle k of the new order is particle from[k] of the old one. `from` is the result of a sort
// that may be wrong: indices of `count` or more are not read.
KERNEL(WG)
void gather_particles(GLOBAL const u32* from, GLOBAL const float* old_x, GLOBAL const float* old_y,
                      GLOBAL const float* old_u, GLOBAL const float* old_v,
                      GLOBAL const u32* old_id, GLOBAL float* x, GLOBAL float* y, GLOBAL float* u,
                      GLOBAL float* v, GLOBAL u32* id, u64 n, u64 count) {
  const u64 k = (u64)group_id() * WG + local_id();
  if (k >= n) return;
  const u64 j = min((u64)from[k], count - 1);
  x[k] = old_x[j];
  y[k] = old_y[j];
  u[k] = old_u[j];
  v[k] = old_v[j];
  id[k] = old_id[j];
}

// Adds the charges of one cell's particles to the four nodes around the cell, atomically.
INLINE void add_charges(GLOBAL u32* charges, u32 i, u32 j, u32 here, u32 next_x, u32 next_y,
                        u32 opposite) {
  const u32 after_i = i + 1 < GRID ? i + 1 : 0, after_j = j + 1 < GRID ? j + 1 : 0;
  global_add(&charges[i * GRID + j], here);
  global_add(&charges[after_i * GRID + j], next_x);
  global_add(&charges[i * GRID + after_j], next_y);
  global_add(&charges[after_i * GRID + after_j], opposite);
}

// Adds each particle's charge to the four nodes around it, weighted by its distance from them
// (cloud in cell). A work-item takes RUN particles that are neighbours in memory, and adds to the
// grid when the cell changes: for every particle if they are unordered, rarely if they are sorted
// by cell.
KERNEL(WG)
void deposit_charges(GLOBAL const float* x, GLOBAL const float* y, GLOBAL u32* charges, u64 n) {
  const u64 first = ((u64)group_id() * WG + local_id()) * RUN, end = min(first + RUN, n);
  u32 i = 0, j = 0, here = 0, next_x = 0, next_y = 0, opposite = 0;
  for (u64 k = first; k < end; ++k) {
    const u32 place_x = fixed(x[k]), place_y = fixed(y[k]);
    const u32 now_i = cell_along(place_x), now_j = cell_along(place_y);
    if (k != first && (now_i != i || now_j != j)) {
      add_charges(charges, i, j, here, next_x, next_y, opposite);
      here = next_x = next_y = opposite = 0;
    }
    i = now_i;
    j = now_j;
    const u32 along_x = weight_along(place_x), along_y = weight_along(place_y);
    here += (WEIGHT - along_x) * (WEIGHT - along_y);
    next_x += along_x * (WEIGHT - along_y);
    next_y += (WEIGHT - along_x) * along_y;
    opposite += along_x * along_y;
  }
  if (first < end) add_charges(charges, i, j, here, next_x, next_y, opposite);
}

INLINE u64 mixed(u64 x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdUL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53UL;
  return x ^ (x >> 33);
}

// Work-item t of T reads particles t, t + T, ... and writes the sums of app::Tally to
// sums[TALLY t].
KERNEL(WG)
void tally_particles(GLOBAL const float* x, GLOBAL const float* y, GLOBAL const float* u,
                     GLOBAL const float* v, GLOBAL const u32* id, GLOBAL u64* sums, u64 n) {
  const u64 t = (u64)group_id() * WG + local_id();
  const u64 items = (u64)group_count() * WG;
  u64 disorder = 0, strays = 0, ids = 0, identities = 0, particles = 0, momentum_x = 0,
      momentum_y = 0;
  u64 energy_high = 0, energy_low = 0;
  for (u64 k = t; k < n; k += items) {
    const float at_x = x[k], at_y = y[k];
    const u32 velocity_x = fixed(u[k]), velocity_y = fixed(v[k]);
    const u64 energy = (u64)velocity_x * velocity_x + (u64)velocity_y * velocity_y;
    const u64 identity =
        mixed(mixed((u64)id[k] + 1) + ((u64)float_bits(u[k]) << 32 | float_bits(v[k])));
    strays += is_inside(at_x) && is_inside(at_y) ? 0 : 1;
    ids += id[k];
    identities += identity;
    particles += mixed(identity + ((u64)float_bits(at_x) << 32 | float_bits(at_y)));
    momentum_x += velocity_x;
    momentum_y += velocity_y;
    energy_high += energy >> 24;
    energy_low += energy & 0xffffff;
    if (k + 1 < n) disorder += cell_of(at_x, at_y) > cell_of(x[k + 1], y[k + 1]) ? 1 : 0;
  }
  sums[TALLY * t] = disorder;
  sums[TALLY * t + 1] = strays;
  sums[TALLY * t + 2] = ids;
  sums[TALLY * t + 3] = identities;
  sums[TALLY * t + 4] = particles;
  sums[TALLY * t + 5] = momentum_x;
  sums[TALLY * t + 6] = momentum_y;
  sums[TALLY * t + 7] = energy_high;
  sums[TALLY * t + 8] = energy_low;
}

// Work-item t writes to sums[3 t] how many of its nodes have different charges in grids a and b,
// and then the sum of its nodes' charges in a and in b.
KERNEL(WG) void compare_charges(GLOBAL const u32* a, GLOBAL const u32* b, GLOBAL u64* sums) {
  const u32 t = group_id() * WG + local_id();
  const u32 items = group_count() * WG;
  u64 different = 0, sum_a = 0, sum_b = 0;
  for (u32 k = t; k < GRID * GRID; k += items) {
    different += a[k] != b[k] ? 1 : 0;
    sum_a += a[k];
    sum_b += b[k];
  }
  sums[3 * t] = different;
  sums[3 * t + 1] = sum_a;
  sums[3 * t + 2] = sum_b;
}
