// Sorts the lines of a text in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <sortium/host.hpp>
#include <sortium/lines.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "line_key.hpp"
#include "stream.hpp"

namespace sortium::files {

// The lines of a text in sorted order.
class SortedLines {
 public:
  // What must be allocated behind a text: for a newline that the last line may lack, and for what
  // words read.
  static constexpr std::uint64_t extra_bytes = 1 + ByteKeys::readable;
  // Memory that each thread of write() needs.
  static constexpr std::uint64_t write_buffer_bytes = std::uint64_t{1} << 20;

  // Sorts the lines of `text`, which all end with a newline, or is empty. ByteKeys::readable bytes
  // must be readable behind it. The text must live as long as the object. Throws Error.
  SortedLines(std::string_view text, const LineOptions& options);

  [[nodiscard]] std::uint64_t count() const { return lines_.count; }
  [[nodiscard]] const HostReport& report() const { return report_; }
  // Passes the lines, in large parts, to `write`, whose calls follow each other. With `unique`,
  // leaves out lines with the key `before`, if there is one. Returns the number of lines that it
  // wrote.
  std::uint64_t write(const LineWriter& write, const std::string* before = nullptr) const;
  // The key of the last line, if there is one.
  [[nodiscard]] std::string_view last_key() const { return text_.key(places()[count() - 1]); }

 private:
  void find_lines();
  [[nodiscard]] std::uint64_t* words() const {
    return reinterpret_cast<std::uint64_t*>(lines_.columns()[0]);
  }
  [[nodiscard]] LineText::Place* places() const {
    return reinterpret_cast<LineText::Place*>(lines_.columns()[1]);
  }
  // True if the line is to be written: with `unique`, only the first of lines with equal keys.
  [[nodiscard]] bool is_written(std::uint64_t i, const std::string* before) const;

  const LineOptions& options_;
  LineText text_;
  Records lines_;  // a column of words and one of places
  HostReport report_;
};

}  // namespace sortium::files
