// The header of NumPy's .npy files, format versions 1 to 3.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace app {

class Input;

// '<' (little-endian) or '>' (big-endian): the byte order that this machine does not have.
constexpr char foreign_order = std::endian::native == std::endian::little ? '>' : '<';

// The length of the bytes that identify an .npy file: the magic string and the format version.
constexpr std::size_t npy_magic_bytes = 8;
// Returns true if `start`, the first npy_magic_bytes of a file, begin an .npy file of a known
// version.
[[nodiscard]] bool is_npy_magic(std::string_view start);

// One field of a record.
struct NpyField {
  std::string name;   // empty: padding
  std::string descr;  // type of one item: "<f4"
  std::uint64_t offset = 0;
  unsigned bytes = 0;     // of all items together
  bool is_array = false;  // several items, one after the other
};

struct NpyHeader {
  // Plain numbers: byte order, kind and bytes, such as "<f4". Records: the list of their fields as
  // the file has it, "[('x', '<f4'), ...]", in UTF-8.
  std::string descr;
  std::uint64_t count = 0;
  std::vector<NpyField> fields{};  // empty: plain numbers
  // True if the numbers have the other byte order than this machine.
  [[nodiscard]] bool swapped() const;
  // Bytes of one record; 0 if `descr` is not a type of a fixed size.
  [[nodiscard]] unsigned item_bytes() const;
};

// Reads the header and stops before the first record. Throws Failure unless the file is a
// one-dimensional array of plain numbers, or of records whose fields have no fields of their own.
[[nodiscard]] NpyHeader read_npy_header(Input& input);
// Returns the bytes of the header, padded so that the records begin at a multiple of 64 bytes.
[[nodiscard]] std::string format_npy_header(const NpyHeader& header);

}  // namespace app
