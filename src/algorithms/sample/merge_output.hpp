// Merges runs in place in the output. Used for a part that is too large for the available memory.
#pragma once

#include "layout.hpp"
#include "merge_in_place.hpp"

namespace sortium::sample {

// Merges the sorted runs [begin, bound) and [bound, end) of the output, on the calling thread. If
// keys_out is null, the keys are found through values_out, which holds positions in `in`. `own` is
// the calling thread's own memory.
template <class Key, class Value>
void merge_output(const Context& context, const Key* in, Key* keys_out, Value* values_out,
                  std::uint64_t* own, std::uint64_t begin, std::uint64_t bound, std::uint64_t end) {
  using Records = Arrays<Key, Value>;
  const std::uint64_t half = context.layout.own_words / 2;  // a record has at most two words
  const auto rank = [&](const Records& records, std::uint64_t i) {
    return context.ranks.rank(records.keys != nullptr ? records.keys[i] : in[records.values[i]]);
  };
  const auto buffer = [&] {
    return Records{keys_out != nullptr ? reinterpret_cast<Key*>(own) : nullptr,
                   values_out != nullptr ? reinterpret_cast<Value*>(own + half) : nullptr};
  };
  const auto both = [](const auto& left, const auto& right) { left(), right(); };
  const Records records{keys_out, values_out};
  InPlaceMerge(records, rank, half, buffer, both).merge(begin, bound, end);
}

}  // namespace sortium::sample
