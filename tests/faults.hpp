// A test allocator that makes the n-th allocation of a thread fail. Allocations by oneTBB count,
// too.
#pragma once

#include <cstdint>

namespace sortium::test {

// Makes the n-th allocation (1: the next one) of the calling thread fail, once; with `lasting`,
// also all after it.
void fail_allocation(std::uint64_t n, bool lasting = false);
// Ends the effect of fail_allocation(). Returns true if an allocation failed.
bool stop_failing();
// Returns the bytes that are allocated now.
std::int64_t allocated_bytes();

}  // namespace sortium::test
