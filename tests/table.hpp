// The design of the conformance table: which of all possible cases are run.
//
// A Shape is what kernels are compiled for: key type, order, bytes of a value and, for comparison
// sorts, the bit range. Compiling is slow, so Depth bounds the number of shapes. Each shape runs
// with every payload form that its kernels support, and with every size. The other factors of a
// case (bits, in or out of place, distribution) are chosen greedily such that every pair of values
// of any two factors occurs in the table of a method: most bugs need at most two unlucky choices at
// once. Table::missing counts the pairs that do not occur.
#pragma once

#include <cstdint>
#include <vector>

#include "trial.hpp"

namespace sortium::test {

struct Shape {
  KeyType key;
  unsigned value_bytes;  // 0: keys alone
  Order order;
  NanOrder nan = NanOrder::last;
  ZeroOrder zeros = ZeroOrder::tied;
  int bits = -1;  // index of the only bit range for this shape; -1: all bit ranges
};

// How many shapes a method is run with.
enum class Depth : std::uint8_t {
  few,     // 3: a key type of 4 bytes, one of 8, and one of 1 or 2
  narrow,  // 8: each key type of 4 or 8 bytes once, and two of the others
  wide,    // 24: each key type of 4 or 8 bytes with each size of value, the others once
  full,    // 42: those of `wide`, the types of 4 and 8 bytes in both orders
};
// Returns the shapes. Pass a different `turn` for each method, so that the methods together cover
// all shapes.
[[nodiscard]] std::vector<Shape> shapes(Depth depth, unsigned turn, bool bits_are_compiled_in);

struct Sizes {
  std::vector<std::uint64_t> often;   // with every shape and payload form
  std::vector<std::uint64_t> seldom;  // with one form of every third shape
};

struct Table {
  std::vector<Case> cases;
  // Pairs of values that could occur, and how many of them do not. Pairs with a seldom size do not
  // count: it has too few cases.
  std::uint64_t pairs = 0, missing = 0;
};
[[nodiscard]] Table make_table(const std::vector<Shape>& shapes, const Sizes& sizes, unsigned turn);

}  // namespace sortium::test
