// The communicator over NCCL, with a fake NCCL and a fake CUDA driver (fake_nccl.cpp,
// fake_cuda.cpp): which calls it makes, and its errors. No GPU is used.
#include <gtest/gtest.h>

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
