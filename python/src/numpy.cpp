#define PYSORTIUM_IMPORTS_NUMPY
#include "numpy.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "numpy_records.hpp"

namespace pysortium {

namespace {

using sortium::KeyType;
using sortium::Problem;

// Returns Sortium's type of elements in native byte order; nothing if it has none.
std::optional<KeyType> key_type(const Plain& array) {
  static constexpr KeyType is_unsigned[] = {KeyType::u8, KeyType::u16, KeyType::u32, KeyType::u64};
  static constexpr KeyType is_signed[] = {KeyType::i8, KeyType::i16, KeyType::i32, KeyType::i64};
  const auto bytes = array.element_bytes();
  const int width = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  const int type = array.type();
  if (type == NPY_HALF) return KeyType::f16;
  if (type == NPY_FLOAT) return KeyType::f32;
  if (type == NPY_DOUBLE) return KeyType::f64;
  if (PyTypeNum_ISBOOL(type) || PyTypeNum_ISUNSIGNED(type)) return is_unsigned[width];
  if (PyTypeNum_ISSIGNED(type)) return is_signed[width];
  if (array.are_times()) return KeyType::i64;
  return {};
}

nb::object checked(PyObject* array) {
  nb::object result = nb::steal(array);
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

int type_of_positions(unsigned bytes, bool is_signed) {
  if (bytes == 8) return is_signed ? NPY_INT64 : NPY_UINT64;
  return is_signed ? NPY_INT32 : NPY_UINT32;
}

constexpr auto nat = std::numeric_limits<std::int64_t>::min();

}  // namespace

Plain::Plain(nb::handle x, Dimensions dimensions) {
  if (Py_TYPE(x.ptr()) != &PyArray_Type) return;
  auto* const array = reinterpret_cast<PyArrayObject*>(x.ptr());
  const bool has_one = PyArray_NDIM(array) == 1;
  const bool fits = dimensions == Dimensions::one ? has_one : PyArray_NDIM(array) > 1;
  if (fits && PyArray_ISCARRAY_RO(array)) array_ = array;
}

bool Plain::overlaps(const Plain& other) const {
  const auto a = reinterpret_cast<Address>(data()), b = reinterpret_cast<Address>(other.data());
  return a < b + other.count() * other.element_bytes() && b < a + count() * element_bytes();
}

nb::object Plain::empty(std::uint64_t count) const {
  auto size = static_cast<npy_intp>(count);
  auto* const type = dtype();
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // the new array owns one reference
  return checked(PyArray_NewFromDescr(&PyArray_Type, type, 1, &size, nullptr, nullptr, 0, nullptr));
}

nb::object Plain::empty_like() const {
  auto* const type = dtype();
  Py_INCREF(reinterpret_cast<PyObject*>(type));  // the new array owns one reference
  return checked(PyArray_NewFromDescr(&PyArray_Type, type, PyArray_NDIM(array_),
                                      PyArray_DIMS(array_), nullptr, nullptr, 0, nullptr));
}

nb::object Plain::empty_positions_like(unsigned bytes, bool is_signed) const {
  return checked(PyArray_SimpleNew(PyArray_NDIM(array_), PyArray_DIMS(array_),
                                   type_of_positions(bytes, is_signed)));
}

Keys::Keys(const Plain& x, bool descending) : Plain(x) {
  if (!Plain::operator bool() || count() >= many_records) return;
  const auto type = key_type(*this);
  if (!type) return;
  problem.key = *type;
  problem.count = count();
  problem.order = descending ? sortium::Order::descending : sortium::Order::ascending;
  is_usable_ = true;
}

bool Keys::have_nat() const {
  if (!are_times() || problem.order == sortium::Order::descending) return false;
  const auto* const times = static_cast<const std::int64_t*>(data());
  return std::count(times, times + count(), nat) != 0;  // std::find() has no vector instructions
}

bool Keys::end_with_nat() const {
  return are_times() && problem.order == sortium::Order::ascending && count() != 0 &&
         static_cast<const std::int64_t*>(data())[count() - 1] == nat;
}

nb::object empty_positions(std::uint64_t count, unsigned bytes, bool is_signed) {
  auto size = static_cast<npy_intp>(count);
  return checked(PyArray_SimpleNew(1, &size, type_of_positions(bytes, is_signed)));
}

void shorten(const nb::object& array, std::uint64_t count) {
  auto* const whole = reinterpret_cast<PyArrayObject*>(array.ptr());
  auto size = static_cast<npy_intp>(count);
  if (size == PyArray_DIM(whole, 0)) return;
  PyArray_Dims shape{&size, 1};
  constexpr int no_check = 0;  // of references: there are none
  const nb::object none = nb::steal(PyArray_Resize(whole, &shape, no_check, NPY_CORDER));
  if (!none.is_valid()) throw nb::python_error();
}

bool is_true(nb::handle x) {
  const int truth = PyObject_IsTrue(x.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

namespace {

// `out` is None, or receives the result if it is an array like `x`: `x` itself or apart from it.
nb::object sort_plain(nb::handle x, nb::handle descending, nb::handle out) {
  const Keys keys(x, is_true(descending));
  if (!keys && out.is_none()) return sort_records(x, is_true(descending));
  if (!keys || keys.have_nat()) return nb::none();
  nb::object result;
  if (out.is_none()) {
    result = keys.empty(keys.count());
  } else {
    const Plain given(out);
    if (!given || !given.is_writeable() || !given.has_type_of(keys) ||
        given.count() != keys.count() || (given.data() != keys.data() && given.overlaps(keys)))
      return nb::none();
    result = nb::borrow(out);
  }
  if (keys.count() == 0) return result;
  without_gil(keys.count(), [&] {
    sortium::sort_host(keys.problem, {keys.data(), data_of(result)}, on_host);
  });
  return result;
}

nb::object argsort_plain(nb::handle x, nb::handle descending, unsigned index_bytes,
                         bool is_signed) {
  const Keys keys(x, is_true(descending));
  if (!keys && index_bytes == 8 && is_signed) return argsort_records(x, is_true(descending));
  if (!keys || keys.have_nat()) return nb::none();
  Problem p = keys.problem;
  p.payload = sortium::Payload::positions;
  p.value_bytes = index_bytes;
  p.keys_out = false;
  nb::object result = empty_positions(p.count, index_bytes, is_signed);
  if (p.count == 0) return result;
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), nullptr, nullptr, data_of(result)}, on_host);
  });
  return result;
}

// True if the numbers ascend from 0 to `last`.
template <class Number>
bool are_offsets(const Plain& numbers, std::uint64_t last) {
  const auto* const first = static_cast<const Number*>(numbers.data());
  const auto* const end = first + numbers.count();
  return std::is_sorted(first, end) && *first == 0 && static_cast<std::uint64_t>(end[-1]) == last;
}
bool are_offsets(const Plain& numbers, std::uint64_t last) {
  if (!numbers || numbers.count() == 0 || !PyTypeNum_ISINTEGER(numbers.type())) return false;
  const bool is_signed = PyTypeNum_ISSIGNED(numbers.type());
  if (numbers.element_bytes() == 4)
    return is_signed ? are_offsets<std::int32_t>(numbers, last)
                     : are_offsets<std::uint32_t>(numbers, last);
  if (numbers.element_bytes() == 8)
    return is_signed ? are_offsets<std::int64_t>(numbers, last)
                     : are_offsets<std::uint64_t>(numbers, last);
  return false;
}

nb::object sort_segments_plain(nb::handle x, nb::handle offsets, nb::handle descending) {
  const Keys keys(x, is_true(descending));
  const Plain starts(offsets);
  if (!keys || keys.have_nat() || !are_offsets(starts, keys.count())) return nb::none();
  Problem p = keys.problem;
  p.segments = starts.count() - 1;
  p.offset_bytes = static_cast<unsigned>(starts.element_bytes());
  nb::object result = keys.empty(p.count);
  if (p.count == 0) return result;
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys.data(), data_of(result), nullptr, nullptr, starts.data()}, on_host);
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
  m.def("sort_segments_plain", &sort_segments_plain, "x"_a, "offsets"_a, "descending"_a);
  bind_numpy_functions(m);
  bind_numpy_rows(m);
}

}  // namespace pysortium
