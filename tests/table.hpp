// The conformance table's design: which of all possible cases are run.
//
// Kernels are compiled per key type, order and bytes of a value (and, for sorts by comparison, per
// bit range): a Shape. Compiling is what costs, so the number of shapes is bounded (Depth), and
// each shape runs every payload form that it can serve times every size. The remaining factors of
// such a case (bits, in or out of place, distribution) are chosen greedily so that, over the whole
// table of a method, every pair of values of any two factors occurs: most bugs need no more than
// two unlucky choices at once. Table::missing says whether it worked.
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
  int bits = -1;  // index of the only bit range for this shape; -1: all of them
};

// Of how many shapes a method is tried; each has more than the one before.
enum class Depth : std::uint8_t {
  few,     // 3: a key type of 4 bytes, one of 8, and one of 1 or 2
  narrow,  // 8: each key type of 4 or 8 bytes once, and two of the others
  wide,    // 24: each key type of 4 or 8 bytes with each size of value, the others once
  full,    // 42: the former in both orders
};
// `turn` differs from method to method, so that what one leaves out another has.
[[nodiscard]] std::vector<Shape> shapes(Depth depth, unsigned turn, bool bits_are_compiled_in);

struct Sizes {
  std::vector<std::uint64_t> often;   // with every shape and payload form
  std::vector<std::uint64_t> seldom;  // with one form of every third shape
};

struct Table {
  std::vector<Case> cases;
  // Pairs of values that could occur, and how many of them never do. Pairs with a seldom size are
  // not counted: it has not cases enough.
  std::uint64_t pairs = 0, missing = 0;
};
[[nodiscard]] Table make_table(const std::vector<Shape>& shapes, const Sizes& sizes, unsigned turn);

}  // namespace sortium::test
