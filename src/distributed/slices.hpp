// The number of slices in which ranks exchange and sort device memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sortium/distributed.hpp>

#include "../algorithms/parts/boundary_partition.hpp"

namespace sortium::distributed {

// Slices of bounded memory, which make the scratch memory of a slice's sort at most an eighth of
// the records.
inline constexpr std::uint64_t least_slice_records = std::uint64_t{1} << 18;
inline constexpr std::uint64_t most_chosen_slices = 16;
// The default number of slices if exchanges and sorts overlap. The first exchange and the last sort
// overlap with nothing. Two H200s with 4, 7 and 12 slices of 2^30 u64 keys on each: uniform 34.6,
// 34.7 and 37.1 ms, normal 44.4, 39.1 and 38.4 ms. Two ranks with seven slices have at most 14
// boundaries; more than 15 make the partition slower. For u32 keys with values, 12 slices instead
// of 4 took 0.95 (Zipf) and 1.04 (uniform) of the time on two H100s. Four slices of 2^28 uniform
// u32 keys on each took longer than one.
inline constexpr std::uint64_t least_overlapped_bytes = std::uint64_t{1} << 29;
inline constexpr std::uint64_t most_overlapped_slices = 4, most_overlapped_slices_of_64_bits = 7;
inline constexpr unsigned most_overlapped_boundaries =
    31;  // the partition into more buckets is slower

// Returns how many slices a partition with at most `most` boundaries can make. The borders need
// `of_borders` boundaries; each slice after the first needs one for each rank.
inline std::uint64_t possible_slices(std::uint64_t most, std::uint64_t ranks,
                                     std::uint64_t of_borders) {
  return of_borders < most ? 1 + (most - of_borders) / ranks : 1;
}

inline unsigned slices_of(const DeviceOptions& options, std::uint64_t total, unsigned key_bytes,
                          unsigned value_bytes, const Communicator& communicator) {
  if (options.slices != 0) return options.slices;
  const std::uint64_t ranks = communicator.size();
  std::uint64_t slices = 1;
  if (options.max_bytes != 0)  // up to four boundaries for a border
    slices = std::min({total / ranks / least_slice_records, most_chosen_slices,
                       possible_slices(BoundaryPartition::max_boundaries, ranks, 4 * ranks)});
  else if (communicator.exchanges_beside_kernels())
    slices = std::min({total / ranks * (key_bytes + value_bytes) / least_overlapped_bytes,
                       key_bytes == 8 ? most_overlapped_slices_of_64_bits : most_overlapped_slices,
                       possible_slices(most_overlapped_boundaries, ranks, 2 * (ranks - 1))});
  return static_cast<unsigned>(std::max<std::uint64_t>(slices, 1));
}

}  // namespace sortium::distributed
