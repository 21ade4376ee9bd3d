#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <cub/device/device_merge.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include <stdexcept>

#include "cub_companions.hpp"

namespace peers {

namespace {

void check_call(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

// Calls function(keys_in, keys_out) with the keys' type.
template <class Function>
void with_keys(const CompanionCall& c, const Function& function) {
  const auto typed = [&](auto zero) {
    using Key = decltype(zero);
    function(static_cast<const Key*>(c.keys_in), static_cast<Key*>(c.keys_out));
  };
  switch (c.key) {
    case sortium::KeyType::u32:
      return typed(std::uint32_t{});
    case sortium::KeyType::f32:
      return typed(float{});
    case sortium::KeyType::u64:
      return typed(std::uint64_t{});
    case sortium::KeyType::f64:
      return typed(double{});
    default:
      throw std::runtime_error("keys are u32, f32, u64 or f64");
  }
}

const std::uint32_t* values_in(const CompanionCall& c) {
  return static_cast<const std::uint32_t*>(c.values_in);
}
std::uint32_t* values_out(const CompanionCall& c) {
  return static_cast<std::uint32_t*>(c.values_out);
}

}  // namespace

void cub_unique(void* temp, std::size_t& bytes, const CompanionCall& c, std::uint64_t* runs,
                cudaStream_t stream) {
  const auto count = static_cast<std::int64_t>(c.count);
  with_keys(c, [&](auto* in, auto* out) {
    if (c.values_in == nullptr)
      check_call(cub::DeviceSelect::Unique(temp, bytes, in, out, runs, count, stream));
    else
      check_call(cub::DeviceSelect::UniqueByKey(temp, bytes, in, values_in(c), out, values_out(c),
                                                runs, count, stream));
  });
}

void cub_run_lengths(void* temp, std::size_t& bytes, const CompanionCall& c, std::uint32_t* lengths,
                     std::uint64_t* runs, cudaStream_t stream) {
  with_keys(c, [&](auto* in, auto* out) {
    check_call(cub::DeviceRunLengthEncode::Encode(temp, bytes, in, out, lengths, runs,
                                                  static_cast<std::int64_t>(c.count), stream));
  });
}

void cub_merge(void* temp, std::size_t& bytes, const CompanionCall& c, std::size_t a_count,
               cudaStream_t stream) {
  const auto a = static_cast<std::int64_t>(a_count),
             b = static_cast<std::int64_t>(c.count - a_count);
  with_keys(c, [&](auto* in, auto* out) {
    if (c.values_in == nullptr)
      check_call(cub::DeviceMerge::MergeKeys(temp, bytes, in, a, in + a, b, out,
                                             ::cuda::std::less<>{}, stream));
    else
      check_call(cub::DeviceMerge::MergePairs(temp, bytes, in, values_in(c), a, in + a,
                                              values_in(c) + a, b, out, values_out(c),
                                              ::cuda::std::less<>{}, stream));
  });
}

void thrust_lower_bound(const CompanionCall& c, const void* needles, std::size_t needle_count,
                        std::uint32_t* places, cudaStream_t stream) {
  with_keys(c, [&](auto* in, auto*) {
    const auto* wanted = static_cast<decltype(in)>(needles);
    thrust::lower_bound(thrust::cuda::par_nosync.on(stream), in, in + c.count, wanted,
                        wanted + needle_count, places);
  });
}

std::uint64_t thrust_sorted_until(const CompanionCall& c, cudaStream_t stream) {
  std::uint64_t until = 0;
  with_keys(c, [&](auto* in, auto*) {
    until = static_cast<std::uint64_t>(
        thrust::is_sorted_until(thrust::cuda::par.on(stream), in, in + c.count) - in);
  });
  return until;
}

}  // namespace peers
