// The OpenCL backend: OpenCL 1.2 and up, through the ICD loader.
// It calls only functions of OpenCL 1.2, so that it works with the oldest drivers.
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "backends.hpp"
#include "opencl_info.hpp"
#include "staging.hpp"

namespace sortium {
namespace {

[[noreturn]] void fail(const cl::Error& e) {
  switch (e.err()) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("the OpenCL device is out of memory or resources: {} returned {}",
                              e.what(), e.err()));
    default:
      throw Error(ErrorCode::device_failed,
                  fmt::format("OpenCL: {} returned {}", e.what(), e.err()));
  }
}

template <class F>
auto checked(F&& call) {
  try {
    return call();
  } catch (const cl::Error& e) {
    fail(e);
  }
}

// Set in a child process after fork() if the parent had started OpenCL. Drivers have threads that a
// child does not have: it would wait for them for ever.
std::atomic<bool> forked{false};

void refuse_after_fork() {
  if (forked.load(std::memory_order_relaxed))
    throw Error(ErrorCode::device_failed,
                "OpenCL does not work in a process that was forked after its parent had used "
                "OpenCL; start a new program instead (exec, or Python's multiprocessing with the "
                "start method 'spawn')");
}

class ClBuffer final : public Buffer {
 public:
  ClBuffer(cl::Buffer buffer, std::uint64_t bytes) : buffer_(std::move(buffer)), bytes_(bytes) {}
  Memory memory() const override { return {buffer_(), 0, bytes_}; }

 private:
  cl::Buffer buffer_;
  std::uint64_t bytes_;
};

class ClKernel final : public Kernel {
 public:
  ClKernel(cl::Kernel kernel, std::string name)
      : kernel_(std::move(kernel)), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }

  // Held from setting the arguments until the launch is enqueued, because a cl_kernel stores them.
  std::mutex mutex;
  cl::Kernel& get() { return kernel_; }

 private:
  cl::Kernel kernel_;
  std::string name_;
};

// Held while a program is compiled or released and while a kernel is created from it. OpenCL allows
// these calls concurrently, but not all drivers survive it: Oclgrind's programs share one LLVM
// context.
std::mutex compiler;

class ClModule final : public Module {
 public:
  explicit ClModule(cl::Program program) : program_(std::move(program)) {}
  ~ClModule() override {
    const std::lock_guard lock(compiler);
    program_ = {};
  }
  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    const std::lock_guard lock(compiler);
    return checked(
        [&] { return std::make_unique<ClKernel>(cl::Kernel(program_, name.c_str()), name); });
  }

 private:
  cl::Program program_;
};

// A block of host memory that the driver has allocated, and the last copy's event. OpenCL does not
// say where such memory lies; drivers of GPUs pin it.
class ClSlot final : public Staging::Slot {
 public:
  ClSlot(const cl::Context& context, const cl::Device& device) {
    checked([&] {
      queue_ = cl::CommandQueue(context, device);
      buffer_ = cl::Buffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, Staging::slot_bytes);
      memory_ = queue_.enqueueMapBuffer(buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                        Staging::slot_bytes);
    });
  }
  ~ClSlot() override {
    try {
      queue_.enqueueUnmapMemObject(buffer_, memory_);
      queue_.finish();
    } catch (const cl::Error&) {  // the driver releases the memory with the context
    }
  }
  std::byte* data() override { return static_cast<std::byte*>(memory_); }
  void wait() override {
    if (copy() == nullptr) return;
    checked([&] { copy.wait(); });
  }

  cl::Event copy;  // none before the first copy

 private:
  cl::CommandQueue queue_;
  cl::Buffer buffer_;
  void* memory_ = nullptr;
};

// True if the arrays are long enough for slots. OpenCL does not tell which memory is pinned
// already.
template <class Arrays>
bool needs_staging(const Arrays& arrays) {
  std::uint64_t bytes = 0;
  for (const auto& a : arrays) bytes += a.bytes;
  return bytes >= Staging::least_bytes;
}

class ClQueue final : public Queue {
 public:
  // Without `host_copies`, the driver copies host memory.
  ClQueue(std::shared_ptr<Device> device, cl::CommandQueue queue, HostCopies* host_copies)
      : device_(std::move(device)), queue_(std::move(queue)), host_copies_(host_copies) {}

  Device& device() const override { return *device_; }
  void* native() const override { return queue_(); }

  void launch(const Launch& l) override {
    refuse_after_fork();
    backend::check_arguments(l);
    if (l.groups == 0) return;
    checked([&] {
      auto& kernel = dynamic_cast<ClKernel&>(l.kernel);
      const std::lock_guard lock(kernel.mutex);
      cl_uint index = 0;
      for (const auto& a : l.args) {
        if (a.is_memory) {  // a buffer and an offset in it, see kernels::full_text
          const auto buffer = static_cast<cl_mem>(a.memory.handle);
          kernel.get().setArg(index++, sizeof buffer, buffer == nullptr ? nullptr : &buffer);
          kernel.get().setArg(index++, cl_ulong{a.memory.offset});
        } else if (a.size == 4) {
          kernel.get().setArg(index++, static_cast<cl_uint>(a.scalar));
        } else {
          kernel.get().setArg(index++, cl_ulong{a.scalar});
        }
      }
      cl::Event event;
      queue_.enqueueNDRangeKernel(kernel.get(), cl::NullRange, cl::NDRange(l.groups * l.work_group),
                                  cl::NDRange(l.work_group), nullptr, tracing_ ? &event : nullptr);
      note(l.phase, event);
    });
  }

  void copy(Memory to, Memory from, std::uint64_t bytes, std::string_view phase) override {
    refuse_after_fork();
    if (bytes == 0) return;
    checked([&] {
      cl::Event event;
      queue_.enqueueCopyBuffer(cl::Buffer(static_cast<cl_mem>(from.handle), true),
                               cl::Buffer(static_cast<cl_mem>(to.handle), true), from.offset,
                               to.offset, bytes, nullptr, tracing_ ? &event : nullptr);
      note(phase, event);
    });
  }

  void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
            std::string_view phase) override {
    refuse_after_fork();
    if (bytes == 0) return;
    checked([&] {
      cl::Event event;
      queue_.enqueueFillBuffer(cl::Buffer(static_cast<cl_mem>(to.handle), true), pattern, to.offset,
                               bytes, nullptr, tracing_ ? &event : nullptr);
      note(phase, event);
    });
  }

  void flush() override {
    refuse_after_fork();
    checked([&] { queue_.flush(); });
  }
  void write(Memory to, const void* from, std::uint64_t bytes) override {
    const HostSource source{from, bytes};
    write_all(to, {&source, 1});
  }
  void read(void* to, Memory from, std::uint64_t bytes) override {
    const HostTarget target{to, bytes};
    read_all({&target, 1}, from);
  }
  void write_all(Memory to, std::span<const HostSource> from) override {
    refuse_after_fork();
    const cl::Buffer buffer(static_cast<cl_mem>(to.handle), true);
    if (host_copies_ != nullptr && needs_staging(from)) {
      host_copies_->write.write(from, [&](auto& slot, auto offset, auto piece) {
        start(slot, [&](cl::Event& copy) {
          queue_.enqueueWriteBuffer(buffer, CL_FALSE, to.offset + offset, piece, slot.data(),
                                    nullptr, &copy);
        });
      });
      return;
    }
    each_then_finish(from, [&](const HostSource& f, std::uint64_t at) {
      queue_.enqueueWriteBuffer(buffer, CL_FALSE, to.offset + at, f.bytes, f.data);
    });
  }
  void read_all(std::span<const HostTarget> to, Memory from) override {
    refuse_after_fork();
    const cl::Buffer buffer(static_cast<cl_mem>(from.handle), true);
    if (host_copies_ != nullptr && needs_staging(to)) {
      host_copies_->read.read(to, [&](auto& slot, auto offset, auto piece) {
        start(slot, [&](cl::Event& copy) {
          queue_.enqueueReadBuffer(buffer, CL_FALSE, from.offset + offset, piece, slot.data(),
                                   nullptr, &copy);
        });
      });
      return;
    }
    each_then_finish(to, [&](const HostTarget& t, std::uint64_t at) {
      queue_.enqueueReadBuffer(buffer, CL_FALSE, from.offset + at, t.bytes, t.data);
    });
  }
  void finish() override {
    refuse_after_fork();
    checked([&] { queue_.finish(); });
  }

  void begin_trace() override {
    if (!(queue_.getInfo<CL_QUEUE_PROPERTIES>() & CL_QUEUE_PROFILING_ENABLE))
      throw Error(ErrorCode::unsupported,
                  "phase times need an OpenCL queue made with CL_QUEUE_PROFILING_ENABLE");
    trace_.clear();
    tracing_ = true;
  }
  std::vector<TraceEntry> end_trace() override {
    tracing_ = false;
    refuse_after_fork();
    return checked([&] {
      queue_.finish();
      std::vector<TraceEntry> out;
      for (const auto& [phase, event] : trace_)
        out.push_back({phase, 1e-9 * static_cast<double>(
                                         event.getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                                         event.getProfilingInfo<CL_PROFILING_COMMAND_START>())});
      trace_.clear();
      return out;
    });
  }

 private:
  // Begins a slot's copy. Flushes the queue, because drivers may hold commands back until then.
  template <class Enqueue>
  void start(Staging::Slot& slot, const Enqueue& enqueue) {
    checked([&] {
      enqueue(dynamic_cast<ClSlot&>(slot).copy);
      queue_.flush();
    });
  }
  // Enqueues a copy for each array, then waits once for all, also if one of them fails. Waiting for
  // each copy would take long if there are many short ones.
  template <class Array, class Enqueue>
  void each_then_finish(std::span<const Array> arrays, const Enqueue& enqueue) {
    checked([&] {
      try {
        for (std::uint64_t at = 0; const auto& a : arrays) {
          if (a.bytes != 0) enqueue(a, at);
          at += a.bytes;
        }
      } catch (const cl::Error&) {
        queue_.finish();
        throw;
      }
      queue_.finish();
    });
  }
  void note(std::string_view phase, const cl::Event& event) {
    if (tracing_) trace_.emplace_back(phase, event);
  }

  std::shared_ptr<Device> device_;
  cl::CommandQueue queue_;
  HostCopies* host_copies_;  // owned by the device
  bool tracing_ = false;
  std::vector<std::pair<std::string_view, cl::Event>> trace_;
};

class ClDevice final : public Device {
 public:
  ClDevice(cl::Device device, DeviceInfo info)
      : device_(std::move(device)), info_(std::move(info)) {}
  // Wraps the caller's context.
  ClDevice(cl::Device device, DeviceInfo info, cl::Context context)
      : ClDevice(std::move(device), std::move(info)) {
    context_ = std::move(context);
    std::call_once(context_made_, [] {});
  }

  const DeviceInfo& info() const override { return info_; }
  void* native_context() override { return context()(); }
  // Returns nullptr if the device shares the host's memory: then the driver's copy is as fast.
  HostCopies* host_copies() {
    if (info_.claimed.kind == DeviceKind::cpu ||
        query<cl_bool>(device_, CL_DEVICE_HOST_UNIFIED_MEMORY, CL_FALSE) == CL_TRUE)
      return nullptr;
    std::call_once(host_copies_made_, [&] {
      host_copies_ = std::make_unique<HostCopies>(
          [this] { return std::make_unique<ClSlot>(context(), device_); });
    });
    return host_copies_.get();
  }
  std::uint64_t free_memory() override { return info_.claimed.global_memory; }

  std::unique_ptr<Buffer> allocate(std::uint64_t bytes) override {
    return make_buffer(CL_MEM_READ_WRITE, nullptr, bytes);
  }

  std::unique_ptr<Buffer> adopt(void* host, std::uint64_t bytes) override {
    if (info_.claimed.kind != DeviceKind::cpu) return nullptr;
    return make_buffer(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host, bytes);
  }

  void sync_host(Queue& queue, Buffer& adopted) override {
    refuse_after_fork();
    checked([&] {
      const cl::CommandQueue q(static_cast<cl_command_queue>(queue.native()), true);
      const Memory m = adopted.memory();
      const cl::Buffer b(static_cast<cl_mem>(m.handle), true);
      void* p = q.enqueueMapBuffer(b, CL_TRUE, CL_MAP_READ, 0, m.bytes);
      q.enqueueUnmapMemObject(b, p);
      q.finish();
    });
  }

  std::unique_ptr<Queue> make_queue(bool tracing) override {
    return checked([&]() -> std::unique_ptr<Queue> {
      return std::make_unique<ClQueue>(
          shared_from_this(),
          cl::CommandQueue(context(), device_,
                           cl_command_queue_properties{tracing ? CL_QUEUE_PROFILING_ENABLE : 0u}),
          host_copies());
    });
  }

  std::unique_ptr<Module> compile(const std::string& source,
                                  std::vector<std::byte>& binary) override {
    const std::lock_guard lock(compiler);
    return checked([&] {
      const std::string options = options_line(source);
      cl::Program program(context(), source);
      build(program, options);
      const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
      binary.clear();
      if (!binaries.empty()) {
        const auto append = [&](const void* data, std::size_t bytes) {
          binary.insert(binary.end(), static_cast<const std::byte*>(data),
                        static_cast<const std::byte*>(data) + bytes);
        };
        append(options.data(), options.size());
        append(binaries[0].data(), binaries[0].size());
      }
      return std::make_unique<ClModule>(std::move(program));
    });
  }

  std::unique_ptr<Module> load(std::span<const std::byte> binary) override {
    const std::lock_guard lock(compiler);
    try {
      const auto* p = reinterpret_cast<const unsigned char*>(binary.data());
      const std::string options = options_line({reinterpret_cast<const char*>(p), binary.size()});
      cl::Program program(context(), {device_},
                          cl::Program::Binaries{{p + options.size(), p + binary.size()}});
      build(program, options);
      return std::make_unique<ClModule>(std::move(program));
    } catch (const cl::Error& e) {
      throw Error(ErrorCode::build_failed,
                  fmt::format("{} refused a kernel binary: {}", info_.name, e.what()));
    }
  }

 private:
  // The context, created when first needed: `sortium devices` should not start every driver.
  const cl::Context& context() {
    refuse_after_fork();
    std::call_once(context_made_, [&] { context_ = cl::Context(device_); });
    return context_;
  }

  std::unique_ptr<Buffer> make_buffer(cl_mem_flags flags, void* host, std::uint64_t bytes) {
    const auto& c = info_.claimed;
    const auto out_of_memory = [&] {
      throw Error(
          ErrorCode::out_of_memory,
          fmt::format("{}: cannot allocate a buffer of {} bytes; the device allows {} bytes "
                      "in a buffer and has {} in all",
                      info_.name, bytes, c.max_allocation, c.global_memory));
    };
    if (bytes > c.max_allocation || bytes > c.global_memory) out_of_memory();
    try {
      return std::make_unique<ClBuffer>(
          cl::Buffer(context(), flags, std::max<std::uint64_t>(bytes, 1), host), bytes);
    } catch (const cl::Error& e) {
      if (e.err() == CL_INVALID_BUFFER_SIZE || e.err() == CL_MEM_OBJECT_ALLOCATION_FAILURE ||
          e.err() == CL_OUT_OF_RESOURCES || e.err() == CL_OUT_OF_HOST_MEMORY)
        out_of_memory();
      fail(e);
    }
  }

  // Returns the first line of a source, with its newline, if it holds compiler options: if it
  // begins with "//! ". Else returns "". The line also precedes a stored binary, because NVIDIA's
  // driver compiles the binary again.
  static std::string options_line(std::string_view text) {
    return std::string(text.starts_with("//! ") ? text.substr(0, text.find('\n') + 1) : "");
  }

  void build(cl::Program& program, const std::string& given) {
    const auto v = version_of(device_);
    // NVIDIA's compiler supports 1.2; its sub-group words are PTX. Other compilers need 2.0 for
    // acquire and release.
    std::string options = info_.claimed.sub_group_words == SubGroupWords::ptx ? "-cl-std=CL1.2"
                          : v.major >= 3                                      ? "-cl-std=CL3.0"
                          : v.major == 2                                      ? "-cl-std=CL2.0"
                                                                              : "-cl-std=CL1.2";
    if (!given.empty()) options.append(" ").append(given, 4, given.size() - 5);
    try {
      program.build(device_, options.c_str());
    } catch (const cl::Error&) {
      throw Error(ErrorCode::build_failed,
                  fmt::format("the OpenCL compiler of {} refused a kernel", info_.name),
                  program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device_));
    }
  }

  cl::Device device_;
  DeviceInfo info_;
  std::once_flag context_made_, host_copies_made_;
  cl::Context context_;
  std::unique_ptr<HostCopies> host_copies_;
};

}  // namespace

backend::Found backend::find_opencl() {
  Found found;
  found.why_none = opencl::load();
  if (!found.why_none.empty()) return found;
  try {
    std::vector<cl::Platform> platforms;
    cl::Platform::get(&platforms);
    for (std::size_t p = 0; p < platforms.size(); ++p) {
      std::vector<cl::Device> all;
      try {
        platforms[p].getDevices(CL_DEVICE_TYPE_ALL, &all);
      } catch (const cl::Error& e) {
        if (e.err() != CL_DEVICE_NOT_FOUND) throw;
      }
      for (std::size_t d = 0; d < all.size(); ++d) {
        const auto v = version_of(all[d]);
        if (v.major == 1 && v.minor < 2) continue;
        if (!all[d].getInfo<CL_DEVICE_AVAILABLE>() ||
            !all[d].getInfo<CL_DEVICE_COMPILER_AVAILABLE>())
          continue;
        found.devices.push_back(std::make_shared<ClDevice>(
            all[d], describe(all[d], fmt::format("opencl:{}:{}", p, d))));
      }
    }
    if (!found.devices.empty()) pthread_atfork(nullptr, nullptr, [] { forked = true; });
    if (found.devices.empty())
      found.why_none = platforms.empty() ? "no OpenCL driver is installed"
                                         : "no platform has a device with OpenCL 1.2";
  } catch (const cl::Error& e) {
    found.why_none = e.err() == CL_PLATFORM_NOT_FOUND_KHR
                         ? "no OpenCL driver is installed"
                         : fmt::format("{} returned {}", e.what(), e.err());
  }
  return found;
}

std::unique_ptr<Queue> wrap_opencl(void* cl_context, void* cl_command_queue) {
  refuse_after_fork();
  if (cl_context == nullptr) throw Error(ErrorCode::invalid_argument, "cl_context is null");
  if (cl_command_queue == nullptr)
    throw Error(ErrorCode::invalid_argument, "cl_command_queue is null");
  if (const auto& why = opencl::load(); !why.empty()) throw Error(ErrorCode::unsupported, why);
  return checked([&]() -> std::unique_ptr<Queue> {
    const cl::Context context(static_cast<::cl_context>(cl_context), true);
    const cl::CommandQueue queue(static_cast<::cl_command_queue>(cl_command_queue), true);
    if (queue.getInfo<CL_QUEUE_CONTEXT>()() != context())
      throw Error(ErrorCode::invalid_argument,
                  "cl_command_queue belongs to another context than cl_context");
    if (queue.getInfo<CL_QUEUE_PROPERTIES>() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
      throw Error(ErrorCode::invalid_argument,
                  "cl_command_queue is out of order; an in-order queue is needed");
    const auto device = queue.getInfo<CL_QUEUE_DEVICE>();
    const auto owner =
        std::make_shared<ClDevice>(device, describe(device, "opencl:caller"), context);
    return std::make_unique<ClQueue>(owner, queue, owner->host_copies());
  });
}

}  // namespace sortium
