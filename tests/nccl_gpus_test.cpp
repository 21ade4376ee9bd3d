// Distributed sorts on two or more GPUs, one for each rank: over NCCL, by threads of one process
// and by processes; by copies between the devices of one process; and of a list of devices. Skipped
// with fewer GPUs; nccl_test.cpp needs none.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <sortium/distributed_nccl.hpp>
#include <thread>

#include "distributed_cases.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using distributed::Communicator;
using distributed::nccl_communicator;
using namespace std::chrono_literals;

unsigned gpus() {
  unsigned count = 0;
  for (const auto& device : devices()) count += device->info().claimed.backend == Backend::cuda;
  return count;
}
std::string gpu(unsigned rank) { return fmt::format("cuda:{}", rank); }

// Sorts of device memory and of host memory. Returns the first error. The seed is always the same,
// so that processes find the kernels that threads have compiled.
std::string run_all(Communicator& nccl) {
  constexpr std::uint64_t seed = 21;
  const auto queue = find_device(gpu(nccl.rank()))->make_queue();
  auto wrong = run_device_cases(nccl, *queue, 12, seed);
  distributed::DeviceSorter sorter(nccl, queue->device().shared_from_this());
  for (const auto distribution : {Distribution::random, Distribution::zipf, Distribution::sorted})
    wrong +=
        run_device_case(nccl, sorter, *queue,
                        {{.key = KeyType::u32, .count = 1 << 22, .payload = Payload::values},
                         false,
                         distribution,
                         3},
                        Division::random, {.balance = distributed::Balance::even, .slices = 8});
  wrong += run_device_records(nccl, sorter, *queue, 100'000, Division::random,
                              {.balance = distributed::Balance::even}, seed);
  wrong += run_cases(nccl, 2, seed + 1, gpu(nccl.rank()));
  return wrong;
}

class NcclGpus : public testing::Test {
 protected:
  void SetUp() override {
    if (gpus() < 2) GTEST_SKIP() << "there are " << gpus() << " CUDA devices; 2 are needed";
  }
};

TEST_F(NcclGpus, OfThreadsAgreeWithAStableSort) {
  std::mutex mutex;
  distributed::run_ranks(gpus(), [&](Communicator& threads) {
    const auto nccl = nccl_communicator(threads, gpu(threads.rank()), 60s);
    const auto wrong = run_all(*nccl);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

// The same kernels as above, so that they are there already.
TEST_F(NcclGpus, CopiesBetweenDevicesAgreeWithAStableSort) {
  std::mutex mutex;
  distributed::run_ranks(gpus(), [&](Communicator& threads) {
    const auto wrong = run_all(threads);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

TEST_F(NcclGpus, SortAListOfDevices) {
  Random random(run_seed());
  std::vector<std::uint32_t> keys(3'000'000), values(keys.size());
  for (auto& key : keys) key = static_cast<std::uint32_t>(random.below(1 << 16));
  std::iota(values.begin(), values.end(), 0u);
  auto order = values;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  auto sorted = keys;
  sort(sorted, values, {.device = "cuda:*"});
  const auto report = sort_host({.key = KeyType::u32, .count = keys.size()},
                                {keys.data(), keys.data()}, {.device = "cuda:*"});
  EXPECT_EQ(values, order);
  EXPECT_EQ(sorted, keys);
  EXPECT_NE(report.device.find(" + "), report.device.npos);
}

// Starts this program for each rank; Rank.OfAProcess reads the variables.
TEST_F(NcclGpus, OfProcessesAgreeWithAStableSort) {
  const auto id =
      std::filesystem::temp_directory_path() / fmt::format("sortium-nccl-{:x}", run_seed());
  const unsigned ranks = gpus();
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::jthread> processes;
  for (unsigned r = 0; r < ranks; ++r)
    processes.emplace_back([&, r] {
      const auto command = fmt::format(
          "SORTIUM_NCCL_RANK={} SORTIUM_NCCL_RANKS={} SORTIUM_NCCL_ID={} timeout 120 "
          "'{}' --gtest_filter=Rank.OfAProcess",
          r, ranks, id.string(), self);
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    });
  processes.clear();
  std::filesystem::remove(id);
}

TEST(Rank, OfAProcess) {
  const char* const file = std::getenv("SORTIUM_NCCL_ID");
  if (file == nullptr) GTEST_SKIP() << "started by NcclGpus.OfProcessesAgreeWithAStableSort";
  const auto rank = static_cast<unsigned>(std::atoi(std::getenv("SORTIUM_NCCL_RANK")));
  const auto ranks = static_cast<unsigned>(std::atoi(std::getenv("SORTIUM_NCCL_RANKS")));
  distributed::NcclId id{};
  if (rank == 0) {  // the file appears by rename
    id = distributed::nccl_id();
    const std::string temporary = fmt::format("{}.new", file);
    std::ofstream(temporary, std::ios::binary)
        .write(reinterpret_cast<const char*>(id.data()), static_cast<std::streamsize>(id.size()));
    std::filesystem::rename(temporary, file);
  } else {
    while (!std::filesystem::exists(file)) std::this_thread::sleep_for(10ms);
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(id.data()), static_cast<std::streamsize>(id.size()));
  }
  const auto nccl = nccl_communicator(id, rank, ranks, gpu(rank), 60s);
  EXPECT_EQ(run_all(*nccl), "");
}

}  // namespace
}  // namespace sortium::test
