#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <stdexcept>

#include "cub_segments.hpp"

namespace peers {

static void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void cub_segmented_sort(void* temp, std::size_t& bytes, const SegmentedSort& s,
                        cudaStream_t stream) {
  using Sort = cub::DeviceSegmentedSort;
  const auto count = static_cast<std::int64_t>(s.count),
             segments = static_cast<std::int64_t>(s.segments);
  if (s.values_in == nullptr)
    check(Sort::StableSortKeys(temp, bytes, s.keys_in, s.keys_out, count, segments, s.offsets,
                               s.offsets + 1, stream));
  else
    check(Sort::StableSortPairs(temp, bytes, s.keys_in, s.keys_out, s.values_in, s.values_out,
                                count, segments, s.offsets, s.offsets + 1, stream));
}

void cub_segmented_radix(void* temp, std::size_t& bytes, const SegmentedSort& s,
                         cudaStream_t stream) {
  using Sort = cub::DeviceSegmentedRadixSort;
  const auto count = static_cast<int>(s.count), segments = static_cast<int>(s.segments);
  if (s.values_in == nullptr)
    check(Sort::SortKeys(temp, bytes, s.keys_in, s.keys_out, count, segments, s.offsets,
                         s.offsets + 1, 0, 32, stream));
  else
    check(Sort::SortPairs(temp, bytes, s.keys_in, s.keys_out, s.values_in, s.values_out, count,
                          segments, s.offsets, s.offsets + 1, 0, 32, stream));
}

void cub_descending(void* temp, std::size_t& bytes, const float* in, float* out, std::size_t count,
                    cudaStream_t stream) {
  check(cub::DeviceRadixSort::SortKeysDescending(temp, bytes, in, out,
                                                 static_cast<std::uint32_t>(count), 0, 32, stream));
}

}  // namespace peers
