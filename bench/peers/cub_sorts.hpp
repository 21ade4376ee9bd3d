// CUB's and Thrust's sorts behind one call each, so that what nvcc must compile stands apart.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace peers {

enum class Key { u32, i32, f32, u64, i64, f64 };

// A sort of device memory, ascending by the bits [begin_bit, end_bit) of the keys. value_bytes: 0,
// 4 or 8. In place where keys_in is keys_out (and values_in values_out), which the radix sort does
// not do.
struct Sort {
  Key key;
  unsigned value_bytes;
  std::size_t count;
  int begin_bit, end_bit;
  const void *keys_in, *values_in;
  void *keys_out, *values_out;
};

// With temp == nullptr: only says how much temporary memory it wants. `wide_count`: with a count of
// 64 bits, which makes another kernel of it.
void cub_radix(void* temp, std::size_t& temp_bytes, const Sort& sort, cudaStream_t stream,
               bool wide_count = false);
// These take whole keys only. Thrust's allocates and waits, as thrust::stable_sort does.
void cub_merge(void* temp, std::size_t& temp_bytes, const Sort& sort, cudaStream_t stream);
void thrust_sort(const Sort& sort, cudaStream_t stream);

// Of a newer CUB than the toolkit's, if this was built with one (SORTIUM_CCCL): cub_radix, and its
// CUB_VERSION. All that the shared library that has them shows, for both have names in common.
#define SHOWN __attribute__((visibility("default")))
SHOWN void newer_cub_radix(void* temp, std::size_t& temp_bytes, const Sort& sort,
                           cudaStream_t stream, bool wide_count);
SHOWN int newer_cub_version();

}  // namespace peers
