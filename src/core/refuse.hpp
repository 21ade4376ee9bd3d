// Errors for invalid arguments.
#pragma once

#include <sortium/core.hpp>
#include <string>

namespace sortium {

// Throws Error(invalid_argument) with this message.
[[noreturn]] inline void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, message);
}

}  // namespace sortium
