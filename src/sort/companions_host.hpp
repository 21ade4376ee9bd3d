// The companions on cpu:0, on all cores. Operands are host memory. Every function returns when it
// is done.
#pragma once

#include <sortium/search.hpp>

namespace sortium::on_host {

[[nodiscard]] std::uint64_t first_unsorted(const Problem& problem, const Memory& keys);
[[nodiscard]] std::uint64_t unique(const Problem& problem, const UniquePlan::Operands& operands,
                                   unsigned length_bytes);
void merge(const Problem& problem, std::uint64_t a_count, const MergePlan::Operands& operands);
void search(const Problem& problem, std::uint64_t needles, Bound bound,
            const SearchPlan::Operands& operands);

}  // namespace sortium::on_host
