// What the companions check before a plan is made, in device memory and in host memory. Each
// function throws Error(invalid_argument) naming the argument, its value, and what is allowed.
#pragma once

#include <fmt/format.h>

#include <sortium/search.hpp>

#include "../core/refuse.hpp"
#include "validate.hpp"

namespace sortium::companions {

// Throws Error(invalid_argument) if a companion cannot take the problem. Returns it.
inline const Problem& checked(const Problem& p) {
  validate_problem(p);
  if (p.segments != 0 || p.limit != 0)
    refuse(fmt::format("the problem has segments ({}) or a limit ({}), which only sorts may have",
                       p.segments, p.limit));
  return p;
}

// Returns the problem of a search: its payload is the places of the needles.
inline Problem with_places(Problem p) {
  if (p.value_bytes == 4 && p.count > 0xffffffffu)
    refuse(fmt::format("count is {}; 4-byte places reach 2^32 - 1 records (use value_bytes 8)",
                       p.count));
  p.payload = Payload::positions;
  return p;
}

inline void check_search(std::uint64_t needles, Bound bound) {
  validate_enumeration(bound, Bound::upper, "bound");
  if (needles > std::uint64_t{1} << 40)
    refuse(fmt::format("needles is {}; up to 2^40 is allowed", needles));
}

inline void check_nth(const Problem& p, std::uint64_t n) {
  if (n >= p.count) refuse(fmt::format("n is {}; it is less than the count, {}", n, p.count));
}

}  // namespace sortium::companions
