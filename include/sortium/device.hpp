// Floor 1 of Sortium: devices, and what one does with them. One interface; OpenCL, CUDA and the
// host itself behind it.
//
// Thread safety: every member of Device, Buffer and Module, and Queue::launch/copy/fill/write/read,
// may be called from several threads at once. What is enqueued on one Queue runs in the order of
// the calls. Tracing (begin_trace … end_trace) is for one thread at a time per Queue.
#pragma once

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

// How the words of a sub-group (barrier, ballot, shuffle) are spoken on a device.
enum class SubGroupWords : std::uint8_t {
  emulated,  // there are none: local memory and work-group barriers stand in for them
  khr,       // cl_khr_subgroups, _ballot and _shuffle
  ptx,       // NVIDIA's OpenCL: inline PTX
  cuda,      // CUDA's warp intrinsics
};

[[nodiscard]] std::string_view name(Backend backend);
[[nodiscard]] std::string_view name(DeviceKind kind);
[[nodiscard]] std::string_view name(SubGroupWords words);

// What a device can do, as far as an algorithm cares. A plain value: one can be filled in by hand
// to plan a sort for a device that is not here.
struct Capabilities {
  Backend backend = Backend::opencl;
  DeviceKind kind = DeviceKind::gpu;
  unsigned compute_units = 1;
  unsigned max_work_group = 256;       // work-items
  std::uint64_t local_memory = 32768;  // bytes a work-group may have
  std::uint64_t local_struct = 32768;  // bytes of a kernel's LOCAL_STRUCT: more on CUDA
  std::uint64_t global_memory = 0;     // bytes
  std::uint64_t max_allocation = 0;    // bytes of one buffer
  bool atomics64 = false;              // 64-bit atomics on global memory
  SubGroupWords sub_group_words = SubGroupWords::emulated;
  unsigned sub_group_size = 32;   // lanes; a work-group is a multiple of it
  bool forward_progress = false;  // a work-group may wait for one with a lower ticket
  unsigned cluster_groups =
      1;  // work-groups with all their local memory that may share it (CUDA, sm_90 and up)
  bool ordered_local_atomics =
      false;            // lanes that add to one word of local memory take turns in lane order
  std::string model{};  // the device's name: what tuned parameters are found by
};

struct DeviceInfo {
  std::string id;  // "cuda:0", "opencl:0:1" (platform:device), "cpu:0"
  std::string name;
  std::string vendor;
  std::string platform;  // OpenCL's platform, or "CUDA"
  std::string driver;    // the driver's version
  std::string language;  // "OpenCL C 1.2 …" or "NVRTC 13.0, sm_90"
  Capabilities claimed;  // what the driver says; sortium::capabilities(device) has what was found
};

// A place in device memory; owns nothing. `handle` is a cl_mem, a CUdeviceptr as a pointer, or on
// cpu:0 a pointer. A handle of nullptr means that there is none. `bytes` of 0 means that the size
// is not known.
struct Memory {
  void* handle = nullptr;
  std::uint64_t offset =
      0;  // bytes from the start of `handle`; where records begin, a multiple of an element's bytes
  std::uint64_t bytes = 0;

  explicit operator bool() const { return handle != nullptr; }
  [[nodiscard]] Memory slice(std::uint64_t from, std::uint64_t length) const {
    return {handle, offset + from, length};
  }
};

// Where one sort's records are. Two operands never overlap, but for the in-place form: keys_out is
// keys_in and values_out is values_in. Not given: values with Payload::none, values_in with
// Payload::positions, keys_out where Problem::keys_out is false, offsets where there are no
// segments. With a limit, there is no in-place form.
struct Operands {
  Memory keys_in{}, keys_out{}, values_in{}, values_out{};
  Memory scratch{};  // Plan::scratch_bytes() bytes; its contents do not matter before or after
  Memory offsets{};  // of segments: Problem::segments + 1 numbers
  [[nodiscard]] bool in_place() const {
    return keys_out && keys_in.handle == keys_out.handle && keys_in.offset == keys_out.offset;
  }
};

// Device memory that is freed with the object.
class Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] virtual Memory memory() const = 0;
};

// What a kernel's source declares; every launch is checked against it.
struct Signature {
  struct Parameter {
    std::string name;
    unsigned bytes;  // of a number: 4 or 8; 0: a place in memory
  };
  std::vector<Parameter> parameters;
  unsigned local_bytes = 0;  // of the kernel's LOCAL_STRUCT; 0: it has none
};

// A kernel of a Module, with a place of its own for its arguments.
class Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // kernels::build declares the signature; a kernel without one cannot be launched.
  void declare(std::shared_ptr<const Signature> signature) { signature_ = std::move(signature); }
  [[nodiscard]] const Signature* signature() const { return signature_.get(); }

 private:
  std::shared_ptr<const Signature> signature_;
};

// Compiled kernels, loaded on one device.
class Module {
 public:
  virtual ~Module() = default;
  [[nodiscard]] virtual std::unique_ptr<Kernel> kernel(const std::string& name) = 0;
};

// A kernel's argument: the name that the kernel has for it, and a place in memory or an unsigned
// number of 4 or 8 bytes.
struct Arg {
  Arg(std::string_view parameter, Memory m) : name(parameter), memory(m), is_memory(true) {}
  Arg(std::string_view parameter, std::uint32_t v) : name(parameter), scalar(v), size(4) {}
  Arg(std::string_view parameter, std::uint64_t v) : name(parameter), scalar(v), size(8) {}
  // Without a name, until every launch has names.
  Arg(Memory m) : memory(m), is_memory(true) {}
  Arg(std::uint32_t v) : scalar(v), size(4) {}
  Arg(std::uint64_t v) : scalar(v), size(8) {}
  std::string_view name{};
  Memory memory{};
  std::uint64_t scalar = 0;
  unsigned size = 0;
  bool is_memory = false;
};

struct Launch {
  Kernel& kernel;
  std::uint64_t groups;  // work-groups; 0 launches nothing
  unsigned work_group;   // work-items each
  std::span<const Arg> args;
  std::string_view phase;  // what the trace calls it; must outlive the trace
  unsigned cluster = 1;  // neighbouring work-groups that share their local memory; divides `groups`
};

// Device time of one enqueued command.
struct TraceEntry {
  std::string_view phase;
  double seconds;
};

class Device;

// An in-order queue of work: a cl_command_queue or a CUstream, ours or the caller's. That of cpu:0
// does at once what it is given.
class Queue {
 public:
  virtual ~Queue() = default;
  [[nodiscard]] virtual Device& device() const = 0;

  // These only enqueue. A launch throws Error(invalid_argument) naming the kernel and the argument
  // if `args` are not the kernel's parameters: in number, order, name, kind and width.
  virtual void launch(const Launch& launch) = 0;
  virtual void copy(Memory to, Memory from, std::uint64_t bytes,
                    std::string_view phase = "copy") = 0;
  virtual void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
                    std::string_view phase = "fill") = 0;
  virtual void flush() = 0;  // hands what is enqueued to the device
  // Runs `work` before it returns. Throws Error(unsupported) on any device but cpu:0.
  virtual void call(std::string_view phase, const std::function<void()>& work);

  // These wait for everything enqueued before them.
  virtual void write(Memory to, const void* from, std::uint64_t bytes) = 0;
  virtual void read(void* to, Memory from, std::uint64_t bytes) = 0;
  virtual void finish() = 0;

  // Device times of every launch, copy and fill between the two calls; end_trace waits for them.
  // Throws Error(unsupported) on an OpenCL queue without CL_QUEUE_PROFILING_ENABLE.
  virtual void begin_trace() = 0;
  [[nodiscard]] virtual std::vector<TraceEntry> end_trace() = 0;

  // The vendor's handle: cl_command_queue or CUstream.
  [[nodiscard]] virtual void* native() const = 0;
};

// What a higher floor keeps for as long as a device lives: built kernels, what a probe found.
struct DeviceState {
  virtual ~DeviceState() = default;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  // Device memory. Throws Error(out_of_memory) that says how much was asked for and how much there
  // is.
  [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(std::uint64_t bytes) = 0;

  // The caller's own host memory as device memory, without a copy; nullptr where the device cannot
  // (everything but CPUs). Results are in place after sync_host; the memory must outlive the
  // Buffer.
  [[nodiscard]] virtual std::unique_ptr<Buffer> adopt(void* host, std::uint64_t bytes) = 0;
  // Waits for `queue`, then makes what it wrote into an adopted buffer visible to the host.
  virtual void sync_host(Queue& queue, Buffer& adopted) = 0;

  // A queue of the library's own. `tracing` makes begin_trace possible (some OpenCL drivers charge
  // for it).
  [[nodiscard]] virtual std::unique_ptr<Queue> make_queue(bool tracing = false) = 0;

  // Bytes that can still be allocated, as far as the driver tells.
  [[nodiscard]] virtual std::uint64_t free_memory() = 0;

  // Compiles `source`; `binary` receives what load() takes. Throws Error(build_failed) with the
  // log. On OpenCL a first line
  // "//! …" has further options for the compiler.
  [[nodiscard]] virtual std::unique_ptr<Module> compile(const std::string& source,
                                                        std::vector<std::byte>& binary) = 0;
  // Throws Error(build_failed) where the driver refuses the binary.
  [[nodiscard]] virtual std::unique_ptr<Module> load(std::span<const std::byte> binary) = 0;

  // The vendor's handle: cl_context or CUcontext.
  [[nodiscard]] virtual void* native_context() = 0;

  // The device's state; the first call makes it.
  [[nodiscard]] DeviceState& state(std::unique_ptr<DeviceState> (*make)()) {
    std::call_once(state_made_, [&] { state_ = make(); });
    return *state_;
  }

 private:
  std::once_flag state_made_;
  std::unique_ptr<DeviceState> state_;
};

// Every device of all backends: CUDA first, then OpenCL by platform, then cpu:0. Found once a
// process.
[[nodiscard]] const std::vector<std::shared_ptr<Device>>& devices();

struct BackendStatus {
  Backend backend;
  std::size_t devices;
  std::string why;  // why there are none; empty where there are some
};
[[nodiscard]] std::vector<BackendStatus> backends();

// The device called `spec`:
//   ""                      what SORTIUM_DEVICE says, or "auto"
//   "auto"                  the best there is: CUDA GPU, OpenCL GPU, cpu:0, OpenCL CPU, anything
//   "cuda:0"                the n-th CUDA device
//   "opencl:0"              the n-th OpenCL device, counted over all platforms
//   "opencl:1:0"            device 0 of OpenCL platform 1
//   "cpu:0"                 the host, which has an algorithm of its own and runs no kernels
//   anything else           the device of that name, or the first whose name contains it (case does
//   not matter)
// With `runs_kernels`, "auto" leaves out cpu:0: for the algorithms that are made of kernels.
// Throws Error(not_found) that lists the devices there are.
[[nodiscard]] std::shared_ptr<Device> find_device(std::string_view spec = {},
                                                  bool runs_kernels = false);

// What was found of the device by trying (once a device and driver, then kept on disk):
// info().claimed, where the sub-group words were run and hold, and forward progress of work-groups
// was seen.
[[nodiscard]] const Capabilities& capabilities(Device& device);

// The caller's own context and queue. The returned Queue enqueues on them and keeps a Device for
// the context (and the kernels built for it): make it once and keep it. The context and queue
// must outlive it; OpenCL's are retained. Throws Error(invalid_argument) for a null handle, an
// out-of-order OpenCL queue, or a queue of another context.
[[nodiscard]] std::unique_ptr<Queue> wrap_opencl(void* cl_context, void* cl_command_queue);
[[nodiscard]] std::unique_ptr<Queue> wrap_cuda(void* cu_context, void* cu_stream);

}  // namespace sortium
