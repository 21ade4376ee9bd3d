// Keys and values that a step of the counting sort reads and writes.
#pragma once

#include <algorithm>

#include "layout.hpp"

namespace sortium::counting {

template <class Key, class Value>
struct Columns {
  const Key* keys_in;
  const Value* values_in;  // null: the values are positions, or there are no values
  Key* keys_out;           // null: an argsort that writes only positions
  Value* values_out;       // null: there are no values
};

template <class Key, class Value>
[[nodiscard]] Columns<Key, Value> input_to(Key* keys_out, Value* values_out, const Problem& problem,
                                           const Operands& o) {
  return {at<const Key>(o.keys_in),
          problem.payload == Payload::values ? at<const Value>(o.values_in) : nullptr, keys_out,
          values_out};
}
template <class Key, class Value>
[[nodiscard]] bool is_in_place(const Columns<Key, Value>& c) {
  return c.keys_in == c.keys_out || (c.values_in != nullptr && c.values_in == c.values_out);
}
// For a sort in place with one pass: copies the keys or values that the pass would overwrite to
// scratch memory, and makes `columns` read the copies.
template <class Key, class Value>
void save_overwritten(const Layout& layout, const Operands& o, Columns<Key, Value>& columns) {
  const auto save = [&]<class T>(const T*& in, const T* out, T* to) {
    if (in == nullptr || in != out) return;
    layout.each_chunk(o, [&](std::uint64_t, std::uint64_t begin, std::uint64_t end) {
      std::copy(in + begin, in + end, to + begin);
    });
    in = to;
  };
  save(columns.keys_in, columns.keys_out, at<Key>(layout.keys.in(o)));
  save(columns.values_in, columns.values_out, at<Value>(layout.values.in(o)));
}

}  // namespace sortium::counting
