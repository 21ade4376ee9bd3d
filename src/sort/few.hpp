// Sorts of few records on the calling thread, with cpu:0's algorithm and without a plan. Copies to
// a device and launches would take longer than the sort.
//
// clang-format off
// | records  | sorted by                                  | saves                  |
// |----------|--------------------------------------------|------------------------|
// | to 3     | sort(keys), inline (detail::inline_records)| a call                 |
// | to 16    | catalog::sample_fewest: a network or ranks | reading SORTIUM_DEVICE |
// | to 255   | catalog::sample_few, counting_few          | reading the clock      |
// | more     | catalog::sample_few, counting_few          | a plan and a queue     |
// | more than sample_alone() and counting_alone(): a Plan
// clang-format on
#pragma once

#include <sortium/detail/few.hpp>

#include "../algorithms/catalog.hpp"

namespace sortium::few {

using detail::network_records;
constexpr std::uint64_t untimed_records = 255;
// Records with several fields, and lists for several devices, are few up to this number.
constexpr std::uint64_t records = 1u << 14;
static_assert(network_records <= catalog::fewest);

// True if such operands can be sorted without copies: keys and values are aligned to their size,
// and keys are in place if and only if values are.
[[nodiscard]] bool suits(const Problem& problem, const HostOperands& operands);

// Sorts the records on the calling thread. They are no more than the larger of
// catalog::sample_alone() and catalog::counting_alone(), and the problem has no segments. Validates
// problem and operands.
HostReport sort(const Problem& problem, const HostOperands& operands);

}  // namespace sortium::few
