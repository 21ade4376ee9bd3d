// How long a rank waits for the others.
#pragma once

#include <chrono>
#include <sortium/types.hpp>
#include <string>

namespace sortium::distributed {

// Throws Error(invalid_argument) unless the timeout is a time that may pass. Infinity is allowed.
inline void check_timeout(std::chrono::duration<double> timeout) {
  if (!(timeout.count() > 0))
    throw Error(ErrorCode::invalid_argument,
                "timeout is " + std::to_string(timeout.count()) + " s; it must be greater than 0");
}

}  // namespace sortium::distributed
