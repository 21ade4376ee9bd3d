// The module _native: errors, and everything that the other files bind.
#include "module.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace pysortium {

namespace {

// The exception class DeviceError. The module creates it and never releases it.
PyObject* device_error = nullptr;

PyObject* exception_of(sortium::ErrorCode code) {
  switch (code) {
    case sortium::ErrorCode::invalid_argument:
    case sortium::ErrorCode::not_found:
      return PyExc_ValueError;
    case sortium::ErrorCode::out_of_memory:
      return PyExc_MemoryError;
    default:
      return device_error;
  }
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const sortium::Error& e) {
    std::string message = e.what();
    if (!e.log().empty()) message += "\n" + e.log();
    PyErr_SetString(exception_of(e.code()), message.c_str());
  }
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "The C++ library as pysortium uses it. Private: no part of it is stable.";
  nb::set_leak_warnings(false);  // plans are kept until the process ends
  // The module's own name, because the program that makes the type stubs imports it alone.
  const auto error = nb::cast<std::string>(m.attr("__name__")) + ".DeviceError";
  device_error = PyErr_NewExceptionWithDoc(error.c_str(),
                                           "A device cannot do what was asked of it, or "
                                           "failed.\n\nThe message has the compiler's log if "
                                           "a kernel could not be built.",
                                           PyExc_RuntimeError, nullptr);
  m.attr("DeviceError") = nb::borrow(device_error);
  nb::register_exception_translator(translate);

  m.def("version", &sortium::version);
  m.def("warnings", &sortium::warnings);
  bind_problem(m);
  bind_host(m);
  bind_device(m);
  bind_numpy(m);
  bind_dlpack(m);
  bind_distributed(m);
#ifdef PYSORTIUM_WITH_JAX
  bind_jax(m);
#endif
}

}  // namespace pysortium
