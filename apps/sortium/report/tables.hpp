// Makes the HTML of a report's tables and notes, and formats numbers and sizes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/series.hpp"

namespace app {

[[nodiscard]] std::string escape_html(const std::string& text);
[[nodiscard]] std::string slug(const std::string& text);

[[nodiscard]] std::string grouped(std::uint64_t n);    // in groups of three digits
[[nodiscard]] std::string size_html(std::uint64_t n);  // 2<sup>20</sup>, or grouped
[[nodiscard]] std::string size_text(std::uint64_t n);  // the same without markup
[[nodiscard]] std::string figure(double value);        // four digits, without an exponent

// Returns the rows without a verified figure, with the reasons. Rows with the same reason at
// the same sizes share a line.
[[nodiscard]] std::string notes_of(const std::vector<Series>& all);

// A table with a row for each list and a column for each series.
struct Pivot {
  std::string head;  // headings of the rows' columns
  std::string unit;
  ListOrder less;
  std::function<std::string(const ReportRow&)> label;  // the rows' columns
  std::function<double(const ReportRow&)> value;
};
[[nodiscard]] std::string table_of(const std::vector<Series>& all, const Pivot& pivot);

[[nodiscard]] std::string size_head();
[[nodiscard]] std::string size_label(const ReportRow& row);

}  // namespace app
