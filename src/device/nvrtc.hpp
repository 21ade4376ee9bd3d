// Compiles CUDA C++ to machine code. Needs no GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sortium::cuda {

// Compiles `source` for compute capability `arch` (90 for sm_90). Throws Error(unsupported) if
// NVRTC is missing or does not know the chip, Error(build_failed) with the compiler's log.
[[nodiscard]] std::vector<std::byte> compile_for(const std::string& source, int arch);

}  // namespace sortium::cuda
