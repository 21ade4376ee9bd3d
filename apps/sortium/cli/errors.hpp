// How the program ends after an error.
#pragma once

#include <string>

namespace app {

// Prints the message of the exception that is being handled to standard error. Returns the exit
// code for it. If the reader of standard output is gone, ends the program by SIGPIPE, without a
// message.
[[nodiscard]] int report_current_exception();

// Returns what std::bad_alloc does not say: how much memory there was.
[[nodiscard]] std::string out_of_memory_message();

// Prints the library's warnings to standard error.
void print_warnings();

}  // namespace app
