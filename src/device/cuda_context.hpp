// CUDA's driver and contexts, for calls outside of the CUDA backend.
#pragma once

#include <sortium/problem.hpp>
#include <string>

#include "cuda_api.hpp"

namespace sortium::cuda {

// Throws Error(unsupported) if there is no driver.
[[nodiscard]] inline const Driver& require_driver() {
  std::string why;
  const Driver* const table = driver(why);
  if (table == nullptr) throw Error(ErrorCode::unsupported, "CUDA is not available: " + why);
  return *table;
}

// Makes a context current for the calling thread while the object lives.
class InContext {
 public:
  explicit InContext(void* context)
      : pushed_(require_driver().ctx_push(static_cast<Context>(context)) == success) {
    if (!pushed_) throw Error(ErrorCode::device_failed, "cuCtxPushCurrent failed");
  }
  ~InContext() {
    Context previous = nullptr;
    require_driver().ctx_pop(&previous);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;

 private:
  bool pushed_;
};

}  // namespace sortium::cuda
