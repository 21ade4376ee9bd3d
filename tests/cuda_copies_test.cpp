// Tests the copies of the CUDA backend with a driver that needs no GPU (fake_cuda.cpp): every byte
// arrives, pageable memory is staged, and pinned memory is used as it is.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sortium/distributed.hpp>
#include <thread>

#include "device/staging.hpp"
#include "expect_error.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

// A function of the fake driver.
template <class F>
F* driver(const char* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  auto* const function = library == nullptr ? nullptr : ::dlsym(library, name);
  if (function == nullptr)
    throw std::runtime_error(fmt::format("no {}: is LD_LIBRARY_PATH set as ctest does?", name));
  return reinterpret_cast<F*>(function);
}
std::uint64_t pageable_copies() { return driver<std::uint64_t()>("fake_cuda_pageable_copies")(); }
std::uint64_t pinned_copies() { return driver<std::uint64_t()>("fake_cuda_pinned_copies")(); }

// A queue on a stream of the fake driver.
struct FakeQueue {
  FakeQueue() {
    driver<int(void**, unsigned)>("cuStreamCreate")(&stream, 0);
    queue = wrap_cuda(reinterpret_cast<void*>(1), stream);
  }
  ~FakeQueue() {
    queue.reset();
    driver<int(void*)>("cuStreamDestroy_v2")(stream);
  }
  void* stream = nullptr;
  std::unique_ptr<Queue> queue;
};

// Arrays of `bytes` bytes together, in pageable memory or in one pinned block.
class Arrays {
 public:
  Arrays(std::uint64_t bytes, unsigned count, bool is_pinned) : pageable_(is_pinned ? 0 : bytes) {
    if (is_pinned) driver<int(void**, std::size_t, unsigned)>("cuMemHostAlloc")(&block_, bytes, 0);
    data = is_pinned ? static_cast<std::byte*>(block_) : pageable_.data();
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t first = bytes * i / count, end = bytes * (i + 1) / count;
      sources.push_back({data + first, end - first});
      targets.push_back({data + first, end - first});
    }
  }
  ~Arrays() {
    if (block_ != nullptr) driver<int(void*)>("cuMemFreeHost")(block_);
  }
  std::byte* data = nullptr;
  std::vector<HostSource> sources;
  std::vector<HostTarget> targets;

 private:
  Bytes pageable_;
  void* block_ = nullptr;
};

void copy_there_and_back(FakeQueue& fake, std::uint64_t bytes, unsigned count, bool is_pinned) {
  SCOPED_TRACE(fmt::format("{} bytes in {} arrays, pinned {}", bytes, count, is_pinned));
  Arrays from(bytes, count, is_pinned), to(bytes, count + 2, is_pinned);
  Random random(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) from.data[i] = static_cast<std::byte>(random.next());
  const auto buffer = fake.queue->device().allocate(bytes + 64);
  const Memory memory = buffer->memory().slice(64, bytes);
  const std::uint64_t pageable = pageable_copies(), pinned = pinned_copies();
  fake.queue->write_all(memory, from.sources);
  fake.queue->read_all(to.targets, memory);
  EXPECT_TRUE(std::equal(from.data, from.data + bytes, to.data));
  if (bytes >= Staging::least_bytes) {
    EXPECT_EQ(pageable_copies(), pageable) << "the driver copied pageable memory";
    if (is_pinned) {
      EXPECT_EQ(pinned_copies() - pinned, count + count + 2) << "pinned memory is staged";
    }
  }
}

TEST(CudaCopies, MoveEveryByte) {
  FakeQueue fake;
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, std::uint64_t{5000}, Staging::least_bytes - 1, Staging::least_bytes,
        Staging::slot_bytes * 9 + 5, Staging::slot_bytes * 40 + 12345})
    for (const unsigned count : {1u, 3u, 50u})
      for (const bool is_pinned : {false, true})
        if (count < bytes) copy_there_and_back(fake, bytes, count, is_pinned);
}

TEST(CudaCopies, OfOneArray) {
  FakeQueue fake;
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{17}, Staging::slot_bytes * 5}) {
    Bytes from(bytes + 1, std::byte{7}), to(bytes + 1, std::byte{9});
    const auto buffer = fake.queue->device().allocate(bytes + 1);
    fake.queue->write(buffer->memory(), from.data(), bytes);
    fake.queue->read(to.data(), buffer->memory(), bytes);
    EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(to, std::byte{7})), bytes);
    EXPECT_EQ(to.back(), std::byte{9});
  }
}

// Some arrays of a copy are pinned and others are not, as in a sort in ranges of pinned memory.
TEST(CudaCopies, OfPinnedAndPageableArrays) {
  FakeQueue fake;
  const std::uint64_t bytes = 3 * Staging::slot_bytes + 1;
  Arrays pinned(bytes, 2, true), pageable(bytes, 3, false), back(2 * bytes, 1, false);
  std::fill(pinned.data, pinned.data + bytes, std::byte{1});
  std::fill(pageable.data, pageable.data + bytes, std::byte{2});
  auto sources = pinned.sources;
  sources.insert(sources.begin() + 1, pageable.sources.begin(), pageable.sources.end());
  const auto buffer = fake.queue->device().allocate(2 * bytes);
  fake.queue->write_all(buffer->memory(), sources);
  fake.queue->read_all(back.targets, buffer->memory());
  const std::uint64_t first = pinned.sources[0].bytes;
  for (std::uint64_t i = 0; i < 2 * bytes; ++i)
    ASSERT_EQ(back.data[i], std::byte(i >= first && i < first + bytes ? 2 : 1)) << i;
}

std::uint64_t allocations() { return driver<std::uint64_t()>("fake_cuda_allocations")(); }

// Freed memory is used again, and given back when it is needed.
TEST(CudaMemory, IsKeptForTheNextBuffer) {
  const auto device = find_device("cuda:1");
  constexpr std::uint64_t bytes = std::uint64_t{24} << 20;
  const std::uint64_t all = device->free_memory();
  void* first = device->allocate(bytes)->memory().handle;
  const std::uint64_t before = allocations();
  EXPECT_EQ(device->free_memory(), all) << "kept memory can be allocated";
  {
    const auto alike = device->allocate(bytes - bytes / 8);
    EXPECT_EQ(alike->memory().handle, first);
    EXPECT_EQ(alike->memory().bytes, bytes - bytes / 8);
    EXPECT_EQ(allocations(), before);
    const auto other = device->allocate(bytes);
    EXPECT_NE(other->memory().handle, first);
  }
  EXPECT_EQ(allocations(), before + 1);
  (void)device->allocate(bytes / 2);  // half of a block would be unused
  EXPECT_EQ(allocations(), before + 2);
  EXPECT_NO_THROW((void)device->allocate(all)) << "the device has no memory beside kept blocks";
  expect_error([&] { (void)device->allocate(all + 1); }, ErrorCode::out_of_memory,
               {"fake GPU", "1073741825"});
  EXPECT_EQ(device->free_memory(), all);
}

// Others may need the memory, so little of it is kept, and none if the device is nearly full.
TEST(CudaMemory, IsKeptWithinBounds) {
  const auto device = find_device("cuda:0");
  const std::uint64_t all = device->free_memory();
  const auto free = [&] {
    std::size_t bytes = 0, total = 0;
    driver<int(std::size_t*, std::size_t*)>("cuMemGetInfo_v2")(&bytes, &total);
    return bytes;
  };
  (void)device->allocate(all / 4);
  EXPECT_EQ(free(), all);
  for (const std::uint64_t part : {all / 16, all / 12, all / 20}) (void)device->allocate(part);
  EXPECT_LT(free(), all);
  EXPECT_GE(free(), all - all / 8);
  const auto most = device->allocate(all / 8 * 7);
  (void)device->allocate(all / 20);
  EXPECT_EQ(free(), all - most->memory().bytes);
}

// One queue is written while another is read, as in a sort in ranges.
TEST(CudaCopies, InBothDirectionsAtOnce) {
  FakeQueue a, b;
  std::thread other([&] { copy_there_and_back(b, Staging::slot_bytes * 30 + 3, 7, false); });
  copy_there_and_back(a, Staging::slot_bytes * 33 + 9, 5, false);
  other.join();
}

// Threads fetch from each other's devices: rank a sends (a + 2 b) * length bytes to rank b.
TEST(CudaCopies, BetweenDevicesOfRanks) {
  constexpr unsigned ranks = 3;
  const auto peer_copies = driver<std::uint64_t()>("fake_cuda_peer_copies");
  const std::uint64_t before = peer_copies();
  constexpr const char* devices[] = {"cuda:0", "cuda:1", "cuda:0"};
  distributed::run_ranks(ranks, [&](distributed::Communicator& communicator) {
    const unsigned me = communicator.rank();
    const auto device = find_device(devices[me]);
    const auto queue = device->make_queue();
    for (const std::size_t length : {1u, 100'000u, 0u}) {
      const auto bytes = [&](unsigned from, unsigned to) { return (from + 2 * to) * length; };
      const auto sent = device->allocate(ranks * 6 * length + 1);
      const auto received = device->allocate(ranks * 6 * length + 1);
      std::vector<Memory> send, receive;
      for (unsigned r = 0; r < ranks; ++r) {
        send.push_back(sent->memory().slice(r * 6 * length, bytes(me, r)));
        receive.push_back(received->memory().slice(r * 6 * length, bytes(r, me)));
        const Bytes text(bytes(me, r), static_cast<std::byte>(10 * me + r));
        queue->write(send[r], text.data(), text.size());
      }
      communicator.exchange_on_device(*queue, send, receive);
      for (unsigned r = 0; r < ranks; ++r) {
        Bytes text(bytes(r, me));
        queue->read(text.data(), receive[r], text.size());
        EXPECT_EQ(text, Bytes(text.size(), static_cast<std::byte>(10 * r + me)));
      }
      // A rank that expects other bytes is told so.
      if (length != 1) continue;
      if (me == 1) receive[2].bytes += 1;
      if (me == 1)
        expect_error([&] { communicator.exchange_on_device(*queue, send, receive); },
                     ErrorCode::invalid_argument, {"rank 1 expects other numbers"});
      else
        communicator.exchange_on_device(*queue, send, receive);
    }
  });
  // Between cuda:0 and cuda:1, four copies at length 100'000; at length 1 up to twice as many.
  EXPECT_GE(peer_copies() - before, 4u + 4u + 2u);
  EXPECT_LE(peer_copies() - before, 4u + 8u);
}

// pip installs NVRTC as a package of its own. A copy of this program stands for the Python module.
TEST(Nvrtc, OfAPythonPackageIsFound) {
  const fs::path site = fs::temp_directory_path() / fmt::format("sortium-site-{}", ::getpid());
  const fs::path nvrtc = site / "nvidia/cu13/lib/libnvrtc.so.13", program = site / "module/program";
  fs::create_directories(nvrtc.parent_path());
  fs::create_directories(program.parent_path());
  fs::copy_file("/proc/self/exe", program);
  fs::copy_file(FAKE_COMPILER, nvrtc);
  const auto command = fmt::format(
      "env -u SORTIUM_NVRTC {} --gtest_also_run_disabled_tests "
      "--gtest_filter=Nvrtc.DISABLED_IsOpened >{} 2>&1",
      program.string(), (site / "log").string());
  ::setenv("SORTIUM_TEST_NVRTC", nvrtc.c_str(), 1);
  const int status = std::system(command.c_str());
  std::ifstream log(site / "log");
  EXPECT_EQ(status, 0) << std::string(std::istreambuf_iterator<char>(log), {});
  fs::remove_all(site);
}

TEST(Nvrtc, DISABLED_IsOpened) {  // the copy's test
  (void)devices();
  EXPECT_NE(::dlopen(std::getenv("SORTIUM_TEST_NVRTC"), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

}  // namespace
}  // namespace sortium::test
