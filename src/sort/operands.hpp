// What run() is given, held against what it needs; for plans and their companions.
#pragma once

#include <span>
#include <string_view>

#include <sortium/device.hpp>

namespace sortium {

struct Operand {
  const char* name;
  Memory memory;
  std::uint64_t bytes;  // needed; 0: must not be given, unless it is scratch
  unsigned unit;        // bytes that its start is a multiple of
  bool written = true;
};

// Throws Error(invalid_argument) for an operand that is missing, of no use, too small, or misaligned.
void check_places(std::span<const Operand> operands, Backend backend);
[[nodiscard]] bool overlap(const Operand& a, const Operand& b, Backend backend);
// Throws Error(invalid_argument) where two operands overlap of which one is written.
void check_apart(std::span<const Operand> operands, Backend backend);

}  // namespace sortium
