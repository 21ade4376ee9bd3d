// A record's key as a number with the same order, of one or more words.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace sortium::distributed {

// The order bits of a record's key, most significant word first. Unused bits of the last word are
// 0.
template <unsigned words>
struct OrderKey {
  std::array<std::uint64_t, words> word{};

  friend bool operator==(const OrderKey&, const OrderKey&) = default;
  friend auto operator<=>(const OrderKey& a, const OrderKey& b) {
    if constexpr (words == 1)
      return a.word[0] <=> b.word[0];
    else
      return a.word <=> b.word;
  }
  // Increments the key. If it was the largest key, it becomes 0 and the function returns false.
  bool increment() {
    for (std::size_t i = words; i-- > 0;)
      if (++word[i] != 0) return true;
    return false;
  }
  // Decrements the key, which must not be 0.
  void decrement() {
    for (std::size_t i = words; i-- > 0;)
      if (word[i]-- != 0) return;
  }
};

}  // namespace sortium::distributed
