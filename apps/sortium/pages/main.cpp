// Writes the program's man pages and completions: sortium-pages DIRECTORY
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <sortium/sortium.hpp>
#include <stdexcept>

#include "cli/command_line.hpp"
#include "pages/pages.hpp"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

void write_pages(const fs::path& directory) {
  CLI::App program;
  app::Action action;
  app::describe_program(program, action);
  const std::string version(sortium::version());
  fs::create_directories(directory / "man1");
  write(directory / "man1/sortium.1", app::manual_page(program, version));
  for (const auto* command : program.get_subcommands({}))
    write(directory / "man1" / ("sortium-" + command->get_name() + ".1"),
          app::manual_page(*command, version));
  write(directory / "sortium.bash", app::bash_completion(program));
  write(directory / "_sortium", app::zsh_completion(program));
  write(directory / "sortium.fish", app::fish_completion(program));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: sortium-pages DIRECTORY");
    write_pages(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "sortium-pages: {}\n", error.what());
    return 1;
  }
}
