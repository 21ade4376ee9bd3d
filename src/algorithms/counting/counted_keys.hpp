// Sorts keys without values by counting each key: they are written from the counts.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "layout.hpp"

namespace sortium::counting {

template <class Key>
class CountedKeys {
 public:
  CountedKeys(const Layout& layout, const Operands& operands) : layout_(layout), o_(operands) {}

  // Counts the keys. Returns false if two different keys have the same rank (zeros or NaN of
  // different bits): such keys must keep the order of the input, which counts do not contain.
  [[nodiscard]] bool count() const {
    count_keys();
    return find_begins();
  }

  void write() const {
    auto* const out = at<Key>(o_.keys_out);
    const auto* const begins = at<const std::uint64_t>(layout_.begins.in(o_));
    const auto* const key_of_rank = at<const std::uint16_t>(layout_.key_of_rank.in(o_));
    const std::uint64_t piece =
        ceil_div(layout_.problem.count, layout_.threads == 1 ? 1 : Layout::most_pieces);
    layout_.each(o_, ceil_div(layout_.problem.count, piece), [&](std::uint64_t p) {
      const std::uint64_t first = p * piece, last = std::min(first + piece, layout_.problem.count);
      auto rank = static_cast<std::uint64_t>(
          std::upper_bound(begins, begins + layout_.counters + 1, first) - begins - 1);
      for (std::uint64_t begin = first; begin < last; ++rank) {
        const std::uint64_t end = std::min(begins[rank + 1], last);
        const auto key = static_cast<Key>(layout_.ranks.is_flip() ? rank ^ layout_.ranks.flip()
                                                                  : key_of_rank[rank]);
        std::fill(out + begin, out + end, key);
        begin = end;
      }
    });
  }

 private:
  void count_keys() const {
    const auto* const keys = at<const Key>(o_.keys_in);
    layout_.each_chunk(o_, [&](std::uint64_t c, std::uint64_t begin, std::uint64_t end) {
      auto* const counts = at<std::uint32_t>(layout_.counts.in(o_)) + c * layout_.counters;
      if constexpr (sizeof(Key) == 1)
        count_bytes(keys + begin, end - begin, counts);
      else
        count_words(keys + begin, end - begin, counts);
    });
  }

  // Uses four tables in turn: two additions in a row to the same counter would wait for each other.
  static void count_bytes(const std::uint8_t* keys, std::uint64_t count, std::uint32_t* counts) {
    constexpr unsigned tables = 4;
    std::uint32_t table[tables][256] = {};
    std::uint64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, keys + i, 8);
      for (unsigned b = 0; b < 8; ++b) ++table[b % tables][word >> (8 * b) & 0xff];
    }
    for (; i < count; ++i) ++table[0][keys[i]];
    for (unsigned k = 0; k < 256; ++k)
      counts[k] = table[0][k] + table[1][k] + table[2][k] + table[3][k];
  }
  static void count_words(const std::uint16_t* keys, std::uint64_t count, std::uint32_t* counts) {
    std::memset(counts, 0, sizeof(std::uint32_t) << 16);
    std::uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      std::uint64_t word = 0;
      std::memcpy(&word, keys + i, 8);
      for (unsigned k = 0; k < 4; ++k) ++counts[word >> (16 * k) & 0xffff];
    }
    for (; i < count; ++i) ++counts[keys[i]];
  }

  // Adds up the chunks' counts, and computes where each rank begins in the output. Returns what
  // count() returns.
  [[nodiscard]] bool find_begins() const {
    auto* const counts = at<std::uint32_t>(layout_.counts.in(o_));
    auto* const begins = at<std::uint64_t>(layout_.begins.in(o_));
    if (layout_.ranks.is_flip()) {
      const auto flip = static_cast<Key>(layout_.ranks.flip());
      std::uint64_t sum = 0;
      for (std::uint64_t rank = 0; rank < layout_.counters; ++rank) {
        begins[rank] = sum;
        for (std::uint64_t c = 0; c < layout_.chunks; ++c)
          sum += counts[c * layout_.counters + (rank ^ flip)];
      }
      begins[layout_.counters] = sum;
      return true;
    }
    auto* const key_of_rank = at<std::uint16_t>(layout_.key_of_rank.in(o_));
    std::memset(begins, 0, (layout_.counters + 1) * sizeof *begins);
    for (std::uint64_t first = 0; first < layout_.counters; first += block) {
      std::uint16_t keys[block], ranks[block];
      for (std::uint64_t k = 0; k < block; ++k) keys[k] = static_cast<std::uint16_t>(first + k);
      layout_.ranks.of(keys, ranks, std::min(block, layout_.counters));
      for (std::uint64_t k = 0; k < std::min(block, layout_.counters); ++k) {
        std::uint64_t sum = 0;
        for (std::uint64_t c = 0; c < layout_.chunks; ++c)
          sum += counts[c * layout_.counters + keys[k]];
        if (sum == 0) continue;
        if (begins[ranks[k]] != 0) return false;
        begins[ranks[k]] = sum;
        key_of_rank[ranks[k]] = keys[k];
      }
    }
    std::uint64_t sum = 0;
    for (std::uint64_t rank = 0; rank <= layout_.counters; ++rank)
      sum += std::exchange(begins[rank], sum);
    return true;
  }

  const Layout& layout_;
  const Operands& o_;
};

}  // namespace sortium::counting
