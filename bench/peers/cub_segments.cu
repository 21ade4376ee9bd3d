#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <stdexcept>

#include "cub_segments.hpp"

namespace peers {

static void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

namespace {

// Calls sort(keys_in, keys_out) with the keys' type.
template <class Function>
void with_keys(const SegmentedSort& s, const Function& sort) {
  if (s.floats)
    sort(reinterpret_cast<const float*>(s.keys_in), reinterpret_cast<float*>(s.keys_out));
  else
    sort(s.keys_in, s.keys_out);
}

}  // namespace

void cub_segmented_sort(void* temp, std::size_t& bytes, const SegmentedSort& s,
                        cudaStream_t stream) {
  using Sort = cub::DeviceSegmentedSort;
  const auto count = static_cast<std::int64_t>(s.count),
             segments = static_cast<std::int64_t>(s.segments);
  with_keys(s, [&](auto* in, auto* out) {
    if (s.values_in == nullptr)
      check(Sort::StableSortKeys(temp, bytes, in, out, count, segments, s.offsets, s.offsets + 1,
                                 stream));
    else
      check(Sort::StableSortPairs(temp, bytes, in, out, s.values_in, s.values_out, count, segments,
                                  s.offsets, s.offsets + 1, stream));
  });
}

void cub_segmented_radix(void* temp, std::size_t& bytes, const SegmentedSort& s,
                         cudaStream_t stream) {
  using Sort = cub::DeviceSegmentedRadixSort;
  const auto count = static_cast<int>(s.count), segments = static_cast<int>(s.segments);
  with_keys(s, [&](auto* in, auto* out) {
    if (s.values_in == nullptr)
      check(Sort::SortKeys(temp, bytes, in, out, count, segments, s.offsets, s.offsets + 1, 0, 32,
                           stream));
    else
      check(Sort::SortPairs(temp, bytes, in, out, s.values_in, s.values_out, count, segments,
                            s.offsets, s.offsets + 1, 0, 32, stream));
  });
}

void cub_descending(void* temp, std::size_t& bytes, const float* in, float* out, std::size_t count,
                    cudaStream_t stream) {
  check(cub::DeviceRadixSort::SortKeysDescending(temp, bytes, in, out,
                                                 static_cast<std::uint32_t>(count), 0, 32, stream));
}

}  // namespace peers
