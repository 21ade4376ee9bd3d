// The fast path for one-dimensional, contiguous NumPy arrays: Python makes one call, which returns
// None if an argument is something else. Python's general path then says what is wrong with it.
// Written for the API of NumPy 1.24; its headers are those of NumPy 2.
#define NPY_NO_DEPRECATED_API NPY_1_24_API_VERSION
#define NPY_TARGET_VERSION NPY_1_24_API_VERSION
#include "module.hpp"
//
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sortium/search.hpp>
#include <sortium/sort.hpp>

namespace pysortium {

namespace {

using sortium::KeyType;
using sortium::Problem;

// Returns Sortium's type of elements in native byte order; nothing if it has none.
std::optional<KeyType> key_type(PyArrayObject* array) {
  static constexpr KeyType is_unsigned[] = {KeyType::u8, KeyType::u16, KeyType::u32, KeyType::u64};
  static constexpr KeyType is_signed[] = {KeyType::i8, KeyType::i16, KeyType::i32, KeyType::i64};
  const auto bytes = PyArray_ITEMSIZE(array);
  const int width = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  const int type = PyArray_TYPE(array);
  if (type == NPY_HALF) return KeyType::f16;
  if (type == NPY_FLOAT) return KeyType::f32;
  if (type == NPY_DOUBLE) return KeyType::f64;
  if (PyTypeNum_ISBOOL(type) || PyTypeNum_ISUNSIGNED(type)) return is_unsigned[width];
  if (PyTypeNum_ISSIGNED(type)) return is_signed[width];
  return {};
}

// A one-dimensional array in native byte order, contiguous and aligned.
class Plain {
 public:
  // Null if `x` is no such array.
  explicit Plain(PyObject* x) {
    if (Py_TYPE(x) != &PyArray_Type) return;
    auto* const array = reinterpret_cast<PyArrayObject*>(x);
    if (PyArray_NDIM(array) == 1 && PyArray_ISCARRAY_RO(array)) array_ = array;
  }
  explicit operator bool() const { return array_ != nullptr; }

  [[nodiscard]] std::uint64_t count() const {
    return static_cast<std::uint64_t>(PyArray_DIM(array_, 0));
  }
  [[nodiscard]] void* data() const { return PyArray_DATA(array_); }
  [[nodiscard]] PyArrayObject* array() const { return array_; }
  [[nodiscard]] std::uint64_t bytes() const {
    return count() * static_cast<std::uint64_t>(PyArray_ITEMSIZE(array_));
  }
  [[nodiscard]] bool has_type_of(const Plain& other) const {
    return PyArray_TYPE(array_) == PyArray_TYPE(other.array_);
  }
  [[nodiscard]] bool overlaps(const Plain& other) const {
    const auto a = reinterpret_cast<Address>(data()), b = reinterpret_cast<Address>(other.data());
    return a < b + other.bytes() && b < a + bytes();
  }

 private:
  PyArrayObject* array_ = nullptr;
};

// Stores the problem of `keys` alone. Returns false if `keys` needs the general path: Sortium does
// not sort its elements, or there are so many that signal handlers must run.
bool is_problem(const Plain& keys, bool descending, Problem& p) {
  if (!keys || keys.count() >= many_records) return false;
  const auto type = key_type(keys.array());
  if (!type) return false;
  p.key = *type;
  p.count = keys.count();
  p.order = descending ? sortium::Order::descending : sortium::Order::ascending;
  return true;
}

bool is_true(nb::handle x) {
  const int truth = PyObject_IsTrue(x.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

nb::object checked(PyObject* array) {
  nb::object result = nb::steal(array);
  if (!result.is_valid()) throw nb::python_error();
  return result;
}
// Returns a new array of `count` elements of the type of `keys`.
nb::object new_keys(const Plain& keys, std::uint64_t count) {
  auto size = static_cast<npy_intp>(count);
  return checked(PyArray_SimpleNew(1, &size, PyArray_TYPE(keys.array())));
}
nb::object new_places(std::uint64_t count, unsigned bytes, bool is_signed) {
  auto size = static_cast<npy_intp>(count);
  const int type =
      bytes == 8 ? (is_signed ? NPY_INT64 : NPY_UINT64) : (is_signed ? NPY_INT32 : NPY_UINT32);
  return checked(PyArray_SimpleNew(1, &size, type));
}
void* data_of(const nb::object& array) {
  return PyArray_DATA(reinterpret_cast<PyArrayObject*>(array.ptr()));
}

const std::string host = "cpu:0";
const sortium::Options on_host{.device = host};

// `out` is None, or receives the result if it is an array like `x`: `x` itself or apart from it.
nb::object sort_plain(nb::handle x, nb::handle descending, nb::handle out) {
  const Plain keys(x.ptr());
  Problem p;
  if (!is_problem(keys, is_true(descending), p)) return nb::none();
  nb::object result;
  if (out.is_none()) {
    result = new_keys(keys, p.count);
  } else {
    const Plain given(out.ptr());
    if (!given || !PyArray_ISWRITEABLE(given.array()) || !given.has_type_of(keys) ||
        given.count() != p.count || (given.data() != keys.data() && given.overlaps(keys)))
      return nb::none();
    result = nb::borrow(out);
  }
  if (p.count == 0) return result;
  without_gil(p.count, [&] { sortium::sort_host(p, {keys.data(), data_of(result)}, on_host); });
  return result;
}

nb::object argsort_plain(nb::handle x, nb::handle descending, unsigned index_bytes,
                         bool is_signed) {
  const Plain keys(x.ptr());
  Problem p;
  if (!is_problem(keys, is_true(descending), p)) return nb::none();
  p.payload = sortium::Payload::positions;
  p.value_bytes = index_bytes;
  p.keys_out = false;
  nb::object result = new_places(p.count, index_bytes, is_signed);
  if (p.count == 0) return result;
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), nullptr, nullptr, data_of(result)}, on_host);
  });
  return result;
}

// Returns a tuple of keys and positions.
nb::object topk_plain(nb::handle x, std::uint64_t k, nb::handle largest) {
  const Plain keys(x.ptr());
  Problem p;
  if (!is_problem(keys, is_true(largest), p) || k == 0 || k > p.count) return nb::none();
  p.payload = sortium::Payload::positions;
  p.value_bytes = 8;
  p.limit = k;
  nb::object values = new_keys(keys, k), positions = new_places(k, 8, true);
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), data_of(values), nullptr, data_of(positions)}, on_host);
  });
  return nb::make_tuple(values, positions);
}

nb::object sort_segments_plain(nb::handle x, nb::handle offsets, nb::handle descending) {
  const Plain keys(x.ptr()), starts(offsets.ptr());
  Problem p;
  if (!is_problem(keys, is_true(descending), p) || !starts || starts.count() == 0 ||
      key_type(starts.array()) != KeyType::i64)
    return nb::none();
  p.segments = starts.count() - 1;
  p.offset_bytes = 8;
  const auto* const first = static_cast<const std::int64_t*>(starts.data());
  if (!std::is_sorted(first, first + starts.count()) || first[0] != 0 ||
      first[p.segments] != static_cast<std::int64_t>(p.count))
    return nb::none();
  nb::object result = new_keys(keys, p.count);
  if (p.count == 0) return result;
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), data_of(result), nullptr, nullptr, first}, on_host);
  });
  return result;
}

// Returns the distinct keys, sorted. All NaN are one.
nb::object unique_plain(nb::handle x) {
  const Plain keys(x.ptr());
  Problem p;
  if (!is_problem(keys, false, p) || p.count == 0) return nb::none();
  const nb::object sorted = new_keys(keys, p.count);
  void* const data = data_of(sorted);
  const std::uint64_t distinct = without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), data}, on_host);
    return sortium::unique_host(p, {data, data}, nullptr, 8, host);
  });
  nb::object result = new_keys(keys, distinct);
  std::memcpy(data_of(result), data,
              distinct * static_cast<std::uint64_t>(PyArray_ITEMSIZE(keys.array())));
  return result;
}

nb::object merge_plain(nb::handle x1, nb::handle x2, nb::handle descending) {
  const Plain a(x1.ptr()), b(x2.ptr());
  Problem p;
  if (!is_problem(a, is_true(descending), p) || !b || !a.has_type_of(b)) return nb::none();
  p.count = a.count() + b.count();
  if (p.count == 0 || p.count >= many_records) return nb::none();
  nb::object result = new_keys(a, p.count);
  without_gil(p.count, [&] {
    sortium::merge_host(p, a.count(), {a.data(), b.data(), data_of(result)}, host);
  });
  return result;
}

nb::object search_plain(nb::handle x1, nb::handle x2, bool upper, nb::handle descending) {
  const Plain keys(x1.ptr()), needles(x2.ptr());
  Problem p;
  if (!is_problem(keys, is_true(descending), p) || p.count == 0 || !needles ||
      !keys.has_type_of(needles) || needles.count() == 0 || needles.count() >= many_records)
    return nb::none();
  p.value_bytes = 8;
  nb::object result = new_places(needles.count(), 8, true);
  without_gil(needles.count(), [&] {
    sortium::search_host(p, keys.data(), needles.data(), needles.count(), data_of(result),
                         upper ? sortium::Bound::upper : sortium::Bound::lower, host);
  });
  return result;
}

}  // namespace

void bind_numpy(nb::module_& m) {
  using namespace nb::literals;
  // The package calls it when it is imported: the module alone, of which the build makes stubs,
  // does not need NumPy.
  m.def("use_numpy", [] {
    if (_import_array() < 0) throw nb::python_error();
  });
  m.def("sort_plain", &sort_plain, "x"_a, "descending"_a, "out"_a.none());
  m.def("argsort_plain", &argsort_plain, "x"_a, "descending"_a, "index_bytes"_a, "is_signed"_a);
  m.def("topk_plain", &topk_plain, "x"_a, "k"_a, "largest"_a);
  m.def("sort_segments_plain", &sort_segments_plain, "x"_a, "offsets"_a, "descending"_a);
  m.def("unique_plain", &unique_plain, "x"_a);
  m.def("merge_plain", &merge_plain, "x1"_a, "x2"_a, "descending"_a);
  m.def("search_plain", &search_plain, "x1"_a, "x2"_a, "upper"_a, "descending"_a);
}

}  // namespace pysortium
