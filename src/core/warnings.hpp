// Floor 0: what the user should know although no call failed. The library never prints: the program
// shows its warnings when a command ends.
#pragma once

#include <string>
#include <vector>

namespace sortium {

// Adds a warning, unless the same text was added before.
void warn(const std::string& text);
// All warnings of this process so far, in the order of their first time.
[[nodiscard]] std::vector<std::string> warnings();

}  // namespace sortium
