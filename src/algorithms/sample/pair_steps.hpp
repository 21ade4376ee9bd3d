// The steps of a sort of keys that have codes, with values or positions. Codes and values move side
// by side. To sort a part, a word is made of each record: a window of its code above its place in
// the part. So each record is read from main memory twice and written twice, and a part's words,
// codes and values stay in the cache.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "layout.hpp"
#include "merge_output.hpp"
#include "place_order.hpp"

namespace sortium::sample {

// `Moved` is the type of the values or positions that are moved, `Value` that of the output.
template <class Key, class Moved, class Value>
struct PairSteps {
  using Word = Key;
  using Code = Key;
  static constexpr bool may_lack_memory = true, has_codes = true;
  static Word word_of(Code code) { return code; }
  static Code code_of(Word word) { return word; }

  explicit PairSteps(const Context& c)
      : context(c),
        in(at<const Key>(c.operands.keys_in)),
        values_in(c.layout.problem.payload == Payload::values
                      ? at<const Moved>(c.operands.values_in)
                      : nullptr),
        keys_out(c.layout.problem.keys_out ? at<Key>(c.operands.keys_out) : nullptr),
        values_out(at<Value>(c.operands.values_out)),
        codes(at<Key>(c.layout.keys.in(c.operands))),
        values(at<Moved>(c.layout.values.in(c.operands))),
        own(at<std::uint64_t>(c.layout.own.in(c.operands))),
        own_words(c.layout.own_words),
        coding(coding_of<Key>(c.layout.problem)) {}

  [[nodiscard]] Key deciding_bits() const { return static_cast<Key>(~Key{0}); }
  [[nodiscard]] bool has_ties() const { return coding.is_float; }

  void make_sample(Key* to, std::uint64_t i) const { *to = sample::code_of(in[i], coding); }
  // Copies records to scratch memory.
  void load(std::uint64_t begin, std::uint64_t count) const {
    encode(in + begin, codes + begin, count, coding);
    if (values_in != nullptr)
      std::memcpy(values + begin, values_in + begin, count * sizeof(Moved));
    else
      for (std::uint64_t i = begin; i < begin + count; ++i) values[i] = static_cast<Moved>(i);
  }
  void partition(std::uint64_t begin, std::uint64_t count, const Key* splitters,
                 std::uint64_t splitter_count, std::size_t* ends) const {
    load(begin, count);
    std::uint64_t* const spare = mine(0);
    partition_pairs(codes + begin, values + begin, count, splitters, splitter_count, ends,
                    reinterpret_cast<Key*>(spare),
                    reinterpret_cast<Moved*>(spare + ceil_div(count * sizeof(Key), 8)));
  }

  // A part's memory: its words, then its codes, then its values.
  struct Part {
    std::uint64_t* words;
    Key* codes;
    Moved* values;
  };
  static std::uint64_t words_of(std::uint64_t count) {
    return count + ceil_div(count * sizeof(Key), 8) + ceil_div(count * sizeof(Moved), 8);
  }
  std::uint64_t* mine(std::uint64_t count) const {
    const std::uint64_t words = words_of(count), thread = context.layout.thread();
    return words <= own_words ? own + thread * own_words : large.get() + thread * words_of(largest);
  }
  // Tries to allocate memory for parts larger than a thread's own memory, which are rare. If that
  // fails, Partition::sort_sections() sorts such parts.
  void prepare(std::uint64_t largest_part) {
    largest = largest_part;
    if (words_of(largest) > own_words)
      large.reset(static_cast<std::uint64_t*>(
          std::malloc(context.layout.threads * words_of(largest) * sizeof(std::uint64_t))));
  }
  bool has_memory_for(std::uint64_t count) const {
    return words_of(count) <= own_words || large != nullptr;
  }
  Part part(std::uint64_t, std::uint64_t count) const {
    std::uint64_t* const words = mine(count);
    Key* const part_codes = reinterpret_cast<Key*>(words + count);
    return {words, part_codes,
            reinterpret_cast<Moved*>(words + count + ceil_div(count * sizeof(Key), 8))};
  }
  void gather(const Part& part, std::uint64_t gathered, std::uint64_t from,
              std::uint64_t count) const {
    std::memcpy(part.codes + gathered, codes + from, count * sizeof(Key));
    std::memcpy(part.values + gathered, values + from, count * sizeof(Moved));
  }
  void finish(const Part& part, std::uint64_t begin, std::uint64_t count) const {
    if (ascending(part.codes, count, Coding<Key>{}) == count)
      return write(part, begin, count, [](std::uint64_t i) { return i; });
    const CodeRange range = range_of_codes(part.codes, count);
    const PlaceOrder<Key, std::uint32_t> by_short_words(part.codes, count, range);
    if (count <= most_short_order && by_short_words.separates())
      finish(part, begin, count, by_short_words, reinterpret_cast<std::uint32_t*>(part.words));
    else
      finish(part, begin, count, PlaceOrder<Key, std::uint64_t>(part.codes, count, range),
             part.words);
  }
  // Writes records [from, from + count) of the partitioned chunks to the output, in their order.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t count) const {
    for (std::uint64_t i = 0; i < count; ++i) values_out[to + i] = values[from + i];
    if (keys_out == nullptr) return;
    std::memcpy(keys_out + to, codes + from, count * sizeof(Key));
    decode(keys_out + to, count, coding);
  }
  // Merges sorted runs of the output.
  void merge(std::uint64_t begin, std::uint64_t bound, std::uint64_t end) const {
    merge_output(context, in, keys_out, values_out, mine(0), begin, bound, end);
  }

  const Context& context;
  const Key* in;
  const Moved* values_in;  // null: values are positions
  Key* keys_out;           // may be null
  Value* values_out;
  Key* codes;
  Moved* values;
  std::uint64_t* own;
  std::uint64_t own_words;
  Coding<Key> coding;
  std::uint64_t largest = 0;
  std::unique_ptr<std::uint64_t, decltype(&std::free)> large{nullptr, &std::free};

 private:
  template <class Order, class Word>
  void finish(const Part& part, std::uint64_t begin, std::uint64_t count, const Order& order,
              Word* words) const {
    order.sort(words);
    write(part, begin, count,
          [words, mask = order.mask()](std::uint64_t i) { return words[i] & mask; });
  }
  // Writes the part's records from(0), from(1), …
  template <class From>
  void write(const Part& part, std::uint64_t begin, std::uint64_t count, const From& from) const {
    for (std::uint64_t i = 0; i < count; ++i) values_out[begin + i] = part.values[from(i)];
    if (keys_out == nullptr) return;
    constexpr std::uint64_t block = 1024;  // decoded while it is in the nearest cache
    for (std::uint64_t b = 0; b < count; b += block) {
      const std::uint64_t some = std::min(block, count - b);
      Key* const to = keys_out + begin + b;
      for (std::uint64_t i = 0; i < some; ++i) to[i] = part.codes[from(b + i)];
      decode(to, some, coding);
    }
  }
};

}  // namespace sortium::sample
