// Shared by the fuzz targets.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sortium/types.hpp>
#include <string>

#include "cli/common.hpp"
#include "cli/progress.hpp"

namespace fuzz {

// Ends the process if a condition does not hold. libFuzzer then keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Calls `f`. It may throw Failure or Error, the right response to a wrong input. The program's own
// message must be safe to print on a terminal; it makes the library's messages safe when it prints
// them.
template <class F>
void may_refuse(F&& f) {
  try {
    f();
  } catch (const app::Failure& failure) {
    for (const char* c = failure.what(); *c != '\0'; ++c)
      require((*c & 0xe0) != 0 && *c != 0x7f, "a message has no control characters");
  } catch (const sortium::Error&) {
  }
}

// A file that holds the input, under a name that a reader can open.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

inline app::Progress& no_progress() {
  static app::Progress progress(false);
  return progress;
}

}  // namespace fuzz
