// Functions that return the algorithms. registry.cpp lists the algorithms.
#pragma once

#include "algorithm.hpp"

namespace sortium {
class Rows;
}

namespace sortium::catalog {

const Algorithm& bitonic();
const Algorithm& bitonic_local();
const Algorithm& counting();
// True if `counting` is the fastest algorithm of cpu:0 for the problem.
bool counting_suits(const Problem& problem);
// For `counting`, these do what sample_alone, sample_few and so on do below. counting_alone()
// returns 0 if another algorithm is faster.
std::uint64_t counting_alone(const Problem& problem, unsigned threads);
void counting_few(const Problem& problem, const Operands& operands);
std::uint64_t counting_few_scratch(const Problem& problem);
void counting_in_arena(Queue& queue, const Problem& problem, unsigned threads,
                       const Operands& operands);
std::uint64_t counting_in_arena_scratch(const Problem& problem, unsigned threads);
const Algorithm& lsd();
const Algorithm& merge();
const Algorithm& merge_in_place();
const Algorithm& merge_local();
const Algorithm& msd();
const Algorithm& odd_even();
const Algorithm& one_cluster();
const Algorithm& one_group();
const Algorithm& onesweep();
const Algorithm& radix();
const Algorithm& radix_simd();
const Algorithm& sample();
// Returns the most records that `sample` sorts on one of `threads` threads: 2^15, or 2^18 bytes of
// keys without values that vector instructions encode; with four threads and more, a quarter of it.
std::uint64_t sample_alone(const Problem& problem, unsigned threads);
// Sorts with `sample` on the calling thread, without a plan: the fastest way for a few thousand
// records of host memory. Takes 1 to sample_alone(problem, 1) records. Allocates scratch memory if
// `operands` has none and the stack is too small.
void sample_few(const Problem& problem, const Operands& operands);
// Sorts at most `fewest` records like sample_few, but without scratch memory and its setup.
constexpr std::uint64_t fewest = 16;
void sample_fewest(const Problem& problem, const void* keys_in, void* keys_out,
                   const void* values_in, void* values_out);
// Runs `sample` with `threads` threads in the caller's oneTBB arena. Does not throw: if memory for
// large parts cannot be allocated, sorts more slowly without that memory.
void sample_in_arena(Queue& queue, const Problem& problem, unsigned threads,
                     const Operands& operands);
std::uint64_t sample_in_arena_scratch(const Problem& problem, unsigned threads);
// Sorts more than sample_alone(problem, 1) rows with `threads` threads in the caller's oneTBB
// arena. Returns false, with nothing written to the output, if the rows are better sorted in
// another way, or if memory for large parts cannot be allocated. The scratch memory has
// sample_rows_scratch() bytes.
[[nodiscard]] bool sample_rows(Queue& queue, const Rows& rows, unsigned threads, Memory scratch);
std::uint64_t sample_rows_scratch(const Rows& rows, unsigned threads);
// Returns the bytes of scratch memory that sample_few takes. They grow with the count.
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

}  // namespace sortium::catalog
