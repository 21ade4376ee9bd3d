#include "records.hpp"

namespace peers {

namespace {

__host__ __device__ std::uint64_t mixed(std::uint64_t i) {  // Steele, Lea, Flood: SplitMix64
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Returns key i as a 64-bit number.
__device__ std::uint64_t number(std::uint64_t i, std::uint64_t n, Distribution d) {
  const std::uint64_t step = ~std::uint64_t{0} / n, r = mixed(i);
  switch (d.kind) {
    case Kind::uniform:
    case Kind::bits:
      return r;
    case Kind::sorted:
      return i * step;
    case Kind::reversed:
      return (n - 1 - i) * step;
    case Kind::nearly:
      return (r % 100 == 0 ? mixed(r) % n : i) * step;  // one key in a hundred has a random place
    case Kind::constant:
      return mixed(7);
    case Kind::few:
      return mixed(r % static_cast<std::uint64_t>(d.parameter));
    case Kind::low:
      return r;  // see below
    case Kind::conjunction: {
      std::uint64_t x = ~std::uint64_t{0};
      for (int w = 0; w < static_cast<int>(d.parameter); ++w) x &= mixed(i * 8 + w);
      return x;
    }
    case Kind::zipf: {  // rank by the continuous distribution with density x^-s on [1, 2^20)
      const double u = static_cast<double>(r >> 11) * 0x1p-53, s = d.parameter, most = 0x1p20;
      const double x =
          fabs(s - 1) < 1e-9 ? pow(most, u) : pow(u * (pow(most, 1 - s) - 1) + 1, 1 / (1 - s));
      return mixed(static_cast<std::uint64_t>(x));
    }
    case Kind::buckets: {  // the upper 16 bits have only so many different values
      const std::uint64_t bucket = mixed(r % static_cast<std::uint64_t>(d.parameter)) >> 48;
      return bucket << 48 | mixed(r) >> 16;
    }
    case Kind::alternating:
      return mixed(i % 2) ^ (r >> 24);
  }
  return 0;
}

template <class Word>
__global__ void write_keys(Word* keys, std::uint64_t n, Distribution d, bool is_float,
                           bool is_signed) {
  constexpr unsigned bits = 8 * sizeof(Word);
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = number(i, n, d);
    if (d.kind == Kind::low) x = x >> (64 - static_cast<unsigned>(d.parameter)) << (64 - bits);
    Word word = static_cast<Word>(x >> (64 - bits));
    if (is_float && d.kind != Kind::bits) {  // a number in [-1, 1]
      const double f = ldexp(static_cast<double>(x), -63) - 1;
      if constexpr (sizeof(Word) == 4)
        word = __float_as_uint(static_cast<float>(f));
      else
        word = static_cast<Word>(__double_as_longlong(f));
    } else if (is_float) {  // neither NaN nor zero: peers order both differently
      const Word exponent =
          bits == 32 ? Word{0xff} << 23 : static_cast<Word>(std::uint64_t{0x7ff} << 52);
      if ((word & exponent) == exponent || (word & ~(Word{1} << (bits - 1))) == 0)
        word ^= Word{3} << (bits - 3);
    } else if (is_signed) {
      word ^= Word{1} << (bits - 1);
    }
    keys[i] = word;
  }
}

// One warp for each segment.
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

void make_keys(void* keys, unsigned bytes, bool is_float, bool is_signed, std::uint64_t count,
               Distribution distribution, cudaStream_t stream) {
  if (bytes == 4)
    write_keys<<<2048, 256, 0, stream>>>(static_cast<unsigned*>(keys), count, distribution,
                                         is_float, is_signed);
  else
    write_keys<<<2048, 256, 0, stream>>>(static_cast<unsigned long long*>(keys), count,
                                         distribution, is_float, is_signed);
}

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
