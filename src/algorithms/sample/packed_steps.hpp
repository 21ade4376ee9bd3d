// The steps of a sort of 4-byte keys with 4-byte values or with positions. A word holds the key's
// code in its upper half and the value or position in its lower half. A chunk's words are
// partitioned in scratch memory; a part is sorted in its thread's own memory.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "digits.hpp"
#include "layout.hpp"
#include "merge_output.hpp"

namespace sortium::sample {

// `Value` is the type of the output's values; it has 8 bytes only for positions.
template <class Value>
struct PackedSteps {
  using Word = std::uint64_t;
  using Code = std::uint32_t;
  static constexpr bool may_lack_memory = true, has_codes = true;
  static Word word_of(Code code) { return Word{code} << 32; }
  static Code code_of(Word word) { return static_cast<Code>(word >> 32); }

  explicit PackedSteps(const Context& c)
      : context(c),
        in(at<const std::uint32_t>(c.operands.keys_in)),
        values_in(c.layout.problem.payload == Payload::values
                      ? at<const std::uint32_t>(c.operands.values_in)
                      : nullptr),
        keys_out(c.layout.problem.keys_out ? at<std::uint32_t>(c.operands.keys_out) : nullptr),
        values_out(at<Value>(c.operands.values_out)),
        chunked(at<std::uint64_t>(c.layout.keys.in(c.operands))),
        own(at<std::uint64_t>(c.layout.own.in(c.operands))),
        own_words(c.layout.own_words),
        coding(coding_of<std::uint32_t>(c.layout.problem)) {}

  [[nodiscard]] std::uint64_t deciding_bits() const { return ~std::uint64_t{0} << 32; }
  [[nodiscard]] bool has_ties() const { return coding.is_float; }

  // The number of words of memory that a thread has for a part of `count` words and its copy.
  std::uint64_t capacity(std::uint64_t count) const {
    return 2 * count <= own_words ? own_words : 2 * largest;
  }
  std::uint64_t* mine(std::uint64_t count) const {
    return (2 * count <= own_words ? own : large.get()) + context.layout.thread() * capacity(count);
  }
  void make(std::uint64_t* to, std::uint64_t begin, std::uint64_t count) const {
    pack(in + begin, values_in != nullptr ? values_in + begin : nullptr,
         static_cast<std::uint32_t>(begin), to, count, coding);
  }
  void make_sample(std::uint64_t* to, std::uint64_t i) const { make(to, i, 1); }
  void partition(std::uint64_t begin, std::uint64_t count, const std::uint64_t* splitters,
                 std::uint64_t splitter_count, std::size_t* ends) const {
    make(chunked + begin, begin, count);
    partition_words(chunked + begin, count, splitters, splitter_count, ends, mine(0));
  }
  // Tries to allocate memory for parts larger than a thread's own memory, which occur if many keys
  // are equal. If that fails, Partition::sort_sections() sorts such parts.
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
  void gather(std::uint64_t* part, std::uint64_t gathered, std::uint64_t from,
              std::uint64_t count) const {
    std::memcpy(part + gathered, chunked + from, count * sizeof *part);
  }
  void finish(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
    const std::uint64_t* const sorted = UpperHalves::sort(part, part + capacity(count) / 2, count);
    write(sorted, begin, count);
  }
  // Writes records [from, from + count) of the partitioned chunks to the output, in their order.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t count) const {
    write(chunked + from, to, count);
  }
  void write(const std::uint64_t* words, std::uint64_t to, std::uint64_t count) const {
    unpack(words, keys_out != nullptr ? keys_out + to : nullptr, values_out + to, count, coding);
  }
  // Merges sorted runs of the output.
  void merge(std::uint64_t begin, std::uint64_t bound, std::uint64_t end) const {
    merge_output(context, in, keys_out, values_out, mine(0), begin, bound, end);
  }

  const Context& context;
  const std::uint32_t *in, *values_in;  // values_in: null if values are positions
  std::uint32_t* keys_out;              // may be null
  Value* values_out;
  std::uint64_t *chunked, *own;
  std::uint64_t own_words;
  Coding<std::uint32_t> coding;
  std::uint64_t largest = 0;
  std::unique_ptr<std::uint64_t, decltype(&std::free)> large{nullptr, &std::free};
};

}  // namespace sortium::sample
