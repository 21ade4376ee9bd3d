// Sorts of few records on the calling thread, without a plan or a queue.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "algorithm.hpp"

namespace sortium::host {

// Calls sorter.run_alone(operands). If `operands` has no scratch memory, provides it: on the stack
// up to 32 KiB, else allocated. Throws Error(out_of_memory) if the allocation fails.
template <class S>
void run_alone(const S& sorter, const Operands& operands) {
  if (operands.scratch) return sorter.run_alone(operands);
  constexpr std::size_t on_stack = 1u << 15;
  Operands o = operands;
  if (sorter.scratch_bytes() <= on_stack) {
    alignas(64) std::byte scratch[on_stack];
    o.scratch.handle = scratch;
    return sorter.run_alone(o);
  }
  const std::unique_ptr<void, decltype(&std::free)> scratch(
      std::aligned_alloc(64, (sorter.scratch_bytes() + 63) / 64 * 64), &std::free);
  if (!scratch)
    throw Error(ErrorCode::out_of_memory,
                fmt::format("cpu:0: the host has no memory for {} bytes of scratch",
                            sorter.scratch_bytes()));
  o.scratch.handle = scratch.get();
  sorter.run_alone(o);
}

}  // namespace sortium::host
