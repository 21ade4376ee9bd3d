// A CUDA driver without a GPU, for tests of what the CUDA backend does on the host: copies and
// their order. Device memory is host memory. Each stream runs its commands on a thread of its own,
// after a delay, so that a buffer that is reused too early shows wrong bytes. It runs no kernels.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr int success = 0, invalid_value = 1, out_of_memory = 2, not_ready = 600,
              not_supported = 801;
constexpr std::size_t device_memory = std::size_t{1} << 30;  // bytes

class Stream {
 public:
  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void add(std::function<void()> command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
    ++added_;
    changed_.notify_all();
  }
  // Returns the number of commands so far.
  std::uint64_t added() {
    const std::lock_guard lock(mutex_);
    return added_;
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return ended_ == added_;
  }
  void wait(std::uint64_t commands) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= commands; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !commands_.empty(); });
      if (commands_.empty()) return;
      const auto command = std::move(commands_.front());
      commands_.pop_front();
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      command();
      lock.lock();
      ++ended_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> commands_;
  std::uint64_t added_ = 0, ended_ = 0;
  bool ends_ = false;
  std::thread thread_{[this] { work(); }};
};

struct Event {
  Stream* stream = nullptr;
  std::uint64_t commands = 0;
};

std::mutex mutex;
std::map<std::uintptr_t, std::size_t> pinned;    // blocks, by address
std::map<std::uint64_t, std::size_t> allocated;  // device memory, by address
std::set<Stream*> streams;
std::atomic<std::uint64_t> pageable_copies{0}, pinned_copies{0}, peer_copies{0}, allocations{0};

std::size_t free_memory() {
  std::size_t bytes = device_memory;
  for (const auto& block : allocated) bytes -= block.second;
  return bytes;
}
int make_stream(void** stream) {
  auto* const made = new Stream;
  const std::lock_guard lock(mutex);
  streams.insert(made);
  return *stream = made, success;
}

bool is_pinned(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const std::lock_guard lock(mutex);
  const auto next = pinned.upper_bound(at);
  return next != pinned.begin() && at < std::prev(next)->first + std::prev(next)->second;
}
void count_copy(const void* host) { ++(is_pinned(host) ? pinned_copies : pageable_copies); }

thread_local std::vector<void*> contexts;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// The copies so far whose host memory was pageable or pinned.
std::uint64_t fake_cuda_pageable_copies() { return pageable_copies; }
std::uint64_t fake_cuda_pinned_copies() { return pinned_copies; }
// The copies so far between devices.
std::uint64_t fake_cuda_peer_copies() { return peer_copies; }
// The allocations of device memory so far.
std::uint64_t fake_cuda_allocations() { return allocations; }

int cuInit(unsigned) { return success; }
int cuDriverGetVersion(int* version) { return *version = 13000, success; }
int cuDeviceGetCount(int* count) { return *count = 2, success; }
int cuDeviceGet(int* device, int index) { return *device = index, success; }
int cuDeviceGetName(char* name, int bytes, int) {
  return std::strncpy(name, "fake GPU", static_cast<std::size_t>(bytes)), success;
}
int cuDeviceGetAttribute(int* value, int what, int) {
  *value = what == 75 ? 9 : what == 76 ? 0 : what == 10 ? 32 : 1024;
  return success;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = device_memory, success; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = reinterpret_cast<void*>(device + std::uintptr_t{1}), success;
}
int cuCtxGetCurrent(void** context) {
  return *context = contexts.empty() ? nullptr : contexts.back(), success;
}
int cuCtxPushCurrent_v2(void* context) { return contexts.push_back(context), success; }
int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return invalid_value;
  *context = contexts.back();
  return contexts.pop_back(), success;
}
int cuCtxGetDevice(int* device) { return *device = 0, success; }
int cuCtxSynchronize() {
  const std::lock_guard lock(mutex);
  for (auto* const stream : streams) stream->wait(stream->added());
  return success;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex);
  return *free = free_memory(), *total = device_memory, success;
}
int cuMemAlloc_v2(std::uint64_t* p, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  if (bytes > free_memory()) return out_of_memory;
  *p = reinterpret_cast<std::uint64_t>(std::malloc(bytes));
  allocated[*p] = bytes;
  return ++allocations, success;
}
int cuMemFree_v2(std::uint64_t p) {
  const std::lock_guard lock(mutex);
  if (allocated.erase(p) == 0) return invalid_value;
  return std::free(reinterpret_cast<void*>(p)), success;
}
int cuMemHostAlloc(void** p, std::size_t bytes, unsigned) {
  *p = std::malloc(bytes);
  const std::lock_guard lock(mutex);
  pinned[reinterpret_cast<std::uintptr_t>(*p)] = bytes;
  return success;
}
int cuMemFreeHost(void* p) {
  const std::lock_guard lock(mutex);
  pinned.erase(reinterpret_cast<std::uintptr_t>(p));
  return std::free(p), success;
}
int cuPointerGetAttributes(unsigned, int*, void** values, std::uint64_t p) {
  *static_cast<unsigned*>(values[0]) = is_pinned(reinterpret_cast<void*>(p)) ? 1 : 0;
  return success;
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  count_copy(from);
  static_cast<Stream*>(stream)->add([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  return success;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  count_copy(to);
  static_cast<Stream*>(stream)->add([=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
  return success;
}
int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  static_cast<Stream*>(stream)->add(
      [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
  return success;
}
int cuCtxEnablePeerAccess(void* peer, unsigned flags) {
  const bool right = !contexts.empty() && peer != contexts.back() && flags == 0;
  return right ? success : invalid_value;
}
int cuMemcpyPeerAsync(std::uint64_t to, void* to_context, std::uint64_t from, void* from_context,
                      std::size_t bytes, void* stream) {
  if (contexts.empty() || contexts.back() != to_context || from_context == nullptr)
    return invalid_value;
  ++peer_copies;
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
int cuMemsetD32Async(std::uint64_t to, unsigned value, std::size_t words, void* stream) {
  static_cast<Stream*>(stream)->add([=] {
    for (std::size_t i = 0; i < words; ++i)
      std::memcpy(reinterpret_cast<char*>(to) + 4 * i, &value, 4);
  });
  return success;
}
int cuStreamCreate(void** stream, unsigned) { return make_stream(stream); }
int cuStreamCreateWithPriority(void** stream, unsigned, int) { return make_stream(stream); }
int cuStreamDestroy_v2(void* stream) {
  auto* const s = static_cast<Stream*>(stream);
  {
    const std::lock_guard lock(mutex);
    streams.erase(s);
  }
  return delete s, success;
}
int cuStreamSynchronize(void* stream) {
  auto* const s = static_cast<Stream*>(stream);
  return s->wait(s->added()), success;
}
int cuStreamQuery(void* stream) {
  return static_cast<Stream*>(stream)->is_idle() ? success : not_ready;
}
// For other fake libraries: enqueues a call of `function`.
void fake_cuda_enqueue(void* stream, void (*function)(void*), void* argument) {
  static_cast<Stream*>(stream)->add([=] { function(argument); });
}
int cuEventCreate(void** event, unsigned) { return *event = new Event, success; }
int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), success; }
int cuEventRecord(void* event, void* stream) {
  auto* const s = static_cast<Stream*>(stream);
  *static_cast<Event*>(event) = {s, s->added()};
  return success;
}
int cuEventSynchronize(void* event) {
  const Event e = *static_cast<Event*>(event);
  if (e.stream != nullptr) e.stream->wait(e.commands);
  return success;
}
int cuEventElapsedTime(float* ms, void*, void*) { return *ms = 0, success; }
int cuGetErrorName(int, const char** text) { return *text = "fake", success; }

int cuModuleLoadData(void**, const void*) { return not_supported; }
int cuModuleUnload(void*) { return success; }
int cuModuleGetFunction(void**, void*, const char*) { return not_supported; }
int cuFuncSetAttribute(void*, int, int) { return success; }
int cuLaunchKernel() { return not_supported; }

}  // extern "C"
#pragma GCC visibility pop
