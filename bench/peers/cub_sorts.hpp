// CUB's and Thrust's sorts behind one call each: only the files that implement them need nvcc.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace peers {

enum class Key { u32, i32, f32, u64, i64, f64 };

// A sort of device memory, ascending by the bits [begin_bit, end_bit) of the keys. value_bytes is
// 0, 4 or 8. If keys_in is keys_out (and values_in is values_out), it is in place; the radix sort
// does not support that.
struct Sort {
  Key key;
  unsigned value_bytes;
  std::size_t count;
  int begin_bit, end_bit;
  const void *keys_in, *values_in;
  void *keys_out, *values_out;
};

// With temp == nullptr, it only stores how many bytes of temporary memory it needs. With
// `wide_count`, the number of records has 64 bits, and CUB compiles another kernel.
void cub_radix(void* temp, std::size_t& temp_bytes, const Sort& sort, cudaStream_t stream,
               bool wide_count = false);
// These sort by all bits only. Thrust's allocates and waits, as thrust::stable_sort() does.
void cub_merge(void* temp, std::size_t& temp_bytes, const Sort& sort, cudaStream_t stream);
void thrust_sort(const Sort& sort, cudaStream_t stream);

// cub_radix() and CUB_VERSION of a newer CUB than the toolkit's, if built with SORTIUM_CCCL. The
// shared library with the newer CUB exports nothing else, because both have names in common.
#define SHOWN __attribute__((visibility("default")))
SHOWN void newer_cub_radix(void* temp, std::size_t& temp_bytes, const Sort& sort,
                           cudaStream_t stream, bool wide_count);
SHOWN int newer_cub_version();

}  // namespace peers
