#include "cli/common.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "io/printable.hpp"

namespace app {

namespace {

// Writes with write(): fmt::print(stderr, …) would throw if it cannot write.
void write_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

void print_error(const std::string& text) {
  if (!text.empty()) write_error(printable_lines(text) + '\n');
}

void print_message(const std::string& text) { print_error("sortium: " + text); }

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (errno == EPIPE) throw ReaderGone();
  throw Failure(exit_runtime,
                fmt::format("cannot write standard output{}{}", errno == 0 ? "" : ": ",
                            errno == 0 ? "" : std::strerror(errno)));
}

std::string key_type_names() {
  std::string names;
  for (const auto type : sortium::all_key_types)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", sortium::info(type).name);
  return names;
}

}  // namespace app
