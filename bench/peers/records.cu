#include "records.hpp"

namespace peers {

namespace {

__device__ std::uint64_t mixed(std::uint64_t i) {  // Steele, Lea, Flood: SplitMix64
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// A warp handles one segment at a time.
__global__ void write_upper_bits(std::uint32_t* keys, const std::int32_t* offsets,
                                 std::uint64_t segments) {
  for (std::uint64_t s = (blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x) / 32; s < segments;
       s += std::uint64_t{gridDim.x} * blockDim.x / 32) {
    const auto upper = static_cast<std::uint32_t>(mixed(s)) & 0xffff0000u;
    for (std::int32_t i = offsets[s] + static_cast<std::int32_t>(threadIdx.x % 32);
         i < offsets[s + 1]; i += 32)
      keys[i] = upper | (keys[i] & 0xffffu);
  }
}

template <class Word>
__global__ void write_positions(Word* values, std::uint64_t n) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    values[i] = static_cast<Word>(i);
}

__global__ void count_differences(const std::uint32_t* a, const std::uint32_t* b,
                                  std::uint64_t words, unsigned long long* found) {
  unsigned long long mine = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < words;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    mine += a[i] != b[i];
  if (mine != 0) atomicAdd(found, mine);
}

}  // namespace

void share_upper_bits(std::uint32_t* keys, const std::int32_t* offsets, std::uint64_t segments,
                      cudaStream_t stream) {
  write_upper_bits<<<2048, 256, 0, stream>>>(keys, offsets, segments);
}

void make_positions(void* values, unsigned bytes, std::uint64_t count, cudaStream_t stream) {
  if (bytes == 4)
    write_positions<<<2048, 256, 0, stream>>>(static_cast<unsigned*>(values), count);
  else
    write_positions<<<2048, 256, 0, stream>>>(static_cast<unsigned long long*>(values), count);
}

bool equal(const void* a, const void* b, std::uint64_t bytes) {
  unsigned long long *found = nullptr, n = 1;
  cudaMalloc(&found, sizeof n);
  cudaMemset(found, 0, sizeof n);
  count_differences<<<1024, 256>>>(static_cast<const std::uint32_t*>(a),
                                   static_cast<const std::uint32_t*>(b), bytes / 4, found);
  const bool known = cudaMemcpy(&n, found, sizeof n, cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(found);
  return known && n == 0;
}

}  // namespace peers
