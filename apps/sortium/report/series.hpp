// The lines of a plot: which results of a report belong to one series.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/data.hpp"

namespace app {

using Rows = std::vector<const ReportRow*>;

// The sorted records, apart from the distribution of their keys.
struct Subject {
  std::string type, payload, bits;
  auto operator<=>(const Subject&) const = default;
  [[nodiscard]] std::string text() const;  // "u32 keys + 4-byte values, bits 8:24"
};
[[nodiscard]] Subject subject_of(const ReportRow& row);

struct Series {
  std::string name;
  bool peer = false, runs_only = false;
  Rows rows;
};

// An order of the lists that rows sorted. If neither of two rows is less, they sorted the same
// list.
using ListOrder = std::function<bool(const ReportRow&, const ReportRow&)>;
// Orders by list(row).
template <class List>
[[nodiscard]] ListOrder ordered_by(List list) {
  return [list](const ReportRow& a, const ReportRow& b) { return list(a) < list(b); };
}
[[nodiscard]] inline bool is_same_list(const ListOrder& less, const ReportRow& a,
                                       const ReportRow& b) {
  return !less(a, b) && !less(b, a);
}

// Returns the lines of a plot: one for every algorithm. If an algorithm sorted the same list with
// several values of a parameter, it gets a line for each value. Parameters that differ only between
// lists do not count, because the algorithm may derive them from the list's size. Repeated results
// for a list get further lines. `less` orders rows by their lists.
[[nodiscard]] std::vector<Series> series_of(const Rows& rows, const ListOrder& less);

}  // namespace app
