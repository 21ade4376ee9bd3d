// CUB's and Thrust's sorts behind one call each: only the files that implement them need nvcc.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace peers {

enum class Key { u32, i32, f32, u64, i64, f64 };

// A sort of device memory, ascending by the bits [begin_bit, end_bit) of the keys. value_bytes is
// 0, 4 or 8. If keys_in is keys_out (and values_in is values_out), the sort is in place, which the
// radix sort does not support.
struct Sort {
  Key key;
  unsigned value_bytes;
  std::size_t count;
  int begin_bit, end_bit;
  const void *keys_in, *values_in;
  void *keys_out, *values_out;
};

// If temp is nullptr, cub_radix() only stores in temp_bytes how many bytes of temporary memory it
// needs. If `wide_count`, it passes the number of records as a 64-bit number, for which CUB
// compiles another kernel.
void cub_radix(void* temp, std::size_t& temp_bytes, const Sort& sort, cudaStream_t stream,
               bool wide_count = false);
// These sort by all bits only. thrust_sort() allocates memory and waits, because
// thrust::stable_sort() does.
void cub_merge(void* temp, std::size_t& temp_bytes, const Sort& sort, cudaStream_t stream);
void thrust_sort(const Sort& sort, cudaStream_t stream);

// cub_radix() and CUB_VERSION of a newer CUB than the toolkit's, if built with SORTIUM_CCCL. The
// shared library with the newer CUB exports nothing else, because the two CUBs define the same
// names.
#define SHOWN __attribute__((visibility("default")))
SHOWN void newer_cub_radix(void* temp, std::size_t& temp_bytes, const Sort& sort,
                           cudaStream_t stream, bool wide_count);
SHOWN int newer_cub_version();

}  // namespace peers
