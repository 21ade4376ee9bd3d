// What plans' run() is given: one way to check it, and one to profile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sortium/sortium.hpp>

namespace sortium {

struct Operand {
  const char* name;
  Memory memory;
  std::uint64_t bytes;  // needed; 0: must not be given
  unsigned unit;        // bytes that its start is a multiple of
  int column = -1;      // of `name`, if it has several

  [[nodiscard]] std::string text() const;  // "scratch", "columns_in[2]"
};

// They throw Error(invalid_argument) that says what is wrong. Scratch may be given where none is needed.
void check_queue(const Queue& queue, Device& device);
void check_operand(const Operand& operand, Backend backend);
[[noreturn]] void refuse_overlap(const Operand& a, const Operand& b);

[[nodiscard]] bool overlap(const Operand& a, const Operand& b, Backend backend);
[[nodiscard]] inline bool same(const Memory& a, const Memory& b) { return a.handle == b.handle && a.offset == b.offset; }

// The device time of what `run` enqueues, by phase.
[[nodiscard]] std::vector<Plan::Phase> profiled(Queue& queue, const std::function<void()>& run);

}  // namespace sortium
