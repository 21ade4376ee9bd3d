// Environment variables.
#pragma once

#include <cstdlib>

namespace sortium {

// Returns the value of an environment variable. Returns null if it is not set, or if the program
// has more rights than the user who started it (setuid, file capabilities): that user's variables
// would otherwise name files and code that the program loads.
inline const char* environment(const char* name) { return ::secure_getenv(name); }

}  // namespace sortium
