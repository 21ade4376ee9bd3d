// NCCL, which is found with dlopen: messages between the memory of CUDA devices.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <sortium/device.hpp>
#include <span>

namespace sortium::cuda {

using NcclId = std::array<std::byte, 128>;  // ncclUniqueId

// Opens NCCL, unless it is open. Throws Error(unsupported) if libnccl.so.2 is missing.
void require_nccl();
// Returns a new id. Throws as require_nccl().
[[nodiscard]] NcclId make_nccl_id();

// Throws Error(invalid_argument) if the device is not CUDA's.
void require_cuda(const Device& device);

// One rank of an NCCL communicator, with a CUDA device. Every member throws
// Error(device_failed) if NCCL reports an error.
class NcclRank {
 public:
  // Waits until all ranks have called it. Throws as require_cuda().
  NcclRank(std::shared_ptr<Device> device, const NcclId& id, unsigned rank, unsigned size);
  ~NcclRank();
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;

  [[nodiscard]] Device& device() { return *device_; }

  // Enqueues on `queue` the exchange of device memory with every other rank r: send[r] goes there,
  // and receive[r] comes from there. Memory without bytes is not sent. The queue may be any of the
  // device's context.
  void exchange(Queue& queue, std::span<const Memory> send, std::span<const Memory> receive);
  // Waits for all that was enqueued on `queue`. Returns false if that takes longer than `timeout`.
  [[nodiscard]] bool wait(Queue& queue, std::chrono::duration<double> timeout);
  // Ends what is enqueued. After it, only the destructor may be called.
  void abort();

 private:
  struct Link;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Link> link_;
  unsigned rank_;
};

}  // namespace sortium::cuda
