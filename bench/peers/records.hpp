// The records that are sorted, made and compared on the device.
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
  double parameter;  // how many keys, words or buckets; Zipf's exponent
};

// Keys of 4 or 8 bytes. Floats are numbers in [-1, 1]; with Kind::bits, any bits that are a number
// but no zero (the peers order NaN and zeros otherwise).
void make_keys(void* keys, unsigned bytes, bool is_float, bool is_signed, std::uint64_t count,
               Distribution distribution, cudaStream_t stream);
// Keys of 4 bytes: all of a segment get the same upper 16 bits. Segment s has the keys from
// offsets[s] to offsets[s + 1].
void share_upper_bits(std::uint32_t* keys, const std::int32_t* offsets, std::uint64_t segments,
                      cudaStream_t stream);
// 0, 1, 2 …
void make_positions(void* values, unsigned bytes, std::uint64_t count, cudaStream_t stream);
// Waits.
bool equal(const void* a, const void* b, std::uint64_t bytes);

}  // namespace peers
