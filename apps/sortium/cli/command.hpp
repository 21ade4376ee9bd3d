// The program's commands. Each is a file of this folder, which declares the command's options,
// reads them and carries the command out.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace app {

// Carries out a parsed command. Returns the program's exit code, or throws Failure or
// sortium::Error.
using Action = std::function<int()>;

// Adds a command to the command line. When the command line is parsed and names this command, sets
// `action` to carry it out.
using AddCommand = void(CLI::App& cli, Action& action);

AddCommand add_devices, add_algorithms, add_sort, add_topk, add_check, add_gen, add_bench, add_tune,
    add_draw, add_pic, add_report, add_doctor;

// The order is that of `sortium --help`.
inline constexpr AddCommand* all_commands[] = {add_devices, add_algorithms, add_sort,   add_topk,
                                               add_check,   add_gen,        add_bench,  add_tune,
                                               add_draw,    add_pic,        add_report, add_doctor};

}  // namespace app
