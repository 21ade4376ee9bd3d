// Segmented sorts of other libraries, and CUB's sort for comparison with a top-k, behind one call
// each: only the files that implement them need nvcc.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace peers {

// Segment s has the records from offsets[s] to offsets[s + 1]. It is sorted in ascending order,
// stably and out of place. All pointers are device memory. Without values, only keys are sorted.
// Keys are u32 or, with `floats`, f32.
struct SegmentedSort {
  std::size_t count, segments;  // both less than 2^31
  bool floats;
  const std::int32_t* offsets;
  const std::uint32_t *keys_in, *values_in;
  std::uint32_t *keys_out, *values_out;
};

// If temp is nullptr, each function only stores in temp_bytes how many bytes of temporary memory it
// needs. cub_segmented_sort() waits for the stream between its launches.
void cub_segmented_sort(void* temp, std::size_t& temp_bytes, const SegmentedSort& sort,
                        cudaStream_t stream);
void cub_segmented_radix(void* temp, std::size_t& temp_bytes, const SegmentedSort& sort,
                         cudaStream_t stream);
// Sorts keys_out and values_out in place; u32 keys only. Keeps its temporary memory for the next
// call.
void moderngpu_segmented_sort(const SegmentedSort& sort, cudaStream_t stream);
// Sorts all keys in descending order: CUB 3.0 has no top-k.
void cub_descending(void* temp, std::size_t& temp_bytes, const float* in, float* out,
                    std::size_t count, cudaStream_t stream);

}  // namespace peers
