// The file that contains this library.
#pragma once

#include <dlfcn.h>

#include <filesystem>

namespace sortium {

// Returns the file of the shared library, Python module or program that contains this function;
// empty if the system does not know it.
inline std::filesystem::path own_file() {
  Dl_info here{};
  return dladdr(reinterpret_cast<void*>(&own_file), &here) != 0 && here.dli_fname != nullptr
             ? here.dli_fname
             : "";
}

}  // namespace sortium
