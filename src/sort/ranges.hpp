// Sorts in host memory that need more device memory than they may use.
//
// 1. Chunks of the list are copied to the device, sorted and copied back. Each becomes a sorted
// run.
// 2. The runs are split exactly at every range_records-th record of their merged order
// (split_runs.hpp). For each range, its pieces of all runs are copied to the device, one after the
// other in the order of the runs, sorted stably and copied back.
//
// The host only searches. If it partitioned the list itself, its cores would need three passes over
// memory, and splitters from samples would make ranges of unequal length. All copies use blocks
// (record_blocks.hpp), which are moved to their final places at the end.
#pragma once

#include <memory>
#include <sortium/records.hpp>

#include "../algorithms/algorithm.hpp"

namespace sortium {

// Returns the most device memory that a call may use: options.max_device_bytes or, if that is 0,
// seven eighths of the free memory. There is no limit on cpu:0, nor on CPUs through OpenCL unless
// the option is set.
[[nodiscard]] std::uint64_t device_limit(Device& device, const Options& options);

// Returns true if a sort needs more memory than it may use, or a larger buffer than the device
// allows. Its arrays have `operand_bytes` together, and the largest array has `largest_bytes`.
// Calls scratch_bytes() only if the answer depends on it.
template <class ScratchBytes>
[[nodiscard]] bool needs_ranges(Device& device, const Options& options, std::uint64_t operand_bytes,
                                std::uint64_t largest_bytes, const ScratchBytes& scratch_bytes) {
  const auto& c = device.info().claimed;
  // Asking a driver for free memory takes as long as a small sort.
  if (options.max_device_bytes == 0 && operand_bytes < c.global_memory / 64) return false;
  const std::uint64_t limit = device_limit(device, options);
  if (limit == ~std::uint64_t{0}) return false;
  const std::uint64_t scratch = scratch_bytes();
  return operand_bytes + scratch > limit || std::max(largest_bytes, scratch) > c.max_allocation;
}

// Returns true for a list. Segments and a limit cannot be sorted in ranges. For these, throws
// Error(invalid_argument) if max_device_bytes is given; otherwise returns false, and the sort fails
// if the allocation of device memory fails.
[[nodiscard]] bool are_ranges_possible(std::uint64_t segments, std::uint64_t limit,
                                       const Options& options);

// Returns the same problem as records: a column of keys and, if the problem has values, one of
// values.
[[nodiscard]] RecordProblem as_records(const Problem& problem, const HostOperands& operands);
// Returns true if the list must be sorted in ranges. Throws Error(invalid_argument) if it cannot
// be.
[[nodiscard]] bool must_be_in_ranges(Device& device, const Problem& problem, const Method& method,
                                     const Options& options);
// sort_in_ranges() for a list of keys with values of 4 or 8 bytes. Validates problem and operands.
HostReport sort_list_in_ranges(const std::shared_ptr<Device>& device, const Problem& problem,
                               const HostOperands& operands, const Options& options);

// Sorts a list of at least 2 records, without segments and limit. The caller has validated problem
// and operands. Transfers and sorts overlap, so in the report transfer_seconds is only the time
// beyond sort_seconds. If max_device_bytes is too small, throws Error(invalid_argument) naming the
// smallest sufficient value.
HostReport sort_in_ranges(const std::shared_ptr<Device>& device, const RecordProblem& problem,
                          const RecordHostOperands& operands, const Options& options);

}  // namespace sortium
