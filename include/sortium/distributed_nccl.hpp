// A communicator over NCCL: ranks with a CUDA device each, in one process or several, on one host
// or several. NCCL (libnccl.so.2) is opened when it is first used.
//
//   // Rank 0 makes the id, and sends it to the other ranks by other means: MPI_Bcast, a file.
//   const auto ranks = sortium::distributed::nccl_communicator(id, rank, size, "cuda:0");
//   auto part = sortium::distributed::sort(*ranks, keys, {.sort = {.device = "cuda:0"}});
#pragma once

#include <sortium/export.h>

#include <array>
#include <cstddef>
#include <memory>
#include <sortium/distributed.hpp>
#include <string>

namespace sortium::distributed {

using NcclId = std::array<std::byte, 128>;

// Returns a new id, which all ranks of one communicator need. Throws Error(unsupported) if NCCL is
// missing; SORTIUM_NCCL names another file than libnccl.so.2.
[[nodiscard]] SORTIUM_API NcclId nccl_id();

// Makes a communicator. All ranks call it, each with another CUDA device, and each waits until all
// have called it. In one process, every rank needs a thread of its own (run_ranks()).
//
// DeviceSorter's records go from device to device. Bytes in host memory are copied to the device,
// sent from there, and copied back, so the device needs memory for all bytes that a rank sends and
// receives at one time.
//
// A rank waits at most `timeout` for the others. Throws Error: invalid_argument if the device is
// not CUDA's, or `rank` is not less than `size`; unsupported as nccl_id(); what find_device()
// throws.
[[nodiscard]] SORTIUM_API std::unique_ptr<Communicator> nccl_communicator(
    const NcclId& id, unsigned rank, unsigned size, const std::string& device,
    std::chrono::duration<double> timeout = default_timeout);

// The same, but host memory travels by `host`, which must outlive the result; device memory by
// NCCL. So small messages take less time, and no id must be passed on. All ranks of `host` call it.
// If it throws on one rank, it throws on all, unless NCCL itself fails.
//
//   run_ranks(gpus, [&](Communicator& threads) {  // or mpi_communicator()
//     const auto ranks = nccl_communicator(threads, fmt::format("cuda:{}", threads.rank()));
[[nodiscard]] SORTIUM_API std::unique_ptr<Communicator> nccl_communicator(
    Communicator& host, const std::string& device,
    std::chrono::duration<double> timeout = default_timeout);

}  // namespace sortium::distributed
