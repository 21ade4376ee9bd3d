// Merges a list that is in order except for a few records at its end, the tail. The caller has
// sorted the tail. The class finds the place of each of its records, and copies the others in
// blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "codes.hpp"

namespace sortium::sample {

// At most one record in so many is in the tail.
constexpr std::uint64_t tail_share = 16;

template <class Key, class Value>
class InsertTail {
 public:
  // The input must not overlap the output.
  struct Columns {
    const Key* keys_in;
    const Value* values_in;  // null: values are positions
    Key* keys_out;           // may be null
    Value* values_out;       // may be null
  };
  // Records [0, sorted) are in order. The tail's record of rank i is sorted + (words[i] & mask).
  // `cuts` has space for `tail` numbers, which cut() writes.
  InsertTail(const Columns& columns, std::uint64_t sorted, std::uint64_t tail,
             const std::uint64_t* words, std::uint64_t mask, std::uint64_t* cuts,
             Coding<Key> coding)
      : columns_(columns),
        sorted_(sorted),
        tail_(tail),
        words_(words),
        mask_(mask),
        cuts_(cuts),
        coding_(coding) {}

  // Sets cuts[t], for t in [first, last), to how many sorted records come before the tail's record
  // t.
  void cut(std::uint64_t first, std::uint64_t last) const {
    std::uint64_t low = 0;
    for (; first < last; first += together) {
      const std::uint64_t some = std::min(together, last - first);
      const std::uint64_t high = end_from(low, code(place(first + some - 1)));
      if (some == together)
        cut_some(first, std::integral_constant<std::uint64_t, together>{}, low, high);
      else
        cut_some(first, some, low, high);
      low = cuts_[first + some - 1];
    }
  }

  // Writes records [begin, end) of the output. cut() must have set all cuts.
  void write(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t t = first_of_tail(begin);
    for (std::uint64_t to = begin; to < end; ++t) {
      const std::uint64_t until = t < tail_ ? std::min(cuts_[t] + t, end) : end;
      copy(to - t, to, until - to);
      to = until;
      if (to < end) copy(place(t), to++, 1);
    }
  }

 private:
  static constexpr std::uint64_t together = 16;  // searches whose cache misses overlap

  [[nodiscard]] std::uint64_t place(std::uint64_t t) const { return sorted_ + (words_[t] & mask_); }
  [[nodiscard]] Key code(std::uint64_t i) const {
    return tied_code_of(columns_.keys_in[i], coding_);
  }

  // Returns an upper bound of how many sorted records have at most this code. Searches from `low`
  // in steps that double.
  [[nodiscard]] std::uint64_t end_from(std::uint64_t low, Key code_of_last) const {
    std::uint64_t step = 2 * together;
    while (low + step < sorted_ && code(low + step) <= code_of_last) step *= 2;
    return std::min(low + step, sorted_);
  }
  // The same as cut() for `some` records, whose cuts are in [low, high].
  template <class Count>
  void cut_some(std::uint64_t first, Count some, std::uint64_t low, std::uint64_t high) const {
    Key codes[together];
    std::uint64_t at[together], left = high - low;
    for (std::uint64_t k = 0; k < some; ++k) codes[k] = code(place(first + k)), at[k] = low;
    for (; left > 1; left -= left / 2)
      for (std::uint64_t k = 0; k < some; ++k)
        at[k] += (left / 2) & (0 - std::uint64_t{code(at[k] + left / 2 - 1) <= codes[k]});
    for (std::uint64_t k = 0; k < some; ++k)
      cuts_[first + k] = at[k] + std::uint64_t{left == 1 && code(at[k]) <= codes[k]};
  }

  // Returns the number of the tail's records that go before `place` of the output.
  [[nodiscard]] std::uint64_t first_of_tail(std::uint64_t place) const {
    std::uint64_t low = 0, high = tail_;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (cuts_[middle] + middle < place)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  void copy(std::uint64_t from, std::uint64_t to, std::uint64_t count) const {
    if (columns_.keys_out != nullptr)
      std::copy_n(columns_.keys_in + from, count, columns_.keys_out + to);
    if (columns_.values_out == nullptr) return;
    if (columns_.values_in != nullptr)
      std::copy_n(columns_.values_in + from, count, columns_.values_out + to);
    else
      std::iota(columns_.values_out + to, columns_.values_out + to + count,
                static_cast<Value>(from));
  }

  Columns columns_;
  std::uint64_t sorted_, tail_;
  const std::uint64_t* words_;
  std::uint64_t mask_;
  std::uint64_t* cuts_;
  Coding<Key> coding_;
};

}  // namespace sortium::sample
