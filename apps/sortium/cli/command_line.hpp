// The command line as a whole: the program's help, and errors of usage.
#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace app {

// Declares the program's options and commands: what `sortium --help` prints, and what man pages and
// completions are made of. `action` receives the action of the command line that `cli` parses.
void describe_program(CLI::App& cli, Action& action);

// Parses `arguments`, without the program's name. Returns the command to run. Throws Failure naming
// the argument and the help to read.
[[nodiscard]] Action parse_command_line(std::vector<std::string> arguments);

}  // namespace app
