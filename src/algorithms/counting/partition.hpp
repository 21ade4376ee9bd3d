// Stable partitions of records by digits of their ranks.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>

#include "columns.hpp"
#include "lines.hpp"

namespace sortium::counting {

template <class Key, class Value>
class Partition {
 public:
  Partition(const Layout& layout, const Operands& operands) : layout_(layout), o_(operands) {}

  void sort(const host::Phases& queue) const {
    if (is_short_argsort()) return host::call(queue, "move", [&] { write_positions(); });
    move(queue);
  }

 private:
  static constexpr unsigned position_bits = 32 - most_digit_bits;  // in a word with a digit
  using Records = Columns<Key, Value>;

  // ---- Positions of few records, by two digits ----

  [[nodiscard]] bool is_short_argsort() const {
    return layout_.problem.payload == Payload::positions && !layout_.problem.keys_out &&
           layout_.passes == 2 && layout_.chunks == 1 &&
           layout_.problem.count <= std::uint64_t{1} << position_bits;
  }

  // The first pass writes words of the high digit and the position, and the second the positions:
  // one store a record each, instead of two (2^12 u16 keys: 19.6 -> 14.3 µs). Both digits are
  // counted in one reading.
  void write_positions() const {
    const auto* const keys = at<const Key>(o_.keys_in);
    auto* const words = at<std::uint32_t>(layout_.values.in(o_));
    std::array<std::uint32_t, 1u << most_digit_bits> low = {}, high = {};
    const Digit low_digit = layout_.digit(0), high_digit = layout_.digit(1);
    layout_.each_rank(keys, [&](std::uint64_t, std::uint16_t rank) {
      ++low[low_digit(rank)];
      ++high[high_digit(rank)];
    });
    std::exclusive_scan(low.begin(), low.end(), low.begin(), 0u);
    std::exclusive_scan(high.begin(), high.end(), high.begin(), 0u);
    layout_.each_rank(keys, [&](std::uint64_t i, std::uint16_t rank) {
      words[low[low_digit(rank)]++] =
          static_cast<std::uint32_t>(high_digit(rank) << position_bits | i);
    });
    auto* const positions = at<Value>(o_.values_out);
    constexpr std::uint32_t position_mask = (1u << position_bits) - 1;
    for (std::uint64_t i = 0; i < layout_.problem.count; ++i)
      positions[high[words[i] >> position_bits]++] = words[i] & position_mask;
  }

  // ---- Stable partitions by digit ----

  void move(const host::Phases& queue) const {
    const bool has_values = layout_.problem.payload != Payload::none;
    const auto in = input_to<Key, Value>(at<Key>(layout_.keys.in(o_)),
                                         has_values ? at<Value>(layout_.values.in(o_)) : nullptr,
                                         layout_.problem, o_);
    const auto from_scratch = [&] {
      return Records{in.keys_out, in.values_out,
                     layout_.problem.keys_out ? at<Key>(o_.keys_out) : nullptr,
                     has_values ? at<Value>(o_.values_out) : nullptr};
    };
    if (layout_.passes == 2) {
      if (layout_.chunks > 1 && sort_by_parts(queue, in, from_scratch())) return;
      partition(queue, in, 0);
      return partition(queue, from_scratch(), 1);
    }
    auto only = in;
    only.keys_out = from_scratch().keys_out;
    only.values_out = from_scratch().values_out;
    if (is_in_place(only)) host::call(queue, "copy", [&] { save_overwritten(layout_, o_, only); });
    partition(queue, only, 0);
  }

  using Counts = std::array<std::uint32_t, std::size_t{1} << most_digit_bits>;

  // ---- Several threads: parts of the high digit, which are then sorted by the low one ----

  // A part fits the first-level cache. So this is faster than a second pass over the whole list
  // while other programs use the machine's caches, and as fast while none does. One thread gains
  // nothing by parts.
  // Returns false, with nothing written to the output, if a part would keep a thread busy alone.
  bool sort_by_parts(const host::Phases& queue, const Records& in, const Records& parts) const {
    std::array<std::uint64_t, digits + 1> begins;
    std::uint64_t largest = 0;
    host::call(queue, "count", [&] {
      count(in.keys_in, 1);
      std::copy_n(at<const std::uint64_t>(layout_.places.in(o_)), digits, begins.begin());
      begins[digits] = layout_.problem.count;
      for (std::size_t d = 0; d < digits; ++d)
        largest = std::max(largest, begins[d + 1] - begins[d]);
    });
    if (largest > layout_.problem.count / (std::uint64_t{2} * layout_.threads)) return false;
    move_all(queue, in, 1);
    host::call(queue, "sort", [&] {
      layout_.each(o_, digits, [&](std::uint64_t d) {
        if (begins[d] != begins[d + 1]) sort_part(parts, begins[d], begins[d + 1]);
      });
    });
    return true;
  }
  void sort_part(Records columns, std::uint64_t begin, std::uint64_t end) const {
    Counts counts;
    count_digits(columns.keys_in, begin, end, 0, counts);
    std::array<std::uint64_t, std::tuple_size_v<Counts>> places;
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), begin);
    if (columns.keys_out != nullptr && layout_.ranks.is_flip()) {
      fill_keys(columns.keys_in[begin], counts, columns.keys_out + begin);
      columns.keys_out = nullptr;
    }
    if (columns.values_out == nullptr)
      store_records<false, false>(columns, begin, end, 0, places.data());
    else
      store_records<true, false>(columns, begin, end, 0, places.data());
  }
  // Writes the keys of a part by their counts. `any` is one of them.
  void fill_keys(Key any, const Counts& counts, Key* to) const {
    std::uint16_t rank = 0;
    layout_.ranks.of(&any, &rank, 1);
    for (std::size_t d = 0; d < std::size_t{1} << layout_.digit_bits; ++d) {
      const auto key = static_cast<Key>((rank >> layout_.digit_bits << layout_.digit_bits | d) ^
                                        layout_.ranks.flip());
      to = std::fill_n(to, counts[d], key);
    }
  }

  // ---- One pass ----

  // Sorts the records stably by digit `pass` of their ranks.
  void partition(const host::Phases& queue, const Records& columns, unsigned pass) const {
    host::call(queue, "count", [&] { count(columns.keys_in, pass); });
    move_all(queue, columns, pass);
  }
  void count(const Key* keys, unsigned pass) const {
    layout_.each_chunk(o_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t end) {
      Counts counts;
      count_digits(keys, begin, end, pass, counts);
      std::copy(counts.begin(), counts.end(),
                at<std::uint32_t>(layout_.counts.in(o_)) + (c << most_digit_bits));
    });
    find_places();
  }
  void move_all(const host::Phases& queue, const Records& columns, unsigned pass) const {
    host::call(queue, "move", [&] {
      layout_.each_chunk(o_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t end) {
        auto* const places = at<std::uint64_t>(layout_.places.in(o_)) + (c << most_digit_bits);
        if (columns.values_out == nullptr)
          move_chunk<false, false>(columns, begin, end, pass, places);
        else if (columns.values_in == nullptr)
          move_chunk<true, true>(columns, begin, end, pass, places);
        else
          move_chunk<true, false>(columns, begin, end, pass, places);
      });
    });
  }

  void count_digits(const Key* keys, std::uint64_t begin, std::uint64_t end, unsigned pass,
                    Counts& counts) const {
    const Digit digit = layout_.digit(pass);
    Counts table[2] = {};
    for (std::uint64_t first = begin; first < end; first += block) {
      const std::uint64_t some = std::min(block, end - first);
      std::uint16_t ranks[block];
      layout_.ranks.of(keys + first, ranks, some);
      for (std::uint64_t k = 0; k < some; ++k) ++table[k % 2][digit(ranks[k])];
    }
    for (std::size_t d = 0; d < counts.size(); ++d) counts[d] = table[0][d] + table[1][d];
  }

  // Computes where each chunk's records of each digit begin.
  void find_places() const {
    const auto* const counts = at<const std::uint32_t>(layout_.counts.in(o_));
    auto* const places = at<std::uint64_t>(layout_.places.in(o_));
    std::uint64_t sum = 0;
    for (std::uint64_t d = 0; d < 1u << most_digit_bits; ++d)
      for (std::uint64_t c = 0; c < layout_.chunks; ++c) {
        places[c << most_digit_bits | d] = sum;
        sum += counts[c << most_digit_bits | d];
      }
  }

  // True if the output is so much larger than the caches that writing lines takes less time.
  [[nodiscard]] bool writes_lines() const {
    return layout_.problem.count >= std::uint64_t{1} << (layout_.passes == 2 ? 24 : 22);
  }

  template <bool has_values, bool are_positions>
  void move_chunk_by_lines(const Records& columns, std::uint64_t begin, std::uint64_t end,
                           unsigned pass, std::uint64_t* places) const {
    const Digit digit = layout_.digit(pass);
    std::uint64_t begins[digits];
    std::copy_n(places, digits, begins);
    Lines<Key, digits> keys(columns.keys_out);
    Lines<Value, digits> values(columns.values_out);
    for (std::uint64_t first = begin; first < end; first += block) {
      const std::uint64_t count = std::min(block, end - first);
      std::uint16_t ranks[block];
      layout_.ranks.of(columns.keys_in + first, ranks, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::size_t d = digit(ranks[k]);
        const std::uint64_t place = places[d]++, i = first + k;
        if (columns.keys_out != nullptr) keys.put(d, place, begins[d], columns.keys_in[i]);
        if constexpr (are_positions)
          values.put(d, place, begins[d], static_cast<Value>(i));
        else if constexpr (has_values)
          values.put(d, place, begins[d], columns.values_in[i]);
      }
    }
    for (std::size_t d = 0; d < digits; ++d) {
      if (columns.keys_out != nullptr) keys.finish(d, places[d], begins[d]);
      if constexpr (has_values) values.finish(d, places[d], begins[d]);
    }
    hwy::FlushStream();
  }

  template <bool has_values, bool are_positions>
  void move_chunk(const Records& columns, std::uint64_t begin, std::uint64_t end, unsigned pass,
                  std::uint64_t* places) const {
    if (writes_lines())
      move_chunk_by_lines<has_values, are_positions>(columns, begin, end, pass, places);
    else
      store_records<has_values, are_positions>(columns, begin, end, pass, places);
  }
  template <bool has_values, bool are_positions>
  void store_records(const Records& records, std::uint64_t begin, std::uint64_t end, unsigned pass,
                     std::uint64_t* places) const {
    const Records columns = records;  // a local copy, as Digit is
    const Digit digit = layout_.digit(pass);
    for (std::uint64_t first = begin; first < end; first += block) {
      const std::uint64_t count = std::min(block, end - first);
      std::uint16_t ranks[block];
      layout_.ranks.of(columns.keys_in + first, ranks, count);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::uint64_t place = places[digit(ranks[k])]++, i = first + k;
        if (columns.keys_out != nullptr) columns.keys_out[place] = columns.keys_in[i];
        if constexpr (are_positions)
          columns.values_out[place] = static_cast<Value>(i);
        else if constexpr (has_values)
          columns.values_out[place] = columns.values_in[i];
      }
    }
  }

  const Layout& layout_;
  const Operands& o_;
};

}  // namespace sortium::counting
