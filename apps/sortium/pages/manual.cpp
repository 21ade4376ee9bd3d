#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "pages/pages.hpp"

namespace app {

namespace {

// Escapes text so that roff shows it literally.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool line_begins = out.empty() || out.back() == '\n';
    if (line_begins && (c == '.' || c == '\''))
      out += "\\&";  // roff would take the line for a request
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string page_name(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : page_name(*command.get_parent()) + "-" + command.get_name();
}

std::string invocation(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : invocation(*command.get_parent()) + " " + command.get_name();
}

std::string synopsis(const CLI::App& command) {
  std::string out = ".B " + escaped(invocation(command)) + "\n[\\fIOPTIONS\\fR]";
  if (!command.get_subcommands({}).empty()) out += " \\fICOMMAND\\fR";
  for (const auto* option : command.get_options())
    if (option->get_positional()) {
      const std::string name = "\\fI" + escaped(option->get_name(true)) + "\\fR";
      out += option->get_required() ? " " + name : " [" + name + "]";
    }
  return out + "\n";
}

// Returns an option's type and default as the help shows them, such as "TYPE:{u32,…}".
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";  // a flag
  std::string out = option.get_type_name();
  if (!option.get_default_str().empty()) out += "=" + option.get_default_str();
  return out;
}

std::string described(const CLI::Option& option) {
  const std::string value = value_of(option);
  return fmt::format(".TP\n\\fB{}\\fR{}{}\n{}\n", escaped(option.get_name(option.get_positional())),
                     value.empty() ? "" : " \\fI" + escaped(value) + "\\fR",
                     option.get_required() ? " (required)" : "", escaped(option.get_description()));
}

std::string options_section(const CLI::App& command, bool positional, const char* title) {
  std::string out;
  for (const auto* option : command.get_options())
    if (option->get_positional() == positional && !option->get_group().empty())
      out += described(*option);
  return out.empty() ? "" : fmt::format(".SH {}\n{}", title, out);
}

std::string commands_section(const CLI::App& program) {
  std::string out;
  for (const auto* command : program.get_subcommands({}))
    out += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", escaped(page_name(*command)),
                       escaped(command->get_description()));
  return out.empty() ? "" : ".SH COMMANDS\n" + out;
}

// Returns the footer without filling lines: its examples are aligned by hand.
std::string notes_section(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.empty() ? "" : ".SH NOTES\n.nf\n" + escaped(footer) + "\n.fi\n";
}

std::string see_also_section(const CLI::App& command) {
  const auto* const parent = command.get_parent();
  return parent == nullptr ? "" : ".SH SEE ALSO\n\\fB" + escaped(page_name(*parent)) + "\\fR(1)\n";
}

}  // namespace

std::string manual_page(const CLI::App& command, const std::string& version) {
  std::string title = page_name(command);
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"sortium {}\" \"User Commands\"\n", title, version) +
         ".SH NAME\n" + escaped(page_name(command)) + " \\- " + escaped(command.get_description()) +
         "\n.SH SYNOPSIS\n" + synopsis(command) + options_section(command, true, "ARGUMENTS") +
         options_section(command, false, "OPTIONS") + commands_section(command) +
         notes_section(command) + see_also_section(command);
}

}  // namespace app
