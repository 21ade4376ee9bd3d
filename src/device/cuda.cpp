// The CUDA backend: driver API and NVRTC.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>

#include "backends.hpp"
#include "cores.hpp"
#include "cuda_api.hpp"
#include "nvrtc.hpp"
#include "signal_handlers.hpp"
#include "spare_blocks.hpp"
#include "staging.hpp"

namespace sortium {
namespace {

using cuda::Driver;

const Driver& api() {
  std::string why;
  const Driver* table = cuda::driver(why);
  if (table == nullptr) throw Error(ErrorCode::unsupported, "CUDA is not available: " + why);
  return *table;
}

void check(cuda::Result result, const char* call) {
  if (result == cuda::success) return;
  const char* text = nullptr;
  api().error_name(result, &text);
  throw Error(
      result == cuda::error_out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device_failed,
      fmt::format("CUDA: {} returned {} ({})", call, text ? text : "?", result));
}
#define SORTIUM_CU(call, ...) check(api().call(__VA_ARGS__), #call)

// Makes a context current while the object lives, then restores the previous one. Costs almost
// nothing if the context is current already.
class Current {
 public:
  explicit Current(cuda::Context context) {
    cuda::Context now = nullptr;
    if (api().ctx_current(&now) == cuda::success && now == context)
      pushed_ = false;
    else
      SORTIUM_CU(ctx_push, context);
  }
  // For destructors, which must not throw. The context is not current if the caller has destroyed
  // it, or if the driver has shut down at exit.
  Current(cuda::Context context, std::nothrow_t)
      : pushed_(api().ctx_push(context) == cuda::success) {}
  ~Current() {
    cuda::Context previous = nullptr;
    if (pushed_) api().ctx_pop(&previous);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  explicit operator bool() const { return pushed_; }

 private:
  bool pushed_ = true;
};

cuda::DevicePtr address(Memory m) { return reinterpret_cast<cuda::DevicePtr>(m.handle) + m.offset; }

constexpr unsigned non_blocking = 1;  // of a stream: it does not wait for the default stream
constexpr unsigned most_cluster_groups = 16;

// Frees device memory. For destructors: an error means that the context is gone.
void free_memory_of(cuda::Context context, cuda::DevicePtr p) noexcept {
  if (const Current current(context, std::nothrow); current) api().mem_free(p);
}

class CuBuffer final : public Buffer {
 public:
  // `spare` may be null; else it receives the block in the end.
  CuBuffer(cuda::Context context, SpareBlocks::Block block, std::uint64_t bytes,
           std::shared_ptr<SpareBlocks> spare)
      : context_(context), block_(block), bytes_(bytes), spare_(std::move(spare)) {}
  CuBuffer(const CuBuffer&) = delete;
  CuBuffer& operator=(const CuBuffer&) = delete;
  ~CuBuffer() override {
    const auto free = [&](std::uint64_t address) { free_memory_of(context_, address); };
    if (spare_ != nullptr && can_be_kept())
      spare_->give(block_, free);
    else
      free(block_.address);
  }
  Memory memory() const override { return {reinterpret_cast<void*>(block_.address), 0, bytes_}; }

 private:
  // Waits for all work, as freeing does. The device must have memory left for others.
  [[nodiscard]] bool can_be_kept() const noexcept {
    const Current current(context_, std::nothrow);
    std::size_t free = 0, total = 0;
    return current && api().ctx_sync() == cuda::success &&
           api().mem_info(&free, &total) == cuda::success && free > total / 4;
  }

  cuda::Context context_;
  SpareBlocks::Block block_;
  std::uint64_t bytes_;
  std::shared_ptr<SpareBlocks> spare_;
};

class CuKernel final : public Kernel {
 public:
  CuKernel(cuda::Function f, std::string name) : function(f), name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  const cuda::Function function;

  // The driver grants a kernel more than 48 KB of local memory only after this call.
  void allow_local(unsigned bytes) {
    if (bytes <= 48 * 1024 || bytes <= allowed_) return;
    SORTIUM_CU(function_set, function, cuda::function_max_dynamic_shared, static_cast<int>(bytes));
    allowed_ = bytes;
  }
  // Allows clusters of more than 8 work-groups for this kernel. Throws if the chip does not support
  // them.
  void allow_clusters() {
    if (any_cluster_size_) return;
    SORTIUM_CU(function_set, function, cuda::function_any_cluster_size, 1);
    any_cluster_size_ = true;
  }

 private:
  std::atomic<unsigned> allowed_{0};
  std::atomic<bool> any_cluster_size_{false};
  std::string name_;
};

class CuModule final : public Module {
 public:
  CuModule(cuda::Context context, std::span<const std::byte> cubin) : context_(context) {
    const Current current(context_);
    SORTIUM_CU(module_load, &module_, cubin.data());
  }
  ~CuModule() override {
    if (const Current current(context_, std::nothrow); current) api().module_unload(module_);
  }
  std::unique_ptr<Kernel> kernel(const std::string& name) override {
    const Current current(context_);
    cuda::Function function = nullptr;
    SORTIUM_CU(module_function, &function, module_, name.c_str());
    return std::make_unique<CuKernel>(function, name);
  }

 private:
  cuda::Context context_;
  cuda::ModuleHandle module_ = nullptr;
};

// A block of pinned memory, and an event that marks the end of its last copy.
class CuSlot final : public Staging::Slot {
 public:
  explicit CuSlot(cuda::Context context) : context_(context) {
    const Current current(context_);
    SORTIUM_CU(host_alloc, &memory_, Staging::slot_bytes, 0);
    const auto result = api().event_create(&event_, event_disable_timing);
    if (result != cuda::success) api().host_free(memory_);
    check(result, "event_create");
  }
  ~CuSlot() override {
    if (const Current current(context_, std::nothrow); current) {
      api().event_destroy(event_);
      api().host_free(memory_);
    }
  }
  std::byte* data() override { return static_cast<std::byte*>(memory_); }
  void wait() override {
    const Current current(context_);
    SORTIUM_CU(event_sync, event_);
  }
  // Enqueues the event that wait() waits for.
  void record(cuda::Stream stream) { SORTIUM_CU(event_record, event_, stream); }

 private:
  // Polls, because waking a sleeping thread takes half as long as a slot's copy.
  static constexpr unsigned event_disable_timing = 2;
  cuda::Context context_;
  void* memory_ = nullptr;
  cuda::Event event_ = nullptr;
};

// Returns true if the driver does not know the memory, which is then pageable. Pinned, managed and
// device memory needs no staging: a plain copy reaches the link's speed.
bool is_pageable(const void* host) {
  // cuPointerGetAttribute would fail for pageable memory. cuPointerGetAttributes sets the type to
  // 0.
  int memory_type = cuda::pointer_memory_type;
  unsigned type = 0;
  void* value = &type;
  SORTIUM_CU(pointer_attributes, 1, &memory_type, &value, reinterpret_cast<cuda::DevicePtr>(host));
  return type == 0;
}

// True if the arrays are long enough for slots, and one of them is pageable.
template <class Arrays>
bool needs_staging(const Arrays& arrays) {
  std::uint64_t bytes = 0;
  for (const auto& a : arrays) bytes += a.bytes;
  return bytes >= Staging::least_bytes && std::ranges::any_of(arrays, [](const auto& a) {
           return a.bytes != 0 && is_pageable(a.data);
         });
}

class CuQueue final : public Queue {
 public:
  CuQueue(std::shared_ptr<Device> device, cuda::Context context, cuda::Stream stream, bool owned,
          HostCopies& host_copies)
      : device_(std::move(device)),
        host_copies_(host_copies),
        context_(context),
        stream_(stream),
        owned_(owned),
        launches_early_(device_->info().claimed.cluster_groups > 1) {}
  ~CuQueue() override {
    if (!owned_) return;
    if (const Current current(context_, std::nothrow); current) api().stream_destroy(stream_);
  }

  Device& device() const override { return *device_; }
  void* native() const override { return stream_; }

  void launch(const Launch& l) override {
    backend::check_arguments(l);
    if (l.groups == 0) return;
    if (l.groups > 0x7fffffff)
      throw Error(ErrorCode::unsupported,
                  fmt::format("{} work-groups in a launch; CUDA allows 2^31 - 1", l.groups));
    const Current current(context_);
    std::uint64_t values[backend::most_arguments];
    void* pointers[std::size(values)];
    for (std::size_t i = 0; i < l.args.size(); ++i) {
      values[i] = l.args[i].is_memory
                      ? address(l.args[i].memory)
                      : l.args[i].scalar;  // little-endian: the first 4 bytes hold a u32
      pointers[i] = &values[i];
    }
    traced(l.phase, [&] {
      auto& kernel = dynamic_cast<CuKernel&>(l.kernel);
      const unsigned local_bytes = kernel.signature()->local_bytes;
      kernel.allow_local(local_bytes);
      const auto groups = static_cast<unsigned>(l.groups);
      if (launches_early_ && api().launch_with != nullptr) {
        // The launch may begin before the previous launch in the stream has ended, which hides the
        // launch latency. Every kernel waits for the end of that launch first (KERNEL_BEGIN).
        cuda::LaunchAttribute attributes[2]{{cuda::programmatic_stream_serialization, 0, {1}},
                                            {cuda::cluster_dimension, 0, {}}};
        attributes[1].value.dimensions[0] = l.cluster;
        attributes[1].value.dimensions[1] = attributes[1].value.dimensions[2] = 1;
        if (l.cluster > 1) kernel.allow_clusters();
        const cuda::LaunchConfig config{{groups, 1, 1}, {l.work_group, 1, 1},
                                        local_bytes,    stream_,
                                        attributes,     l.cluster > 1 ? 2u : 1u};
        SORTIUM_CU(launch_with, &config, kernel.function, pointers, nullptr);
      } else {
        SORTIUM_CU(launch, kernel.function, groups, 1, 1, l.work_group, 1, 1, local_bytes, stream_,
                   pointers, nullptr);
      }
    });
  }
  void copy(Memory to, Memory from, std::uint64_t bytes, std::string_view phase) override {
    if (bytes == 0) return;
    const Current current(context_);
    traced(phase, [&] { SORTIUM_CU(copy_on_device, address(to), address(from), bytes, stream_); });
  }
  void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
            std::string_view phase) override {
    if (bytes == 0) return;
    const Current current(context_);
    traced(phase, [&] { SORTIUM_CU(fill32, address(to), pattern, bytes / 4, stream_); });
  }
  void flush() override {}
  void write(Memory to, const void* from, std::uint64_t bytes) override {
    const HostSource source{from, bytes};
    write_all(to, {&source, 1});
  }
  void read(void* to, Memory from, std::uint64_t bytes) override {
    const HostTarget target{to, bytes};
    read_all({&target, 1}, from);
  }
  void write_all(Memory to, std::span<const HostSource> from) override {
    const Current current(context_);
    if (needs_staging(from)) {
      host_copies_.write.write(from, [&](auto& slot, auto offset, auto piece) {
        const Current in_thread(context_);
        SORTIUM_CU(copy_to_device, address(to) + offset, slot.data(), piece, stream_);
        dynamic_cast<CuSlot&>(slot).record(stream_);
      });
      return;
    }
    for (std::uint64_t at = 0; const auto& f : from) {
      if (f.bytes != 0) SORTIUM_CU(copy_to_device, address(to) + at, f.data, f.bytes, stream_);
      at += f.bytes;
    }
    SORTIUM_CU(stream_sync, stream_);
  }
  void read_all(std::span<const HostTarget> to, Memory from) override {
    const Current current(context_);
    if (needs_staging(to)) {
      host_copies_.read.read(to, [&](auto& slot, auto offset, auto piece) {
        const Current in_thread(context_);
        SORTIUM_CU(copy_to_host, slot.data(), address(from) + offset, piece, stream_);
        dynamic_cast<CuSlot&>(slot).record(stream_);
      });
      return;
    }
    for (std::uint64_t at = 0; const auto& t : to) {
      if (t.bytes != 0) SORTIUM_CU(copy_to_host, t.data, address(from) + at, t.bytes, stream_);
      at += t.bytes;
    }
    SORTIUM_CU(stream_sync, stream_);
  }
  void finish() override {
    const Current current(context_);
    SORTIUM_CU(stream_sync, stream_);
  }

  void begin_trace() override {
    trace_.clear();
    tracing_ = true;
  }
  std::vector<TraceEntry> end_trace() override {
    tracing_ = false;
    finish();
    const Current current(context_);
    std::vector<TraceEntry> out;
    for (const auto& [phase, begin, end] : trace_) {
      float ms = 0;
      SORTIUM_CU(event_elapsed, &ms, begin, end);
      out.push_back({phase, ms * 1e-3});
      api().event_destroy(begin);
      api().event_destroy(end);
    }
    trace_.clear();
    return out;
  }

 private:
  struct Traced {
    std::string_view phase;
    cuda::Event begin, end;
  };

  template <class F>
  void traced(std::string_view phase, F&& enqueue) {
    if (!tracing_) return enqueue();
    Traced t{phase, nullptr, nullptr};
    SORTIUM_CU(event_create, &t.begin, 0);
    SORTIUM_CU(event_create, &t.end, 0);
    SORTIUM_CU(event_record, t.begin, stream_);
    enqueue();
    SORTIUM_CU(event_record, t.end, stream_);
    trace_.push_back(t);
  }

  std::shared_ptr<Device> device_;
  HostCopies& host_copies_;  // owned by the device
  cuda::Context context_;
  cuda::Stream stream_;
  bool owned_, launches_early_;
  bool tracing_ = false;
  std::vector<Traced> trace_;
};

int attribute(cuda::DeviceId id, cuda::Attribute what) {
  int value = 0;
  SORTIUM_CU(device_attribute, &value, what, id);
  return value;
}

class CuDevice final : public Device {
 public:
  CuDevice(cuda::DeviceId id, std::string name, cuda::Context callers = nullptr)
      : id_(id), context_(callers) {
    if (callers != nullptr) std::call_once(context_made_, [] {});
    arch_ = 10 * attribute(id, cuda::compute_capability_major) +
            attribute(id, cuda::compute_capability_minor);
    char text[256] = {};
    SORTIUM_CU(device_name, text, sizeof text, id);
    int driver_version = 0;
    SORTIUM_CU(driver_version, &driver_version);
    std::size_t memory = 0;
    SORTIUM_CU(device_total_mem, &memory, id);
    info_.id = std::move(name);
    info_.name = text;
    info_.vendor = "NVIDIA Corporation";
    info_.platform = "CUDA";
    info_.driver = fmt::format("CUDA {}.{}", driver_version / 1000, driver_version % 1000 / 10);
    std::string why;
    int major = 0, minor = 0;
    const auto* const nvrtc = cuda::nvrtc(why);
    if (nvrtc != nullptr) nvrtc->version(&major, &minor);
    built_ = cuda::BuiltKernels::find_for(arch_);
    info_.language = nvrtc != nullptr ? fmt::format("NVRTC {}.{}, sm_{}", major, minor, arch_)
                                      : fmt::format("built kernels only: {} (sm_{})", why, arch_);
    auto& c = info_.claimed;
    c.model = info_.name;
    c.compiles = nvrtc != nullptr;
    c.backend = Backend::cuda;
    c.kind = DeviceKind::gpu;
    c.compute_units = static_cast<unsigned>(attribute(id, cuda::multiprocessor_count));
    c.max_work_group = static_cast<unsigned>(attribute(id, cuda::max_threads_per_block));
    c.local_memory = static_cast<std::uint64_t>(attribute(id, cuda::max_shared_memory_per_block));
    c.local_struct =
        static_cast<std::uint64_t>(attribute(id, cuda::max_shared_memory_per_block_optin));
    c.cluster_groups = arch_ >= 90 && api().launch_with != nullptr ? most_cluster_groups : 1;
    c.global_memory = c.max_allocation = memory;
    // The caller may destroy a context of its own, and its memory.
    if (callers == nullptr) spare_ = std::make_shared<SpareBlocks>(memory / 8);
    c.atomics64 = true;
    c.sub_group_words = SubGroupWords::cuda;
    c.sub_group_size = static_cast<unsigned>(attribute(id, cuda::warp_size));
  }

  CuDevice(const CuDevice&) = delete;
  CuDevice& operator=(const CuDevice&) = delete;
  ~CuDevice() override { release_spare(); }

  const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] bool has_built_kernels() const { return built_ != nullptr; }
  void* native_context() override { return context(); }
  HostCopies& host_copies() {
    std::call_once(host_copies_made_, [&] {
      host_copies_ =
          std::make_unique<HostCopies>([of = context()] { return std::make_unique<CuSlot>(of); });
    });
    return *host_copies_;
  }

  std::uint64_t free_memory() override {
    const Current current(context());
    std::size_t free = 0, total = 0;
    SORTIUM_CU(mem_info, &free, &total);
    return free + (spare_ == nullptr ? 0 : spare_->bytes());
  }

  std::unique_ptr<Buffer> allocate(std::uint64_t bytes) override {
    const Current current(context());
    const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 1);
    const bool is_kept = spare_ != nullptr && wanted >= least_kept_bytes;
    SpareBlocks::Block block{0, wanted};
    if (const auto kept = is_kept ? spare_->take(wanted) : std::nullopt)
      block = *kept;
    else
      block.address = new_memory(wanted);
    return std::make_unique<CuBuffer>(context(), block, bytes, is_kept ? spare_ : nullptr);
  }

  std::unique_ptr<Buffer> adopt(void*, std::uint64_t) override { return nullptr; }
  void sync_host(Queue& queue, Buffer&) override { queue.finish(); }

  std::unique_ptr<Queue> make_queue(bool) override {
    const Current current(context());
    cuda::Stream stream = nullptr;
    SORTIUM_CU(stream_create, &stream, non_blocking);
    return std::make_unique<CuQueue>(shared_from_this(), context(), stream, true, host_copies());
  }
  std::unique_ptr<Queue> make_urgent_queue() override {
    const Current current(context());
    cuda::Stream stream = nullptr;
    constexpr int highest_priority = -1000;  // the driver takes the highest that it has
    SORTIUM_CU(stream_create_with_priority, &stream, non_blocking, highest_priority);
    return std::make_unique<CuQueue>(shared_from_this(), context(), stream, true, host_copies());
  }

  std::unique_ptr<Module> compile(const std::string& source,
                                  std::vector<std::byte>& binary) override {
    if (auto module = load_built(source)) {
      binary.clear();  // the package keeps it already
      return module;
    }
    binary = cuda::compile_for(source, {arch_});
    return load(binary);
  }

  std::unique_ptr<Module> load(std::span<const std::byte> binary) override {
    try {
      return std::make_unique<CuModule>(context(), binary);
    } catch (const Error& e) {
      throw Error(ErrorCode::build_failed,
                  fmt::format("{} refused a kernel binary: {}", info_.name, e.what()));
    }
  }

 private:
  // The driver cuts smaller blocks from its own, which costs little.
  static constexpr std::uint64_t least_kept_bytes = std::uint64_t{2} << 20;

  // Frees the spare blocks if there is not enough memory otherwise.
  cuda::DevicePtr new_memory(std::uint64_t bytes) {
    cuda::DevicePtr p = 0;
    auto result = api().mem_alloc(&p, bytes);
    if (result == cuda::error_out_of_memory && release_spare()) result = api().mem_alloc(&p, bytes);
    if (result == cuda::error_out_of_memory)
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("{}: cannot allocate {} bytes; {} of {} are free", info_.name, bytes,
                              free_memory(), info_.claimed.global_memory));
    check(result, "mem_alloc");
    return p;
  }
  bool release_spare() noexcept {
    return spare_ != nullptr &&
           spare_->release([&](std::uint64_t address) { free_memory_of(context_, address); });
  }

  // The device's primary context. The CUDA runtime, CuPy and PyTorch use the same one.
  cuda::Context context() {
    std::call_once(context_made_, [&] { SORTIUM_CU(primary_retain, &context_, id_); });
    return context_;
  }

  // Returns the package's built module for `source`; nullptr if the package has none, or if the
  // driver does not accept it.
  std::unique_ptr<Module> load_built(const std::string& source) {
    if (built_ == nullptr) return nullptr;
    const auto code = built_->find(source);
    if (code.empty()) return nullptr;
    try {
      return load(code);
    } catch (const Error&) {  // the driver is older than the compiler
      return nullptr;
    }
  }

  cuda::DeviceId id_;
  int arch_ = 0;
  std::unique_ptr<const cuda::BuiltKernels> built_;
  DeviceInfo info_;
  std::once_flag context_made_;
  cuda::Context context_ = nullptr;
  std::once_flag host_copies_made_;
  std::unique_ptr<HostCopies> host_copies_;
  std::shared_ptr<SpareBlocks> spare_;
};

}  // namespace

std::vector<std::byte> cuda::compile_for(const std::string& source, Target to, bool optimized) {
  std::string why;
  const Nvrtc* nvrtc = cuda::nvrtc(why);
  if (nvrtc == nullptr) throw Error(ErrorCode::unsupported, why);
  const auto checked = [](Result r, const char* call) {
    if (r != success)
      throw Error(ErrorCode::build_failed, fmt::format("NVRTC: {} returned {}", call, r));
  };
  // Check the architecture first: for an unknown one, NVRTC reports many unrelated errors.
  int known = 0;
  checked(nvrtc->supported_arch_count(&known), "nvrtcGetNumSupportedArchs");
  std::vector<int> archs(static_cast<std::size_t>(known));
  checked(nvrtc->supported_archs(archs.data()), "nvrtcGetSupportedArchs");
  if (std::ranges::find(archs, to.arch) == archs.end())
    throw Error(ErrorCode::unsupported, fmt::format("this NVRTC does not know {}", to.name()));

  Program program = nullptr;
  checked(nvrtc->create(&program, source.c_str(), "sortium.cu", 0, nullptr, nullptr),
          "nvrtcCreateProgram");
  const auto target = fmt::format("--gpu-architecture={}_{}", to.ptx ? "compute" : "sm", to.arch);
  std::vector<const char*> options{target.c_str(), "--std=c++17"};
  int major = 0, minor = 0;
  if (!optimized && nvrtc->version(&major, &minor) == success && major >= 13)
    options.push_back("-Ofc=max");
  const Result result = [&] {
    const KeepSignalHandlers keep(reinterpret_cast<const void*>(nvrtc->compile));
    return nvrtc->compile(program, static_cast<int>(options.size()), options.data());
  }();
  std::vector<std::byte> code;
  std::string log;
  std::size_t size = 0;
  const auto get_size = to.ptx ? nvrtc->ptx_size : nvrtc->cubin_size;
  const auto get_code = to.ptx ? nvrtc->ptx : nvrtc->cubin;
  if (result == success && get_size(program, &size) == success) {
    code.resize(size);
    get_code(program, reinterpret_cast<char*>(code.data()));
  } else if (nvrtc->log_size(program, &size) == success) {
    log.resize(size);
    nvrtc->log(program, log.data());
  }
  nvrtc->destroy(&program);
  if (code.empty())
    throw Error(ErrorCode::build_failed, fmt::format("NVRTC refused a kernel for {}", to.name()),
                log);
  return code;
}

backend::Found backend::find_cuda() {
  Found found;
  const Driver* driver = cuda::driver(found.why_none);
  if (driver == nullptr) return found;
  try {
    if (const auto r = driver->init(0); r != cuda::success) {
      if (r == cuda::error_no_device) {
        found.why_none = "the NVIDIA driver finds no GPU";
        return found;
      }
      check(r, "cuInit");
    }
    std::string why_no_nvrtc;
    const bool compiles = cuda::nvrtc(why_no_nvrtc) != nullptr;
    int count = 0;
    SORTIUM_CU(device_count, &count);
    for (int i = 0; i < count; ++i) {
      cuda::DeviceId id = 0;
      SORTIUM_CU(device_get, &id, i);
      auto device = std::make_shared<CuDevice>(id, fmt::format("cuda:{}", i));
      if (compiles || device->has_built_kernels()) found.devices.push_back(std::move(device));
    }
    if (count == 0) found.why_none = "the NVIDIA driver finds no GPU";
    if (count != 0 && found.devices.empty())
      found.why_none =
          why_no_nvrtc + ", and there are no built kernels; use the GPU through OpenCL";
  } catch (const Error& e) {
    found.devices.clear();
    found.why_none = e.what();
  }
  return found;
}

std::unique_ptr<Queue> wrap_cuda(void* cu_context, void* cu_stream) {
  if (cu_context == nullptr) throw Error(ErrorCode::invalid_argument, "cu_context is null");
  const auto context = static_cast<cuda::Context>(cu_context);
  const Current current(context);
  cuda::DeviceId id = 0;
  SORTIUM_CU(ctx_device, &id);
  auto device = std::make_shared<CuDevice>(id, "cuda:caller", context);
  HostCopies& host_copies = device->host_copies();
  return std::make_unique<CuQueue>(std::move(device), context, static_cast<cuda::Stream>(cu_stream),
                                   false, host_copies);
}

}  // namespace sortium
