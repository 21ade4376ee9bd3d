#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <stdexcept>

#include "record_lists.hpp"
#include "records.hpp"

namespace peers {

namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

__device__ std::uint64_t mixed(std::uint64_t i) {  // Steele, Lea, Flood: SplitMix64
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Positive floats order as their bits do; no list has others.
struct Three {
  static constexpr unsigned words = 2, bits[2] = {48, 64};
  const float* mass;
  const std::uint16_t* kind;
  const std::uint64_t* id;
  explicit Three(const std::vector<void*>& c)
      : mass(static_cast<const float*>(c[0])),
        kind(static_cast<const std::uint16_t*>(c[1])),
        id(static_cast<const std::uint64_t*>(c[2])) {}
  __device__ std::uint64_t word(unsigned w, std::uint32_t i) const {
    if (w == 0) return id[i] & 0xffffffffffffu;
    return std::uint64_t{~__float_as_uint(mass[i])} << 32 | std::uint64_t{kind[i]} << 16 |
           id[i] >> 48;
  }
  static std::vector<unsigned> column_bytes() { return {4, 2, 8}; }
};
struct ThreeTied : Three {
  using Three::Three;
  __device__ void make(std::size_t i) {
    const std::uint64_t x = mixed(i);
    const_cast<float*>(mass)[i] = 1.0f + static_cast<float>(x & 0xffffu) / 1000.0f;
    const_cast<std::uint16_t*>(kind)[i] = x >> 20 & 7;
    const_cast<std::uint64_t*>(id)[i] = (i * 0x9e3779b1u) % (std::uint64_t{1} << 40);
  }
};
struct ThreeRandom : Three {
  using Three::Three;
  __device__ void make(std::size_t i) {
    const std::uint64_t x = mixed(i);
    const_cast<float*>(mass)[i] = __uint_as_float(0x3f800000u | (x & 0x7fffffu));
    const_cast<std::uint16_t*>(kind)[i] = x >> 32;
    const_cast<std::uint64_t*>(id)[i] = mixed(x);
  }
};
struct Pair {
  static constexpr unsigned words = 1, bits[1] = {64};
  std::uint32_t *a, *b;
  explicit Pair(const std::vector<void*>& c)
      : a(static_cast<std::uint32_t*>(c[0])), b(static_cast<std::uint32_t*>(c[1])) {}
  __device__ std::uint64_t word(unsigned, std::uint32_t i) const {
    return std::uint64_t{a[i]} << 32 | b[i];
  }
  __device__ void make(std::size_t i) { a[i] = mixed(i), b[i] = mixed(i) >> 32; }
  static std::vector<unsigned> column_bytes() { return {4, 4}; }
};
__device__ std::uint64_t big_endian(const std::uint8_t* p, unsigned bytes) {
  std::uint64_t x = 0;
  for (unsigned b = 0; b < bytes; ++b) x = x << 8 | p[b];
  return x;
}
struct Hundred {
  static constexpr unsigned words = 2, bits[2] = {16, 64};
  std::uint8_t* p;
  explicit Hundred(const std::vector<void*>& c) : p(static_cast<std::uint8_t*>(c[0])) {}
  __device__ std::uint64_t word(unsigned w, std::uint32_t i) const {
    return w == 0 ? big_endian(p + i * std::size_t{100} + 8, 2)
                  : big_endian(p + i * std::size_t{100}, 8);
  }
  __device__ void make(std::size_t i) {
    for (unsigned b = 0; b < 100; ++b) p[i * 100 + b] = mixed(i * 16 + b / 8) >> (b % 8 * 8);
  }
  static std::vector<unsigned> column_bytes() { return {100}; }
};
struct Strings {
  static constexpr unsigned words = 2, bits[2] = {64, 64};
  std::uint8_t* p;
  explicit Strings(const std::vector<void*>& c) : p(static_cast<std::uint8_t*>(c[0])) {}
  __device__ std::uint64_t word(unsigned w, std::uint32_t i) const {
    return big_endian(p + i * std::size_t{16} + (w == 0 ? 8 : 0), 8);
  }
  __device__ void letters(std::size_t i, unsigned from, unsigned to, std::uint64_t seed) {
    for (unsigned b = from; b < to; ++b) p[i * 16 + b] = 'a' + mixed(seed * 16 + b) % 26;
  }
  static std::vector<unsigned> column_bytes() { return {16}; }
};
struct PrefixedStrings : Strings {
  using Strings::Strings;
  __device__ void make(std::size_t i) {
    const std::uint64_t prefix = mixed(i) % 1000;
    const unsigned length = 4 + prefix % 9;
    letters(i, 0, length, prefix);
    letters(i, length, 16, 1000 + i);
  }
};
struct OnePrefix : Strings {
  using Strings::Strings;
  __device__ void make(std::size_t i) {
    letters(i, 0, 9, 0);
    letters(i, 9, 16, 1 + i);
  }
};

template <class List>
__global__ void make_records(List list, std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x)
    list.make(i);
}
template <class List>
__global__ void make_words(List list, unsigned w, const std::uint32_t* positions,
                           std::uint64_t* words, std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x)
    words[i] = list.word(w, positions[i]);
}
template <class List>
struct Less {
  List list;
  __device__ bool operator()(std::uint32_t a, std::uint32_t b) const {
    for (unsigned w = List::words; w-- > 0;) {
      const std::uint64_t x = list.word(w, a), y = list.word(w, b);
      if (x != y) return x < y;
    }
    return false;
  }
};

template <class List>
class ListOf : public RecordList {
 public:
  std::vector<unsigned> column_bytes() const override { return List::column_bytes(); }
  void make(const std::vector<void*>& columns, std::size_t count,
            cudaStream_t stream) const override {
    make_records<<<2048, 256, 0, stream>>>(List(columns), count);
  }
  void merge_sort(void* temp, std::size_t& temp_bytes, const std::vector<void*>& columns,
                  std::uint32_t* positions, std::size_t count, cudaStream_t stream) const override {
    if (temp != nullptr) make_positions(positions, 4, count, stream);
    check(cub::DeviceMergeSort::StableSortKeys(temp, temp_bytes, positions, count,
                                               Less<List>{List(columns)}, stream));
  }
  std::uint32_t* radix_sort(void* temp, std::size_t& temp_bytes, const std::vector<void*>& columns,
                            std::uint64_t* words[2], std::uint32_t* positions[2], std::size_t count,
                            cudaStream_t stream) const override {
    unsigned at = 0;
    const auto sort = [&](unsigned bits) {
      check(cub::DeviceRadixSort::SortPairs(temp, temp_bytes, words[0], words[1], positions[at],
                                            positions[at ^ 1], static_cast<std::uint32_t>(count), 0,
                                            bits, stream));
    };
    if (temp == nullptr) {
      sort(64);
      return nullptr;
    }
    make_positions(positions[0], 4, count, stream);
    for (unsigned w = 0; w < List::words; ++w, at ^= 1) {
      make_words<<<2048, 256, 0, stream>>>(List(columns), w, positions[at], words[0], count);
      sort(List::bits[w]);
    }
    return positions[at];
  }
};

template <class Unit>
__global__ void gather_units(const Unit* in, const std::uint32_t* positions, Unit* out,
                             unsigned units, std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x)
    out[i] = in[std::size_t{positions[i / units]} * units + i % units];
}

}  // namespace

void gather(const void* in, const std::uint32_t* positions, void* out, unsigned bytes,
            std::size_t count, cudaStream_t stream) {
  const auto by = [&](auto unit) {
    using Unit = decltype(unit);
    const unsigned units = bytes / sizeof(Unit);
    gather_units<<<4096, 256, 0, stream>>>(static_cast<const Unit*>(in), positions,
                                           static_cast<Unit*>(out), units, count * units);
  };
  if (bytes % 16 == 0)
    by(uint4{});
  else if (bytes % 8 == 0)
    by(uint2{});
  else if (bytes % 4 == 0)
    by(unsigned{});
  else
    by(static_cast<unsigned short>(0));
}

std::vector<std::string> record_list_names() {
  return {"three", "three-random", "hundred", "pair", "strings", "prefix"};
}

std::unique_ptr<RecordList> record_list(const std::string& name) {
  if (name == "three") return std::make_unique<ListOf<ThreeTied>>();
  if (name == "three-random") return std::make_unique<ListOf<ThreeRandom>>();
  if (name == "hundred") return std::make_unique<ListOf<Hundred>>();
  if (name == "pair") return std::make_unique<ListOf<Pair>>();
  if (name == "strings") return std::make_unique<ListOf<PrefixedStrings>>();
  if (name == "prefix") return std::make_unique<ListOf<OnePrefix>>();
  throw std::runtime_error("'" + name + "' is no list of records");
}

}  // namespace peers
