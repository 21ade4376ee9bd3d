// Names of algorithms on the command line.
#pragma once

#include <string>

namespace app {

// Throws Failure, listing the known names, if `name` is neither "auto", nor an algorithm of the
// library, nor a peer.
void check_algorithm(const std::string& name);

}  // namespace app
