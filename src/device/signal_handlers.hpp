// The process's signal handlers, kept from a library that replaces them.
#pragma once

namespace sortium {

// While NVRTC compiles, it replaces the process's handlers of SIGINT and SIGTERM by its own, which
// end the process. Afterwards it restores the handlers, but not their flags.
//
// While an object lives, a handler that lies in the same library as `address` is replaced within
// about a millisecond by the one that was there before. The destructor of the last object restores
// the flags. Any number of threads may have objects, for one library.
class KeepSignalHandlers {
 public:
  explicit KeepSignalHandlers(const void* address);
  ~KeepSignalHandlers();
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;
};

}  // namespace sortium
