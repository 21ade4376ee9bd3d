#define SORTIUM_OPENCL_API_CPP
#include "opencl_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace sortium::opencl {

Api api{};

namespace {

std::string fill_in() {
  void* library = nullptr;
  for (const char* name : {"libOpenCL.so.1", "libOpenCL.so"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "no OpenCL loader: libOpenCL.so.1 was not found";
  std::string missing;
#define SORTIUM_FILL_IN(name)                                             \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name)); \
  if (api.name == nullptr && missing.empty()) missing = #name;
  SORTIUM_OPENCL_ENTRY_POINTS(SORTIUM_FILL_IN)
#undef SORTIUM_FILL_IN
  return missing.empty() ? "" : fmt::format("the OpenCL loader is too old: it has no {}", missing);
}

}  // namespace

const std::string& load() {
  static const std::string why = fill_in();
  return why;
}

}  // namespace sortium::opencl
