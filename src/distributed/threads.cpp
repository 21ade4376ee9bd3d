// Ranks that are threads of one process.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <sortium/distributed.hpp>
#include <string>
#include <thread>

#include "../device/peer.hpp"
#include "parallel.hpp"
#include "timeout.hpp"
#include "turn.hpp"

namespace sortium::distributed {

namespace {

// Clocks cannot represent a time that is much later.
constexpr std::chrono::hours longest{100 * 365 * 24};

// How long a rank waits for others before it sleeps.
constexpr std::chrono::microseconds awake{100};

// What a rank sends from its device.
struct DeviceExchange {
  Queue* queue = nullptr;
  std::span<const Memory> send;
};

// What the threads share: a barrier that ends early if a rank fails, and what each rank posted.
class Group {
 public:
  Group(unsigned ranks, std::chrono::duration<double> timeout)
      : timeout_(timeout),
        gathers(ranks),
        exchanges(ranks),
        device_exchanges(ranks),
        arrived_(ranks) {}

  // Returns when all ranks have arrived. Throws if one failed or is late.
  void arrive(unsigned rank) {
    std::unique_lock lock(mutex_);
    throw_if_failed();
    arrived_[rank] = true;
    const std::uint64_t turn = turn_;
    if (++arrivals_ == arrived_.size()) return begin_turn();
    wait_awake(lock, turn);
    const bool ended =
        changed_.wait_for(lock, std::min<std::chrono::duration<double>>(timeout_, longest),
                          [&] { return turn_ != turn || !failure_.empty(); });
    if (turn_ != turn) return;
    if (!ended && failure_.empty()) fail_locked(late_ranks());
    throw_if_failed();
  }

  // Returns when all ranks have arrived, however long it takes: they are copying from each other's
  // memory, which must not disappear meanwhile.
  void finish() {
    std::unique_lock lock(mutex_);
    const std::uint64_t turn = turn_;
    if (++arrivals_ == arrived_.size()) return begin_turn();
    wait_awake(lock, turn);
    changed_.wait(lock, [&] { return turn_ != turn; });
  }

  // Makes the other ranks throw. The first failure counts. They would wait for ever if this failed,
  // so it needs no memory.
  void fail(unsigned rank, const char* message, std::exception_ptr exception) noexcept {
    std::string text;
    try {
      text = fmt::format("rank {} of {} failed: {}", rank, arrived_.size(), message);
    } catch (const std::bad_alloc&) {
      text = "no memory left";  // short enough to lie within the string
    }
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = std::move(exception);
    fail_locked(std::move(text));
  }
  [[nodiscard]] const std::exception_ptr& first() const { return first_; }

 private:
  // Waits for a short time without sleeping, because waking up takes longer than most calls.
  void wait_awake(std::unique_lock<std::mutex>& lock, std::uint64_t turn) const {
    lock.unlock();
    const auto end = std::chrono::steady_clock::now() + awake;
    while (turn_ == turn && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    lock.lock();
  }
  void begin_turn() {
    arrivals_ = 0;
    arrived_.assign(arrived_.size(), false);
    ++turn_;
    changed_.notify_all();
  }
  void fail_locked(std::string&& message) noexcept {
    if (failure_.empty()) failure_ = std::move(message);
    changed_.notify_all();
  }
  void throw_if_failed() const {
    if (!failure_.empty()) throw Error(ErrorCode::device_failed, failure_);
  }
  [[nodiscard]] std::string late_ranks() const {
    std::string late;
    for (std::size_t r = 0; r < arrived_.size(); ++r)
      if (!arrived_[r]) late += fmt::format("{}{}", late.empty() ? "" : ", ", r);
    return fmt::format("no answer within {} s from ranks {} of {}", timeout_.count(), late,
                       arrived_.size());
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::duration<double> timeout_;
  std::atomic<std::uint64_t> turn_ = 0;
  std::size_t arrivals_ = 0;
  std::string failure_;
  std::exception_ptr first_;

 public:
  // Posted before arrive(); read until finish().
  std::vector<std::span<const std::byte>> gathers;
  std::vector<const Exchange*> exchanges;
  std::vector<DeviceExchange> device_exchanges;

 private:
  std::vector<bool> arrived_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Group& group, unsigned rank) : group_(group), rank_(rank) {}
  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override {
    return static_cast<unsigned>(group_.gathers.size());
  }

  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    group_.gathers[rank_] = mine;
    group_.arrive(rank_);
    std::vector<std::byte> all;
    std::exception_ptr failure;
    try {
      for (const auto& part : group_.gathers) all.insert(all.end(), part.begin(), part.end());
    } catch (...) {
      failure = std::current_exception();
    }
    group_.finish();
    if (failure) std::rethrow_exception(failure);
    return all;
  }

  // The last call before the ranks replace their records: nothing may fail after arrive().
  void all_reduce(std::span<std::uint64_t> numbers, Reduction reduction) override {
    std::vector<std::uint64_t> result(numbers.size());
    group_.gathers[rank_] = std::as_bytes(numbers);
    group_.arrive(rank_);
    bool alike = true;
    for (const auto& part : group_.gathers) {
      alike = alike && part.size() == numbers.size_bytes();
      for (std::size_t i = 0; alike && i < numbers.size(); ++i) {
        std::uint64_t number = 0;
        std::memcpy(&number, part.data() + i * sizeof number, sizeof number);
        result[i] = reduction == Reduction::sum ? result[i] + number : std::max(result[i], number);
      }
    }
    group_.finish();
    if (!alike)
      throw Error(ErrorCode::invalid_argument, "the ranks reduce different numbers of elements");
    std::ranges::copy(result, numbers.begin());
  }

  void exchange(const Exchange& mine) override {
    group_.exchanges[rank_] = &mine;
    group_.arrive(rank_);
    bool fits = false;
    std::exception_ptr failure;
    try {
      fits = receive(mine);
    } catch (...) {  // the others must not wait for ever
      failure = std::current_exception();
    }
    group_.finish();
    if (failure) std::rethrow_exception(failure);
    if (!fits) throw_other_bytes();
  }

  void exchange_on_device(Queue& queue, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    queue.finish();
    std::exception_ptr failure;
    try {
      start_exchange_on_device(queue, send, receive);
    } catch (...) {  // the others wait for the end
      failure = std::current_exception();
    }
    finish_exchanges_on_device(queue);
    if (failure) std::rethrow_exception(failure);
  }
  // Each rank fetches from the others' devices what it receives.
  void start_exchange_on_device(Queue& queue, std::span<const Memory> send,
                                std::span<const Memory> receive) override {
    group_.device_exchanges[rank_] = {&queue, send};
    group_.arrive(rank_);
    bool fits = false;
    std::exception_ptr failure;
    try {
      fits = fetch(queue, receive);
      queue.flush();
    } catch (...) {
      failure = std::current_exception();
    }
    if (failure || !fits) end_of(queue);  // what has begun still reads the others' memory
    group_.finish();
    if (failure) std::rethrow_exception(failure);
    if (!fits) throw_other_bytes();
  }
  void finish_exchanges_on_device(Queue& queue) override {
    std::exception_ptr failure;
    try {
      queue.finish();
    } catch (...) {
      failure = std::current_exception();
    }
    group_.arrive(rank_);
    group_.finish();
    if (failure) std::rethrow_exception(failure);
  }

  // Copy engines move the data, so kernels keep all compute units. Measured on H100s with NVLink;
  // assumed for other devices.
  [[nodiscard]] bool exchanges_beside_kernels() const override { return true; }

 private:
  [[noreturn]] void throw_other_bytes() const {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("exchange: rank {} expects other numbers of bytes than are sent to it", rank_));
  }

  // Enqueues copies of what the others send. Returns false if it is not what this rank expects.
  // Every rank begins with the next one, so that they do not all read from the same device.
  bool fetch(Queue& queue, std::span<const Memory> receive) const {
    for (unsigned i = 0; i < size(); ++i) {
      const unsigned r = (rank_ + i) % size();
      const auto& theirs = group_.device_exchanges[r];
      const Memory& from = theirs.send[rank_];
      if (from.bytes != receive[r].bytes) return false;
      if (from.bytes != 0) backend::copy_between(queue, receive[r], *theirs.queue, from);
    }
    return true;
  }

  // Copies what the others send. Returns false if it is not what this rank expects.
  bool receive(const Exchange& mine) const {
    std::byte* to = mine.receive;
    for (unsigned r = 0; r < size(); ++r) {
      const Exchange& theirs = *group_.exchanges[r];
      const std::uint64_t bytes = mine.receive_bytes[r];
      if (theirs.send_bytes[rank_] != bytes) return false;
      const std::byte* from = theirs.send;
      for (unsigned before = 0; before < rank_; ++before) from += theirs.send_bytes[before];
      copy(to, from, bytes);
      to += bytes;
    }
    return true;
  }

  Group& group_;
  unsigned rank_;
};

}  // namespace

void run_ranks(unsigned ranks, const std::function<void(Communicator&)>& work,
               std::chrono::duration<double> timeout) {
  if (ranks == 0) throw Error(ErrorCode::invalid_argument, "ranks is 0; at least 1 is needed");
  check_timeout(timeout);
  Group group(ranks, timeout);
  const auto no_threads = std::make_exception_ptr(
      Error(ErrorCode::out_of_memory,
            fmt::format("ranks is {}; the system can start no more threads", ranks)));
  const auto run = [&](unsigned rank) {
    ThreadCommunicator communicator(group, rank);
    try {
      work(communicator);
    } catch (const std::exception& e) {
      group.fail(rank, e.what(), std::current_exception());
    } catch (...) {
      group.fail(rank, "an exception without a message", std::current_exception());
    }
  };
  std::vector<std::jthread> threads;
  try {
    for (unsigned r = 1; r < ranks; ++r) threads.emplace_back(run, r);
    run(0);
  } catch (const std::exception&) {
    group.fail(0, "it cannot start the others", no_threads);
  }
  threads.clear();
  if (group.first()) std::rethrow_exception(group.first());
}

}  // namespace sortium::distributed
