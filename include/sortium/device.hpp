// Devices, their memory, queues and kernels: one interface for CUDA, OpenCL and the host.
//
// Thread safety: every member of Device, Buffer and Module, and Queue::launch/copy/fill/write/read,
// may be called from several threads at once. Commands enqueued on one Queue run in the order of
// the calls. Tracing (begin_trace … end_trace) is for one thread at a time per Queue.
#pragma once

#include <sortium/export.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <sortium/problem.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sortium {

enum class Backend : std::uint8_t { opencl, cuda, host };  // host: cpu:0, which runs no kernels
enum class DeviceKind : std::uint8_t { gpu, cpu, accelerator };

// How a device implements the operations of a sub-group (barrier, ballot, shuffle).
enum class SubGroupWords : std::uint8_t {
  emulated,  // no native ones: local memory and work-group barriers replace them
  khr,       // cl_khr_subgroups, _ballot and _shuffle
  ptx,       // NVIDIA's OpenCL: inline PTX
  cuda,      // CUDA's warp intrinsics
};

[[nodiscard]] SORTIUM_API std::string_view name(Backend backend);
[[nodiscard]] SORTIUM_API std::string_view name(DeviceKind kind);
[[nodiscard]] SORTIUM_API std::string_view name(SubGroupWords words);

// The properties of a device that algorithms ask for. A plain value: fill it in by hand to plan a
// sort for a device that is not present.
struct Capabilities {
  Backend backend = Backend::opencl;
  DeviceKind kind = DeviceKind::gpu;
  unsigned compute_units = 1;
  unsigned max_work_group = 256;       // work-items
  std::uint64_t local_memory = 32768;  // bytes per work-group
  std::uint64_t local_struct = 32768;  // the most bytes of local memory in a kernel's struct
  std::uint64_t global_memory = 0;     // bytes
  std::uint64_t max_allocation = 0;    // most bytes of one buffer
  bool atomics64 = false;              // 64-bit atomics on global memory
  SubGroupWords sub_group_words = SubGroupWords::emulated;
  unsigned sub_group_size = 32;   // lanes; a work-group is a multiple of it
  bool forward_progress = false;  // a work-group may wait for one that has begun before it
  // The most work-groups that reach each other's local memory (a cluster), if each uses all of its
  // own. 1: the device has no clusters. CUDA has them from sm_90 on.
  unsigned cluster_groups = 1;
  bool ordered_local_atomics = false;  // additions to one word of local memory run in lane order
  std::string model{};                 // the device's name, by which tuned parameters are looked up
  // False: the device has no compiler and runs only the kernels that the package contains. Plans
  // then choose among the parameters of these kernels.
  bool compiles = true;
};

struct DeviceInfo {
  std::string id;  // "cuda:0", "opencl:0:1" (platform:device), "cpu:0"
  std::string name;
  std::string vendor;
  std::string platform;  // OpenCL's platform, or "CUDA"
  std::string driver;    // the driver's version
  std::string language;  // "OpenCL C 1.2 …" or "NVRTC 13.0, sm_90"
  Capabilities claimed;  // as reported; sortium::capabilities(device) returns the tested ones
};

// A range of device memory. It owns nothing: the Buffer, or the caller, frees the memory. `handle`
// is a cl_mem, a CUdeviceptr as a pointer, or on cpu:0 a pointer. A null handle means that there is
// no memory. `bytes` is 0 if the size is unknown.
struct Memory {
  void* handle = nullptr;
  // Bytes from the start of `handle`. A multiple of an element's bytes if records begin there.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  explicit operator bool() const { return handle != nullptr; }
  [[nodiscard]] Memory slice(std::uint64_t from, std::uint64_t length) const {
    return {handle, offset + from, length};
  }
};

// The memory that one sort reads and writes. Operands must not overlap, except in place: keys_out
// is keys_in and values_out is values_in. With a limit, a sort cannot run in place.
//
// An operand that the problem does not use must be empty: values with Payload::none, values_in with
// Payload::positions, keys_out if Problem::keys_out is false, offsets without segments.
struct Operands {
  Memory keys_in{}, keys_out{}, values_in{}, values_out{};
  Memory scratch{};  // Plan::scratch_bytes() bytes; contents before and after are arbitrary
  Memory offsets{};  // for segments: Problem::segments + 1 numbers
  [[nodiscard]] bool in_place() const {
    return keys_out && keys_in.handle == keys_out.handle && keys_in.offset == keys_out.offset;
  }
};

// Device memory that is freed with the object.
class SORTIUM_API Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] virtual Memory memory() const = 0;
};

// A kernel's parameters, as its source declares them. Every launch is checked against them.
struct Signature {
  struct Parameter {
    std::string name;
    unsigned bytes;  // 4 or 8 for a number; 0: memory
  };
  std::vector<Parameter> parameters;
  unsigned local_bytes = 0;  // bytes of the kernel's LOCAL_STRUCT; 0: it has none
};

// A kernel of a Module. It stores its own arguments.
class SORTIUM_API Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // kernels::build() calls this. A kernel without a signature cannot be launched.
  void declare(std::shared_ptr<const Signature> signature);
  [[nodiscard]] const Signature* signature() const { return signature_.get(); }

  // Returns true if parameter `i` of the signature is called `name`, a string literal. Compares the
  // text of a literal once: repeated launches only compare its address.
  [[nodiscard]] bool is_parameter(std::size_t i, const char* name) const {
    return names_[i].load(std::memory_order_relaxed) == name || compare_name(i, name);
  }

 private:
  bool compare_name(std::size_t i, const char* name) const;

  std::shared_ptr<const Signature> signature_;
  std::unique_ptr<std::atomic<const char*>[]> names_;  // per parameter: last literal equal to name
};

// Compiled kernels, loaded on one device.
class SORTIUM_API Module {
 public:
  virtual ~Module() = default;
  [[nodiscard]] virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
};

// The name of a kernel's parameter: a string literal, whose address stands for its text.
struct ParameterName {
  consteval ParameterName(const char* literal) : text(literal) {}
  const char* text;
};

// A kernel's argument: the name of the kernel's parameter, and device memory or an unsigned number
// of 4 or 8 bytes.
struct Arg {
  Arg(ParameterName parameter, Memory m) : name(parameter.text), memory(m), is_memory(true) {}
  Arg(ParameterName parameter, std::uint32_t v) : name(parameter.text), scalar(v), size(4) {}
  Arg(ParameterName parameter, std::uint64_t v) : name(parameter.text), scalar(v), size(8) {}
  const char* name;
  Memory memory{};
  std::uint64_t scalar = 0;
  unsigned size = 0;
  bool is_memory = false;
};

struct Launch {
  Kernel& kernel;
  std::uint64_t groups;  // work-groups; 0 launches nothing
  unsigned work_group;   // work-items per work-group
  std::span<const Arg> args;
  std::string_view phase;  // name of the launch in a trace; must outlive the trace
  unsigned cluster = 1;  // neighbouring work-groups that share their local memory; divides `groups`
};

// Arrays in host memory that one copy reads or writes, in this order.
struct HostSource {
  const void* data;
  std::uint64_t bytes;
};
struct HostTarget {
  void* data;
  std::uint64_t bytes;
};

// Device time of one enqueued command.
struct TraceEntry {
  std::string_view phase;
  double seconds;
};

class Device;

// An in-order queue of work: a cl_command_queue or a CUstream, the library's or the caller's. The
// queue of cpu:0 runs each command before the call returns.
class SORTIUM_API Queue {
 public:
  virtual ~Queue() = default;
  [[nodiscard]] virtual Device& device() const = 0;

  // These only enqueue. launch() throws Error(invalid_argument), naming the kernel and the
  // argument, if `args` differ from the kernel's parameters in count, order, name, kind or width.
  virtual void launch(const Launch& launch) = 0;
  virtual void copy(Memory to, Memory from, std::uint64_t bytes,
                    std::string_view phase = "copy") = 0;
  virtual void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
                    std::string_view phase = "fill") = 0;
  virtual void flush() = 0;  // starts work on all enqueued commands
  // Runs `work` before it returns. Throws Error(unsupported) on every device but cpu:0.
  virtual void call(std::string_view phase, const std::function<void()>& work);

  // These wait until everything enqueued before them has ended.
  virtual void write(Memory to, const void* from, std::uint64_t bytes) = 0;
  virtual void read(void* to, Memory from, std::uint64_t bytes) = 0;
  // Copy between one range of device memory and several host arrays. The range holds the arrays'
  // contents one after the other. On CUDA this is faster than a call for each array.
  virtual void write_all(Memory to, std::span<const HostSource> from);
  virtual void read_all(std::span<const HostTarget> to, Memory from);
  virtual void finish() = 0;

  // Record the device time of every launch, copy and fill that is enqueued between the two calls.
  // end_trace() waits for these commands. Both throw Error(unsupported) on an OpenCL queue without
  // CL_QUEUE_PROFILING_ENABLE.
  virtual void begin_trace() = 0;
  [[nodiscard]] virtual std::vector<TraceEntry> end_trace() = 0;

  // The vendor's handle: cl_command_queue or CUstream.
  [[nodiscard]] virtual void* native() const = 0;
};

// Data that the library keeps for a device as long as it lives: built kernels, tested capabilities.
struct SORTIUM_API DeviceState {
  virtual ~DeviceState() = default;
};

class SORTIUM_API Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  // Allocates device memory. Throws Error(out_of_memory) naming the requested and the available
  // bytes.
  [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(std::uint64_t bytes) = 0;

  // Makes the caller's host memory usable as device memory, without a copy. Only CPUs support this;
  // other devices return nullptr. The host sees results after sync_host(). The memory must outlive
  // the Buffer.
  [[nodiscard]] virtual std::unique_ptr<Buffer> adopt(void* host, std::uint64_t bytes) = 0;
  // Waits for `queue`, then makes its writes to an adopted buffer visible to the host.
  virtual void sync_host(Queue& queue, Buffer& adopted) = 0;

  // Makes a queue that the library owns. begin_trace() needs `tracing`, which slows some OpenCL
  // drivers down.
  [[nodiscard]] virtual std::unique_ptr<Queue> make_queue(bool tracing = false) = 0;
  // The same for short, urgent work: on CUDA, the device begins this queue's kernels before kernels
  // that wait in other queues.
  [[nodiscard]] virtual std::unique_ptr<Queue> make_urgent_queue() { return make_queue(); }

  // Bytes that can still be allocated, as far as the driver reports.
  [[nodiscard]] virtual std::uint64_t free_memory() = 0;

  // Compiles `source`. `binary` receives what load() takes. Throws Error(build_failed) with the
  // compiler's log. For OpenCL, a first line "//! …" holds additional compiler options.
  [[nodiscard]] virtual std::unique_ptr<Module> compile(const std::string& source,
                                                        std::vector<std::byte>& binary) = 0;
  // Loads a compiled binary. Throws Error(build_failed) if the driver refuses it.
  [[nodiscard]] virtual std::unique_ptr<Module> load(std::span<const std::byte> binary) = 0;

  // The vendor's handle: cl_context or CUcontext.
  [[nodiscard]] virtual void* native_context() = 0;

  // The device's state. The first call creates it with `make`.
  [[nodiscard]] DeviceState& state(std::unique_ptr<DeviceState> (*make)()) {
    std::call_once(state_made_, [&] { state_ = make(); });
    return *state_;
  }

 private:
  std::once_flag state_made_;
  std::unique_ptr<DeviceState> state_;
};

// All devices of all backends: CUDA first, then OpenCL by platform, then cpu:0. Searched for once
// per process.
[[nodiscard]] SORTIUM_API const std::vector<std::shared_ptr<Device>>& devices();

struct BackendStatus {
  Backend backend;
  std::size_t devices;
  std::string why;  // why the backend has no devices; empty if it has some
};
[[nodiscard]] SORTIUM_API std::vector<BackendStatus> backends();

// Finds a device:
//   ""                      the one that SORTIUM_DEVICE names, or as "auto"
//   "auto"                  the first of: CUDA GPU, OpenCL GPU, cpu:0, OpenCL CPU, any other
//   "cuda:0"                the n-th CUDA device
//   "opencl:0"              the n-th OpenCL device, counted over all platforms
//   "opencl:1:0"            device 0 of OpenCL platform 1
//   "cpu:0"                 the host's cores, with algorithms of their own and no kernels
//   anything else           the device of that name, or the first whose name contains it, in upper
//                           or lower case
// With `runs_kernels`, "auto" skips cpu:0, for algorithms that consist of kernels. Throws
// Error(not_found) listing the devices.
[[nodiscard]] SORTIUM_API std::shared_ptr<Device> find_device(std::string_view spec = {},
                                                              bool runs_kernels = false);

// Wraps the caller's own context and queue. The returned Queue enqueues on them and keeps a Device
// for the context and the kernels built for it: make it once and keep it. Context and queue must
// outlive it; OpenCL's are retained. Throws Error(invalid_argument) for a null handle, an
// out-of-order OpenCL queue, or a queue of another context.
[[nodiscard]] SORTIUM_API std::unique_ptr<Queue> wrap_opencl(void* cl_context,
                                                             void* cl_command_queue);
[[nodiscard]] SORTIUM_API std::unique_ptr<Queue> wrap_cuda(void* cu_context, void* cu_stream);

}  // namespace sortium
