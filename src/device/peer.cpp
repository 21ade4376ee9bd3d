#include "peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda_context.hpp"

namespace sortium::backend {

namespace {

cuda::DevicePtr address(const Memory& m) {
  return reinterpret_cast<cuda::DevicePtr>(m.handle) + m.offset;
}

// Lets the current context, `mine`, access the other's memory, so that copies take the shortest
// way. If that is refused, the driver copies through host memory.
void enable_access(const cuda::Driver& driver, cuda::Context mine, cuda::Context other) {
  static std::mutex mutex;
  static auto& asked = *new std::set<std::pair<cuda::Context, cuda::Context>>;
  const std::lock_guard lock(mutex);
  if (asked.emplace(mine, other).second) (void)driver.ctx_enable_peer_access(other, 0);
}

void copy_by_cuda(Queue& queue, const Memory& to, Queue& other, const Memory& from) {
  const auto& driver = cuda::require_driver();
  auto* const mine = static_cast<cuda::Context>(queue.device().native_context());
  auto* const theirs = static_cast<cuda::Context>(other.device().native_context());
  const cuda::InContext current(mine);
  if (mine != theirs) enable_access(driver, mine, theirs);
  const auto result = driver.copy_from_peer(address(to), mine, address(from), theirs, from.bytes,
                                            static_cast<cuda::Stream>(queue.native()));
  if (result == cuda::success) return;
  const char* name = "unknown";
  driver.error_name(result, &name);
  throw Error(ErrorCode::device_failed,
              fmt::format("cuMemcpyPeerAsync from {} to {} failed: {}", other.device().info().id,
                          queue.device().info().id, name));
}

void copy_by_host(Queue& queue, const Memory& to, Queue& other, const Memory& from) {
  constexpr std::uint64_t most = std::uint64_t{64} << 20;
  std::vector<std::byte> piece(std::min(from.bytes, most));
  for (std::uint64_t at = 0; at < from.bytes; at += most) {
    const std::uint64_t bytes = std::min(from.bytes - at, most);
    other.read(piece.data(), from.slice(at, bytes), bytes);
    queue.write(to.slice(at, bytes), piece.data(), bytes);
  }
}

}  // namespace

void copy_between(Queue& queue, const Memory& to, Queue& other, const Memory& from) {
  const auto backend_of = [](Queue& q) { return q.device().info().claimed.backend; };
  if (&queue.device() == &other.device())
    queue.copy(to, from, from.bytes);
  else if (backend_of(queue) == Backend::cuda && backend_of(other) == Backend::cuda)
    copy_by_cuda(queue, to, other, from);
  else
    copy_by_host(queue, to, other, from);
}

}  // namespace sortium::backend
