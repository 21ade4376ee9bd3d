// Sorts few keys without values that have codes, on the calling thread and without scratch memory.
// Runs are merged if memory for a copy of the keys can be allocated.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "chunk_runs.hpp"
#include "codes.hpp"
#include "order_words.hpp"

namespace sortium::sample {

template <class Key>
class FewKeys {
 public:
  FewKeys(const Problem& problem, const Key* in, Key* out)
      : count_(problem.count), in_(in), out_(out), coding_(coding_of<Key>(problem)) {}

  // Returns false, with the output equal to the input if they are the same, if floats tie that
  // differ: codes do not contain their order.
  [[nodiscard]] bool sort() const {
    if (begins_in_order<false>(in_, count_, coding_) && ascending(in_, count_, coding_) == count_) {
      if (in_ != out_) std::memcpy(out_, in_, count_ * sizeof(Key));
      return true;
    }
    if (begins_in_order<true>(in_, count_, coding_) && descending(in_, count_, coding_) == count_) {
      if (in_ != out_)
        std::reverse_copy(in_, in_ + count_, out_);
      else
        swap_reversed(out_, out_ + (count_ + 1) / 2, count_ / 2);
      return true;
    }
    const bool may_have_runs = may_be_merged();
    if constexpr (sizeof(Key) >= 4)
      if (coding_.is_float && !may_have_runs)
        if (const auto numbers = copy_numbers(in_, out_, count_)) {
          sort_plain_floats(out_, *numbers);
          if (coding_.flip != 0) std::reverse(out_, out_ + *numbers);
          return true;
        }
    encode(in_, out_, count_, coding_);
    if (coding_.is_float && ties_of(out_, count_).differ()) {
      if (in_ == out_) decode(out_, count_, coding_);
      return false;
    }
    if constexpr (sizeof(Key) >= 4)
      if (may_have_runs && sort_by_runs()) {
        decode(out_, count_, coding_);
        return true;
      }
    sort_and_decode(out_, count_, coding_);
    return true;
  }

 private:
  // ---- runs ----

  // Samples show whether the list may be a few runs. Returns false for most lists.
  [[nodiscard]] bool may_be_merged() const {
    if constexpr (sizeof(Key) >= 4) {
      // Of shorter lists, the search would take too much of the time.
      constexpr std::uint64_t least = 512, least_interleaved = 4096, excerpt = 128;
      if (count_ < least) return false;
      Key codes[excerpt];
      encode(in_ + count_ / 2, codes, excerpt, coding_);
      if (count_ >= least_interleaved && stride_of(codes, excerpt) != 0) return true;
      return ChunkRuns<Key>::runs_of_sample(codes, excerpt, 2) != 0;
    }
    return false;
  }
  // Returns false, with the codes in any order, if there are no such runs or no memory.
  [[nodiscard]] bool sort_by_runs() const {
    using KeyRuns = ChunkRuns<Key>;
    const std::unique_ptr<Key[]> spare(new (std::nothrow) Key[count_]);
    if (!spare) return false;
    std::size_t ends[KeyRuns::most];
    const std::size_t runs = KeyRuns::make(out_, count_, spare.get(), ends);
    if (runs != 0) KeyRuns::merge(out_, count_, spare.get(), ends, runs);
    return runs != 0;
  }

  std::uint64_t count_;
  const Key* in_;
  Key* out_;
  Coding<Key> coding_;
};

// Sorts at most `most_byte_keys` keys of 1 byte, by all bits, as words of 2 bytes: faster than
// counting so few.
constexpr std::uint64_t most_byte_keys = 767;
inline void sort_few_bytes(const Problem& problem, const std::uint8_t* in, std::uint8_t* out) {
  std::uint16_t words[most_byte_keys];
  const auto flip = static_cast<std::uint8_t>(order_bits(0, problem));
  for (std::uint64_t i = 0; i < problem.count; ++i)
    words[i] = static_cast<std::uint8_t>(in[i] ^ flip);
  sort_words(words, problem.count);
  for (std::uint64_t i = 0; i < problem.count; ++i)
    out[i] = static_cast<std::uint8_t>(words[i] ^ flip);
}

}  // namespace sortium::sample
