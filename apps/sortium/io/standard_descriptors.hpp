// The descriptors 0 to 2, which a parent may have closed.
#pragma once

namespace app {

// Opens /dev/null on each of the descriptors 0 to 2 that is closed. Call it before anything opens a
// file: a file that got descriptor 2 would receive what drivers print on standard error.
//
// Reading a closed standard input and writing a closed standard output still fail, because
// /dev/null is opened for the other direction; messages on a closed standard error are dropped.
// Ends the process if /dev/null cannot be opened.
void fill_standard_descriptors();

}  // namespace app
