// CUB's radix and merge sort and Thrust, on Sortium's CUDA devices. For sorts in place, restoring
// the input is not timed.
#include <fmt/format.h>
#include <thrust/version.h>

#include <charconv>
#include <cub/version.cuh>
#include <sortium/sortium.hpp>
#include <stdexcept>

#include "cub_sorts.hpp"
#include "peer.hpp"

namespace {

using peers::Sort;
using sortium::Operands;
using sortium::Problem;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

void* at(const sortium::Memory& m) {
  return m.handle == nullptr ? nullptr : static_cast<char*>(m.handle) + m.offset;
}

Sort sort_of(const Problem& p, const Operands& o, bool in_place) {
  const unsigned values = p.payload == sortium::Payload::none ? 0 : p.value_bytes;
  return {static_cast<peers::Key>(p.key),
          values,
          p.count,
          0,
          static_cast<int>(sortium::info(p.key).bits()),
          at(in_place ? o.keys_out : o.keys_in),
          at(in_place ? o.values_out : o.values_in),
          at(o.keys_out),
          at(o.values_out)};
}

// Arguments: temporary memory, its size in bytes, and the sort. As in CUB, without temporary memory
// the call only stores the size that is needed.
using Call = std::function<void(void*, std::size_t&, const Sort&)>;

std::function<app::DeviceSort(const Problem&)> maker(sortium::Queue& queue, cudaStream_t stream,
                                                     bool in_place, const Call& call) {
  return [=, &queue](const Problem& p) {
    if (p.count >= std::uint64_t{1} << 32)
      throw sortium::Error(sortium::ErrorCode::unsupported,
                           "measured with fewer than 2^32 records only");
    app::DeviceSort sort;
    std::size_t bytes = 0;
    call(nullptr, bytes, sort_of(p, {}, in_place));
    sort.scratch_bytes = bytes;
    if (in_place)
      sort.prepare = [&queue, p](const Operands& o) { peers::copy_to_output(queue, p, o); };
    sort.sort = [=](const Operands& o) {
      std::size_t have = bytes;
      call(at(o.scratch), have, sort_of(p, o, in_place));
    };
    sort.profile = [=](const Operands& o) {
      cudaEvent_t start, stop;
      check(cudaEventCreate(&start));
      check(cudaEventCreate(&stop));
      check(cudaEventRecord(start, stream));
      sort.sort(o);
      check(cudaEventRecord(stop, stream));
      check(cudaEventSynchronize(stop));
      float ms = 0;
      check(cudaEventElapsedTime(&ms, start, stop));
      cudaEventDestroy(start);
      cudaEventDestroy(stop);
      return std::vector<sortium::Plan::Phase>{{"sort", ms * 1e-3, 1}};
    };
    return sort;
  };
}

std::string version(int number, int minor_unit) {
  return fmt::format("{}.{}.{}", number / 100000, number / minor_unit % 1000, number % minor_unit);
}

std::optional<peers::Place> open(const std::string& id) {
  constexpr std::string_view prefix = "cuda:";
  int ordinal = 0;
  if (!id.starts_with(prefix) ||
      std::from_chars(id.data() + prefix.size(), id.data() + id.size(), ordinal).ec != std::errc{})
    return std::nullopt;
  check(cudaSetDevice(ordinal));
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  // Sortium uses the device's primary context, which is also the CUDA runtime's.
  peers::Place place{sortium::wrap_cuda(sortium::find_device(id)->native_context(), stream), {}};
  auto& queue = *place.queue;
  const std::string cub = fmt::format("CUB {}, CUDA {}.{}", version(CUB_VERSION, 100),
                                      CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
  const std::string thrust = fmt::format("Thrust {}, CUDA {}.{}", version(THRUST_VERSION, 100),
                                         CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
  // With a 64-bit count, CUB compiles another kernel, which is sometimes faster.
  place.contenders = {{"cub::DeviceRadixSort", cub,
                       maker(queue, stream, false,
                             [=](void* temp, std::size_t& bytes, const Sort& s) {
                               peers::cub_radix(temp, bytes, s, stream);
                             })},
                      {"cub::DeviceRadixSort/64", cub,
                       maker(queue, stream, false,
                             [=](void* temp, std::size_t& bytes, const Sort& s) {
                               peers::cub_radix(temp, bytes, s, stream, true);
                             })},
                      {"cub::DeviceMergeSort", cub,
                       maker(queue, stream, true,
                             [=](void* temp, std::size_t& bytes, const Sort& s) {
                               peers::cub_merge(temp, bytes, s, stream);
                             })},
                      {"thrust::stable_sort", thrust,
                       maker(queue, stream, true, [=](void*, std::size_t&, const Sort& s) {
                         if (s.keys_out != nullptr) peers::thrust_sort(s, stream);
                       })}};
  return place;
}

}  // namespace

int main(int argc, char** argv) { return peers::run(argc, argv, open); }
