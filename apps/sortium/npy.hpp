// The header of NumPy's .npy files, format versions 1 to 3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace app {

class Input;

struct NpyHeader {
  std::string descr;  // "<f4": byte order, kind, bytes
  std::uint64_t count = 0;
  [[nodiscard]] bool swapped() const;        // not the byte order of this machine
  [[nodiscard]] unsigned item_bytes() const;  // 0 where `descr` is not a plain fixed-size type
};

// Reads up to the first record. Throws Failure where it is not a one-dimensional array of plain records.
[[nodiscard]] NpyHeader read_npy_header(Input& input);
[[nodiscard]] std::string format_npy_header(const NpyHeader& header);

}  // namespace app
