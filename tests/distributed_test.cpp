// Distributed sorts over threads of one process.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <mutex>
#include <thread>

#include "distributed_cases.hpp"
#include "expect_error.hpp"
#include "support.hpp"

namespace sortium::test {
namespace {

using distributed::Balance;
using distributed::Communicator;
using distributed::run_ranks;
using namespace std::chrono_literals;

class Ranks : public testing::TestWithParam<unsigned> {};

TEST_P(Ranks, AgreeWithAStableSort) {
  const std::uint64_t seed = run_seed() + GetParam();
  std::mutex mutex;
  run_ranks(
      GetParam(),
      [&](Communicator& communicator) {
        const auto wrong = run_cases(communicator, 150, seed, "cpu:0");
        const std::lock_guard lock(mutex);
        EXPECT_EQ(wrong, "");
      },
      60s);
}
INSTANTIATE_TEST_SUITE_P(Threads, Ranks, testing::Values(1, 2, 3, 4, 7));

// One process with several devices: each rank names its own.
TEST(Devices, MayDiffer) {
  const std::string other = test_device()->info().id;
  std::mutex mutex;
  run_ranks(3, [&](Communicator& communicator) {
    const Case c{{.key = KeyType::f32, .count = 60'000, .payload = Payload::values},
                 false,
                 Distribution::zipf,
                 11};
    const auto wrong = run_case(communicator, c, Division::random, Balance::even,
                                communicator.rank() == 1 ? other : "cpu:0");
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

// Lists long enough that stage 1 brackets the borders, with keys that sampling finds hard.
TEST(Borders, OfLongListsAreExact) {
  std::mutex mutex;
  for (const unsigned ranks : {2, 5})
    for (const auto distribution :
         {Distribution::random, Distribution::constant, Distribution::zipf, Distribution::sorted,
          Distribution::few_distinct, Distribution::organ_pipe})
      run_ranks(ranks, [&](Communicator& communicator) {
        const Case c{{.key = KeyType::f32, .count = 300'000, .payload = Payload::values},
                     false,
                     distribution,
                     17};
        const auto wrong = run_case(communicator, c, Division::random, Balance::even, "cpu:0");
        const std::lock_guard lock(mutex);
        EXPECT_EQ(wrong, "");
      });
}

// A rank divides long lists in several chunks, by several threads.
TEST(Borders, OfListsInManyChunksAreExact) {
  std::mutex mutex;
  for (const auto& [ranks, distribution, value_bytes] :
       {std::tuple{2u, Distribution::random, 8u}, {9u, Distribution::few_distinct, 3u}})
    run_ranks(ranks, [&, d = distribution, bytes = value_bytes](Communicator& communicator) {
      const Case c{
          {.key = KeyType::u64, .count = 700'000, .payload = Payload::values, .value_bytes = bytes},
          false,
          d,
          23};
      const auto wrong = run_case(communicator, c, Division::one_has_all, Balance::even, "cpu:0");
      const std::lock_guard lock(mutex);
      EXPECT_EQ(wrong, "");
    });
}

// With many ranks, brackets overlap and stage 1 takes quantiles.
TEST(Borders, OfManyRanksAreExact) {
  std::mutex mutex;
  for (const auto distribution : {Distribution::random, Distribution::zipf})
    run_ranks(40, [&](Communicator& communicator) {
      const Case c{{.key = KeyType::u64, .count = 20'000}, false, distribution, 3};
      const auto wrong = run_case(communicator, c, Division::random, Balance::even, "cpu:0");
      const std::lock_guard lock(mutex);
      EXPECT_EQ(wrong, "");
    });
}

TEST(Faults, OtherTypeIsAnErrorOnAllRanks) {
  std::atomic<unsigned> errors = 0;
  const auto sort = [](Communicator& communicator) {
    if (communicator.rank() == 2) {
      std::vector<float> keys{2, 1};
      (void)distributed::sort(communicator, keys);
    } else {
      std::vector<std::uint32_t> keys{2, 1};
      (void)distributed::sort(communicator, keys);
    }
  };
  expect_error(
      [&] {
        run_ranks(3, [&](Communicator& communicator) {
          try {
            sort(communicator);
          } catch (const Error& e) {
            errors += std::string(e.what()).find("rank 2: f32") != std::string::npos ? 1 : 0;
            throw;
          }
        });
      },
      ErrorCode::invalid_argument, {"rank 0: u32 keys", "rank 2: f32 keys"});
  EXPECT_EQ(errors, 3u);
}

TEST(Faults, OtherOptionsAreAnError) {
  const auto differ = [](auto change) {
    return [=] {
      run_ranks(2, [&](Communicator& communicator) {
        distributed::Options options;
        if (communicator.rank() == 1) change(options);
        std::vector<float> keys{2, 1};
        (void)distributed::sort(communicator, keys, options);
      });
    };
  };
  const auto code = ErrorCode::invalid_argument;
  expect_error(differ([](auto& o) { o.sort.order = Order::descending; }), code, {"descending"});
  expect_error(differ([](auto& o) { o.sort.nan = NanOrder::first; }), code, {"NaN order"});
  expect_error(differ([](auto& o) { o.sort.end_bit = 3; }), code, {"bits 0 to 3"});
  expect_error(differ([](auto& o) { o.balance = Balance::even; }), code, {"even lengths"});
  expect_error(differ([](auto& o) { o.sort.algorithm = "bitonic"; }), code,
               {"rank 1 of 2", "bitonic", "stable"});
  expect_error(differ([](auto& o) { o.sort.device = "no such device"; }), ErrorCode::not_found,
               {"rank 1 of 2", "no such device"});
}

TEST(Faults, ARankThatThrowsEndsTheOthers) {
  std::atomic<unsigned> ended = 0;
  const auto work = [&](Communicator& communicator) {
    std::vector<std::uint32_t> keys(1000, communicator.rank());
    const auto before = keys;
    if (communicator.rank() == 1) throw std::runtime_error("this rank gives up");
    try {
      (void)distributed::sort(communicator, keys);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::device_failed);
      EXPECT_NE(std::string(e.what()).find("rank 1 of 3 failed: this rank gives up"),
                std::string::npos);
      EXPECT_EQ(keys, before);
      ++ended;
      throw;
    }
  };
  EXPECT_THROW(run_ranks(3, work), std::runtime_error);
  EXPECT_EQ(ended, 2u);
}

// No clock can represent the time when such timeouts pass.
TEST(Faults, TimeoutsMayBeVeryLong) {
  for (const double seconds : {1e10, 1e18, 1e308, std::numeric_limits<double>::infinity()})
    run_ranks(
        3,
        [](Communicator& communicator) {
          if (communicator.rank() == 1) std::this_thread::sleep_for(20ms);
          EXPECT_EQ(communicator.all_gather(std::vector<std::byte>(2)).size(), 6u);
        },
        std::chrono::duration<double>(seconds));
}

TEST(Faults, ALateRankIsATimeout) {
  const auto work = [](Communicator& communicator) {
    std::vector<std::uint32_t> keys(10);
    if (communicator.rank() != 1) (void)distributed::sort(communicator, keys);
  };
  expect_error([&] { run_ranks(3, work, 100ms); }, ErrorCode::device_failed,
               {"no answer within 0.1 s", "ranks 1 of 3"});
}

// Forwards to a communicator; throws at its n-th call.
class FailingCommunicator final : public Communicator {
 public:
  FailingCommunicator(Communicator& real, unsigned calls) : real_(real), calls_(calls) {}
  [[nodiscard]] unsigned rank() const override { return real_.rank(); }
  [[nodiscard]] unsigned size() const override { return real_.size(); }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    count();
    return real_.all_gather(mine);
  }
  void exchange(const distributed::Exchange& e) override {
    count();
    real_.exchange(e);
  }

 private:
  void count() {
    if (calls_-- == 0) throw std::runtime_error("the transport fails");
  }
  Communicator& real_;
  unsigned calls_;
};

// A rank may fail in any phase. The others end, and inputs are unchanged.
TEST(Faults, InEveryPhaseEndTheOthers) {
  unsigned phases = 0;
  for (bool failed = true; failed; ++phases) {
    failed = false;
    try {
      run_ranks(
          3,
          [&](Communicator& communicator) {
            FailingCommunicator failing(communicator, phases);
            auto& mine =
                communicator.rank() == 1 ? static_cast<Communicator&>(failing) : communicator;
            std::vector<std::uint64_t> keys(5000);
            for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = Random(i).next();
            const auto before = keys;
            try {
              distributed::sort_host(mine, {.key = KeyType::u64, .count = keys.size()},
                                     {keys.data(), keys.data()});
            } catch (...) {
              EXPECT_EQ(keys, before) << "phase " << phases;
              throw;
            }
          },
          20s);
    } catch (const std::runtime_error&) {
      failed = true;
    }
    ASSERT_LT(phases, 100u);
  }
  EXPECT_GT(phases, 10u);
}

TEST(Faults, WrongArgumentsAreRefused) {
  const auto refused = [](Problem problem, distributed::Options options, bool in_place) {
    return [=] {
      run_ranks(2, [&](Communicator& communicator) {
        std::vector<std::uint64_t> in(4), out(4);
        distributed::sort_host(communicator, problem,
                               {in.data(), in_place ? in.data() : out.data()}, options);
      });
    };
  };
  const auto code = ErrorCode::invalid_argument;
  const Problem keys{.key = KeyType::u64, .count = 2};
  Problem problem = keys;
  problem.limit = 1;
  expect_error(refused(problem, {}, false), code, {"no limit"});
  problem = keys;
  problem.payload = Payload::positions;
  problem.value_bytes = 3;
  expect_error(refused(problem, {}, false), code, {"value_bytes is 3"});
  problem.value_bytes = 4;  // for more records in all than it can count
  problem.count = (std::uint64_t{1} << 31) + 1;
  expect_error(refused(problem, {}, false), code, {"4294967298 records", "4 bytes", "2^32"});
  problem = keys;
  problem.end_bit = 65;
  expect_error(refused(problem, {}, false), code, {"rank 0 of 2", "bits 0:65"});
  expect_error(refused(keys, {{}, Balance::even}, true), code, {"Balance::kept"});
  expect_error([] { run_ranks(0, [](Communicator&) {}); }, code, {"ranks is 0"});
  for (const double wrong : {0.0, -1.0, std::nan("")})
    expect_error(
        [&] {
          run_ranks(
              2, [](Communicator&) {}, std::chrono::duration<double>(wrong));
        },
        code, {"timeout is ", "greater than 0"});
}

}  // namespace
}  // namespace sortium::test
