// Others' segmented sorts, and what stands beside a top-k, behind one call each, so that what nvcc
// must compile stands apart.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace peers {

// Segment s has the records from offsets[s] to offsets[s + 1], and is sorted ascending, stably, out
// of place. All in device memory. Without values: keys alone.
struct SegmentedSort {
  std::size_t count, segments;  // both less than 2^31
  const std::int32_t* offsets;
  const std::uint32_t *keys_in, *values_in;
  std::uint32_t *keys_out, *values_out;
};

// With temp == nullptr: only says how much temporary memory it wants. The first waits for the
// stream between its launches.
void cub_segmented_sort(void* temp, std::size_t& temp_bytes, const SegmentedSort& sort,
                        cudaStream_t stream);
void cub_segmented_radix(void* temp, std::size_t& temp_bytes, const SegmentedSort& sort,
                         cudaStream_t stream);
// Sorts what is in keys_out and values_out, in place; its temporary memory is kept for the next.
void moderngpu_segmented_sort(const SegmentedSort& sort, cudaStream_t stream);
// All of the keys, the largest first: CUB 3.0 has no selection of the first k.
void cub_descending(void* temp, std::size_t& temp_bytes, const float* in, float* out,
                    std::size_t count, cudaStream_t stream);

}  // namespace peers
