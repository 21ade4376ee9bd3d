// Contiguous NumPy arrays, most of one dimension, for functions that Python reaches by one call.
// Such a function returns None for all other arguments: Python's general path then does the work,
// or raises the error. Written for the API of NumPy 1.24; its headers are those of NumPy 2. The
// file that defines PYSORTIUM_IMPORTS_NUMPY holds the API's table.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_1_24_API_VERSION
#define NPY_TARGET_VERSION NPY_1_24_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL pysortium_numpy
#ifndef PYSORTIUM_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include "module.hpp"
//
#include <numpy/arrayobject.h>

#include <sortium/sort.hpp>

namespace pysortium {

// An array in native byte order, contiguous and aligned.
class Plain {
 public:
  enum class Dimensions : std::uint8_t { one, several };

  // Null if `x` is no such array, of one dimension or of several.
  explicit Plain(nb::handle x, Dimensions dimensions = Dimensions::one);
  explicit operator bool() const { return array_ != nullptr; }

  // The number of elements.
  [[nodiscard]] std::uint64_t count() const {
    return static_cast<std::uint64_t>(PyArray_SIZE(array_));
  }
  // The length of the last dimension.
  [[nodiscard]] std::uint64_t row_length() const {
    return static_cast<std::uint64_t>(PyArray_DIM(array_, PyArray_NDIM(array_) - 1));
  }
  [[nodiscard]] void* data() const { return PyArray_DATA(array_); }
  [[nodiscard]] int type() const { return PyArray_TYPE(array_); }
  [[nodiscard]] PyArray_Descr* dtype() const { return PyArray_DESCR(array_); }
  [[nodiscard]] std::uint64_t element_bytes() const {
    return static_cast<std::uint64_t>(PyArray_ITEMSIZE(array_));
  }
  [[nodiscard]] bool is_writeable() const { return PyArray_ISWRITEABLE(array_); }
  [[nodiscard]] bool are_times() const { return PyTypeNum_ISDATETIME(type()); }
  // Times have the same type only if they have the same unit.
  [[nodiscard]] bool has_type_of(const Plain& other) const {
    return type() == other.type() && (!are_times() || PyArray_EquivTypes(dtype(), other.dtype()));
  }
  [[nodiscard]] bool overlaps(const Plain& other) const;

  // Returns a new array for `count` elements of this type.
  [[nodiscard]] nb::object empty(std::uint64_t count) const;
  // Returns new arrays of this shape: of this type, and for positions.
  [[nodiscard]] nb::object empty_like() const;
  [[nodiscard]] nb::object empty_positions_like(unsigned bytes, bool is_signed) const;

 private:
  PyArrayObject* array_ = nullptr;
};

// The keys of such an array, and their problem without a payload. Times are sorted as i64.
class Keys : public Plain {
 public:
  Keys(nb::handle x, bool descending) : Keys(Plain(x), descending) {}
  Keys(const Plain& x, bool descending);

  [[nodiscard]] bool is_plain() const { return Plain::operator bool(); }
  // False if the array needs the general path: Sortium does not sort its elements, or there are so
  // many that signal handlers must run.
  explicit operator bool() const { return is_usable_; }
  // True if there is NaT that the order of i64 puts first, and the order of keys last.
  [[nodiscard]] bool have_nat() const;
  // For keys that are sorted: true if they end with NaT, so that they do not ascend as i64.
  [[nodiscard]] bool end_with_nat() const;

  sortium::Problem problem;

 private:
  bool is_usable_ = false;
};

// Returns a new array for positions.
[[nodiscard]] nb::object empty_positions(std::uint64_t count, unsigned bytes = 8,
                                         bool is_signed = true);
[[nodiscard]] inline void* data_of(const nb::object& array) {
  return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr()));
}
[[nodiscard]] bool is_true(nb::handle x);
// Shortens a new array, to which there is no other reference, to its first `count` elements.
void shorten(const nb::object& array, std::uint64_t count);

inline const std::string host = "cpu:0";
inline const sortium::Options on_host{.device = host};

void bind_numpy_functions(nb::module_& m);
void bind_numpy_rows(nb::module_& m);

}  // namespace pysortium
