// A line a room: what registry.cpp lists.
#pragma once

#include "algorithm.hpp"

namespace sortium::rooms {

const Algorithm& bitonic();
const Algorithm& bitonic_local();
const Algorithm& lsd();
const Algorithm& merge();
const Algorithm& merge_in_place();
const Algorithm& merge_local();
const Algorithm& msd();
const Algorithm& odd_even();
const Algorithm& one_cluster();
// Whether its work-groups would take a part each, which is faster.
bool one_cluster_parts(const Problem& problem, const Capabilities& device);
const Algorithm& one_group();
const Algorithm& onesweep();
const Algorithm& radix();
const Algorithm& radix_simd();
const Algorithm& sample();
// sample on the calling thread, without a plan: what a few thousand records on the host are worth.
// Without scratch memory in `operands`, allocates where it does not fit the stack. At least one
// record, and at most 2^15.
void sample_few(const Problem& problem, const Operands& operands);
// The same for so few records that to set anything up would take longer.
constexpr std::uint64_t fewest = 16;
void sample_fewest(const Problem& problem, const void* keys_in, void* keys_out,
                   const void* values_in, void* values_out);
// sample in the oneTBB arena that the caller is in, of `threads` threads. Allocates nothing that it
// cannot do without, and throws nothing.
void sample_in_arena(Queue& queue, const Problem& problem, unsigned threads,
                     const Operands& operands);
std::uint64_t sample_in_arena_scratch(const Problem& problem, unsigned threads);
// Scratch memory for sample_few; it grows with the count.
std::uint64_t sample_few_scratch(const Problem& problem);
const Algorithm& sample_in_place();
const Algorithm& segmented();
const Algorithm& segmented_host();
const Algorithm& selection();
const Algorithm& selection_blocks();
const Algorithm& selection_local();
const Algorithm& topk();
const Algorithm& topk_segmented();
const Algorithm& topk_segmented_host();
const Algorithm& topk_host();

}  // namespace sortium::rooms
