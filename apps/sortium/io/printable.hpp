// Text from files and the command line, made safe for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace app {

// Returns `text` with every byte escaped that a terminal may obey: control characters (C0, DEL,
// C1), marks that change the direction of writing, and bytes that are not UTF-8. A byte becomes
// "\x1b". Call it on file names, on text read from files, and on words of the command line before
// they enter a message.
[[nodiscard]] std::string printable(std::string_view text);

// The same, but keeps line ends and tabs: for a whole message of several lines.
[[nodiscard]] std::string printable_lines(std::string_view text);

// Returns true if `text` is valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace app
