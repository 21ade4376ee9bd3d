// CUB's and Thrust's operations on sorted keys, behind one call each: only the file that implements
// them needs nvcc.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <sortium/types.hpp>

namespace peers {

// All pointers are device memory. Values have 4 bytes; without any, only keys are moved. CUB
// compares floats by C++'s operators, for which NaN equals nothing.
struct CompanionCall {
  sortium::KeyType key;  // u32, f32, u64 or f64
  std::size_t count;
  const void *keys_in, *values_in;
  void *keys_out, *values_out;
};

// If temp is nullptr, each function only stores in temp_bytes how many bytes of temporary memory it
// needs.
void cub_unique(void* temp, std::size_t& temp_bytes, const CompanionCall& call, std::uint64_t* runs,
                cudaStream_t stream);
// Stores the first key and the length of each run.
void cub_run_lengths(void* temp, std::size_t& temp_bytes, const CompanionCall& call,
                     std::uint32_t* lengths, std::uint64_t* runs, cudaStream_t stream);
// Merges the first a_count records with the others.
void cub_merge(void* temp, std::size_t& temp_bytes, const CompanionCall& call, std::size_t a_count,
               cudaStream_t stream);
// Stores in `places` how many keys are less than each needle.
void thrust_lower_bound(const CompanionCall& call, const void* needles, std::size_t needle_count,
                        std::uint32_t* places, cudaStream_t stream);
// Returns the first position whose key is less than the one before it. Waits for the stream.
std::uint64_t thrust_sorted_until(const CompanionCall& call, cudaStream_t stream);

}  // namespace peers
