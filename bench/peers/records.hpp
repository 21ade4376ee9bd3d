// Makes and compares the records on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace peers {

enum class Kind {
  uniform,
  bits,
  sorted,
  reversed,
  nearly,
  constant,
  few,
  low,
  conjunction,
  zipf,
  buckets,
  alternating
};
struct Distribution {
  Kind kind;
  double parameter;  // number of keys, words or buckets, or Zipf's exponent
};

// Makes keys of 4 or 8 bytes. Floats are in [-1, 1]; with Kind::bits, they have random bits but are
// neither NaN nor zero, which the peers order differently.
void make_keys(void* keys, unsigned bytes, bool is_float, bool is_signed, std::uint64_t count,
               Distribution distribution, cudaStream_t stream);
// Sets the upper 16 bits of the 4-byte keys of each segment to the same value. Segment s has the
// keys from offsets[s] to offsets[s + 1].
void share_upper_bits(std::uint32_t* keys, const std::int32_t* offsets, std::uint64_t segments,
                      cudaStream_t stream);
// Makes values 0, 1, 2 …
void make_positions(void* values, unsigned bytes, std::uint64_t count, cudaStream_t stream);
// Compares two arrays. Waits for the device.
bool equal(const void* a, const void* b, std::uint64_t bytes);

}  // namespace peers
