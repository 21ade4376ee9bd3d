// The header of NumPy's .npy files, format versions 1 to 3.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace app {

class Input;

// '<' or '>', whichever this machine does not have.
constexpr char foreign_order = std::endian::native == std::endian::little ? '>' : '<';

// One field of a record.
struct NpyField {
  std::string name;   // empty: padding
  std::string descr;  // of one of its items: "<f4"
  std::uint64_t offset = 0;
  unsigned bytes = 0;     // all of it
  bool is_array = false;  // several items, one after the other
};

struct NpyHeader {
  std::string descr;  // "<f4": byte order, kind, bytes; of records with fields: "[('x', '<f4'),
                      // …]", in UTF-8
  std::uint64_t count = 0;
  std::vector<NpyField> fields{};             // none: plain numbers
  [[nodiscard]] bool swapped() const;         // not the byte order of this machine
  [[nodiscard]] unsigned item_bytes() const;  // 0 where `descr` is not a fixed-size type
};

// Reads up to the first record. Throws Failure where it is not a one-dimensional array of numbers
// or of records with fields, none of which has fields of its own.
[[nodiscard]] NpyHeader read_npy_header(Input& input);
[[nodiscard]] std::string format_npy_header(const NpyHeader& header);

}  // namespace app
