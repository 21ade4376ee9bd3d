// Ranks that exchange the memory of their CUDA devices by NCCL. Host memory is staged through it,
// or travels by another communicator.
#include "../device/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sortium/distributed_nccl.hpp>

#include "../sort/validate.hpp"
#include "agreement.hpp"
#include "timeout.hpp"

namespace sortium::distributed {

namespace {

std::uint64_t sum(std::span<const std::uint64_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

// One rank's connection to the others' devices. After an error, or without an answer in time, it is
// broken.
class NcclLink {
 public:
  NcclLink(std::shared_ptr<Device> device, const NcclId& id, unsigned rank, unsigned size,
           std::chrono::duration<double> timeout)
      : nccl_(std::move(device), id, rank, size), rank_(rank), size_(size), timeout_(timeout) {}

  [[nodiscard]] Device& device() { return nccl_.device(); }

  void exchange(Queue& queue, std::span<const Memory> send, std::span<const Memory> receive) {
    validate_queue(queue, nccl_.device());
    run(queue, [&] {
      nccl_.exchange(queue, send, receive);
      if (const Memory& own = send[rank_]; own.bytes != 0)
        queue.copy(receive[rank_], own, own.bytes);
      wait(queue);
    });
  }

  // Runs one call, which uses `queue`. If it fails, all that it enqueued has ended afterwards.
  template <class Work>
  void run(Queue& queue, const Work& work) {
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
      end(queue);
      throw;
    }
  }

 private:
  static void end(Queue& queue) noexcept try {
    queue.finish();
  } catch (const Error&) {  // the first error counts
  }
  void wait(Queue& queue) {
    if (!nccl_.wait(queue, timeout_))
      throw Error(ErrorCode::device_failed,
                  fmt::format("rank {} of {} had no answer from all others within {} s", rank_,
                              size_, timeout_.count()));
  }

  cuda::NcclRank nccl_;
  unsigned rank_, size_;
  std::chrono::duration<double> timeout_;
  bool broken_ = false;
};

// Host memory travels through the devices' memory.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<Device> device, const NcclId& id, unsigned rank, unsigned size,
                   std::chrono::duration<double> timeout)
      : link_(std::move(device), id, rank, size, timeout),
        queue_(link_.device().make_queue()),
        rank_(rank),
        size_(size) {}

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }

  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    // A first message has the length and as many bytes as fit; a second one has the others' rest.
    const std::uint64_t length = mine.size();
    std::vector<std::byte> message(message_bytes), messages(size_ * message_bytes);
    std::memcpy(message.data(), &length, sizeof length);
    const std::uint64_t fits = std::min(length, message_bytes - sizeof length);
    std::copy_n(mine.begin(), fits, message.begin() + sizeof length);
    to_all(message, std::vector<std::uint64_t>(size_, message_bytes), messages.data());

    std::vector<std::uint64_t> lengths(size_), rests(size_);
    for (unsigned r = 0; r < size_; ++r) {
      std::memcpy(&lengths[r], messages.data() + r * message_bytes, sizeof length);
      rests[r] = lengths[r] - std::min(lengths[r], message_bytes - sizeof length);
    }
    std::vector<std::byte> rest(sum(rests)), all;
    if (!rest.empty()) to_all(mine.subspan(fits), rests, rest.data());
    all.reserve(sum(lengths));
    const std::byte* from = rest.data();
    for (unsigned r = 0; r < size_; ++r) {
      const std::byte* const first = messages.data() + r * message_bytes + sizeof length;
      all.insert(all.end(), first, first + (lengths[r] - rests[r]));
      all.insert(all.end(), from, from + rests[r]);
      from += rests[r];
    }
    return all;
  }

  void exchange(const Exchange& e) override {
    std::vector<Memory> sent, received;
    link_.run(*queue_, [&] {
      sent = pieces(send_, e.send_bytes);
      received = pieces(receive_, e.receive_bytes);
      write({e.send, sum(e.send_bytes)});
    });
    link_.exchange(*queue_, sent, received);
    read(e.receive, sum(e.receive_bytes));
  }

  void exchange_on_device(Queue& queue, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    link_.exchange(queue, send, receive);
  }

 private:
  static constexpr std::uint64_t message_bytes = 1024;

  // Sends `mine` to every rank. `all` receives lengths[r] bytes of each rank r.
  void to_all(std::span<const std::byte> mine, std::span<const std::uint64_t> lengths,
              std::byte* all) {
    std::vector<Memory> sent, received;
    link_.run(*queue_, [&] {
      const std::uint64_t length = mine.size();
      sent.assign(size_, pieces(send_, {&length, 1})[0]);
      received = pieces(receive_, lengths);
      write(mine);
    });
    link_.exchange(*queue_, sent, received);
    read(all, sum(lengths));
  }

  void write(std::span<const std::byte> from) {
    if (!from.empty()) queue_->write(send_->memory(), from.data(), from.size());
  }
  void read(std::byte* to, std::uint64_t bytes) {
    if (bytes != 0) link_.run(*queue_, [&] { queue_->read(to, receive_->memory(), bytes); });
  }
  // Returns device memory for each rank's bytes, in one buffer, which is kept for the next calls.
  std::vector<Memory> pieces(std::unique_ptr<Buffer>& buffer,
                             std::span<const std::uint64_t> bytes) {
    const std::uint64_t total = sum(bytes);
    if (total != 0 && (buffer == nullptr || buffer->memory().bytes < total)) {
      buffer.reset();
      buffer = link_.device().allocate(total);
    }
    std::vector<Memory> all;
    for (std::uint64_t at = 0; const auto length : bytes) {
      all.push_back(length == 0 ? Memory{} : buffer->memory().slice(at, length));
      at += length;
    }
    return all;
  }

  NcclLink link_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Buffer> send_, receive_;
  unsigned rank_, size_;
};

// Host memory travels by another communicator.
class NcclBeside final : public Communicator {
 public:
  NcclBeside(Communicator& host, std::shared_ptr<Device> device, const NcclId& id,
             std::chrono::duration<double> timeout)
      : host_(host), link_(std::move(device), id, host.rank(), host.size(), timeout) {}

  [[nodiscard]] unsigned rank() const override { return host_.rank(); }
  [[nodiscard]] unsigned size() const override { return host_.size(); }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return host_.all_gather(mine);
  }
  void exchange(const Exchange& e) override { host_.exchange(e); }
  void all_reduce(std::span<std::uint64_t> numbers, Reduction reduction) override {
    host_.all_reduce(numbers, reduction);
  }
  void exclusive_sum(std::span<std::uint64_t> numbers) override { host_.exclusive_sum(numbers); }
  void exchange_on_device(Queue& queue, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    link_.exchange(queue, send, receive);
  }

 private:
  Communicator& host_;
  NcclLink link_;
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

std::unique_ptr<Communicator> nccl_communicator(Communicator& host, const std::string& device,
                                                std::chrono::duration<double> timeout) {
  std::shared_ptr<Device> found;
  std::vector<std::byte> mine;
  // A rank that fails later leaves the others waiting in NCCL.
  together(host, 0, [&] {
    check_timeout(timeout);
    found = find_device(device);
    cuda::require_cuda(*found);
    cuda::require_nccl();
    if (host.rank() != 0) return;
    const auto id = nccl_id();
    mine.assign(id.begin(), id.end());
  });
  const auto all = host.all_gather(mine);
  NcclId id;
  std::copy_n(all.begin(), id.size(), id.begin());
  return std::make_unique<NcclBeside>(host, std::move(found), id, timeout);
}

}  // namespace sortium::distributed
