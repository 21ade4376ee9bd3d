// The rate of CUB's radix sort on one GPU, beside distributed-device-rate: prints JSON.
//
//   nvcc -O2 -arch=native -o cub-rate cub_rate.cu && ./cub-rate
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cub/cub.cuh>
#include <vector>

namespace {

template <class T>
__global__ void fill(T* keys, T* values, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += step) {
    std::uint64_t x = i + 0x9e3779b97f4a7c15u;  // SplitMix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    keys[i] = static_cast<T>(x ^ (x >> 31));
    if (values != nullptr) values[i] = static_cast<T>(i);
  }
}

// Sorts with two buffers, between which CUB alternates: its fastest way.
template <class T>
cudaError_t sort(void* scratch, std::size_t& bytes, T* const* keys, T* const* values,
                 std::uint64_t count) {
  cub::DoubleBuffer<T> key(keys[0], keys[1]), value(values[0], values[1]);
  if (values[0] == nullptr) return cub::DeviceRadixSort::SortKeys(scratch, bytes, key, count);
  return cub::DeviceRadixSort::SortPairs(scratch, bytes, key, value, count);
}

template <class T>
void row(const char* name, std::uint64_t count, bool has_values, const char* separator) {
  T *keys[2] = {}, *values[2] = {};
  void* scratch = nullptr;
  std::size_t bytes = 0;
  cudaError_t error = cudaSuccess;
  const auto allocate = [&](auto& p, std::size_t size) {
    if (error == cudaSuccess) error = cudaMalloc(reinterpret_cast<void**>(&p), size);
  };
  for (auto& p : keys) allocate(p, count * sizeof(T));
  if (has_values)
    for (auto& p : values) allocate(p, count * sizeof(T));
  if (error == cudaSuccess) error = sort(nullptr, bytes, keys, values, count);
  allocate(scratch, bytes);

  std::vector<float> times;
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (int run = 0; run < 6 && error == cudaSuccess; ++run) {
    fill<<<1024, 256>>>(keys[0], values[0], count);
    cudaEventRecord(start);
    error = sort(scratch, bytes, keys, values, count);
    cudaEventRecord(stop);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    if (run > 0) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  if (error == cudaSuccess)
    std::printf("%s{\"sort\":\"%s\",\"seconds\":%.6g,\"records_per_second\":%.5g}", separator, name,
                times[times.size() / 2] * 1e-3,
                static_cast<double>(count) / (times[times.size() / 2] * 1e-3));
  else
    std::printf("%s{\"sort\":\"%s\",\"skipped\":\"%s\"}", separator, name,
                cudaGetErrorString(error));
  std::fflush(stdout);
  (void)cudaGetLastError();
  for (void* p : {static_cast<void*>(keys[0]), static_cast<void*>(keys[1]),
                  static_cast<void*>(values[0]), static_cast<void*>(values[1]), scratch})
    cudaFree(p);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return 1;
  std::printf("{\"device\": \"%s\", \"rows\": [", device.name);
  constexpr std::uint64_t count = std::uint64_t{1} << 30;
  row<std::uint32_t>("u32:none:2^30:uniform", count, false, "\n");
  row<std::uint32_t>("u32:u32:2^30:uniform", count, true, ",\n");
  row<std::uint64_t>("u64:none:2^30:uniform", count, false, ",\n");
  row<std::uint64_t>("u64:u64:2^30:uniform", count, true, ",\n");
  std::printf("\n]}\n");
}
