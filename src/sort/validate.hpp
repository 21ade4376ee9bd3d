// Validation of problems, capabilities and operands, for sorts, records, searches and permutations,
// on device memory and on host memory. Every function throws Error(invalid_argument) naming the
// field or operand, its value and what is allowed.
#pragma once

#include <sortium/device.hpp>
#include <sortium/problem.hpp>
#include <span>
#include <string>

namespace sortium {

inline constexpr std::uint64_t max_records = std::uint64_t{1} << 40;

// Rejects a value that no enumerator has: a cast can make one. `last` is the last enumerator.
[[noreturn]] void refuse_enumeration(unsigned value, unsigned last, const char* name);
template <class Enumeration>
void validate_enumeration(Enumeration value, Enumeration last, const char* name) {
  if (value > last)
    refuse_enumeration(static_cast<unsigned>(value), static_cast<unsigned>(last), name);
}

void validate_problem(const Problem& problem);
void validate_value_bytes(unsigned value_bytes);  // for gathered values: 1 to 256

// Rejects values that no device has, such as 0 compute units: capabilities may be filled in by
// hand.
void validate_capabilities(const Capabilities& capabilities);

// Where operands are, which determines how they are compared.
enum class Space : std::uint8_t {
  opencl,     // handles are objects: only operands of the same handle can overlap
  addresses,  // one address space: CUDA, cpu:0
  host,       // host memory of any alignment; a missing operand is a null pointer
};
[[nodiscard]] constexpr Space space_of(Backend backend) {
  return backend == Backend::opencl ? Space::opencl : Space::addresses;
}

struct Operand {
  const char* name;
  Memory memory;
  std::uint64_t bytes;  // needed; 0: the operand must be absent, unless it is scratch
  unsigned unit;        // the operand must begin at a multiple of this many bytes
  bool written = true;
  int column = -1;                    // index if `name` has several: "columns_in[2]"
  const char* in_place_of = nullptr;  // name of the operand that it may be identical to

  [[nodiscard]] std::string text() const;  // "scratch", "columns_in[2]"
};

// The alignment of an array of elements: the largest power of two, up to 16, that divides
// `element_bytes`.
[[nodiscard]] constexpr unsigned unit_of(unsigned element_bytes) {
  return (element_bytes | 16) & (~(element_bytes | 16) + 1);
}

// Rejects a queue of another device or context.
void validate_queue(const Queue& queue, Device& device);

// Rejects an operand that is missing, superfluous, too small or misaligned. Rejects two overlapping
// operands if at least one of them is written.
void validate_operands(std::span<const Operand> operands, Space space);

// The same for the operands of a sort. Also rejects keys in place with values out of place.
void validate_sort_operands(const Problem& problem, const Operands& operands,
                            std::uint64_t scratch_bytes, Space space);

// Makes an operand of host memory.
[[nodiscard]] inline Memory host_memory(const void* m) { return {const_cast<void*>(m), 0, 0}; }

// Rejects offsets in host memory that are null or do not ascend from 0 to problem.count; names the
// first wrong one. Reads all offsets.
void validate_offsets(const Problem& problem, const void* offsets);

[[nodiscard]] inline bool same(const Memory& a, const Memory& b) {
  return a.handle == b.handle && a.offset == b.offset;
}

}  // namespace sortium
