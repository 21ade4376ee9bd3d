// Distributed sorts of device memory, over threads of one process.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <random>
#include <sortium/verify.hpp>

#include "algorithms/parts/boundary_partition.hpp"
#include "distributed/exact.hpp"
#include "distributed_cases.hpp"
#include "expect_error.hpp"
#include "faulty_device.hpp"
#include "support.hpp"
#include "wrapped_device.hpp"

namespace sortium::test {
namespace {

using distributed::Balance;
using distributed::Communicator;
using distributed::DeviceSorter;
using distributed::run_ranks;

// Runs work(communicator, queue) on ranks, each with a queue of its own. If the device is a CPU
// with kernels, only the last rank uses it and the others use cpu:0: PoCL 3.1 aborts if several
// queues run kernels at the same time (an assertion in pocl_release_dlhandle_cache).
template <class Work>
void run_on_device(unsigned ranks, const std::shared_ptr<Device>& named, const Work& work) {
  const bool alone = named->info().claimed.kind == DeviceKind::cpu;
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& communicator) {
    const auto device = alone && communicator.rank() + 1 < ranks ? find_device("cpu:0") : named;
    const auto queue = device->make_queue();
    const std::string wrong = work(communicator, *queue);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(wrong, "");
  });
}

// Each number of boundaries has the kernels of the next power of two. The last tile is partial.
// Every third bucket goes to another array, in the opposite order.
TEST(BoundaryPartition, KeepsTheOrderInEachBucket) {
  const auto& device = test_device();
  const auto& found = capabilities(*device);
  if (on_host()) GTEST_SKIP() << "kernels run on devices";
  constexpr std::uint32_t count = 20'011, most_key = 3000, bytes = count * 4;
  std::mt19937 random(static_cast<unsigned>(run_seed()));
  std::vector<std::uint32_t> keys(count);
  for (auto& key : keys) key = random() % most_key;
  const auto queue = device->make_queue();
  const auto in = device->allocate(bytes), out = device->allocate(bytes),
             apart = device->allocate(bytes), values = device->allocate(bytes),
             values_apart = device->allocate(bytes);
  queue->write(in->memory(), keys.data(), bytes);
  const std::vector<std::uint32_t> untouched(count, 0xdeadbeef);
  Problem p{.key = KeyType::u32, .count = count, .payload = Payload::positions};
  p.keys_out = true;
  for (const unsigned boundaries : {1, 3, 4, 7, 8, 15, 16, 31, 32, 255}) {
    SCOPED_TRACE(fmt::format("{} boundaries", boundaries));
    std::vector<std::uint64_t> bounds(boundaries);
    for (auto& bound : bounds) bound = random() % (most_key + 100);
    std::ranges::sort(bounds);
    ScratchLayout layout;
    BoundaryPartition partition(p, found, boundaries, layout);
    partition.build(*device, found);
    const auto scratch = device->allocate(layout.bytes());
    const Operands o{in->memory(), out->memory(), {}, values->memory(), scratch->memory()};
    for (const auto* array : {&out, &apart, &values, &values_apart})
      queue->write((*array)->memory(), untouched.data(), bytes);
    const auto begins = partition.count(*queue, o, bounds);
    EXPECT_TRUE(partition.reaches(count));
    std::vector<std::uint64_t> places(begins.size() - 1, BoundaryPartition::nowhere);
    std::uint64_t next = 0;
    for (std::size_t b = places.size(); b-- > 0;)
      if (b % 3 == 1) {
        places[b] = next;
        next += begins[b + 1] - begins[b];
      }
    partition.scatter(*queue, o, bounds, begins, 0,
                      {apart->memory(), values_apart->memory(), places});

    const auto bucket_of = [&](std::uint32_t key) {
      return static_cast<std::size_t>(std::ranges::upper_bound(bounds, key) - bounds.begin());
    };
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return bucket_of(keys[i]); });
    auto expected = untouched, expected_apart = untouched, expected_values = untouched,
         expected_values_apart = untouched;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t b = bucket_of(keys[order[i]]);
      const bool goes = places[b] != BoundaryPartition::nowhere;
      const std::uint64_t at = goes ? places[b] + i - begins[b] : i;
      (goes ? expected_apart : expected)[at] = keys[order[i]];
      (goes ? expected_values_apart : expected_values)[at] = order[i];
    }
    const auto read = [&](const auto& array) {
      std::vector<std::uint32_t> all(count);
      queue->read(all.data(), array->memory(), bytes);
      return all;
    };
    EXPECT_EQ(read(out), expected);
    EXPECT_EQ(read(apart), expected_apart);
    EXPECT_EQ(read(values), expected_values);
    EXPECT_EQ(read(values_apart), expected_values_apart);
    for (std::size_t b = 0; b < begins.size(); ++b) {
      const auto before =
          std::ranges::count_if(keys, [&](std::uint32_t key) { return bucket_of(key) < b; });
      EXPECT_EQ(begins[b], static_cast<std::uint64_t>(before));
    }
  }
}

TEST(MergeRuns, OfAnyNumber) {
  std::mt19937 random(static_cast<unsigned>(run_seed()));
  for (unsigned runs = 0; runs < 9; ++runs) {
    std::vector<int> keys;
    for (unsigned r = 0; r < runs; ++r) {
      const std::size_t begin = keys.size();
      for (unsigned length = random() % 50; length > 0; --length)
        keys.push_back(static_cast<int>(random() % 20));
      std::sort(keys.begin() + static_cast<std::ptrdiff_t>(begin), keys.end());
    }
    auto expected = keys;
    std::ranges::sort(expected);
    distributed::merge_runs(keys);
    EXPECT_EQ(keys, expected) << runs << " runs";
  }
}

class DeviceRanks : public testing::TestWithParam<unsigned> {};
class KernelRanks : public testing::TestWithParam<unsigned> {};

TEST_P(DeviceRanks, AgreeWithAStableSort) {
  const std::uint64_t seed = run_seed() + GetParam();
  run_on_device(GetParam(), find_device("cpu:0"), [&](auto& communicator, Queue& queue) {
    return run_device_cases(communicator, queue, 100, seed);
  });
}
INSTANTIATE_TEST_SUITE_P(Threads, DeviceRanks, testing::Values(1, 2, 3, 5));

// Each type and payload has kernels of its own, so there are fewer cases.
TEST_P(KernelRanks, AgreeWithAStableSort) {
  const std::uint64_t seed = run_seed() + GetParam();
  run_on_device(GetParam(), test_device(), [&](auto& communicator, Queue& queue) {
    return run_device_cases(communicator, queue, 6, seed);
  });
}
INSTANTIATE_TEST_SUITE_P(Threads, KernelRanks, testing::Values(1, 2, 3));

// Long lists are sampled: brackets, slices and candidates are small parts of the list.
std::string run_long(Communicator& communicator, Queue& queue, Distribution distribution,
                     unsigned slices) {
  DeviceSorter sorter(communicator, queue.device().shared_from_this());
  const Case c{
      {.key = KeyType::f32, .count = 300'000, .payload = Payload::values}, false, distribution, 17};
  return run_device_case(communicator, sorter, queue, c, Division::random,
                         {.balance = Balance::even, .slices = slices});
}

TEST(DeviceMemory, BordersOfLongListsAreExact) {
  for (const auto& device : {find_device("cpu:0"), test_device()})
    for (const auto distribution :
         {Distribution::random, Distribution::constant, Distribution::zipf, Distribution::sorted,
          Distribution::few_distinct, Distribution::organ_pipe})
      run_on_device(3, device, [&](auto& communicator, Queue& queue) {
        return run_long(communicator, queue, distribution, 4);
      });
}

// Every rank receives and sorts all records. If a rank is on a CPU, fewer lists are short.
TEST(DeviceMemory, OfShortListsGoesToAllRanks) {
  const std::uint64_t seed = run_seed();
  run_on_device(3, test_device(), [&](auto& communicator, Queue& queue) -> std::string {
    const bool is_gpu = queue.device().info().claimed.kind == DeviceKind::gpu;
    DeviceSorter sorter(communicator, queue.device().shared_from_this());
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const std::uint64_t count : {3'000, is_gpu ? 3'000'000 : 8'000})
        for (const bool in_place : {false, true}) {
          const Case c{{.key = KeyType::u32, .count = count, .payload = payload},
                       in_place,
                       Distribution::few_distinct,
                       seed};
          const auto balance = in_place ? Balance::kept : Balance::even;
          if (auto wrong = run_device_case(communicator, sorter, queue, c, Division::random,
                                           {.balance = balance});
              !wrong.empty())
            return wrong;
        }
    return {};
  });
}

// Ranks whose keys are all equal copy them, and do not partition them, unless there are positions.
TEST(DeviceMemory, OfOneKeyIsNotDivided) {
  run_on_device(3, test_device(), [&](auto& communicator, Queue& queue) -> std::string {
    DeviceSorter sorter(communicator, queue.device().shared_from_this());
    for (const auto payload : {Payload::none, Payload::values, Payload::positions})
      for (const bool in_place : {false, true}) {
        const Case c{{.key = KeyType::u32, .count = 30'000, .payload = payload},
                     in_place,
                     Distribution::constant,
                     run_seed()};
        if (auto wrong =
                run_device_case(communicator, sorter, queue, c, Division::random, {.slices = 2});
            !wrong.empty())
          return wrong;
      }
    return {};
  });
}

// 16 slices need the larger partition. With 64 there are more buckets than a partition has: the
// list is sorted first.
TEST(DeviceMemory, MayHaveManySlices) {
  for (const unsigned slices : {16, 64})
    run_on_device(4, test_device(), [&](auto& communicator, Queue& queue) {
      return run_long(communicator, queue, Distribution::random, slices);
    });
}

// Keys go to other memory and values do not: no record may be written over another's value.
TEST(DeviceMemory, ValuesAloneMayBeInPlace) {
  constexpr std::uint64_t count = 20'000, ranks = 2, bytes = count * 4;
  Random random(run_seed());
  std::vector<std::uint32_t> keys(ranks * count), order(ranks * count);
  for (auto& key : keys) key = static_cast<std::uint32_t>(random.next());
  std::iota(order.begin(), order.end(), 0u);
  const auto values = order;
  std::ranges::stable_sort(order, {}, [&](auto i) { return keys[i]; });
  run_on_device(ranks, test_device(), [&](auto& communicator, Queue& queue) -> std::string {
    const std::uint64_t begin = communicator.rank() * count;
    const auto in = queue.device().allocate(bytes), out = queue.device().allocate(bytes),
               both = queue.device().allocate(bytes);
    queue.write(in->memory(), keys.data() + begin, bytes);
    queue.write(both->memory(), values.data() + begin, bytes);
    DeviceSorter sorter(communicator, queue.device().shared_from_this());
    sorter.sort(queue, {.count = count, .payload = Payload::values},
                {in->memory(), out->memory(), both->memory(), both->memory()}, {.slices = 4});
    std::vector<std::uint32_t> found(count);
    queue.read(found.data(), both->memory(), bytes);
    return std::ranges::equal(found, std::span(order).subspan(begin, count)) ? "" : "values";
  });
}

TEST(DeviceMemory, ReportsWhatItDid) {
  run_ranks(2, [](Communicator& communicator) {
    const auto device = find_device("cpu:0");
    const auto queue = device->make_queue();
    DeviceSorter sorter(communicator, device);
    EXPECT_EQ(sorter.memory_bytes(), 0u);
    // Rank 0 has 1000 to 1999, and rank 1 has 0 to 999.
    std::vector<std::uint32_t> keys(1000);
    const Memory memory{keys.data(), 0, 4000};
    for (const unsigned slices : {0, 1}) {  // 0: the list is short
      std::iota(keys.begin(), keys.end(), communicator.rank() == 0 ? 1000u : 0u);
      const auto report = sorter.sort(*queue, {.key = KeyType::u32, .count = 1000},
                                      {memory, memory}, {.slices = slices});
      EXPECT_EQ(keys.front(), communicator.rank() * 1000);
      EXPECT_EQ(report.part.begin, communicator.rank() * 1000);
      EXPECT_EQ(report.part.count, 1000u);
      EXPECT_EQ(report.bytes_sent, 4000u);
      EXPECT_EQ(report.rounds != 0, slices != 0);
      EXPECT_EQ(report.local.device, device->info().name);
      EXPECT_EQ(report.local.algorithm, "sample");
      EXPECT_GE(sorter.memory_bytes(), slices == 0 ? 16000u : 4000u);
    }
  });
}

TEST(DeviceMemory, SortsRecordsWithWideKeys) {
  for (const unsigned ranks : {1, 3})
    run_on_device(ranks, find_device("cpu:0"), [&](auto& communicator, Queue& queue) {
      DeviceSorter sorter(communicator, find_device("cpu:0"));
      std::string wrong;
      for (const std::uint64_t count : {0, 2, 5'000})
        for (const auto division : {Division::random, Division::one_has_all})
          for (const auto balance : {Balance::kept, Balance::even})
            wrong += run_device_records(communicator, sorter, queue, count, division,
                                        {.balance = balance}, count + run_seed());
      return wrong;
    });
}
TEST(DeviceMemory, SortsRecordsWithKernels) {
  run_on_device(2, test_device(), [&](auto& communicator, Queue& queue) {
    DeviceSorter sorter(communicator, queue.device().shared_from_this());
    return run_device_records(communicator, sorter, queue, 20'000, Division::random,
                              {.balance = Balance::even}, run_seed());
  });
}

// Sorts on `device`, whose buffers count. Returns the most bytes of a rank beside its operands.
std::uint64_t peak_bytes(unsigned ranks, const std::shared_ptr<Device>& device, std::uint64_t count,
                         Distribution distribution, std::uint64_t max_bytes) {
  std::atomic<std::uint64_t> most = 0;
  run_ranks(ranks, [&](Communicator& communicator) {
    const auto counted = std::make_shared<WrappedDevice>(device);
    const auto queue = counted->make_queue();
    const Problem problem{.key = KeyType::u32, .count = count, .payload = Payload::values};
    const auto keys = make_keys(distribution, problem, 17 + communicator.rank());
    std::vector<std::uint32_t> narrow(keys.begin(), keys.end()), values(count);
    std::iota(values.begin(), values.end(),
              static_cast<std::uint32_t>(communicator.rank() * count));
    const auto key = counted->allocate(count * 4), value = counted->allocate(count * 4);
    queue->write(key->memory(), narrow.data(), count * 4);
    queue->write(value->memory(), values.data(), count * 4);
    const auto sum = verify(*queue, problem, key->memory(), value->memory()).checksum;
    (void)counted->take_peak_bytes();
    DeviceSorter sorter(communicator, counted);
    sorter.sort(*queue, problem, {key->memory(), key->memory(), value->memory(), value->memory()},
                {.max_bytes = max_bytes});
    EXPECT_TRUE(max_bytes == 0 || sorter.memory_bytes() <= max_bytes);
    const std::uint64_t peak = counted->take_peak_bytes() - count * 8;
    for (auto before = most.load(); before < peak && !most.compare_exchange_weak(before, peak);) {
    }
    Problem stable = problem;  // values ascend where keys tie: they are positions
    stable.payload = Payload::positions;
    const auto verdict = verify(*queue, stable, key->memory(), value->memory());
    EXPECT_EQ(verdict.unsorted, 0u);
    std::uint64_t difference = verdict.checksum - sum;
    communicator.all_reduce({&difference, 1}, distributed::Reduction::sum);
    EXPECT_EQ(difference, 0u);
  });
  return most;
}

TEST(DeviceMemory, HasABoundOfNineEighthsOfTheRecords) {
  constexpr std::uint64_t count = 1 << 20, records = count * 8, bound = records / 8 * 9;
  for (const auto distribution : {Distribution::random, Distribution::zipf})
    EXPECT_LE(peak_bytes(2, find_device("cpu:0"), count, distribution, bound), bound + 2 * 65536);
  EXPECT_GT(peak_bytes(3, find_device("cpu:0"), count, Distribution::random, 0), bound + 3 * 65536);
}

// PoCL runs kernels of one queue only, so there is one rank with kernels beside one of cpu:0.
TEST(DeviceMemory, HasABoundWithKernels) {
  constexpr std::uint64_t count = 1 << 16;
  run_ranks(2, [&](Communicator& communicator) {
    const bool on_host = communicator.rank() == 0;
    const auto counted =
        std::make_shared<WrappedDevice>(on_host ? find_device("cpu:0") : test_device());
    const auto queue = counted->make_queue();
    const Problem problem{.key = KeyType::u32, .count = count};
    const auto keys = make_keys(Distribution::random, problem, communicator.rank());
    const std::vector<std::uint32_t> narrow(keys.begin(), keys.end());
    const auto memory = counted->allocate(count * 4);
    DeviceSorter sorter(communicator, counted);
    for (unsigned turn = 0; turn < 2; ++turn) {  // the first builds kernels and tests them
      queue->write(memory->memory(), narrow.data(), count * 4);
      (void)counted->take_peak_bytes();
      sorter.sort(*queue, problem, {memory->memory(), memory->memory()}, {.max_bytes = count * 6});
    }
    EXPECT_LE(sorter.memory_bytes(), count * 6);
    EXPECT_LE(counted->take_peak_bytes(), count * 10 + 2 * 65536);
    EXPECT_EQ(verify(*queue, problem, memory->memory(), {}).unsorted, 0u);
  });
}

// Fails in the exchange of the third column: the second slice's keys.
class FailsInTheMiddle final : public Communicator {
 public:
  explicit FailsInTheMiddle(Communicator& real) : real_(real) {}
  [[nodiscard]] unsigned rank() const override { return real_.rank(); }
  [[nodiscard]] unsigned size() const override { return real_.size(); }
  [[nodiscard]] std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return real_.all_gather(mine);
  }
  void exchange(const distributed::Exchange& e) override { real_.exchange(e); }
  void exchange_on_device(Queue& queue, std::span<const Memory> send,
                          std::span<const Memory> receive) override {
    if (rank() == 1 && ++exchanges_ == 3) throw Error(ErrorCode::device_failed, "a broken link");
    real_.exchange_on_device(queue, send, receive);
  }

 private:
  Communicator& real_;
  unsigned exchanges_ = 0;
};

TEST(DeviceMemoryFaults, InTheExchangeEndAllRanks) {
  expect_error(
      [] {
        run_ranks(3, [](Communicator& communicator) {
          FailsInTheMiddle failing(communicator);
          const auto queue = find_device("cpu:0")->make_queue();
          (void)run_long(failing, *queue, Distribution::random, 4);
        });
      },
      ErrorCode::device_failed, {"a broken link"});
}

// Every call of one rank's device fails in turn, once or from then on. All ranks end, with that
// error or the right result. Inputs stay.
class FaultyRank : public testing::TestWithParam<std::tuple<bool, bool, unsigned>> {
 protected:
  static constexpr unsigned ranks = 3;
  static constexpr std::uint64_t count = 3'000;  // of a rank

  // The keys of all ranks, of which many tie.
  static std::vector<std::uint32_t> all_keys() {
    Random random(5);
    std::vector<std::uint32_t> keys(ranks * count);
    for (auto& key : keys) key = static_cast<std::uint32_t>(random.below(1'000));
    return keys;
  }
  // One rank's part of a sort. `device` may fail, `real` may not.
  static void sort(Communicator& communicator, const std::shared_ptr<Device>& device, Device& real,
                   unsigned slices) {
    const auto keys = all_keys();
    const std::uint64_t begin = communicator.rank() * count, bytes = count * 4;
    const auto queue = real.make_queue();
    const auto in = real.allocate(bytes), keys_out = real.allocate(bytes),
               positions = real.allocate(bytes);
    queue->write(in->memory(), keys.data() + begin, bytes);
    std::vector<std::uint32_t> now(count);
    const auto is_as_it_was = [&] {
      queue->read(now.data(), in->memory(), bytes);
      return std::equal(now.begin(), now.end(), keys.begin() + static_cast<std::ptrdiff_t>(begin));
    };
    try {
      DeviceSorter sorter(communicator, device);
      sorter.sort(*device->make_queue(), {.count = count, .payload = Payload::positions},
                  {.keys_in = in->memory(),
                   .keys_out = keys_out->memory(),
                   .values_out = positions->memory()},
                  {.slices = slices});
    } catch (...) {
      EXPECT_TRUE(is_as_it_was());
      throw;
    }
    EXPECT_TRUE(is_as_it_was());
    std::vector<std::uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](auto i) { return keys[i]; });
    queue->read(now.data(), positions->memory(), bytes);
    EXPECT_TRUE(
        std::equal(now.begin(), now.end(), order.begin() + static_cast<std::ptrdiff_t>(begin)));
  }
};

TEST_P(FaultyRank, EndsAllRanksAndKeepsInputs) {
  const bool kernels = std::get<0>(GetParam()), lost = std::get<1>(GetParam());
  const auto slices = std::get<2>(GetParam());
  const auto real = kernels ? test_device() : find_device("cpu:0");
  const std::uint64_t step = kernels ? 3 : 1;  // kernels are loaded or built anew each time
  std::uint64_t n = 1;
  for (;; n += step) {
    const auto faulty = std::make_shared<FaultyDevice>(real);
    std::string error;
    try {
      run_ranks(ranks, [&](Communicator& communicator) {
        const bool fails = communicator.rank() + 1 == ranks;
        if (fails) faulty->fail(n, lost);
        const auto other = find_device("cpu:0");
        sort(communicator, fails ? faulty : other, fails ? *real : *other, slices);
      });
    } catch (const Error& e) {
      error = e.what();
    }
    const bool failed = faulty->stop_failing();
    if (!failed) {
      ASSERT_EQ(error, "") << "call " << n;
    }
    if (!error.empty()) {
      ASSERT_NE(error.find("injected"), error.npos) << error;
    }
    if (!failed || HasFailure()) break;
  }
  EXPECT_GT(n, slices == 0 ? 5u : 20u) << "it samples, partitions, exchanges and sorts";
}
INSTANTIATE_TEST_SUITE_P(Device, FaultyRank,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Values(0, 3)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "kernels" : "cpu") +
                                  (std::get<1>(test.param) ? "_lost" : "_once") +
                                  (std::get<2>(test.param) == 0 ? "_short" : "");
                         });

TEST(DeviceMemoryFaults, NameTheArgumentOnAllRanks) {
  run_ranks(2, [](Communicator& communicator) {
    const auto device = find_device("cpu:0");
    const auto queue = device->make_queue();
    DeviceSorter sorter(communicator, device);
    std::vector<std::uint32_t> keys(10), out(10);
    const Memory in{keys.data(), 0, 40}, to{out.data(), 0, 40};
    const Problem problem{.key = KeyType::u32, .count = 10};
    const auto expect = [&](const Problem& p, const Operands& o,
                            const distributed::DeviceOptions& options,
                            std::initializer_list<std::string_view> words) {
      expect_error([&] { (void)sorter.sort(*queue, p, o, options); }, ErrorCode::invalid_argument,
                   words);
    };
    const bool second = communicator.rank() == 1;
    expect(problem, {second ? Memory{} : in, to}, {}, {"rank 1 of 2", "keys_in"});
    expect(problem, {in, second ? Memory{out.data(), 0, 36} : to}, {},
           {"rank 1 of 2", "keys_out", "36"});
    expect(problem, {in, in}, {.balance = Balance::even}, {"in place", "Balance::kept"});
    expect(problem, {in, to, {}, {}, to}, {}, {"scratch"});
    expect(problem, {in, to}, {.slices = 65}, {"slices is 65", "64"});
    expect(problem, {in, to}, {.slices = second ? 2u : 1u}, {"rank 0", "1 slices", "2 slices"});
    expect(problem, {in, to}, {.method = {.algorithm = "bitonic"}}, {"bitonic", "stable"});
    expect(problem, {in, to}, {.max_bytes = second ? 40u : 4096u}, {"rank 1", "max_bytes is 40"});
    expect(problem, {in, to}, {.max_bytes = second ? 0u : 4096u}, {"bounded memory", "any memory"});
    Problem segments = problem;
    segments.segments = 1;
    expect(segments, {in, to}, {}, {"no segments"});
    const RecordProblem records{
        .count = 10, .columns = {{4, Moved::in_place}}, .key = {{.type = KeyType::u32}}};
    const auto expect_records = [&](const RecordProblem& p, const RecordOperands& o,
                                    const distributed::DeviceOptions& options,
                                    std::initializer_list<std::string_view> words) {
      expect_error([&] { (void)sorter.sort_records(*queue, p, o, options); },
                   ErrorCode::invalid_argument, words);
    };
    const Memory column = second ? Memory{} : in;
    expect_records(records, {{&column, 1}}, {}, {"rank 1 of 2", "columns_in[0]"});
    expect_records(records, {{&in, 1}}, {.balance = Balance::even}, {"in place", "Balance::kept"});
    expect_records(records, {{&in, 1}}, {.slices = 2}, {"slices", "one slice"});
    expect_records(records, {{&in, 1}}, {.max_bytes = 40}, {"max_bytes is 40"});
    sorter.sort(*queue, problem, {in, to}, {});  // works after errors
  });
}

}  // namespace
}  // namespace sortium::test
