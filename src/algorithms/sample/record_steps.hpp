// The steps of a sort of records by words. A word is a window of the key's rank above the record's
// position.
//
// A chunk's words are partitioned in the thread's own memory. Then the chunk's records are copied
// to scratch memory in the order of their parts. To sort a part, its words are built again from
// these copies; their positions refer to scratch memory. So each record is read from main memory
// twice and written twice, and words usually stay in the caches.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "layout.hpp"
#include "merge_output.hpp"
#include "merge_tags.hpp"

namespace sortium::sample {

template <class Key, class Value>
struct RecordSteps {
  using Word = std::uint64_t;
  static constexpr bool may_lack_memory = true, has_codes = false;

  explicit RecordSteps(const Context& c)
      : context(c),
        in(at<const Key>(c.operands.keys_in)),
        values_in(c.layout.problem.payload == Payload::values
                      ? at<const Value>(c.operands.values_in)
                      : nullptr),
        keys(at<Key>(c.layout.keys.in(c.operands))),
        keys_out(c.layout.problem.keys_out ? at<Key>(c.operands.keys_out) : nullptr),
        values(has_values() ? at<Value>(c.layout.values.in(c.operands)) : nullptr),
        values_out(has_values() ? at<Value>(c.operands.values_out) : nullptr),
        own(at<std::uint64_t>(c.layout.own.in(c.operands))),
        own_words(c.layout.own_words),
        position_bits(
            std::max(1u, static_cast<unsigned>(std::bit_width(c.layout.problem.count - 1)))) {}

  [[nodiscard]] bool has_values() const { return context.layout.problem.payload != Payload::none; }
  // If windows hold only part of a rank, words with equal windows must be in the same part, because
  // the other bits of their ranks determine their order. So splitters must not contain positions.
  [[nodiscard]] std::uint64_t deciding_bits() const {
    return window.shift == 0 ? ~std::uint64_t{0} : ~mask();
  }

  std::uint64_t mask() const { return (std::uint64_t{1} << position_bits) - 1; }
  std::uint64_t* mine() const { return own + context.layout.thread() * own_words; }
  std::uint64_t* spare() const { return mine() + own_words / 2; }
  void words(const Key* from, std::uint64_t* to, std::uint64_t position,
             std::uint64_t count) const {
    context.ranks.of(from, to, count);
    for (std::uint64_t i = 0; i < count; ++i)
      to[i] = (to[i] - window.lowest) >> window.shift << position_bits | (position + i);
  }
  void make(std::uint64_t* to, std::uint64_t begin, std::uint64_t count) const {
    words(in + begin, to, begin, count);
  }
  void make_sample(std::uint64_t* to, std::uint64_t i) const { make(to, i, 1); }
  void partition(std::uint64_t begin, std::uint64_t count, const std::uint64_t* splitters,
                 std::uint64_t splitter_count, std::size_t* ends) const {
    make(mine(), begin, count);
    partition_words(mine(), count, splitters, splitter_count, ends, spare());
    settle(mine(), begin, count);
  }
  void settle(const std::uint64_t* chunk, std::uint64_t begin, std::uint64_t count) const {
    for (std::uint64_t i = 0; i < count; ++i) keys[begin + i] = in[chunk[i] & mask()];
    if (values == nullptr) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t from = chunk[i] & mask();
      values[begin + i] = values_in != nullptr ? values_in[from] : static_cast<Value>(from);
    }
  }
  // Tries to allocate memory for parts larger than a thread's own memory, which occur if many
  // windows are equal. If that fails, Partition::sort_sections() sorts such parts.
  void prepare(std::uint64_t largest_part) {
    if (largest_part > own_words)
      large.reset(static_cast<std::uint64_t*>(
          std::malloc(context.layout.problem.count * sizeof(std::uint64_t))));
  }
  bool has_memory_for(std::uint64_t count) const { return count <= own_words || large != nullptr; }
  std::uint64_t* part(std::uint64_t begin, std::uint64_t count) const {
    return count <= own_words ? mine() : large.get() + begin;
  }
  void gather(std::uint64_t* part, std::uint64_t gathered, std::uint64_t from,
              std::uint64_t count) const {
    words(keys + from, part + gathered, from, count);
  }
  void finish(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
    sort_words(part, count);
    place(part, begin, count, keys, values);
  }
  // Merges sorted runs of the output.
  void merge(std::uint64_t begin, std::uint64_t bound, std::uint64_t end) const {
    merge_output(context, in, keys_out, values_out, mine(), begin, bound, end);
  }
  // The steps for a merge of runs (MergeRuns). A part's words are built and merged in the thread's
  // own memory.
  std::uint64_t deciding(std::uint64_t i) const {
    std::uint64_t word = 0;
    make(&word, i, 1);
    return word & ~mask();
  }
  bool fits(std::uint64_t count) const { return count <= own_words / 2; }
  // If the sort is in place, copies the input to scratch memory; all later steps read the copy.
  void keep_input() {
    const bool copy_keys = in == keys_out,
               copy_values = values_in != nullptr && values_in == values_out;
    if (copy_keys || copy_values)
      context.layout.each_chunk(
          context.operands, [&](std::uint64_t, std::uint64_t begin, std::uint64_t count) {
            if (copy_keys) std::memcpy(keys + begin, in + begin, count * sizeof(Key));
            if (copy_values) std::memcpy(values + begin, values_in + begin, count * sizeof(Value));
          });
    if (copy_keys) in = keys;
    if (copy_values) values_in = values;
  }
  void make_piece(std::uint64_t* to, std::uint64_t begin, std::uint64_t count, bool falls) const {
    make(to, begin, count);
    if (falls) turn(to, count, position_bits);
  }
  // Merges pieces of runs (TagMerge), and writes the records to the output from `begin` on.
  void merge_by_tags(const Run* pieces, std::size_t piece_count, std::uint64_t begin,
                     std::uint64_t count) const {
    if constexpr (sizeof(Key) >= 4) {
      const std::uint32_t* const records =
          TagMerge<Key>(in, coding_of<Key>(context.layout.problem), pieces, piece_count)
              .merge(mine(), spare());
      if (keys_out != nullptr)
        for (std::uint64_t i = 0; i < count; ++i) keys_out[begin + i] = in[records[i]];
      if (values_out == nullptr) return;
      if (values_in != nullptr)
        for (std::uint64_t i = 0; i < count; ++i) values_out[begin + i] = values_in[records[i]];
      else
        for (std::uint64_t i = 0; i < count; ++i)
          values_out[begin + i] = static_cast<Value>(records[i]);
    }
  }
  void place(std::uint64_t* part, std::uint64_t begin, std::uint64_t count) const {
    place(part, begin, count, in, values_in);
  }
  // Writes the records of sorted words to the output. The words' positions refer to `from` and
  // `values_from`.
  void place(std::uint64_t* part, std::uint64_t begin, std::uint64_t count, const Key* from,
             const Value* values_from) const {
    if (window.shift != 0) context.ranks.sort_ties(from, part, count, position_bits);
    if (values_from != nullptr)
      fetch(part, count, mask(), values_from, values_out + begin);
    else if (values_out != nullptr)
      for (std::uint64_t i = 0; i < count; ++i)
        values_out[begin + i] = static_cast<Value>(part[i] & mask());
    if (keys_out == nullptr) return;
    // Keys are decoded from words if a word holds the whole key: an integer that is sorted by all
    // its bits. Else they are gathered.
    const Layout& layout = context.layout;
    if (window.shift != 0 || !layout.all_bits || info(layout.problem.key).is_float)
      return fetch(part, count, mask(), from, keys_out + begin);
    const Key flip = coding_of<Key>(layout.problem).flip;
    for (std::uint64_t i = 0; i < count; ++i)
      keys_out[begin + i] = static_cast<Key>(((part[i] >> position_bits) + window.lowest) ^ flip);
  }

  const Context& context;
  const Key* in;
  const Value* values_in;  // null: values are positions
  Key *keys, *keys_out;    // keys_out may be null
  Value *values, *values_out;
  std::uint64_t* own;
  std::uint64_t own_words;
  unsigned position_bits;
  Window window{};
  std::unique_ptr<std::uint64_t, decltype(&std::free)> large{nullptr, &std::free};
};

}  // namespace sortium::sample
