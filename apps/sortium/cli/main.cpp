// The program `sortium`.
#include <csignal>

#include "cli/command_line.hpp"
#include "cli/common.hpp"
#include "cli/errors.hpp"
#include "io/standard_descriptors.hpp"

int main(int argc, char** argv) {
  app::fill_standard_descriptors();
  // A closed pipe and a limit on the file size become errors of write(), so that temporary files
  // are removed.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const app::Action action = app::parse_command_line({argv + 1, argv + argc});
    const int code = action();
    app::print_warnings();
    app::flush_output();
    return code;
  } catch (...) {
    return app::report_current_exception();
  }
}
