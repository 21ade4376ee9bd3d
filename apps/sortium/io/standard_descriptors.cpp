#include "io/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/common.hpp"

namespace app {

void fill_standard_descriptors() {
  constexpr int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};  // of the descriptors 0, 1 and 2
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // open() returns the lowest free descriptor, which is `fd`: those below it are open by now.
    if (::open("/dev/null", modes[fd]) != fd) std::_Exit(exit_runtime);
  }
}

}  // namespace app
