// Floor 0: adds warnings to sortium::warnings().
#pragma once

#include <sortium/types.hpp>
#include <string>

namespace sortium {

// Adds a warning, unless the same text was added before.
void warn(const std::string& text);

}  // namespace sortium
