#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sortium/sortium.hpp>
#include <sstream>

#include "cli/common.hpp"

namespace app {

namespace {

constexpr const char* program_footer =
    "'sortium COMMAND --help' lists the options of a command, with examples.\n\n"
    "Exit codes: 0 success, 1 a check failed or a result is wrong, 2 wrong usage or input, "
    "3 device or runtime failure.";

std::string command_names(const CLI::App& cli) {
  std::string names;
  for (const auto* command : cli.get_subcommands({}))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

// Returns the arguments that no option accepts, in the order of the command line. CLI11's own
// message lists them in reverse.
std::string unexpected_arguments(const CLI::App& cli) {
  const auto arguments = cli.remaining(true);
  return fmt::format("unknown argument{}: {}", arguments.size() == 1 ? "" : "s",
                     fmt::join(arguments, " "));
}

// Throws Failure with the message and a reference to the command's help.
[[noreturn]] void refuse_arguments(const CLI::App& cli, const std::string& message) {
  const auto given = cli.get_subcommands();
  const std::string name = given.empty() ? "" : " " + given.front()->get_name();
  throw Failure(exit_usage, fmt::format("{}\n'sortium{} --help' lists the {}.", message, name,
                                        given.empty() ? "commands" : "options"));
}

// Refuses values that a forgotten or an unset variable of a shell leaves: empty ones, and the name
// of the next option. `sort k.bin -o $OUT --quiet` would otherwise write a file called --quiet.
void check_values(const CLI::App& cli) {
  for (const auto* command : cli.get_subcommands())
    for (const auto* option : command->get_options())
      for (const auto& value : option->results()) {
        if (value.empty())
          refuse_arguments(cli, fmt::format("{}: its value is empty", option->get_name()));
        if (value.starts_with("--") && command->get_option_no_throw(value) != nullptr)
          refuse_arguments(
              cli, fmt::format("{}: its value is missing before {}", option->get_name(), value));
      }
}

}  // namespace

void describe_program(CLI::App& cli, Action& action) {
  cli.name("sortium");
  cli.description("Sorts on OpenCL and CUDA devices and on the cores of the host.");
  cli.set_version_flag("--version", fmt::format("sortium {}", sortium::version()));
  cli.require_subcommand(0, 1);  // parse_command_line() has the message for none
  cli.footer(program_footer);
  for (auto* const add : all_commands) add(cli, action);
}

Action parse_command_line(std::vector<std::string> arguments) {
  CLI::App cli;
  Action action;
  describe_program(cli, action);

  std::ranges::replace(arguments, "-o2", "--output2");  // CLI11 would read -o with the value 2
  std::ranges::reverse(arguments);                      // as App::parse() expects them
  try {
    cli.parse(std::move(arguments));
    check_values(cli);
  } catch (const CLI::ExtrasError&) {
    check_values(cli);
    refuse_arguments(cli, unexpected_arguments(cli));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) refuse_arguments(cli, error.what());
    std::ostringstream text;
    cli.exit(error, text, text);  // prints the help or the version
    return [text = text.str()] {
      fmt::print("{}", text);
      return exit_success;
    };
  }
  if (!action) refuse_arguments(cli, fmt::format("a command is needed: {}", command_names(cli)));
  return action;
}

}  // namespace app
