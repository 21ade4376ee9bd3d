#include "operands.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sortium {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace

std::string Operand::text() const {
  return column < 0 ? std::string(name) : fmt::format("{}[{}]", name, column);
}

void check_queue(const Queue& queue, Device& device) {
  if (queue.device().native_context() != device.native_context())
    refuse(fmt::format("queue is of another device or context than the plan, which is for {}",
                       device.info().name));
}

void check_places(std::span<const Operand> operands, Backend backend) {
  for (const auto& a : operands) {
    if (a.bytes == 0) {
      if (a.memory && std::string_view(a.name) != "scratch")
        refuse(fmt::format("{} is given, but this plan has no use for it", a.text()));
      continue;
    }
    if (!a.memory) refuse(fmt::format("{} is missing; {} bytes are needed", a.text(), a.bytes));
    if (a.memory.bytes != 0 && a.memory.bytes < a.bytes)
      refuse(fmt::format("{} has {} bytes; {} are needed", a.text(), a.memory.bytes, a.bytes));
    // OpenCL's buffers themselves begin on boundaries that suit every type.
    const std::uint64_t start =
        backend != Backend::opencl
            ? reinterpret_cast<std::uintptr_t>(a.memory.handle) + a.memory.offset
            : a.memory.offset;
    if (start % a.unit != 0)
      refuse(fmt::format("{} begins at byte {}, which is not a multiple of {}", a.text(), start,
                         a.unit));
  }
}

bool overlap(const Operand& a, const Operand& b, Backend backend) {
  auto from_a = a.memory.offset, from_b = b.memory.offset;
  if (backend != Backend::opencl) {  // one address space
    from_a += reinterpret_cast<std::uintptr_t>(a.memory.handle);
    from_b += reinterpret_cast<std::uintptr_t>(b.memory.handle);
  } else if (a.memory.handle != b.memory.handle) {
    return false;
  }
  return from_a < from_b + b.bytes && from_b < from_a + a.bytes;
}

void check_apart(std::span<const Operand> operands, Backend backend) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (std::size_t j = i + 1; j < operands.size(); ++j) {
      const auto &a = operands[i], &b = operands[j];
      if (a.bytes != 0 && b.bytes != 0 && (a.written || b.written) && overlap(a, b, backend))
        refuse(fmt::format("{} and {} overlap, which is not allowed", a.text(), b.text()));
    }
}

std::vector<Plan::Phase> profiled(Queue& queue, const std::function<void()>& run) {
  queue.begin_trace();
  try {
    run();
  } catch (...) {
    (void)queue.end_trace();
    throw;
  }
  std::vector<Plan::Phase> phases;
  for (const auto& entry : queue.end_trace()) {
    auto p = std::ranges::find(phases, entry.phase, &Plan::Phase::name);
    if (p == phases.end()) p = phases.insert(p, {std::string(entry.phase), 0, 0});
    p->seconds += entry.seconds;
    ++p->launches;
  }
  return phases;
}

}  // namespace sortium
