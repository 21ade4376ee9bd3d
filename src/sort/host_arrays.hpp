// The host arrays of one call as device memory: copies, or the arrays themselves.
#pragma once

#include <functional>
#include <memory>
#include <sortium/device.hpp>
#include <sortium/host.hpp>
#include <vector>

#include "pages.hpp"

namespace sortium {

// The caller's arrays. A CPU device uses an array in place if it is aligned; else the array is
// mirrored in device memory. Add all arrays, then call write(), run() and read(). Nothing is
// written before write(), so running out of memory leaves the caller's arrays unchanged.
class HostArrays {
 public:
  explicit HostArrays(Device& device) : device_(device) {}

  // True if the device can use, in place, an array at `host` with elements of `element_bytes`.
  [[nodiscard]] bool can_adopt(const void* host, unsigned element_bytes) const;

  // True if a sort in place should write to memory of its own, because it may fail after it has
  // begun to write, as launches through OpenCL may. Then the caller's input stays as it was. cpu:0
  // fails only before it writes.
  [[nodiscard]] bool keeps_input() const;

  // Returns device memory of `bytes` bytes. write() copies the host memory `from` there, and read()
  // copies it to the host memory `to`. Either may be null. With `adopt`, the device uses the host
  // memory itself; then `from` and `to` are equal, or one is null. Throws Error(out_of_memory).
  Memory add(const void* from, void* to, std::uint64_t bytes, bool adopt);

  // Adds an input array of a sort and the array that receives its output, both of elements of
  // `element_bytes`. Either may be null. The device has memory of its own for the output
  // - of a sort in place whose input it adopts, if it keeps the input,
  // - with a limit, because the output is shorter than the input.
  // Other copies are sorted in place. Reads only the count, segments and limit of `problem`.
  struct InOut {
    Memory in, out;
  };
  InOut add_sorted(const Problem& problem, const void* in, void* out, unsigned element_bytes,
                   bool adopt);

  // Returns memory of `bytes` whose contents are arbitrary before and after. On a CPU, keeps a
  // large block for the next call: touching new memory for the first time takes as long as sorting
  // in it.
  Memory scratch(std::uint64_t bytes);

  // Host to device. Throws Error(cancelled) if the caller sets options.stop meanwhile.
  void write(Queue& queue, const Options& options = {});
  // Calls enqueue(), waits, and makes the device's writes to adopted memory visible. Also waits if
  // that throws, because the device may still read the caller's memory.
  void run(Queue& queue, const std::function<void()>& enqueue) const;
  void read(Queue& queue);  // device to host

 private:
  struct Array {
    const void* from;
    void* to;
    std::uint64_t bytes;
    bool adopted;
    std::unique_ptr<Buffer> buffer;
  };
  Device& device_;
  std::vector<std::unique_ptr<Buffer>>
      kept_;  // memory of cpu:0, adopted as another CPU device's scratch memory
  std::vector<Array> all_;
  OutputPages pages_;
};

}  // namespace sortium
