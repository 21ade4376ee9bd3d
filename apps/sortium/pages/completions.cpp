#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "pages/pages.hpp"

namespace app {

namespace {

// The kind of value that an option or an argument takes.
enum class Value { none, choices, files, algorithms, other };

struct Described {
  std::vector<std::string> names;  // with their hyphens; of an argument: none
  std::string description;
  Value value;
  std::string choices;  // separated by blanks
};

// Returns the choices in an option's type: "u32 f32" for "TYPE:{u32,f32}".
std::string choices_in(const std::string& type) {
  const auto from = type.find('{'), to = type.find('}');
  if (from == type.npos || to == type.npos) return "";
  std::string out = type.substr(from + 1, to - from - 1);
  std::ranges::replace(out, ',', ' ');
  return out;
}

Value value_of(const CLI::Option& option, const std::string& choices) {
  if (option.get_items_expected_max() == 0) return Value::none;
  if (!choices.empty()) return Value::choices;
  if (option.check_lname("algorithm")) return Value::algorithms;
  const std::string type = option.get_positional() ? option.get_name(true) : option.get_type_name();
  for (const char* file : {"FILE", "OUT", "IN", "DIR"})
    if (type.starts_with(file)) return Value::files;
  return Value::other;
}

std::vector<Described> described(const CLI::App& command, bool positional) {
  std::vector<Described> out;
  for (const auto* option : command.get_options()) {
    if (option->get_positional() != positional || option->get_group().empty()) continue;
    Described d;
    for (const auto& name : option->get_snames()) d.names.push_back("-" + name);
    for (const auto& name : option->get_lnames()) d.names.push_back("--" + name);
    d.description = option->get_description();
    d.choices = choices_in(option->get_type_name());
    d.value = value_of(*option, d.choices);
    out.push_back(std::move(d));
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands({});
}

std::string names_of(const std::vector<Described>& options) {
  std::string out;
  for (const auto& option : options)
    for (const auto& name : option.names) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string command_names(const CLI::App& program) {
  std::string out;
  for (const auto* command : commands_of(program))
    out += (out.empty() ? "" : " ") + command->get_name();
  return out;
}

// Returns `text` in single quotes. `quote` is what the shell needs for a single quote within.
std::string quoted(const std::string& text, std::string_view quote) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(quote) : std::string(1, c);
  return out + "'";
}

constexpr std::string_view list_algorithms = "sortium algorithms 2>/dev/null";

// bash: returns cases, by the option typed before, that offer the values of a command's options.
std::string bash_values(const CLI::App& command) {
  std::string out;
  for (const auto& option : described(command, false)) {
    if (option.value == Value::none) continue;
    const std::string words = option.value == Value::choices ? quoted(option.choices, "'\\''")
                              : option.value == Value::algorithms
                                  ? fmt::format("\"$({})\"", list_algorithms)
                                  : "";
    const std::string reply =
        !words.empty() ? fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))", words)
        : option.value == Value::files ? "COMPREPLY=($(compgen -f -- \"$word\"))"
                                       : "COMPREPLY=()";
    std::string pattern;
    for (const auto& name : option.names) pattern += (pattern.empty() ? "" : " | ") + name;
    out += fmt::format("        {}) {}; return ;;\n", pattern, reply);
  }
  return out;
}

// bash: returns the code that completes a word that is not an option's value: the name of an
// option, or an argument.
std::string bash_words(const CLI::App& command) {
  std::string choices;
  for (const auto& argument : described(command, true))
    if (argument.value == Value::choices) choices = argument.choices;
  const std::string arguments =
      choices.empty()
          ? "COMPREPLY=($(compgen -f -- \"$word\"))"
          : fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))", quoted(choices, "'\\''"));
  return fmt::format(
      "      case \"$word\" in\n"
      "        -*) COMPREPLY=($(compgen -W {} -- \"$word\")) ;;\n"
      "        *) {} ;;\n"
      "      esac\n",
      quoted(names_of(described(command, false)), "'\\''"), arguments);
}

// zsh: returns the action that a specification of _arguments ends with.
std::string zsh_action(const Described& d) {
  switch (d.value) {
    case Value::choices:
      return ":value:(" + d.choices + ")";
    case Value::files:
      return ":file:_files";
    case Value::algorithms:
      return fmt::format(":algorithm:{{compadd ${{(f)\"$({})\"}}}}", list_algorithms);
    case Value::other:
      return ":value: ";
    default:
      return "";
  }
}

// Escapes brackets and colons, which would end a description in _arguments.
std::string zsh_description(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_arguments(const CLI::App& command) {
  std::string out;
  for (const auto& option : described(command, false))
    for (const auto& name : option.names)
      out += " \\\n        " +
             quoted(fmt::format("{}[{}]{}", name, zsh_description(option.description),
                                zsh_action(option)),
                    "'\\''");
  for (const auto& argument : described(command, true))
    out += " \\\n        " + quoted("*" + zsh_action(argument), "'\\''");
  return out;
}

std::string fish_option(const std::string& condition, const Described& option) {
  std::string out = "complete -c sortium -n " + quoted(condition, "\\'");
  for (const auto& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  switch (option.value) {
    case Value::choices:
      out += " -x -a " + quoted(option.choices, "\\'");
      break;
    case Value::algorithms:
      out += fmt::format(" -x -a '({})'", list_algorithms);
      break;
    case Value::files:
      out += " -r -F";
      break;
    case Value::other:
      out += " -x";
      break;
    default:
      break;
  }
  return out + " -d " + quoted(option.description, "\\'") + "\n";
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::string out = fmt::format(
      "# Completion of sortium for bash.\n"
      "_sortium() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      quoted(command_names(program) + " " + names_of(described(program, false)), "'\\''"));
  for (const auto* command : commands_of(program)) {
    const std::string values = bash_values(*command);
    out += fmt::format("    {})\n", command->get_name());
    if (!values.empty()) out += fmt::format("      case $previous in\n{}      esac\n", values);
    out += bash_words(*command) + "      ;;\n";
  }
  return out + "  esac\n}\ncomplete -o filenames -F _sortium sortium\n";
}

std::string zsh_completion(const CLI::App& program) {
  std::string out =
      "#compdef sortium\n"
      "# Completion of sortium for zsh.\n"
      "_sortium() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const auto* command : commands_of(program))
    out +=
        "    " +
        quoted(command->get_name() + ":" + zsh_description(command->get_description()), "'\\''") +
        "\n";
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    _arguments" +
      zsh_arguments(program) +
      "\n    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n";
  for (const auto* command : commands_of(program))
    out += fmt::format("    {})\n      _arguments{}\n      ;;\n", command->get_name(),
                       zsh_arguments(*command));
  return out + "  esac\n}\n_sortium \"$@\"\n";
}

std::string fish_completion(const CLI::App& program) {
  const std::string none = "__fish_use_subcommand";
  std::string out = "# Completion of sortium for fish.\ncomplete -c sortium -f -n '" + none + "'\n";
  for (const auto& option : described(program, false)) out += fish_option(none, option);
  for (const auto* command : commands_of(program)) {
    const std::string seen = "__fish_seen_subcommand_from " + command->get_name();
    out += fmt::format("complete -c sortium -n '{}' -a {} -d {}\n", none, command->get_name(),
                       quoted(command->get_description(), "\\'"));
    for (const auto& option : described(*command, false)) out += fish_option(seen, option);
    for (const auto& argument : described(*command, true))
      if (argument.value == Value::choices)
        out += fmt::format("complete -c sortium -f -n '{}' -a {}\n", seen,
                           quoted(argument.choices, "\\'"));
  }
  return out;
}

}  // namespace app
