// Tests copies through pinned slots: every byte arrives, no slot is reused before its copy has
// ended, and a failure in one thread ends the transfer.
#include "device/staging.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <random>
#include <stdexcept>
#include <thread>

#include "support.hpp"

namespace sortium::test {
namespace {

// Copies in the background, after it has returned, as a device does. So a slot that is written or
// read too early shows wrong bytes.
class LateSlot final : public Staging::Slot {
 public:
  std::byte* data() override { return memory_.data(); }
  void wait() override {
    if (copy_.valid()) copy_.get();
  }
  void start(std::function<void()> copy) {
    if (copy_.valid()) throw std::logic_error("a slot was used again before its copy had ended");
    copy_ = std::async(std::launch::async, [copy = std::move(copy)] {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      copy();
    });
  }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(Staging::slot_bytes);
  std::future<void> copy_;
};

Staging make_staging(unsigned threads, std::atomic<unsigned>* made = nullptr) {
  return Staging(
      [made] {
        if (made != nullptr) ++*made;
        return std::make_unique<LateSlot>();
      },
      threads);
}

std::vector<std::byte> random_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::mt19937_64 random(count);
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, std::min<std::size_t>(8, count - i));
  }
  return bytes;
}

std::vector<HostSource> one_source(const std::vector<std::byte>& bytes) {
  return {{bytes.data(), bytes.size()}};
}
std::vector<HostTarget> one_target(std::vector<std::byte>& bytes) {
  return {{bytes.data(), bytes.size()}};
}

class StagingOf : public testing::TestWithParam<unsigned> {};

TEST_P(StagingOf, MovesEveryByte) {
  Staging staging = make_staging(GetParam());
  for (const std::size_t bytes :
       {std::size_t{1}, Staging::slot_bytes - 1, Staging::slot_bytes, Staging::slot_bytes + 1,
        5 * Staging::slot_bytes + 12345, 17 * Staging::slot_bytes}) {
    const auto host = random_bytes(bytes);
    std::vector<std::byte> device(bytes), back(bytes, std::byte{0xa5});
    staging.write(one_source(host), [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
      dynamic_cast<LateSlot&>(slot).start([&, at, n] { std::memcpy(&device[at], slot.data(), n); });
    });
    ASSERT_TRUE(device == host) << bytes << " bytes, written";
    staging.read(one_target(back), [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
      dynamic_cast<LateSlot&>(slot).start([&, at, n] { std::memcpy(slot.data(), &device[at], n); });
    });
    ASSERT_TRUE(back == host) << bytes << " bytes, read";
  }
}

// Arrays of random lengths, also empty ones, that follow one another on the device.
TEST_P(StagingOf, MovesSeveralArrays) {
  Staging staging = make_staging(GetParam());
  Random random(3);
  for (int trial = 0; trial < 6; ++trial) {
    const auto host = random_bytes(1 + random.below(6 * Staging::slot_bytes));
    std::vector<std::byte> device(host.size()), back(host.size(), std::byte{0xa5});
    std::vector<HostSource> from;
    std::vector<HostTarget> to;
    const auto lengths = [&](const auto& add) {
      for (std::uint64_t at = 0; at < host.size();) {
        const std::uint64_t most = random.below(4) == 0 ? 3 : Staging::slot_bytes;
        const auto bytes = std::min<std::uint64_t>(random.below(most + 1), host.size() - at);
        add(at, bytes);
        at += bytes;
      }
    };
    lengths([&](std::uint64_t at, std::uint64_t bytes) { from.push_back({&host[at], bytes}); });
    lengths([&](std::uint64_t at, std::uint64_t bytes) { to.push_back({&back[at], bytes}); });
    staging.write(from, [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
      dynamic_cast<LateSlot&>(slot).start([&, at, n] { std::memcpy(&device[at], slot.data(), n); });
    });
    ASSERT_TRUE(device == host) << "written";
    staging.read(to, [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
      dynamic_cast<LateSlot&>(slot).start([&, at, n] { std::memcpy(slot.data(), &device[at], n); });
    });
    ASSERT_TRUE(back == host) << "read";
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, StagingOf, testing::Values(1u, 2u, 3u, 8u));

TEST(Staging, KeepsItsSlots) {
  std::atomic<unsigned> made{0};
  Staging staging = make_staging(3, &made);
  const auto host = random_bytes(20 * Staging::slot_bytes);
  std::vector<std::byte> device(host.size());
  for (int i = 0; i < 3; ++i)
    staging.write(one_source(host), [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
      dynamic_cast<LateSlot&>(slot).start([&, at, n] { std::memcpy(&device[at], slot.data(), n); });
    });
  EXPECT_EQ(made, 6u) << "two slots for each of three threads";
}

TEST(Staging, ThrowsWhatACopyThrowsAndWorksAfterwards) {
  Staging staging = make_staging(4);
  const auto host = random_bytes(30 * Staging::slot_bytes);
  std::vector<std::byte> device(host.size());
  const auto copy = [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
    dynamic_cast<LateSlot&>(slot).start([&, at, n] { std::memcpy(&device[at], slot.data(), n); });
  };
  std::atomic<unsigned> started{0};
  EXPECT_THROW(staging.write(one_source(host),
                             [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
                               if (++started == 9) throw std::runtime_error("the device is lost");
                               copy(slot, at, n);
                             }),
               std::runtime_error);
  EXPECT_LT(started, 30u) << "the other threads went on";
  staging.write(one_source(host), copy);
  EXPECT_TRUE(device == host);
}

TEST(Staging, ServesOneTransferAtATime) {
  Staging staging = make_staging(2);
  const auto host = random_bytes(6 * Staging::slot_bytes);
  std::vector<std::thread> callers;
  std::vector<std::vector<std::byte>> devices(4, std::vector<std::byte>(host.size()));
  for (auto& device : devices)
    callers.emplace_back([&] {
      staging.write(one_source(host), [&](Staging::Slot& slot, std::uint64_t at, std::uint64_t n) {
        dynamic_cast<LateSlot&>(slot).start(
            [&, at, n] { std::memcpy(&device[at], slot.data(), n); });
      });
    });
  for (auto& caller : callers) caller.join();
  for (const auto& device : devices) EXPECT_TRUE(device == host);
}

// A queue's write and read, at lengths around those that CUDA stages, by two threads at once.
TEST(QueueCopies, MoveEveryByte) {
  const auto& device = test_device();
  const auto write_and_read = [&](std::size_t bytes) {
    constexpr std::size_t before = 512;
    const auto queue = device->make_queue();
    const auto buffer = device->allocate(before + bytes + before);
    const auto host = random_bytes(bytes);
    std::vector<std::byte> back(bytes + 1, std::byte{0xa5});
    queue->fill(buffer->memory(), 0x5a5a5a5a, (before + bytes + before) / 4 * 4);
    queue->write(buffer->memory().slice(before, bytes), host.data(), bytes);
    queue->read(back.data(), buffer->memory().slice(before, bytes), bytes);
    EXPECT_TRUE(std::equal(host.begin(), host.end(), back.begin())) << bytes << " bytes";
    EXPECT_EQ(back.back(), std::byte{0xa5}) << bytes << " bytes: read past the end";
    std::vector<std::byte> margin(before);
    queue->read(margin.data(), buffer->memory().slice(0, before), before);
    EXPECT_EQ(std::ranges::count(margin, std::byte{0x5a}), before) << bytes << " bytes";
  };
  const auto all_lengths = [&] {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4097}, Staging::least_bytes - 1, Staging::least_bytes,
          Staging::least_bytes + 1, 9 * Staging::slot_bytes + 5})
      write_and_read(bytes);
  };
  auto other = std::async(std::launch::async, all_lengths);
  all_lengths();
  other.get();
}

// Several arrays at once, also none and empty ones.
TEST(QueueCopies, MoveSeveralArrays) {
  const auto queue = test_device()->make_queue();
  Random random(8);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{10'000}, 3 * Staging::slot_bytes}) {
    const auto host = random_bytes(bytes);
    std::vector<std::byte> back(bytes);
    const auto buffer = test_device()->allocate(bytes + 64);
    const Memory memory = buffer->memory().slice(64, bytes);
    std::vector<HostSource> from{{host.data(), 0}};
    std::vector<HostTarget> to{{back.data(), 0}};
    for (std::uint64_t at = 0; at < bytes;) {
      const auto some = std::min<std::uint64_t>(1 + random.below(bytes), bytes - at);
      from.push_back({&host[at], some});
      to.push_back({&back[at], some});
      at += some;
    }
    queue->write_all(memory, from);
    queue->read_all(to, memory);
    EXPECT_TRUE(back == host) << bytes << " bytes";
    queue->write_all(memory, {});
    queue->read_all({}, memory);
  }
}

}  // namespace
}  // namespace sortium::test
