// Sorts the rows of a NumPy array of several dimensions along its last axis, by one call from
// Python. As the other functions for plain arrays, they return None if an argument is something
// else.
#include <cstdint>

#include "numpy.hpp"

namespace pysortium {

namespace {

using sortium::Problem;

// The rows as segments of one list, all of one length.
class Rows {
 public:
  Rows(nb::handle x, bool descending)
      : array_(x, Plain::Dimensions::several), keys_(array_, descending) {
    if (!keys_ || keys_.have_nat() || array_.row_length() == 0) return;
    problem = keys_.problem;
    problem.segments = problem.count / array_.row_length();
    problem.offset_bytes = 0;
    is_usable_ = true;
  }
  explicit operator bool() const { return is_usable_; }
  [[nodiscard]] const Plain& array() const { return array_; }

  // Sorts, with the GIL released. The addresses are those of `problem`.
  void sort(void* keys_out, void* positions) const {
    without_gil(problem.count, [&] {
      sortium::sort_host(problem, {keys_.data(), keys_out, nullptr, positions}, on_host);
    });
  }

  Problem problem;

 private:
  Plain array_;
  Keys keys_;
  bool is_usable_ = false;
};

// Makes positions in the whole list positions in their rows.
template <class Position>
void count_from_rows(Position* positions, std::uint64_t count, std::uint64_t length) {
  for (std::uint64_t first = 0; first < count; first += length)
    for (std::uint64_t i = first; i < first + length; ++i)
      positions[i] = static_cast<Position>(positions[i] - first);
}

nb::object sort_rows_plain(nb::handle x, nb::handle descending) {
  const Rows rows(x, is_true(descending));
  if (!rows) return nb::none();
  nb::object result = rows.array().empty_like();
  rows.sort(data_of(result), nullptr);
  return result;
}

nb::object argsort_rows_plain(nb::handle x, nb::handle descending, unsigned index_bytes,
                              bool is_signed) {
  Rows rows(x, is_true(descending));
  if (!rows) return nb::none();
  Problem& p = rows.problem;
  p.payload = sortium::Payload::positions;
  p.value_bytes = index_bytes;
  p.keys_out = false;
  nb::object result = rows.array().empty_positions_like(index_bytes, is_signed);
  void* const positions = data_of(result);
  rows.sort(nullptr, positions);
  const std::uint64_t length = rows.array().row_length();
  without_gil(p.count, [&] {
    if (index_bytes == 8)
      count_from_rows(static_cast<std::uint64_t*>(positions), p.count, length);
    else
      count_from_rows(static_cast<std::uint32_t*>(positions), p.count, length);
  });
  return result;
}

}  // namespace

void bind_numpy_rows(nb::module_& m) {
  using namespace nb::literals;
  m.def("sort_rows_plain", &sort_rows_plain, "x"_a, "descending"_a);
  m.def("argsort_rows_plain", &argsort_rows_plain, "x"_a, "descending"_a, "index_bytes"_a,
        "is_signed"_a);
}

}  // namespace pysortium
