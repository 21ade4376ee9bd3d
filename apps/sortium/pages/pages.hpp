// Man pages and completions of the program, made from the description that `--help` prints.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace app {

// The man page of the program or of one of its commands, in roff. `version` is in its footer.
[[nodiscard]] std::string manual_page(const CLI::App& command, const std::string& version);

// Scripts that complete the program's commands, options, files and values.
[[nodiscard]] std::string bash_completion(const CLI::App& program);
[[nodiscard]] std::string zsh_completion(const CLI::App& program);
[[nodiscard]] std::string fish_completion(const CLI::App& program);

}  // namespace app
