// The process's signal handlers, kept from a library that replaces them.
#pragma once

namespace sortium {

// NVRTC handles SIGINT and SIGTERM itself while it compiles, and ends the process when one comes,
// whatever the process would have done. Afterwards it restores the handlers without their flags.
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
