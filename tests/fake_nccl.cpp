// NCCL without a GPU, for threads of one process, with the fake driver of fake_cuda.cpp: "device"
// memory is host memory, and messages are copies on the streams' threads.
//
// FAKE_NCCL_FAIL names a function that fails.
#include <dlfcn.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int success = 0, invalid_argument = 4, uint8 = 1;

struct UniqueId {
  char internal[128];
};

// What the ranks of a communicator share.
struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> messages;  // from, to
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank = 0, size = 0;
  std::atomic<bool> aborted{false};
};

// A message that ncclGroupEnd() enqueues. It copies when the stream reaches it.
struct Message {
  Comm* comm;
  bool is_send;
  char* memory;
  std::size_t bytes;
  int peer;
  void* stream;
};

std::mutex groups_mutex;
std::map<std::string, std::shared_ptr<Group>> groups;
thread_local std::vector<Message> pending;
thread_local bool is_open = false;

bool fails(const char* function) {
  const char* const name = std::getenv("FAKE_NCCL_FAIL");
  return name != nullptr && std::string(name) == function;
}

void run(void* argument) {
  const std::unique_ptr<Message> m(static_cast<Message*>(argument));
  Group& group = *m->comm->group;
  std::unique_lock lock(group.mutex);
  if (m->is_send) {
    group.messages[{m->comm->rank, m->peer}].emplace_back(m->memory, m->memory + m->bytes);
    group.changed.notify_all();
    return;
  }
  auto& queue = group.messages[{m->peer, m->comm->rank}];
  group.changed.wait(lock, [&] { return !queue.empty() || m->comm->aborted; });
  if (m->comm->aborted) return;
  if (queue.front().size() != m->bytes) std::abort();  // real NCCL would hang
  std::memcpy(m->memory, queue.front().data(), m->bytes);
  queue.pop_front();
}

int add(const Message& m, int type) {
  if (!is_open || type != uint8 || m.memory == nullptr || m.bytes == 0 || m.peer < 0 ||
      m.peer >= m.comm->size || m.peer == m.comm->rank || m.stream == nullptr)
    return invalid_argument;
  pending.push_back(m);
  return success;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> next{1};
  std::memset(id->internal, next++, sizeof id->internal);
  return fails("ncclGetUniqueId") ? invalid_argument : success;
}
int ncclCommInitRank(Comm** comm, int size, UniqueId id, int rank) {
  // NCCL takes the calling thread's context.
  using Current = int(void**);
  void* context = nullptr;
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  reinterpret_cast<Current*>(::dlsym(driver, "cuCtxGetCurrent"))(&context);
  if (context == nullptr || rank < 0 || rank >= size || fails("ncclCommInitRank"))
    return invalid_argument;
  *comm = new Comm;
  (*comm)->rank = rank;
  (*comm)->size = size;
  {
    const std::lock_guard lock(groups_mutex);
    auto& group = groups[{id.internal, sizeof id.internal}];
    if (group == nullptr) group = std::make_shared<Group>();
    (*comm)->group = group;
  }
  Group& group = *(*comm)->group;
  std::unique_lock lock(group.mutex);
  ++group.joined;
  group.changed.notify_all();
  group.changed.wait(lock, [&] { return group.joined >= size; });
  return success;
}
int ncclCommDestroy(Comm* comm) { return delete comm, success; }
int ncclCommAbort(Comm* comm) {
  comm->aborted = true;  // not deleted: the stream's thread may still use it
  const std::lock_guard lock(comm->group->mutex);
  comm->group->changed.notify_all();
  return success;
}
int ncclCommGetAsyncError(Comm*, int* error) {
  return *error = fails("async") ? invalid_argument : success, success;
}
int ncclGroupStart() { return is_open = true, success; }
int ncclGroupEnd() {
  is_open = false;
  using Enqueue = void(void*, void (*)(void*), void*);
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  auto* const enqueue = reinterpret_cast<Enqueue*>(::dlsym(driver, "fake_cuda_enqueue"));
  for (const bool sends : {true, false})
    for (const auto& m : pending)
      if (m.is_send == sends) enqueue(m.stream, run, new Message(m));
  pending.clear();
  return fails("ncclGroupEnd") ? invalid_argument : success;
}
int ncclSend(const void* from, std::size_t bytes, int type, int peer, Comm* comm, void* stream) {
  if (fails("ncclSend")) return invalid_argument;
  return add({comm, true, static_cast<char*>(const_cast<void*>(from)), bytes, peer, stream}, type);
}
int ncclRecv(void* to, std::size_t bytes, int type, int peer, Comm* comm, void* stream) {
  return add({comm, false, static_cast<char*>(to), bytes, peer, stream}, type);
}
const char* ncclGetErrorString(int result) {
  return result == success ? "no error" : "invalid argument";
}

}  // extern "C"
#pragma GCC visibility pop
