// Host memory on its way to a device and back, for one call.
#pragma once

#include <memory>
#include <sortium/device.hpp>
#include <vector>

namespace sortium {

// Arrays of the caller's, each used where it lies (a CPU device can, if the array is aligned) or
// mirrored in device memory. The caller adds all arrays, then calls write(), enqueues its work, and
// calls sync() and read(). Nothing is written before write(), so that running out of memory leaves
// the caller's arrays as they were.
class HostArrays {
 public:
  explicit HostArrays(Device& device) : device_(device) {}

  // Whether the device can use an array of elements of `element_bytes` at `host` where it lies.
  [[nodiscard]] bool can_adopt(const void* host, unsigned element_bytes) const;

  // Memory of `bytes` for the device to use. `from`: host memory that write() copies there. `to`:
  // host memory that read() copies the result to. Either may be null; with `adopt`, the device uses
  // that host memory itself (`from` and `to` are then the same, or one is null). Throws
  // Error(out_of_memory).
  Memory add(const void* from, void* to, std::uint64_t bytes, bool adopt);

  // Memory of `bytes` whose contents do not matter before or after. Keeps a large block on a CPU
  // for the next call: to touch new memory for the first time takes as long as to sort in it.
  Memory scratch(std::uint64_t bytes);

  void write(Queue& queue) const;  // host to device
  void sync(Queue& queue) const;   // waits; what was written to adopted memory is then visible
  void read(Queue& queue) const;   // device to host

 private:
  struct Array {
    const void* from;
    void* to;
    std::uint64_t bytes;
    bool adopted;
    std::unique_ptr<Buffer> buffer;
  };
  Device& device_;
  std::vector<std::unique_ptr<Buffer>> kept_;  // of cpu:0, adopted as another CPU device's scratch
  std::vector<Array> all_;
};

}  // namespace sortium
