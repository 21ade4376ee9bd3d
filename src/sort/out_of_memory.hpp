// Throws errors instead of std::bad_alloc, which does not say what failed.
#pragma once

#include <fmt/format.h>

#include <new>
#include <sortium/problem.hpp>
#include <string_view>

namespace sortium {

// For handlers of std::bad_alloc around `call`, whose operands have `bytes` bytes. Throws
// Error(out_of_memory) naming both.
[[noreturn]] inline void throw_out_of_memory(std::string_view call, std::uint64_t bytes) {
  throw Error(ErrorCode::out_of_memory,
              fmt::format("{}: the host has no memory left for a call with {} bytes of operands",
                          call, bytes));
}

// Returns the bytes of a problem's keys and values.
[[nodiscard]] inline std::uint64_t operand_bytes(const Problem& p) {
  return p.count * (info(p.key).bytes + (p.payload == Payload::none ? 0 : p.value_bytes));
}

}  // namespace sortium
