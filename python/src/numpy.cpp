// The fast path for one-dimensional, contiguous NumPy arrays: Python makes one call.
#include <sortium/sort.hpp>

#include "module.hpp"

namespace pysortium {

namespace {

using sortium::KeyType;

// NumPy's objects, never released. The package sets them when it is imported: the module alone, of
// which the build makes stubs, does not need NumPy.
struct NumPy {
  PyObject *array = nullptr, *empty = nullptr, *empty_like = nullptr;
};
NumPy numpy;

void use_numpy(const nb::module_& np) {
  numpy = {nb::object(np.attr("ndarray")).release().ptr(),
           nb::object(np.attr("empty")).release().ptr(),
           nb::object(np.attr("empty_like")).release().ptr()};
}

// A buffer of an object, released at the end. Not all arrays have one: datetime64 has none.
class View {
 public:
  View(PyObject* object, int flags) : is_held_(PyObject_GetBuffer(object, &view_, flags) == 0) {
    if (!is_held_) PyErr_Clear();
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() {
    if (is_held_) PyBuffer_Release(&view_);
  }
  explicit operator bool() const { return is_held_; }
  const Py_buffer* operator->() const { return &view_; }

 private:
  Py_buffer view_{};
  bool is_held_;
};

// Stores the key type of elements in native byte order. Returns false if Sortium has no type for
// `format`.
bool key_type(const char* format, Py_ssize_t bytes, KeyType& type) {
  if (format == nullptr || format[0] == '\0' || format[1] != '\0') return false;
  static constexpr KeyType is_unsigned[] = {KeyType::u8, KeyType::u16, KeyType::u32, KeyType::u64};
  static constexpr KeyType is_signed[] = {KeyType::i8, KeyType::i16, KeyType::i32, KeyType::i64};
  const int width = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
  switch (format[0]) {
    case '?':
      type = KeyType::u8;
      return true;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      type = is_unsigned[width];
      return true;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      type = is_signed[width];
      return true;
    case 'e':
      type = KeyType::f16;
      return true;
    case 'f':
      type = KeyType::f32;
      return true;
    case 'd':
      type = KeyType::f64;
      return true;
    default:
      return false;
  }
}

// Stores the keys of `x` and the problem. Returns false if `x` needs the general path.
bool is_plain(PyObject* x, const View& keys, bool descending, sortium::Problem& p) {
  if (!keys || keys->ndim != 1 || Py_TYPE(x) != reinterpret_cast<PyTypeObject*>(numpy.array))
    return false;
  if (!key_type(keys->format, keys->itemsize, p.key)) return false;
  if (reinterpret_cast<Address>(keys->buf) % static_cast<Address>(keys->itemsize) != 0)
    return false;
  p.count = static_cast<std::uint64_t>(keys->shape[0]);
  if (p.count >= many_records) return false;  // signal handlers run on the general path
  p.order = descending ? sortium::Order::descending : sortium::Order::ascending;
  return true;
}

constexpr int readable = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
constexpr int writable = PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE;

nb::object sort_plain(nb::handle x, bool descending) {
  if (Py_TYPE(x.ptr()) != reinterpret_cast<PyTypeObject*>(numpy.array)) return nb::none();
  const View keys(x.ptr(), readable);
  sortium::Problem p;
  if (!is_plain(x.ptr(), keys, descending, p)) return nb::none();
  nb::object result = nb::steal(PyObject_CallFunctionObjArgs(numpy.empty_like, x.ptr(), nullptr));
  if (!result.is_valid()) throw nb::python_error();
  if (p.count == 0) return result;
  const View sorted(result.ptr(), writable);
  if (!sorted) return nb::none();
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys->buf, sorted->buf}, {.device = "cpu:0"});
  });
  return result;
}

nb::object argsort_plain(nb::handle x, bool descending, nb::handle index_dtype,
                         unsigned index_bytes) {
  if (Py_TYPE(x.ptr()) != reinterpret_cast<PyTypeObject*>(numpy.array)) return nb::none();
  const View keys(x.ptr(), readable);
  sortium::Problem p;
  if (!is_plain(x.ptr(), keys, descending, p)) return nb::none();
  p.payload = sortium::Payload::positions;
  p.value_bytes = index_bytes;
  p.keys_out = false;
  const nb::object count = nb::steal(PyLong_FromUnsignedLongLong(p.count));
  nb::object result =
      nb::steal(PyObject_CallFunctionObjArgs(numpy.empty, count.ptr(), index_dtype.ptr(), nullptr));
  if (!result.is_valid()) throw nb::python_error();
  if (p.count == 0) return result;
  const View positions(result.ptr(), writable);
  if (!positions) return nb::none();
  without_gil(p.count, [&] {
    sortium::sort_host(p, {keys->buf, nullptr, nullptr, positions->buf}, {.device = "cpu:0"});
  });
  return result;
}

}  // namespace

void bind_numpy(nb::module_& m) {
  using namespace nb::literals;
  m.def("use_numpy", &use_numpy, "numpy"_a);
  m.def("sort_plain", &sort_plain, "x"_a, "descending"_a,
        "The sorted keys of a contiguous 1-D NumPy array; None if x is something else.");
  m.def("argsort_plain", &argsort_plain, "x"_a, "descending"_a, "index_dtype"_a, "index_bytes"_a,
        "The positions of the sorted keys; None if x is something else.");
}

}  // namespace pysortium
