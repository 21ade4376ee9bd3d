// Ranks of keys with at most 16 significant bits.
#pragma once

#include <cstdint>
#include <sortium/core.hpp>

namespace sortium::counting {

constexpr unsigned most_key_bits = 16;

// Computes ranks a block at a time, so that compilers can use vector instructions. Ranks have 16
// bits, ascend in the problem's order, and are equal for ties. Two encodings are faster than
// KeyRank; tests/key_order_test.cpp checks that they define the same order as KeyRank.
class BlockRanks {
 public:
  explicit BlockRanks(const Problem& p)
      : rank_(p),
        flip_(static_cast<std::uint16_t>(order_bits(0, p))),
        infinity_(static_cast<std::uint16_t>(info(p.key).infinity)),
        sign_of_order_(p.order == Order::descending ? 0xffff : 0) {
    if (key_bits(p) != info(p.key).bits()) return;
    if (!info(p.key).is_float)
      encoding_ = Encoding::flip;
    else if (p.nan == NanOrder::last && p.zeros == ZeroOrder::tied)
      encoding_ = Encoding::default_floats;
  }

  // True if every rank is key ^ flip(): the key with some bits inverted.
  [[nodiscard]] bool is_flip() const { return encoding_ == Encoding::flip; }
  [[nodiscard]] std::uint16_t flip() const { return flip_; }

  template <class Key>
  void of(const Key* keys, std::uint16_t* ranks, std::uint64_t count) const {
    switch (encoding_) {
      case Encoding::flip:
        for (std::uint64_t i = 0; i < count; ++i)
          ranks[i] = static_cast<Key>(keys[i] ^ static_cast<Key>(flip_));
        return;
      case Encoding::default_floats:
        for (std::uint64_t i = 0; i < count; ++i)
          ranks[i] = default_float(static_cast<std::uint16_t>(keys[i]));
        return;
      case Encoding::any:
        for (std::uint64_t i = 0; i < count; ++i)
          ranks[i] = static_cast<std::uint16_t>(rank_(keys[i]));
    }
  }

 private:
  enum class Encoding : std::uint8_t { flip, default_floats, any };

  // Returns the rank of a float, with NaN last and zeros tied. The rank of a number is the count of
  // different values before it, from the infinity that sorts first. The rank of NaN is one more
  // than the rank of the other infinity.
  [[nodiscard]] std::uint16_t default_float(std::uint16_t key) const {
    // Numbers of 16 bits throughout: a vector instruction computes twice as many.
    using Word = std::uint16_t;
    const Word magnitude = key & 0x7fff;
    const Word minus = static_cast<Word>((0 - (key >> 15)) ^ sign_of_order_);  // 0 or all ones
    const Word number = static_cast<Word>((magnitude ^ minus) - minus + infinity_);
    return magnitude > infinity_ ? static_cast<Word>(2 * infinity_ + 1) : number;
  }

  KeyRank rank_;
  std::uint16_t flip_;
  std::uint16_t infinity_, sign_of_order_;
  Encoding encoding_ = Encoding::any;
};

}  // namespace sortium::counting
