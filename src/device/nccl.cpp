#include "nccl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <thread>

#include "../core/environment.hpp"
#include "cuda_context.hpp"

namespace sortium::cuda {

namespace {

// The few functions that are called, with NCCL 2's ABI.
using NcclResult = int;
using NcclComm = struct ncclComm*;
struct UniqueId {
  char internal[std::tuple_size_v<NcclId>];
};
constexpr NcclResult nccl_success = 0, nccl_in_progress = 7;
constexpr int nccl_uint8 = 1;

struct Nccl {
  NcclResult (*get_unique_id)(UniqueId*);
  NcclResult (*init_rank)(NcclComm*, int, UniqueId, int);
  NcclResult (*destroy)(NcclComm);
  NcclResult (*abort)(NcclComm);
  NcclResult (*async_error)(NcclComm, NcclResult*);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*send)(const void*, std::size_t, int, int, NcclComm, Stream);
  NcclResult (*receive)(void*, std::size_t, int, int, NcclComm, Stream);
  const char* (*error_string)(NcclResult);
};

// Throws Error(unsupported) if the library or one of its functions is missing.
Nccl load_nccl() {
  const char* const set = environment("SORTIUM_NCCL");
  const std::string name = set != nullptr && *set != '\0' ? set : "libnccl.so.2";
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ErrorCode::unsupported,
                fmt::format("NCCL is missing: {} (SORTIUM_NCCL may name a file)", ::dlerror()));
  Nccl table{};
  const auto load = [&](auto& entry, const char* function) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(::dlsym(library, function));
    if (entry == nullptr)
      throw Error(ErrorCode::unsupported, fmt::format("{} has no {}", name, function));
  };
  load(table.get_unique_id, "ncclGetUniqueId");
  load(table.init_rank, "ncclCommInitRank");
  load(table.destroy, "ncclCommDestroy");
  load(table.abort, "ncclCommAbort");
  load(table.async_error, "ncclCommGetAsyncError");
  load(table.group_start, "ncclGroupStart");
  load(table.group_end, "ncclGroupEnd");
  load(table.send, "ncclSend");
  load(table.receive, "ncclRecv");
  load(table.error_string, "ncclGetErrorString");
  return table;
}

const Nccl& nccl() {
  static const Nccl table = load_nccl();  // after an exception, the next call tries again
  return table;
}

void check(NcclResult result, const char* call) {
  if (result == nccl_success) return;
  throw Error(ErrorCode::device_failed,
              fmt::format("{} failed: {}", call, nccl().error_string(result)));
}

char* address(const Memory& memory) { return static_cast<char*>(memory.handle) + memory.offset; }

}  // namespace

struct NcclRank::Link {
  NcclComm comm = nullptr;
};

void require_nccl() { (void)nccl(); }

NcclId make_nccl_id() {
  UniqueId made{};
  check(nccl().get_unique_id(&made), "ncclGetUniqueId");
  NcclId id;
  std::memcpy(id.data(), made.internal, id.size());
  return id;
}

void require_cuda(const Device& device) {
  if (device.info().claimed.backend != Backend::cuda)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("device is {}; NCCL needs one of CUDA", device.info().id));
}

NcclRank::NcclRank(std::shared_ptr<Device> device, const NcclId& id, unsigned rank, unsigned size)
    : device_(std::move(device)), link_(std::make_unique<Link>()), rank_(rank) {
  require_cuda(*device_);
  UniqueId made{};
  std::memcpy(made.internal, id.data(), id.size());
  const InContext current(device_->native_context());
  check(nccl().init_rank(&link_->comm, static_cast<int>(size), made, static_cast<int>(rank)),
        "ncclCommInitRank");
}

NcclRank::~NcclRank() {
  try {
    const InContext current(device_->native_context());
    if (link_->comm != nullptr) nccl().destroy(link_->comm);
  } catch (const Error&) {  // at exit, the driver may be gone
  }
}

void NcclRank::exchange(Queue& queue, std::span<const Memory> send,
                        std::span<const Memory> receive) {
  const InContext current(device_->native_context());
  auto* const stream = static_cast<Stream>(queue.native());
  const auto& api = nccl();
  check(api.group_start(), "ncclGroupStart");
  NcclResult result = nccl_success;
  const char* call = "";
  for (std::size_t r = 0; r < send.size() && result == nccl_success; ++r) {
    const int peer = static_cast<int>(r);
    if (r != rank_ && send[r].bytes != 0) {
      call = "ncclSend";
      result = api.send(address(send[r]), send[r].bytes, nccl_uint8, peer, link_->comm, stream);
    }
    if (r != rank_ && receive[r].bytes != 0 && result == nccl_success) {
      call = "ncclRecv";
      result =
          api.receive(address(receive[r]), receive[r].bytes, nccl_uint8, peer, link_->comm, stream);
    }
  }
  const NcclResult end = api.group_end();  // also after an error: it closes the group
  check(result, call);
  check(end, "ncclGroupEnd");
}

bool NcclRank::wait(Queue& queue, std::chrono::duration<double> timeout) {
  constexpr int polls_before_sleep = 2000;
  const InContext current(device_->native_context());
  const auto start = std::chrono::steady_clock::now();
  for (int polls = 0;; ++polls) {
    NcclResult error = nccl_success;
    check(nccl().async_error(link_->comm, &error), "ncclCommGetAsyncError");
    if (error != nccl_in_progress) check(error, "NCCL");
    const Result state = require_driver().stream_query(static_cast<Stream>(queue.native()));
    if (state == success) return true;
    if (state != error_not_ready)
      throw Error(ErrorCode::device_failed, fmt::format("cuStreamQuery failed ({})", state));
    if (std::chrono::steady_clock::now() - start > timeout) return false;
    if (polls > polls_before_sleep) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void NcclRank::abort() {
  const InContext current(device_->native_context());
  nccl().abort(std::exchange(link_->comm, nullptr));
}

}  // namespace sortium::cuda
