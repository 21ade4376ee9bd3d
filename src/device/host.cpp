// The host as a device, cpu:0. Its memory is the process's own. Its queue runs work at once, on the
// calling thread and oneTBB's. It runs no kernels; its algorithms work through Queue::call.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <utility>

#include "backends.hpp"
#include "cores.hpp"

#ifdef SORTIUM_WITH_HOST
#include <tbb/parallel_invoke.h>
#include <tbb/version.h>

#include "host_threads.hpp"
#endif

namespace sortium {

#ifdef SORTIUM_WITH_HOST
namespace host {
namespace {

// Throws std::bad_alloc if there is too little memory for an arena of `count` threads. Allocates
// about as much as the arena needs, and frees it at once.
void need_memory_for_arena(unsigned count) {
  ::operator delete(::operator new (std::size_t{1} << 17 | std::size_t{count} << 10));
}

class Arenas {
 public:
  Arena take(unsigned count) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(kept_, count, &Kept::count);
      if (found != kept_.end()) return std::move(std::exchange(*found, {}).arena);
    }
    need_memory_for_arena(count);
    try {
      return make(count);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {  // oneTBB's own
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("cpu:0: the system cannot start {} threads: {}", count, e.what()));
    }
  }
  void give(Arena arena, unsigned count) noexcept {
    const std::lock_guard lock(mutex_);
    const auto empty = std::ranges::find(kept_, 0u, &Kept::count);
    if (empty != kept_.end()) *empty = {count, std::move(arena)};
  }

 private:
  static Arena make(unsigned count) {
    auto arena = std::make_unique<tbb::task_arena>(static_cast<int>(count));
    register_thread();
    arena->initialize();
    // Make the calling thread spawn its first task in the arena now, while there is memory. Worker
    // threads cannot be made to spawn theirs in advance.
    arena->execute([] {
      tbb::parallel_for(
          0, 2, [](int) {}, tbb::simple_partitioner{});
    });
    return arena;
  }

  struct Kept {
    unsigned count = 0;  // threads of the kept arena; 0: none is kept
    Arena arena{};
  };
  std::mutex mutex_;
  std::array<Kept, 64> kept_{};
};

Arenas& arenas() {
  static Arenas& all = *new Arenas;  // never destroyed: oneTBB may end first
  return all;
}

}  // namespace

Arena take_arena(unsigned count) { return arenas().take(count); }
void give_back(Arena arena, unsigned count) noexcept { arenas().give(std::move(arena), count); }

unsigned all_threads() { return usable_cores(); }

void once_for(std::uint64_t count, std::uint8_t* done, bool one_by_one,
              FunctionRef<void(std::uint64_t, std::uint64_t)> body) {
  std::memset(done, 0, count);
  const auto run = [&](const tbb::blocked_range<std::uint64_t>& range) {
    body(range.begin(), range.end());
    std::memset(done + range.begin(), 1, range.size());
  };
  const tbb::blocked_range<std::uint64_t> all(0, count);
  tbb::task_group_context own(tbb::task_group_context::isolated);
  try {
    return one_by_one ? tbb::parallel_for(all, run, tbb::simple_partitioner{}, own)
                      : tbb::parallel_for(all, run, tbb::auto_partitioner{}, own);
  } catch (...) {  // oneTBB lacks memory or threads; some indices are not done, no body is running
  }
  for (std::uint64_t i = 0; i < count; ++i)
    if (done[i] == 0) body(i, i + 1);
}

void once_for_each(unsigned threads, std::uint64_t count, std::uint8_t* done,
                   FunctionRef<void(std::uint64_t)> body) {
  const auto range = [&](std::uint64_t begin, std::uint64_t end) {
    for (auto i = begin; i != end; ++i) body(i);
  };
  if (threads == 1)
    range(0, count);
  else
    once_for(count, done, true, range);
}

void both_once(FunctionRef<void()> first, FunctionRef<void()> second) {
  bool first_ran = false, second_ran = false;
  tbb::task_group_context own(tbb::task_group_context::isolated);
  try {
    return tbb::parallel_invoke([&] { first_ran = true, first(); },
                                [&] { second_ran = true, second(); }, own);
  } catch (...) {  // oneTBB lacks memory or threads
  }
  if (!first_ran) first();
  if (!second_ran) second();
}

void register_thread() {
  thread_local bool registered = false;
  if (registered) return;
  need_memory_for_arena(all_threads());
  tbb::this_task_arena::isolate([] {});
  registered = true;
}

}  // namespace host

namespace {

constexpr std::uint64_t page = 4096, large_page = std::uint64_t{1} << 21;

std::byte* at(const Memory& m) { return static_cast<std::byte*>(m.handle) + m.offset; }

// Calls piece(offset, bytes) for pieces that together cover `bytes` bytes, on all cores: one core
// alone does not reach the memory's bandwidth. It may call it twice for the same piece.
template <class Piece>
void in_pieces(std::uint64_t bytes, const Piece& piece) {
  constexpr std::uint64_t step = std::uint64_t{1} << 20;
  if (bytes <= step) return piece(0, bytes);
  host::repeatable_for_all(tbb::blocked_range<std::uint64_t>(0, (bytes + step - 1) / step),
                           [&](const auto& range) {
                             for (auto i = range.begin(); i != range.end(); ++i)
                               piece(i * step, std::min(step, bytes - i * step));
                           });
}

// Keeps one freed block of memory for the next buffer: touching new memory for the first time takes
// as long as sorting in it. Keeps at most an eighth of the machine's memory.
class SpareBlock {
 public:
  struct Block {
    void* memory = nullptr;
    std::uint64_t bytes = 0;
  };
  explicit SpareBlock(std::uint64_t most) : most_(most) {}

  // Returns the kept block, or no memory if it is too small. Then it is freed: the block that the
  // caller allocates will be kept instead.
  Block take(std::uint64_t bytes) {
    Block block;
    {
      const std::lock_guard lock(mutex_);
      block = std::exchange(kept_, {});
    }
    if (block.bytes >= bytes) return block;
    std::free(block.memory);
    return {};
  }
  void give(Block block) {
    if (block.bytes <= most_) {
      const std::lock_guard lock(mutex_);
      if (block.bytes > kept_.bytes) std::swap(block, kept_);
    }
    std::free(block.memory);
  }

 private:
  std::uint64_t most_;
  std::mutex mutex_;
  Block kept_;
};

class HostBuffer final : public Buffer {
 public:
  HostBuffer(void* memory, std::uint64_t bytes)
      : memory_(memory), bytes_(bytes) {}  // the caller's memory
  HostBuffer(std::uint64_t bytes, SpareBlock& spare)
      : bytes_(bytes), spare_(&spare) {}  // memory that own() sets
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() override {
    if (spare_ != nullptr) spare_->give(block_);
  }
  void own(SpareBlock::Block block) { block_ = block, memory_ = block.memory; }
  Memory memory() const override { return {memory_, 0, bytes_}; }

 private:
  void* memory_ = nullptr;
  std::uint64_t bytes_;
  SpareBlock::Block block_;
  SpareBlock* spare_ = nullptr;
};

class HostQueue final : public Queue {
 public:
  explicit HostQueue(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Device& device() const override { return *device_; }
  void* native() const override { return nullptr; }

  void launch(const Launch& l) override {
    throw Error(ErrorCode::unsupported,
                fmt::format("cpu:0 runs no kernels, and cannot run {}", l.kernel.name()));
  }
  void call(std::string_view phase, const std::function<void()>& work) override {
    if (!tracing_) return work();
    trace_.push_back({phase, 0});  // before the work, because nothing may fail after it
    const auto begin = std::chrono::steady_clock::now();
    work();
    trace_.back().seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void copy(Memory to, Memory from, std::uint64_t bytes, std::string_view phase) override {
    host::call(*this, phase, [&] {
      in_pieces(bytes, [&](auto i, auto n) { std::memcpy(at(to) + i, at(from) + i, n); });
    });
  }
  void fill(Memory to, std::uint32_t pattern, std::uint64_t bytes,
            std::string_view phase) override {
    host::call(*this, phase, [&] {
      in_pieces(bytes, [&](auto i, auto n) {
        for (std::uint64_t b = i; b < i + n; b += 4)
          std::memcpy(at(to) + b, &pattern, std::min<std::uint64_t>(4, i + n - b));
      });
    });
  }
  void flush() override {}
  void write(Memory to, const void* from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(at(to), from, bytes);
  }
  void read(void* to, Memory from, std::uint64_t bytes) override {
    if (bytes != 0) std::memcpy(to, at(from), bytes);
  }
  void finish() override {}

  void begin_trace() override {
    trace_.clear();
    trace_.reserve(256);  // for all phases of a sort, so that no allocation fails during it
    tracing_ = true;
  }
  std::vector<TraceEntry> end_trace() override {
    tracing_ = false;
    return std::move(trace_);
  }

 private:
  std::shared_ptr<Device> device_;
  bool tracing_ = false;
  std::vector<TraceEntry> trace_;
};

std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "the host's processor";
}

std::uint64_t pages(int which) {
  const long count = ::sysconf(which), size = ::sysconf(_SC_PAGESIZE);
  return count > 0 && size > 0
             ? static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size)
             : 0;
}

class HostDevice final : public Device {
 public:
  HostDevice() {
    info_.id = std::string("cpu:0");
    info_.name = processor();
    info_.vendor = std::string("-");
    info_.platform = "host";
    info_.driver = fmt::format("oneTBB {}", TBB_runtime_version());
    info_.language = "none: C++, compiled with the library";
    auto& c = info_.claimed;
    c.model = info_.name;
    c.backend = Backend::host;
    c.kind = DeviceKind::cpu;
    c.compute_units = host::all_threads();
    c.max_work_group = c.sub_group_size = 1;
    c.local_memory = c.local_struct = 0;
    c.global_memory = c.max_allocation = pages(_SC_PHYS_PAGES);
    c.atomics64 = c.forward_progress = true;
  }

  const DeviceInfo& info() const override { return info_; }
  void* native_context() override { return this; }
  std::uint64_t free_memory() override { return pages(_SC_AVPHYS_PAGES); }

  std::unique_ptr<Buffer> allocate(std::uint64_t bytes) override {
    auto buffer = std::make_unique<HostBuffer>(bytes, spare_);
    auto block = spare_.take(bytes);
    if (block.memory == nullptr) {
      // Large pages, if the system has them: fewer page faults, fewer TLB entries.
      const std::uint64_t boundary = bytes >= 2 * large_page ? large_page : page;
      block.bytes = (bytes / boundary + 1) * boundary;
      // Linux allocates more memory than it has, and kills processes that use it. So refuse early.
      if (bytes <= info_.claimed.global_memory)
        block.memory = std::aligned_alloc(boundary, block.bytes);
      if (block.memory == nullptr)
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("cpu:0: cannot allocate {} bytes; {} of {} are free", bytes,
                                free_memory(), info_.claimed.global_memory));
#ifdef MADV_HUGEPAGE
      if (boundary == large_page) ::madvise(block.memory, block.bytes, MADV_HUGEPAGE);
#endif
    }
    buffer->own(block);
    return buffer;
  }
  std::unique_ptr<Buffer> adopt(void* host, std::uint64_t bytes) override {
    return std::make_unique<HostBuffer>(host, bytes);
  }
  void sync_host(Queue&, Buffer&) override {}
  std::unique_ptr<Queue> make_queue(bool) override {
    return std::make_unique<HostQueue>(shared_from_this());
  }

  std::unique_ptr<Module> compile(const std::string&, std::vector<std::byte>&) override {
    no_kernels();
  }
  std::unique_ptr<Module> load(std::span<const std::byte>) override { no_kernels(); }

 private:
  [[noreturn]] static void no_kernels() {
    throw Error(ErrorCode::unsupported, "cpu:0 runs no kernels");
  }

  DeviceInfo info_;
  SpareBlock spare_{pages(_SC_PHYS_PAGES) / 8};
};

}  // namespace

backend::Found backend::find_host() { return {{std::make_shared<HostDevice>()}, ""}; }
#else
backend::Found backend::find_host() {
  return {{}, "the library was built without oneTBB or Highway, which sorting on the host needs"};
}
#endif

}  // namespace sortium
