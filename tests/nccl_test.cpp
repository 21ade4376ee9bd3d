// The communicator over NCCL, with a fake NCCL and a fake CUDA driver (fake_nccl.cpp,
// fake_cuda.cpp): which calls it makes, and its errors. No GPU is used.
#include <gtest/gtest.h>
#include <sortium/distributed.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <sortium/distributed_nccl.hpp>

#include "distributed_cases.hpp"
#include "expect_error.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using distributed::Communicator;
using distributed::nccl_communicator;
using distributed::nccl_id;
using namespace std::chrono_literals;

// First, before NCCL is loaded.
TEST(Nccl, IsMissing) {
  ::setenv("SORTIUM_NCCL", "./none.so", 1);
  expect_error([] { (void)nccl_id(); }, ErrorCode::unsupported, {"./none.so", "SORTIUM_NCCL"});
  ::setenv("SORTIUM_NCCL", "libcuda.so.1", 1);
  expect_error([] { (void)nccl_id(); }, ErrorCode::unsupported,
               {"libcuda.so.1 has no ncclGetUniqueId"});
  ::unsetenv("SORTIUM_NCCL");
  EXPECT_NE(nccl_id(), nccl_id());
}

// Runs `work` on threads, each with a communicator over NCCL.
template <class Work>
void run_nccl(unsigned ranks, const Work& work, std::chrono::milliseconds timeout = 60s) {
  const auto id = nccl_id();
  distributed::run_ranks(ranks, [&](Communicator& threads) {
    const auto nccl = nccl_communicator(id, threads.rank(), threads.size(), "cuda:0", timeout);
    EXPECT_EQ(nccl->rank(), threads.rank());
    EXPECT_EQ(nccl->size(), threads.size());
    work(*nccl);
  });
}

std::vector<std::byte> text(unsigned rank, std::size_t length) {
  return std::vector<std::byte>(length, static_cast<std::byte>(rank + 1));
}

TEST(Nccl, Gathers) {
  for (const unsigned ranks : {1, 2, 5})
    run_nccl(ranks, [&](Communicator& nccl) {
      for (const std::size_t length : {0, 1, 1000}) {  // rank r has r * length bytes
        std::vector<std::byte> expected;
        for (unsigned r = 0; r < ranks; ++r) {
          const auto part = text(r, r * length);
          expected.insert(expected.end(), part.begin(), part.end());
        }
        EXPECT_EQ(nccl.all_gather(text(nccl.rank(), nccl.rank() * length)), expected);
      }
      std::uint64_t number = nccl.rank() + 1;
      nccl.all_reduce({&number, 1}, distributed::Reduction::sum);
      EXPECT_EQ(number, ranks * (ranks + 1) / 2);
    });
}

// Rank a sends rank b (a + 2 b) * length bytes, which name a and b.
TEST(Nccl, Exchanges) {
  constexpr unsigned ranks = 3;
  run_nccl(ranks, [&](Communicator& nccl) {
    const unsigned me = nccl.rank();
    const auto message = [](unsigned from, unsigned to, std::size_t length) {
      return text(from * ranks + to, (from + 2 * to) * length);
    };
    for (const std::size_t length : {7, 100'000, 0}) {
      std::vector<std::byte> send, expected;
      std::vector<std::uint64_t> send_bytes, receive_bytes;
      for (unsigned r = 0; r < ranks; ++r) {
        const auto out = message(me, r, length), in = message(r, me, length);
        send.insert(send.end(), out.begin(), out.end());
        expected.insert(expected.end(), in.begin(), in.end());
        send_bytes.push_back(out.size());
        receive_bytes.push_back(in.size());
      }
      std::vector<std::byte> receive(expected.size());
      nccl.exchange({send.data(), send_bytes, receive.data(), receive_bytes});
      EXPECT_EQ(receive, expected);
    }
  });
}

TEST(Nccl, CarriesSorts) {
  std::mutex mutex;
  run_nccl(3, [&](Communicator& nccl) {
    const auto wrong = run_cases(nccl, 5, 11, "cpu:0");
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

// Sends the memory of cpu:0, which is that of the fake GPU, too: the fake GPU runs no kernels.
class ForHostMemory final : public Communicator {
 public:
  explicit ForHostMemory(Communicator& nccl) : nccl_(nccl) {}
  [[nodiscard]] unsigned rank() const override { return nccl_.rank(); }
  [[nodiscard]] unsigned size() const override { return nccl_.size(); }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return nccl_.all_gather(mine);
  }
  void exchange(const distributed::Exchange& e) override { nccl_.exchange(e); }
  void exchange_on_device(Queue&, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    nccl_.exchange_on_device(*queue_, send, receive);
  }

 private:
  Communicator& nccl_;
  std::unique_ptr<Queue> queue_ = find_device("cuda:0")->make_urgent_queue();
};

TEST(Nccl, CarriesSortsOfDeviceMemory) {
  std::mutex mutex;
  run_nccl(3, [&](Communicator& nccl) {
    ForHostMemory communicator(nccl);
    const auto queue = find_device("cpu:0")->make_queue();
    const auto wrong = run_device_cases(communicator, *queue, 40, 11);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

// Host memory by threads, device memory by NCCL.
TEST(Nccl, BesideThreadsCarriesSorts) {
  std::mutex mutex;
  distributed::run_ranks(3, [&](Communicator& threads) {
    const auto nccl = nccl_communicator(threads, "cuda:0");
    EXPECT_EQ(nccl->rank(), threads.rank());
    EXPECT_EQ(nccl->size(), 3u);
    ForHostMemory communicator(*nccl);
    const auto queue = find_device("cpu:0")->make_queue();
    auto wrong = run_device_cases(communicator, *queue, 40, 12);
    wrong += run_cases(*nccl, 5, 13, "cpu:0");
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

// Device memory, this rank's own included.
TEST(Nccl, ExchangesDeviceMemory) {
  run_nccl(2, [&](Communicator& nccl) {
    const unsigned me = nccl.rank();
    const auto device = find_device("cuda:0");
    const auto queue = device->make_queue();
    const auto out = device->allocate(300), in = device->allocate(300);
    const auto all = text(me, 300);
    queue->write(out->memory(), all.data(), all.size());
    // Rank 0 sends 100 bytes to each rank, rank 1 nothing to itself and 200 to rank 0.
    const auto bytes = [](unsigned from, unsigned to) -> std::uint64_t {
      return from == 0 ? 100 : to == 0 ? 200 : 0;
    };
    const auto piece = [](Memory memory, std::uint64_t begin, std::uint64_t length) {
      return length == 0 ? Memory{} : memory.slice(begin, length);
    };
    const Memory send[] = {piece(out->memory(), 0, bytes(me, 0)),
                           piece(out->memory(), 200, bytes(me, 1))};
    const Memory receive[] = {piece(in->memory(), 0, bytes(0, me)),
                              piece(in->memory(), 100, bytes(1, me))};
    nccl.exchange_on_device(*queue, send, receive);
    auto expected = text(0, 100);
    const auto from_1 = text(1, bytes(1, me));
    expected.insert(expected.end(), from_1.begin(), from_1.end());
    std::vector<std::byte> found(expected.size());
    queue->read(found.data(), in->memory(), found.size());
    EXPECT_EQ(found, expected);

    const auto other = find_device("cpu:0")->make_queue();
    expect_error([&] { nccl.exchange_on_device(*other, send, receive); },
                 ErrorCode::invalid_argument, {"queue"});
  });
}

TEST(NcclFaults, ErrorsNameTheCall) {
  const auto code = ErrorCode::device_failed;
  const auto gather = [] {
    run_nccl(
        2, [](Communicator& nccl) { (void)nccl.all_gather(text(0, 3)); }, 200ms);
  };
  ::setenv("FAKE_NCCL_FAIL", "ncclGetUniqueId", 1);
  expect_error(gather, code, {"ncclGetUniqueId failed: invalid argument"});
  for (const char* function : {"ncclCommInitRank", "ncclSend", "ncclGroupEnd"}) {
    ::setenv("FAKE_NCCL_FAIL", function, 1);
    expect_error(gather, code, {function, "failed: invalid argument"});
  }
  ::setenv("FAKE_NCCL_FAIL", "async", 1);
  expect_error(gather, code, {"NCCL failed: invalid argument"});
  ::unsetenv("FAKE_NCCL_FAIL");

  const auto id = nccl_id();
  expect_error([&] { (void)nccl_communicator(id, 2, 2, "cuda:0"); }, ErrorCode::invalid_argument,
               {"rank is 2", "size, 2"});
  expect_error([&] { (void)nccl_communicator(id, 0, 1, "cpu:0"); }, ErrorCode::invalid_argument,
               {"device is cpu:0", "CUDA"});
  distributed::run_ranks(2, [](Communicator& threads) {  // one rank's error is that of both
    expect_error(
        [&] { (void)nccl_communicator(threads, threads.rank() == 0 ? "cuda:0" : "cpu:0"); },
        ErrorCode::invalid_argument, {"rank 1 of 2: device is cpu:0", "CUDA"});
  });
}

// C's communicator over NCCL: device memory travels by NCCL, the rest by the other one's functions.
int sort_by_c(const sortium_communicator* threads, void*) {
  sortium_communicator nccl;
  if (sortium_nccl_communicator_create(threads, "cuda:0", 60, &nccl) != SORTIUM_OK) return 1;
  bool right = nccl.rank == threads->rank && nccl.size == threads->size;
  std::uint64_t begin = 0, count = 0;
  right = right &&
          sortium_distributed_part(&nccl, 7, SORTIUM_BALANCE_KEPT, &begin, &count) == SORTIUM_OK;
  right = right && begin == 7 * threads->rank && count == 7;
  // Every rank sends its number, as a byte, to every rank.
  const auto device = find_device("cuda:0");
  sortium_queue* queue = nullptr;
  sortium_device* found = nullptr;
  right = right && sortium_device_find("cuda:0", &found) == SORTIUM_OK &&
          sortium_queue_create(found, 0, &queue) == SORTIUM_OK;
  const auto sent = device->allocate(1), received = device->allocate(nccl.size);
  const auto of = [](const Memory& m) { return sortium_memory{m.handle, m.offset, m.bytes}; };
  const unsigned char number = static_cast<unsigned char>(nccl.rank);
  std::vector<unsigned char> all(nccl.size);
  std::vector<sortium_memory> send, receive;
  for (unsigned r = 0; r < nccl.size; ++r) {
    send.push_back(of(sent->memory()));
    receive.push_back(of(received->memory().slice(r, 1)));
  }
  right = right && sortium_queue_write(queue, send[0], &number, 1) == SORTIUM_OK &&
          nccl.exchange_on_device(nccl.context, queue, send.data(), receive.data()) == 0 &&
          sortium_queue_read(queue, all.data(), of(received->memory()), all.size()) == SORTIUM_OK;
  for (unsigned r = 0; r < nccl.size; ++r) right = right && all[r] == r;
  sortium_nccl_communicator_release(&nccl);
  right = right && nccl.exchange_on_device == nullptr;
  sortium_queue_release(queue);
  sortium_device_release(found);
  return right ? 0 : 2;
}
TEST(Nccl, HasAnInterfaceForC) {
  EXPECT_EQ(sortium_run_ranks(3, sort_by_c, nullptr, 60), SORTIUM_OK) << sortium_last_error();
}

TEST(NcclFaults, ALateRankIsATimeout) {
  std::atomic<unsigned> late = 0;
  run_nccl(
      3,
      [&](Communicator& nccl) {
        if (nccl.rank() == 1) return std::this_thread::sleep_for(1s);
        for (const char* words : {"had no answer from all others within 0.1 s", "earlier call"})
          expect_error([&] { (void)nccl.all_gather(text(0, 3)); }, ErrorCode::device_failed,
                       {words});
        ++late;
      },
      100ms);
  EXPECT_EQ(late, 2u);
}

}  // namespace
}  // namespace sortium::test
