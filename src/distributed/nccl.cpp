// Ranks that exchange data by NCCL: host memory is staged through the memory of CUDA devices.
#include "../device/nccl.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <sortium/distributed_nccl.hpp>

#include "timeout.hpp"

namespace sortium::distributed {

namespace {

std::uint64_t sum(std::span<const std::uint64_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<Device> device, const NcclId& id, unsigned rank, unsigned size,
                   std::chrono::duration<double> timeout)
      : nccl_(std::move(device), id, rank, size), rank_(rank), size_(size), timeout_(timeout) {}

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }

  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    const std::uint64_t length = mine.size();
    std::vector<std::uint64_t> lengths(size_);
    const std::vector<std::uint64_t> eight_bytes(size_, sizeof length);
    to_all(std::as_bytes(std::span(&length, 1)), eight_bytes,
           reinterpret_cast<std::byte*>(lengths.data()));
    std::vector<std::byte> all(sum(lengths));
    if (!all.empty()) to_all(mine, lengths, all.data());
    return all;
  }

  void exchange(const Exchange& e) override {
    run([&] {
      const auto sent = pieces(send_, e.send_bytes), received = pieces(receive_, e.receive_bytes);
      write(send_, {e.send, sum(e.send_bytes)});
      nccl_.exchange(sent, received);
      if (const Memory& own = sent[rank_]; own.bytes != 0)
        nccl_.queue().copy(received[rank_], own, own.bytes);
      read(e.receive, receive_, sum(e.receive_bytes));
    });
  }

 private:
  // Sends `mine` to every rank. `all` receives lengths[r] bytes of each rank r.
  void to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> lengths,
              std::byte* all) {
    run([&] {
      const std::uint64_t length = mine.size();
      const std::vector<Memory> sent(size_, pieces(send_, {&length, 1})[0]);
      const auto received = pieces(receive_, lengths);
      write(send_, mine);
      nccl_.exchange(sent, received);
      read(all, receive_, sum(lengths));
      if (length != 0) std::memcpy(all + sum(lengths.first(rank_)), mine.data(), length);
    });
  }

  // Runs one call. After an error, or without an answer in time, the communicator is broken.
  template <class Work>
  void run(const Work& work) {
    if (broken_)
      throw Error(ErrorCode::device_failed,
                  fmt::format("an earlier call of this communicator has failed: rank {} cannot "
                              "reach the others",
                              rank_));
    try {
      work();
    } catch (const Error&) {
      broken_ = true;
      nccl_.abort();
      throw;
    }
  }

  void write(const std::unique_ptr<Buffer>& to, std::span<const std::byte> from) {
    if (!from.empty()) nccl_.queue().write(to->memory(), from.data(), from.size());
  }
  // Waits for the other ranks, then copies to host memory.
  void read(std::byte* to, const std::unique_ptr<Buffer>& from, std::uint64_t bytes) {
    if (!nccl_.wait(timeout_))
      throw Error(ErrorCode::device_failed,
                  fmt::format("rank {} of {} had no answer from all others within {} s", rank_,
                              size_, timeout_.count()));
    if (bytes != 0) nccl_.queue().read(to, from->memory(), bytes);
  }
  // Returns device memory for each rank's bytes, in one buffer, which is kept for the next calls.
  std::vector<Memory> pieces(std::unique_ptr<Buffer>& buffer,
                             std::span<const std::uint64_t> bytes) {
    const std::uint64_t total = sum(bytes);
    if (total != 0 && (buffer == nullptr || buffer->memory().bytes < total)) {
      buffer.reset();
      buffer = nccl_.device().allocate(total);
    }
    std::vector<Memory> all;
    for (std::uint64_t at = 0; const auto length : bytes) {
      all.push_back(length == 0 ? Memory{} : buffer->memory().slice(at, length));
      at += length;
    }
    return all;
  }

  cuda::NcclRank nccl_;
  std::unique_ptr<Buffer> send_, receive_;
  unsigned rank_, size_;
  std::chrono::duration<double> timeout_;
  bool broken_ = false;
};

}  // namespace

NcclId nccl_id() { return cuda::make_nccl_id(); }

std::unique_ptr<Communicator> nccl_communicator(const NcclId& id, unsigned rank, unsigned size,
                                                const std::string& device,
                                                std::chrono::duration<double> timeout) {
  check_timeout(timeout);
  if (rank >= size)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rank is {}; it must be less than size, {}", rank, size));
  return std::make_unique<NcclCommunicator>(find_device(device), id, rank, size, timeout);
}

}  // namespace sortium::distributed
