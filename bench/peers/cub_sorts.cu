// Compiled once for each key type: KEY is its name, TYPE its C++ type. With NEWER_CUB, it is
// compiled once more, with only the radix sort of a newer CUB.
#include <cub/device/device_radix_sort.cuh>
#ifndef NEWER_CUB
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <cub/device/device_merge_sort.cuh>
#endif

#include <cstdint>
#include <stdexcept>

#include "cub_sorts.hpp"

namespace peers {

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

static void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <class V, class Count>
static void radix_pairs(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t stream) {
  check(cub::DeviceRadixSort::SortPairs(
      temp, bytes, static_cast<const TYPE*>(s.keys_in), static_cast<TYPE*>(s.keys_out),
      static_cast<const V*>(s.values_in), static_cast<V*>(s.values_out),
      static_cast<Count>(s.count), s.begin_bit, s.end_bit, stream));
}

template <class Count>
static void radix(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t stream) {
  if (s.value_bytes == 4) return radix_pairs<std::uint32_t, Count>(temp, bytes, s, stream);
  if (s.value_bytes == 8) return radix_pairs<std::uint64_t, Count>(temp, bytes, s, stream);
  check(cub::DeviceRadixSort::SortKeys(temp, bytes, static_cast<const TYPE*>(s.keys_in),
                                       static_cast<TYPE*>(s.keys_out), static_cast<Count>(s.count),
                                       s.begin_bit, s.end_bit, stream));
}

#ifdef NEWER_CUB
#define RADIX newer_cub_radix_
#else
#define RADIX cub_radix_
#endif
void JOIN(RADIX, KEY)(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t stream,
                      bool wide_count) {
  if (wide_count)
    radix<long long>(temp, bytes, s, stream);
  else
    radix<std::uint32_t>(temp, bytes, s, stream);
}

#ifndef NEWER_CUB
struct Less {
  __device__ bool operator()(TYPE a, TYPE b) const { return a < b; }
};

template <class V>
static void merge_pairs(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t stream) {
  if (temp != nullptr && s.keys_in != s.keys_out) {
    check(cudaMemcpyAsync(s.keys_out, s.keys_in, s.count * sizeof(TYPE), cudaMemcpyDeviceToDevice,
                          stream));
    check(cudaMemcpyAsync(s.values_out, s.values_in, s.count * sizeof(V), cudaMemcpyDeviceToDevice,
                          stream));
  }
  check(cub::DeviceMergeSort::StableSortPairs(temp, bytes, static_cast<TYPE*>(s.keys_out),
                                              static_cast<V*>(s.values_out),
                                              static_cast<std::uint32_t>(s.count), Less{}, stream));
}

void JOIN(cub_merge_, KEY)(void* temp, std::size_t& bytes, const Sort& s, cudaStream_t stream) {
  if (s.value_bytes == 4) return merge_pairs<std::uint32_t>(temp, bytes, s, stream);
  if (s.value_bytes == 8) return merge_pairs<std::uint64_t>(temp, bytes, s, stream);
  if (s.keys_in == s.keys_out)
    return check(cub::DeviceMergeSort::StableSortKeys(temp, bytes, static_cast<TYPE*>(s.keys_out),
                                                      static_cast<std::uint32_t>(s.count), Less{},
                                                      stream));
  check(cub::DeviceMergeSort::SortKeysCopy(temp, bytes, static_cast<const TYPE*>(s.keys_in),
                                           static_cast<TYPE*>(s.keys_out),
                                           static_cast<std::uint32_t>(s.count), Less{}, stream));
}

void JOIN(thrust_, KEY)(const Sort& s, cudaStream_t stream) {
  const auto policy = thrust::cuda::par.on(stream);
  auto* keys = static_cast<TYPE*>(s.keys_out);
  if (s.keys_in != s.keys_out) {
    check(
        cudaMemcpyAsync(keys, s.keys_in, s.count * sizeof(TYPE), cudaMemcpyDeviceToDevice, stream));
    if (s.value_bytes != 0)
      check(cudaMemcpyAsync(s.values_out, s.values_in, s.count * s.value_bytes,
                            cudaMemcpyDeviceToDevice, stream));
  }
  if (s.value_bytes == 0) return thrust::stable_sort(policy, keys, keys + s.count);
  if (s.value_bytes == 4)
    thrust::stable_sort_by_key(policy, keys, keys + s.count,
                               static_cast<std::uint32_t*>(s.values_out));
  else
    thrust::stable_sort_by_key(policy, keys, keys + s.count,
                               static_cast<std::uint64_t*>(s.values_out));
}
#endif

}  // namespace peers
