// Sorts of few records on the calling thread, with cpu:0's algorithm and without a plan: the way to
// a device takes longer than the sort.
//
// | records     | sorted by                                            | costs besides the sort |
// |-------------|------------------------------------------------------|---------------------------|
// | up to 3     | sort(keys) itself, inline (detail::inline_records)   | no call | | up to 16    |
// catalog::sample_fewest: a network, or ranks             | no look at SORTIUM_DEVICE | | up to 255
// | catalog::sample_few                                     | no look at the clock      | | up to
// 2^14  | catalog::sample_few                                     | no plan, no queue         | |
// more        | a Plan                                                |                           |
#pragma once

#include <sortium/detail/few.hpp>

#include "../algorithms/catalog.hpp"

namespace sortium::few {

using detail::network_records;
constexpr std::uint64_t untimed_records = 255;
constexpr std::uint64_t records = 1u << 14;
static_assert(network_records <= catalog::fewest);

// Whether such operands can be sorted without copies: keys and values aligned to their size, keys
// in place if and only if values are.
[[nodiscard]] bool suits(const Problem& problem, const HostOperands& operands);

// Sorts `problem.count` <= `records` records without segments. Validates problem and operands.
HostReport sort(const Problem& problem, const HostOperands& operands);

}  // namespace sortium::few
