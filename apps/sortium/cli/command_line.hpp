// The command line as a whole: the program's help, and errors of usage.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace app {

// Parses `arguments`, without the program's name. Returns the command to run. Throws Failure naming
// the argument and the help to read.
[[nodiscard]] Action parse_command_line(std::vector<std::string> arguments);

}  // namespace app
