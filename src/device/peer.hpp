// Copies from one device's memory to another's, in one process.
#pragma once

#include <sortium/device.hpp>

namespace sortium::backend {

// Enqueues on `queue` a copy of from.bytes bytes of other.device()'s memory to memory of
// queue.device(). All commands of `other` that use `from` must have ended. CUDA devices copy
// directly. Other pairs of devices copy through host memory; then the copy has ended when the call
// returns.
void copy_between(Queue& queue, const Memory& to, Queue& other, const Memory& from);

}  // namespace sortium::backend
