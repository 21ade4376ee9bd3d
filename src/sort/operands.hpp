// What run() is given, held against what it needs; for plans and their companions.
#pragma once

#include <functional>
#include <sortium/sortium.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

struct Operand {
  const char* name;
  Memory memory;
  std::uint64_t bytes;  // needed; 0: must not be given, unless it is scratch
  unsigned unit;        // bytes that its start is a multiple of
  bool written = true;
  int column = -1;  // of `name`, where it has several

  [[nodiscard]] std::string text() const;  // "scratch", "columns_in[2]"
};

// An array of elements of so many bytes begins at a multiple of this: the largest power of two, up
// to 16, that divides them.
[[nodiscard]] constexpr unsigned unit_of(unsigned element_bytes) {
  return (element_bytes | 16) & (~(element_bytes | 16) + 1);
}

// Throws Error(invalid_argument) for a queue of another device or context.
void check_queue(const Queue& queue, Device& device);

// Throws Error(invalid_argument) for an operand that is missing, of no use, too small, or
// misaligned.
void check_places(std::span<const Operand> operands, Backend backend);
[[nodiscard]] bool overlap(const Operand& a, const Operand& b, Backend backend);
// Throws Error(invalid_argument) where two operands overlap of which one is written.
void check_apart(std::span<const Operand> operands, Backend backend);
[[nodiscard]] inline bool same(const Memory& a, const Memory& b) {
  return a.handle == b.handle && a.offset == b.offset;
}

// The device time of what `run` enqueues, by phase.
[[nodiscard]] std::vector<Plan::Phase> profiled(Queue& queue, const std::function<void()>& run);

}  // namespace sortium
