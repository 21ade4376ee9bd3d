// The steps of a sort of keys without values whose codes can be decoded to keys. Chunks are encoded
// and partitioned in scratch memory. A part is gathered, sorted and decoded in the output.
#pragma once

#include <algorithm>
#include <cstring>

#include "layout.hpp"

namespace sortium::sample {

template <class Key>
struct KeySteps {
  using Word = Key;
  using Code = Key;
  static constexpr bool may_lack_memory = false, has_codes = true;
  static Word word_of(Code code) { return code; }
  static Code code_of(Word word) { return word; }

  explicit KeySteps(const Context& context)
      : in(at<const Key>(context.operands.keys_in)),
        chunked(at<Key>(context.layout.keys.in(context.operands))),
        out(at<Key>(context.operands.keys_out)),
        coding(coding_of<Key>(context.layout.problem)) {}

  // The bits of a word that determine which part it belongs to.
  [[nodiscard]] Key deciding_bits() const { return static_cast<Key>(~Key{0}); }
  [[nodiscard]] bool has_ties() const { return coding.is_float; }

  // Returns the memory of the words of the chunk that begins at record `begin`.
  Key* chunk(std::uint64_t begin) const { return chunked + begin; }
  void make(Key* to, std::uint64_t begin, std::uint64_t count) const {
    encode(in + begin, to, count, coding);
  }
  void make_sample(Key* to, std::uint64_t i) const { *to = sample::code_of(in[i], coding); }
  void partition(std::uint64_t begin, std::uint64_t count, const Key* splitters,
                 std::uint64_t splitter_count, std::size_t* ends) const {
    make(chunk(begin), begin, count);
    partition_words(chunk(begin), count, splitters, splitter_count, ends, out + begin);
  }
  void prepare(std::uint64_t) {}
  Key* part(std::uint64_t begin, std::uint64_t) const { return out + begin; }
  void gather(Key* part, std::uint64_t gathered, std::uint64_t from, std::uint64_t count) const {
    std::memcpy(part + gathered, chunked + from, count * sizeof(Key));
  }
  void finish(Key* part, std::uint64_t, std::uint64_t count) const {
    sort_and_decode(part, count, coding);
  }
  // Writes records [from, from + count) of the partitioned chunks to the output, in their order.
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t count) const {
    std::memcpy(out + to, chunked + from, count * sizeof(Key));
    decode(out + to, count, coding);
  }
  const Key* in;
  Key *chunked, *out;
  Coding<Key> coding;
};

}  // namespace sortium::sample
