// The steps of a sort of 4-byte integers with 4-byte values. A word holds the key's code in its
// upper half and the value in its lower half. A chunk's words are partitioned in scratch memory; a
// part is sorted in its thread's own memory.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "digits.hpp"
#include "layout.hpp"
#include "merge_output.hpp"

namespace sortium::sample {

struct PackedSteps {
  using Word = std::uint64_t;
  static constexpr bool may_lack_memory = true;

  explicit PackedSteps(const Context& c)
      : context(c),
        in(at<const std::uint32_t>(c.operands.keys_in)),
        values_in(c.layout.problem.payload == Payload::values
                      ? at<const std::uint32_t>(c.operands.values_in)
                      : nullptr),
        keys_out(c.layout.problem.keys_out ? at<std::uint32_t>(c.operands.keys_out) : nullptr),
        values_out(at<std::uint32_t>(c.operands.values_out)),
        chunked(at<std::uint64_t>(c.layout.keys.in(c.operands))),
        own(at<std::uint64_t>(c.layout.own.in(c.operands))),
        own_words(c.layout.own_words),
        flip(coding_of<std::uint32_t>(c.layout.problem).flip) {}

  [[nodiscard]] std::uint64_t deciding_bits() const { return ~std::uint64_t{0} << 32; }
  [[nodiscard]] bool has_ties() const { return false; }

  // The number of words of memory that a thread has for a part of `count` words and its copy.
  std::uint64_t capacity(std::uint64_t count) const {
    return 2 * count <= own_words ? own_words : 2 * largest;
  }
  std::uint64_t* mine(std::uint64_t count) const {
    return (2 * count <= own_words ? own : large.get()) + context.layout.thread() * capacity(count);
  }
  std::uint64_t* chunk(std::uint64_t begin) const { return chunked + begin; }
  std::uint64_t* spare(std::uint64_t) const { return mine(0); }
  void make(std::uint64_t* to, std::uint64_t begin, std::uint64_t count) const {
    if (values_in != nullptr)
      for (std::uint64_t i = 0; i < count; ++i)
        to[i] = std::uint64_t{in[begin + i] ^ flip} << 32 | values_in[begin + i];
    else
      for (std::uint64_t i = 0; i < count; ++i)
        to[i] = std::uint64_t{in[begin + i] ^ flip} << 32 | static_cast<std::uint32_t>(begin + i);
  }
  void settle(const std::uint64_t*, std::uint64_t, std::uint64_t) const {}
  // Tries to allocate memory for parts larger than a thread's own memory, which occur if many keys
  // are equal. If that fails, Partition::sort_slices() sorts such parts.
  void prepare(std::uint64_t largest_part) {
    largest = largest_part;
    if (2 * largest > own_words)
      large.reset(static_cast<std::uint64_t*>(
          std::malloc(context.layout.threads * 2 * largest * sizeof(std::uint64_t))));
  }
  bool has_memory_for(std::uint64_t count) const {
    return 2 * count <= own_words || large != nullptr;
  }
  std::uint64_t* part(std::uint64_t, std::uint64_t count) const { return mine(count); }
  void gather(std::uint64_t* to, std::uint64_t from, std::uint64_t count) const {
    std::memcpy(to, chunked + from, count * sizeof *to);
  }
  void finish(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
    const std::uint64_t* const sorted = sort_upper_halves(part, part + capacity(count) / 2, count);
    if (keys_out != nullptr)
      for (std::uint64_t i = 0; i < count; ++i)
        keys_out[begin + i] = static_cast<std::uint32_t>(sorted[i] >> 32) ^ flip;
    for (std::uint64_t i = 0; i < count; ++i)
      values_out[begin + i] = static_cast<std::uint32_t>(sorted[i]);
  }
  // Merges sorted runs of the output.
  void merge(std::uint64_t begin, std::uint64_t bound, std::uint64_t end) const {
    merge_output(context, in, keys_out, values_out, mine(0), begin, bound, end);
  }

  const Context& context;
  const std::uint32_t *in, *values_in;   // values_in: null if values are positions
  std::uint32_t *keys_out, *values_out;  // keys_out may be null
  std::uint64_t *chunked, *own;
  std::uint64_t own_words;
  std::uint32_t flip;
  std::uint64_t largest = 0;
  std::unique_ptr<std::uint64_t, decltype(&std::free)> large{nullptr, &std::free};
};

}  // namespace sortium::sample
