// Compiles CUDA C++ to machine code. Needs no GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "built_kernels.hpp"

namespace sortium::cuda {

// Compiles `source` to machine code of an architecture, or to PTX. Throws Error(unsupported) if
// NVRTC is missing or does not know the architecture, Error(build_failed) with the compiler's log.
// If `optimized` is false, NVRTC 13 and later take a quarter of the time; for tests.
[[nodiscard]] std::vector<std::byte> compile_for(const std::string& source, Target target,
                                                 bool optimized = true);

}  // namespace sortium::cuda
